"""``borgtrace sql``: questions in SQL over the tables of a store."""

from pathlib import Path
from typing import Literal

from borgtrace.cli._options import seconds_of


def sql(
    store: Path,
    query: str = "",
    format: Literal["table", "csv", "json", "parquet"] = "table",
    param: list[str] | None = None,
    memory: str = "4GB",
    timeout: str = "",
    rows: int = 40,
    as_json: bool = False,
) -> None:
    """Answer SELECTs over the tables of a store. They cannot write, and read nothing but the store.

    Without a query it asks for them one by one, with completion and history. A table is cut to the width of the
    terminal: "…" stands for columns in the middle, and only the first rows are fetched.

    Example: borgtrace sql cell-2011 "select type, count(*) from instance_events group by type"

    Example: borgtrace sql cell-2011 'select * from tasks where collection_id = $job' --param job=3418309
    """
    import sys

    from borgtrace.cli import _rows
    from borgtrace.store import open as open_store

    seconds = seconds_of(timeout)
    parameters = _rows.parse_parameters(param or [])
    opened = open_store(store, memory=memory)

    def answer(text: str) -> None:
        _rows.print_answer(
            opened.stream(text, parameters, timeout=seconds), "json" if as_json else format, rows
        )

    if query or not sys.stdin.isatty():
        answer(sys.stdin.read() if query in ("", "-") else query)
    else:
        # Inside: the prompt's library takes 0.2 s that one query need not pay for.
        from borgtrace.cli._prompt import run_prompt

        run_prompt(answer)
