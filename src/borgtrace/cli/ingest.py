"""``borgtrace ingest``: raw files → a checked store."""

from pathlib import Path

from typer import Exit


def ingest(
    sources: list[Path],
    store: Path,
    jobs: int | None = None,
    memory: str = "4GB",
    cell: str = "",
    strict: bool = False,
    replace: bool = False,
    stage_only: bool = False,
    rebuild: bool = False,
    whole: bool = False,
    dialect: str = "",
    capacity: str = "",
    engine: str = "duckdb",
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Check raw files row by row and build a sorted, columnar store.

    Partial traces are fine. Ingesting the same files again changes nothing, a killed ingest resumes, and more files
    are merged in. Rejected rows are kept in STORE/quarantine with their reasons.

    Your own usage is taken too, as CSV, Parquet or JSON lines: borgtrace ingest own.csv --capacity 8cores --store own.

    Example: borgtrace ingest clusterdata-2011-2 --store cell-2011, or --store /shared/cell --engine spark://host:7077
    """
    from borgtrace.cli import _ingestion
    from borgtrace.cli._console import talk
    from borgtrace.engine import tasks_on
    from borgtrace.engine.memory import parse_memory
    from borgtrace.ingest import IngestOptions
    from borgtrace.ingest import ingest as run
    from borgtrace.ingest.find.own_data import find
    from borgtrace.ingest.ingest_plan import plan
    from borgtrace.ingest.ingestion import available_cores, built_at
    from borgtrace.storage import place

    # For its refusal only, before sources are looked for.
    parse_memory(memory)
    # Spark makes a store in the bucket that it is for.
    where = place(store) if tasks_on(engine) else built_at(store)
    planned = plan(find(sources, cell, dialect).discovery, where, jobs or available_cores())
    if dry_run:
        _ingestion.print_plan(planned, as_json=as_json)
        return
    options = IngestOptions(
        jobs, memory, strict, replace, stage_only, rebuild, cell, whole, dialect, capacity, engine
    )
    _ingestion.announce(planned)
    with _ingestion.bars() as progress:
        result = run(sources, store, options, progress)
    _ingestion.print_outcome(result, store, as_json=as_json)
    # Faulty files do not stop the others, so the account comes first and the exit code at the end.
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}")
    if result.faults:
        raise Exit(result.faults[0].exit_code)
