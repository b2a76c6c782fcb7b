"""``borgtrace sql``: one question in SQL over the tables of a store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How the answer is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def sql(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    query: Annotated[str, typer.Argument(help="One SELECT; - reads it from stdin.", metavar="QUERY")],
    format: Annotated[
        Format, typer.Option(help="table for people; csv, json (one row a line) and parquet for programs.")
    ] = Format.table,
    memory: Annotated[str, typer.Option(help="Memory budget of the query; it spills beyond.")] = "4GB",
    rows: Annotated[int, typer.Option(help="Rows that --format table shows.", min=1)] = 40,
) -> None:
    """Answer one SELECT over the tables of a store; nothing can be written, nothing else be read.

    Example: borgtrace sql cell-2011 "select type, count(*) from instance_events group by type"
    """
    import sys

    from borgtrace.cli import _answering
    from borgtrace.store import open as open_store

    text = sys.stdin.read() if query == "-" else query
    answer = open_store(store, memory=memory).stream(text)
    if format is Format.table:
        _answering.print_table(answer, rows)
    else:
        _answering.write(answer, format.value, sys.stdout.buffer)
