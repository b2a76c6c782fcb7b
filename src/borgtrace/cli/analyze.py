"""``borgtrace analyze``: ask a store questions, and hold the answers against what papers claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def analyze(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Questions; all of them by default.", metavar="[NAME…]")
    ] = None,
    engine: Annotated[str, typer.Option(help="duckdb, local[N] or spark://HOST:PORT.", metavar="ENGINE")] = "duckdb",
    memory: Annotated[str, typer.Option(help="Memory budget; the engine spills beyond.")] = "4GB",
    where: Annotated[
        str, typer.Option(help="SQL predicate over tasks: only those, and what is theirs.", metavar="SQL")
    ] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the questions.", metavar="NAME=VALUE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for NAME.parquet, .csv, .svg, .vl.json and claims.csv.", metavar="DIR")
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="With --out: also write NAME.png.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per question.")] = False,
    show_sql: Annotated[
        str | None, typer.Option(help="Print the SQL of the relational stages and run nothing.", metavar="bigquery")
    ] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the questions.")] = False,
) -> None:
    """Answer questions about a store: tables, charts, and claims as published – measured – verdict.

    One question alone prints its table as CSV; several print their claims.

    Example: borgtrace analyze cell-2011 transitions queue_length --out answers
    """
    from borgtrace.cli import _analyzing
    from borgtrace.errors import UsageError
    from borgtrace.recipe import find_recipe, recipes

    chosen = [find_recipe(name) for name in dict.fromkeys(names or recipes())]
    parameters = _analyzing.parse_settings(settings or [], chosen)
    if list_names:
        _analyzing.print_list(chosen)
    elif show_sql is not None:
        if show_sql != "bigquery":
            raise UsageError("--show-sql", "unknown dialect", expected="bigquery", got=show_sql)
        _analyzing.print_sql(store, chosen, parameters)
    else:
        if png and out is None:
            raise UsageError("--png", "nowhere to write to", way_out="say where: --out DIR")
        tables = _analyzing.open_tables(store, engine, where=where, memory=memory)
        _analyzing.answer(chosen, tables, parameters, out=out, png=png, as_json=as_json)
