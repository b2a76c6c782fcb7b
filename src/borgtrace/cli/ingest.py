"""``borgtrace ingest``: raw files → a checked store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def ingest(
    sources: Annotated[list[Path], typer.Argument(help="Raw files, or folders of them.", metavar="SRC…")],
    store: Annotated[Path, typer.Option(help="The store to make or to add to.", metavar="STORE")],
    jobs: Annotated[int | None, typer.Option(help="Worker processes; one per core by default.", min=1)] = None,
    memory: Annotated[str, typer.Option(help="Memory of the sort before it spills.", metavar="SIZE")] = "4GB",
    cell: Annotated[
        str, typer.Option(help="Cell of 2019 (a … h; 1 … 8 for the flattened sample).", metavar="CELL")
    ] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Fail when any row is refused.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the new content of sources that have changed.")
    ] = False,
    stage_only: Annotated[
        bool, typer.Option("--stage-only", help="Only check and stage; a later ingest clusters.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Throw away a store of another format version first.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show tables, columns, disk and time; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Check raw files row by row and build a sorted, columnar store.

    Partial traces are normal. The same files twice change nothing; a killed ingest goes on where it
    was; more files are merged in. Refused rows are kept in STORE/quarantine with their reasons.

    Example: borgtrace ingest clusterdata-2011-2 --store cell-2011
    """
    from rich.console import Console

    from borgtrace.cli import _ingesting
    from borgtrace.engine.memory import parse_memory
    from borgtrace.ingest import IngestOptions
    from borgtrace.ingest import ingest as run

    parse_memory(memory)
    talk = Console(stderr=True, highlight=False)
    if dry_run:
        _ingesting.print_plan(sources, store, cell, jobs, as_json=as_json)
        return
    options = IngestOptions(jobs, memory, strict, replace, stage_only, rebuild, cell)
    _ingesting.announce(talk, sources, store, cell, jobs)
    with _ingesting.bars(talk) as progress:
        result = run(sources, store, options, progress)
    _ingesting.print_outcome(talk, result, store, as_json=as_json)
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}", markup=False, soft_wrap=True)
    if result.faults:
        raise typer.Exit(result.faults[0].exit_code)
