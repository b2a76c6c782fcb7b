"""``borgtrace report``: every answer about a store on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    out: Annotated[Path, typer.Argument(help="The page to write.", metavar="OUT.html")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Questions; all of them by default.", metavar="[NAME…]")
    ] = None,
    engine: Annotated[str, typer.Option(help="duckdb, local[N] or spark://HOST:PORT.", metavar="ENGINE")] = "duckdb",
    memory: Annotated[str, typer.Option(help="Memory budget; the engine spills beyond.")] = "4GB",
) -> None:
    """Write one self-contained page: what the store holds, its quality, each question and its claims.

    The page needs no network, and is the same byte for byte for the same store and version.

    Example: borgtrace report cell-2011 report.html
    """
    from rich.console import Console

    import borgtrace
    from borgtrace.cli import _reporting
    from borgtrace.report import write

    talk = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    opened = borgtrace.open(store, memory=memory)
    with _reporting.bar(talk) as progress:
        summary = write(opened, out, names or (), engine=engine, memory=memory, progress=progress)
    _reporting.say(talk, summary)
    print(summary.path)
    for error in summary.refused.values():
        raise error
