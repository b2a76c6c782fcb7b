"""``borgtrace subset``: part of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def subset(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    out: Annotated[Path, typer.Argument(help="The smaller store to make.", metavar="OUT")],
    jobs: Annotated[str, typer.Option(help="Job ids with commas between.", metavar="IDS")] = "",
    machines: Annotated[str, typer.Option(help="Machine ids with commas between.", metavar="IDS")] = "",
    time: Annotated[str, typer.Option(help="From..to, in µs or as 12h, 2d3h.", metavar="A..B")] = "",
    fraction: Annotated[
        float | None, typer.Option(help="Share of the collections, chosen by hash.", metavar="F")
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses another share for --fraction.")] = 0,
    memory: Annotated[str, typer.Option(help="Memory before spilling.", metavar="SIZE")] = "4GB",
    as_json: Annotated[bool, typer.Option("--json", help="Print the new manifest as JSON.")] = False,
) -> None:
    """Copy part of a store into a new one, consistent over its tables.

    Machine tables stay whole: capacity belongs to the cell. With --time, tasks that live in the
    interval keep their earlier events.

    Example: borgtrace subset cell-2011 day-2 --time 24h..48h
    """
    from rich.console import Console

    from borgtrace.cli import _ingesting
    from borgtrace.ingest.subset import Cut
    from borgtrace.ingest.subset import subset as run
    from borgtrace.schema.ranges import list_numbers
    from borgtrace.schema.time import parse_span

    cut = Cut(
        list_numbers(jobs, "--jobs"),
        list_numbers(machines, "--machines"),
        parse_span(time, "--time") if time else None,
        fraction,
        seed,
    )
    with _ingesting.bars(Console(stderr=True, highlight=False)) as progress:
        manifest = run(store, out, cut, memory=memory, progress=progress)
    if as_json:
        print(manifest.to_json(), end="")
        return
    for name, rows in manifest.tables.items():
        print(f"{name}: {rows:,} rows")
    print(f"digest {manifest.digest}")
