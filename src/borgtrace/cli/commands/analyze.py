"""``borgtrace analyze``: ask a store questions, and compare the answers with what papers claim."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWith
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
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
from borgtrace.errors import UsageError, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from borgtrace.question import Question


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
    sources: FromOption = None,
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    show_sql: ShowSqlOption = None,
    list_names: ListOption = False,
) -> None:
    """Answer questions about a store, and judge published claims.

    Answers are tables, charts, and claims as published – measured – verdict. A single question prints its table,
    several print their claims: as a table on a terminal, as CSV in a pipe or a file. --list shows the parameters of
    each question, for --set. With --from and no NAME, the questions of your own code are asked.

    Example: borgtrace analyze cell-2011 transitions queue_length --out answers
    """
    import borgtrace
    from borgtrace.catalog import QUESTION_KINDS
    from borgtrace.cli.answers import answering_beside, publish, run
    from borgtrace.cli.options import seconds_of
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.parameters import parse_settings, print_list
    from borgtrace.engine.stoppable import within
    from borgtrace.question import EngineTables
    from borgtrace.report.answer_files import check_png

    needs_store = not list_names and show_sql is None
    own_names = names_in_own_code(sources, QUESTION_KINDS)
    # Beside --list every question is listed, those of packages too; else those of the user's code are asked.
    wanted = names or ([] if list_names else own_names)
    every_name = QUESTION_KINDS if list_names else QUESTION_KINDS.named
    chosen = chosen_questions(store, wanted, every_name, needs_store=needs_store)
    if list_names:
        print_list(chosen, has_set=True)
        return
    if store is None and show_sql is None:
        raise without_store()
    # Before the store is opened: a wrong name costs no time.
    parameters = parse_settings(settings or [], chosen)
    seconds = seconds_of(timeout)
    if show_sql is not None:
        print_sql_in(show_sql, chosen, parameters)
    elif store is not None:
        check_png(png, out)
        opened = borgtrace.open(store, memory=memory)
        # Before the engine and the bar, which have threads of their own.
        aside = answering_beside(
            chosen, opened, parameters, engine=engine, where=where, memory=memory
        )
        with aside as beside:
            tables = EngineTables.of(opened, engine, where=where, memory=memory)
            # Lazy: each answer is computed when it is asked for.
            results = run(chosen, tables, parameters, beside)
            write = partial(publish, results, out=out, png=png, as_json=as_json, raw=raw)
            within(seconds, write, tables.interrupt)
        if out is None and not as_json and len(chosen) > 1:
            page = f"borgtrace report {shell_word(store)} report.html"
            print(f"The answers with their charts: {page}, or add --out DIR.", file=sys.stderr)


def chosen_questions(
    store: Path | None, names: list[str], every_name: Iterable[str], *, needs_store: bool
) -> list[Question]:
    """Return the questions that are named, each once; all where none is.

    A name given twice would write the same files twice.
    """
    from borgtrace.catalog import find

    if needs_store:
        check_store_comes_first(store)
    wanted = list(names)
    if store is not None and not needs_store and not store.is_dir():
        # Without a store, the first name stands in its place.
        wanted.insert(0, str(store))
    return [find(name) for name in dict.fromkeys(wanted or every_name)]


def without_store() -> UsageError:
    """Return the error of a command that names no store."""
    return UsageError(
        "STORE",
        "no store named",
        way_out="borgtrace analyze STORE [NAME…], or borgtrace analyze --list",
    )


def print_sql_in(
    sql_dialect: str, questions: list[Question], parameters: Mapping[str, Any]
) -> None:
    """Print the queries of questions in another engine's SQL.

    Raises
    ------
    UsageError
        It is not BigQuery's.
    """
    from borgtrace.cli.bigquery import print_sql

    if sql_dialect != "bigquery":
        raise UsageError("--show-sql", "unknown dialect", expected="bigquery", got=sql_dialect)
    print_sql(questions, parameters)


def check_store_comes_first(store: Path | None) -> None:
    """Refuse the name of a question where the store is expected.

    Raises
    ------
    UsageError
        It names a question, and there is no such folder.
    """
    from borgtrace.catalog import names

    if store is not None and not store.exists() and str(store) in names():
        raise UsageError(
            "STORE",
            "not a store",
            got=f"{store}, a question",
            way_out=f"the store comes first: borgtrace analyze STORE {store}",
        )
