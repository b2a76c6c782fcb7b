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
    from borgtrace.ingest import IngestOptions, prepare_ingest

    options = IngestOptions(
        jobs=jobs,
        memory=memory,
        cell=cell,
        strict=strict,
        replace=replace,
        stage_only=stage_only,
        rebuild=rebuild,
        whole=whole,
        dialect=dialect,
        capacity=capacity,
        engine=engine,
    )
    prepared = prepare_ingest(sources, store, options)
    if dry_run:
        _ingestion.print_plan(prepared.plan, as_json=as_json)
        return
    _ingestion.announce(prepared.plan)
    with _ingestion.bars() as progress:
        result = prepared.run(progress)
    _ingestion.print_outcome(result, store, as_json=as_json)
    # Faulty files do not stop the others, so the account comes first and the exit code at the end.
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}")
    if result.faults:
        raise Exit(result.faults[0].exit_code)
