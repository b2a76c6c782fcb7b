"""``borgtrace analyze``: ask a store questions, and compare the answers with what papers claim."""

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWith
from borgtrace.cli.options import (
    EngineOption,
    JsonOption,
    ListOption,
    MemoryOption,
    NamesArgument,
    OutOption,
    PngOption,
    RawOption,
    TimeoutOption,
    WhereOption,
)

AnalyzedStoreArgument = Annotated[
    Path | None, Argument(metavar="STORE", help="The store; none with --list.")
]
SettingsOption = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="A parameter, such as step=1h."),
]
ShowSqlOption = Annotated[
    str | None,
    Option(
        "--show-sql",
        metavar="bigquery",
        help="Print SQL for BigQuery; needs no store, runs nothing.",
    ),
]


@command(
    on_interrupt="answers that were written stay",
    effects=[
        NoEffectWith(
            "show_sql",
            ["engine", "where", "memory", "timeout", "out", "png", "raw", "as_json"],
        )
    ],
)
def analyze(
    store: AnalyzedStoreArgument = None,
    names: NamesArgument = None,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    timeout: TimeoutOption = "",
    where: WhereOption = "",
    settings: SettingsOption = None,
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    show_sql: ShowSqlOption = None,
    list_names: ListOption = False,
) -> None:
    """Answer questions of a store, and judge published claims.

    Answers are tables, charts, and claims as published – measured – verdict. A single question prints its table,
    several print their claims: as a table on a terminal, as CSV in a pipe or a file. --list shows the parameters of
    each question, for --set.

    Example: borgtrace analyze cell-2011 transitions queue_length --out answers
    """
    from borgtrace.catalog import find, questions
    from borgtrace.cli.answers import publish, run
    from borgtrace.cli.bigquery import print_sql
    from borgtrace.cli.options import seconds_of
    from borgtrace.cli.parameters import parse_settings, print_list
    from borgtrace.engine.stoppable import within
    from borgtrace.errors import UsageError
    from borgtrace.question import EngineTables
    from borgtrace.report.answer_files import check_png

    needs_store = not list_names and show_sql is None
    if needs_store:
        check_store_comes_first(store)
    wanted = list(names or [])
    if store is not None and not needs_store and not store.is_dir():
        # Without a store, the first name stands in its place.
        wanted.insert(0, str(store))
    # Each once: a name given twice would write the same files twice.
    chosen = [find(name) for name in dict.fromkeys(wanted or questions())]
    if list_names:
        print_list(chosen, has_set=True)
        return
    if store is None and show_sql is None:
        raise UsageError(
            "STORE",
            "no store named",
            way_out="borgtrace analyze STORE [NAME…], or borgtrace analyze --list",
        )
    # Before the store is opened: a wrong name costs no time.
    parameters = parse_settings(settings or [], chosen)
    seconds = seconds_of(timeout)
    if show_sql is not None:
        if show_sql != "bigquery":
            raise UsageError("--show-sql", "unknown dialect", expected="bigquery", got=show_sql)
        print_sql(chosen, parameters)
    elif store is not None:
        check_png(png, out)
        tables = EngineTables.of(store, engine, where=where, memory=memory)
        # Lazy: each answer is computed when it is asked for.
        results = run(chosen, tables, parameters)
        publish_all = partial(
            publish,
            results,
            out=out,
            png=png,
            as_json=as_json,
            raw=raw,
        )
        within(seconds, publish_all, tables.interrupt)


def check_store_comes_first(store: Path | None) -> None:
    """Refuse the name of a question where the store is expected.

    Raises
    ------
    UsageError
        It names a question, and there is no such folder.
    """
    from borgtrace.catalog import names
    from borgtrace.errors import UsageError

    if store is not None and not store.exists() and str(store) in names():
        raise UsageError(
            "STORE",
            "not a store",
            got=f"{store}, a question",
            way_out=f"the store comes first: borgtrace analyze STORE {store}",
        )
