"""``borgtrace ingest``: raw files → a checked store."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from borgtrace.cli._options import Json, Memory, Workers

ON_INTERRUPT = "files that were checked are kept; run the same command again to go on"


def ingest(
    sources: Annotated[list[Path], Argument(help="Raw files, or folders of them.", metavar="SRC…")],
    store: Annotated[Path, Option(help="The store to create or to add to.", metavar="STORE")],
    jobs: Workers = None,
    memory: Memory = "4GB",
    cell: Annotated[str, Option(help="Cell of 2019: a … h, or 1 … 8 for the flattened sample.", metavar="CELL")] = "",
    strict: Annotated[bool, Option("--strict", help="Fail if any row is rejected.")] = False,
    replace: Annotated[bool, Option("--replace", help="Accept sources whose content has changed.")] = False,
    stage_only: Annotated[bool, Option("--stage-only", help="Check and stage only; a later ingest sorts.")] = False,
    rebuild: Annotated[bool, Option("--rebuild", help="Delete a store of another format version first.")] = False,
    whole: Annotated[
        bool, Option("--whole", help="Declare that the store now holds all files of its trace (2019 does not say it).")
    ] = False,
    dialect: Annotated[
        str, Option(help="Trace format: a name, or a file that declares one; the files tell.", metavar="NAME|FILE.toml")
    ] = "",
    capacity: Annotated[
        str, Option(help="Own data: size of the largest machine, such as 8cores,32GiB.", metavar="SIZE")
    ] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Show tables, columns, disk and time; write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Check raw files row by row and build a sorted, columnar store.

    Partial traces are fine. Ingesting the same files again changes nothing, a killed ingest resumes, and more files
    are merged in. Rejected rows are kept in STORE/quarantine with their reasons.

    Your own usage is taken too, as CSV, Parquet or JSON lines: borgtrace ingest own.csv --capacity 8cores --store own.

    Example: borgtrace ingest clusterdata-2011-2 --store cell-2011
    """
    from borgtrace.cli import _ingestion
    from borgtrace.cli._console import talk
    from borgtrace.engine.memory import parse_memory
    from borgtrace.ingest import IngestOptions
    from borgtrace.ingest import ingest as run
    from borgtrace.ingest.ingest_plan import plan
    from borgtrace.ingest.ingestion import available_cores
    from borgtrace.ingest.own_data import find

    # For its refusal only, before sources are looked for.
    parse_memory(memory)
    planned = plan(find(sources, cell, dialect).discovery, store, jobs or available_cores())
    if dry_run:
        _ingestion.print_plan(planned, as_json=as_json)
        return
    options = IngestOptions(jobs, memory, strict, replace, stage_only, rebuild, cell, whole, dialect, capacity)
    _ingestion.announce(planned)
    with _ingestion.bars() as progress:
        result = run(sources, store, options, progress)
    _ingestion.print_outcome(result, store, as_json=as_json)
    # Faulty files do not stop the others, so the account comes first and the exit code at the end.
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}")
    if result.faults:
        raise Exit(result.faults[0].exit_code)
