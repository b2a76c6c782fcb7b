"""``borgtrace sql``: one question in SQL over the tables of a store."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from borgtrace.cli._options import Memory, Store


def sql(
    store: Store,
    query: Annotated[str, Argument(help="One SELECT, or EXPLAIN of one; - reads it from stdin.", metavar="QUERY")],
    format: Annotated[
        Literal["table", "csv", "json", "parquet"],
        Option(help="table for people; csv, json (one object per line) or parquet for programs."),
    ] = "table",
    memory: Memory = "4GB",
    timeout: Annotated[str, Option(help="Stop a query that takes longer, such as 30s or 5m.", metavar="TIME")] = "",
    rows: Annotated[int, Option(help="Rows that --format table shows.", min=1, metavar="N")] = 40,
) -> None:
    """Answer one SELECT over the tables of a store. It cannot write, and it reads nothing but the store.

    Example: borgtrace sql cell-2011 "select type, count(*) from instance_events group by type"
    """
    import sys

    from borgtrace.cli import _rows
    from borgtrace.schema.time import SECOND, parse_time
    from borgtrace.store import open as open_store

    seconds = parse_time(timeout, "--timeout") / SECOND if timeout else None
    text = sys.stdin.read() if query == "-" else query
    answer = open_store(store, memory=memory).stream(text, timeout=seconds)
    # A plan is a drawing of many lines, which a grid would only frame once more.
    if format == "table" and answer.schema.names == ["explain_key", "explain_value"]:
        for batch in answer:
            print(*batch.column("explain_value").to_pylist(), sep="\n")
    elif format == "table":
        _rows.print_table(answer, rows)
    else:
        # Bytes: Parquet is no text, and CSV must not have its line ends translated.
        _rows.write(answer, format, sys.stdout.buffer)
