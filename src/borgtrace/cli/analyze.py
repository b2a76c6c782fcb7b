"""``borgtrace analyze``: ask a store questions, and compare the answers with what papers claim."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from borgtrace.cli._options import AnswerFolder, Engine, Json, List, Memory, Png, Questions, Store


def analyze(
    store: Store,
    names: Questions = None,
    engine: Engine = "duckdb",
    memory: Memory = "4GB",
    where: Annotated[str, Option(help="SQL predicate that selects tasks.", metavar="SQL")] = "",
    settings: Annotated[
        list[str] | None, Option("--set", help="A parameter of the questions, such as step=1h.", metavar="NAME=VALUE")
    ] = None,
    out: AnswerFolder = None,
    png: Png = False,
    as_json: Json = False,
    show_sql: Annotated[
        str | None, Option(help="Print the SQL of the relational stages and run nothing.", metavar="bigquery")
    ] = None,
    list_names: List = False,
) -> None:
    """Answer questions about a store, and judge published claims.

    Answers are tables, charts, and claims as published – measured – verdict. A single question prints its table as CSV;
    several print their claims.

    Example: borgtrace analyze cell-2011 transitions queue_length --out answers
    """
    from borgtrace.cli import _answers
    from borgtrace.errors import UsageError
    from borgtrace.recipe import EngineTables, find_recipe, recipes

    # Each once: a name given twice would write the same files twice.
    chosen = [find_recipe(name) for name in dict.fromkeys(names or recipes())]
    if list_names:
        _answers.print_list(chosen)
        return
    # Before the store is opened: a wrong name costs no time.
    parameters = _answers.parse_settings(settings or [], chosen)
    if show_sql is not None:
        if show_sql != "bigquery":
            raise UsageError("--show-sql", "unknown dialect", expected="bigquery", got=show_sql)
        _answers.print_sql(store, chosen, parameters)
    else:
        if png and out is None:
            raise UsageError("--png", "no folder to write to", way_out="name one: --out DIR")
        tables = EngineTables.of(store, engine, where=where, memory=memory)
        _answers.answer(chosen, tables, parameters, out=out, png=png, as_json=as_json)
