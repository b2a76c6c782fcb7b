"""``borgtrace ingest``: raw files → a checked store."""

from typer import Exit

from borgtrace.cli.command import command
from borgtrace.cli.ingest_options import (
    AcceptGuessesOption,
    CellToTakeOption,
    LargestMachineOption,
    RawSourcesArgument,
    RebuildOption,
    ReplaceSourcesOption,
    ShowPlanOption,
    StageOnlyOption,
    StoreToBuildOption,
    StrictOption,
    TimeZoneOption,
    TraceFormatOption,
    WholeTraceOption,
    WorkersOption,
)
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    SelectorOption,
    SinceOption,
    StepOption,
    UntilOption,
)


@command(
    on_interrupt="files that were checked are kept; run the same command again to go on",
    reads=[],
    raw=["sources"],
    servers=["sources"],
    adds_to=["store"],
)
def ingest(
    sources: RawSourcesArgument,
    store: StoreToBuildOption,
    jobs: WorkersOption = None,
    memory: MemoryOption = "4GB",
    cell: CellToTakeOption = "",
    strict: StrictOption = False,
    replace: ReplaceSourcesOption = False,
    stage_only: StageOnlyOption = False,
    rebuild: RebuildOption = False,
    whole: WholeTraceOption = False,
    dialect: TraceFormatOption = "",
    capacity: LargestMachineOption = "",
    time_zone: TimeZoneOption = "",
    own_code: FromOption = None,
    since: SinceOption = "",
    until: UntilOption = "",
    selector: SelectorOption = "",
    step: StepOption = "",
    engine: EngineOption = "duckdb",
    yes: AcceptGuessesOption = False,
    dry_run: ShowPlanOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check raw files row by row, and build a columnar store.

    Partial traces are fine. Ingesting the same files again changes nothing, a killed ingest resumes, and more files
    are merged in. Rejected rows are kept in STORE/quarantine with their reasons.

    A Prometheus server is named by its URL (http:// or https://): by default 14 days are fetched from it, and its
    answers are kept in STORE.answers. For passwords and other options: borgtrace fetch prometheus.

    Your own usage is read too, as CSV, Parquet, JSON and more: borgtrace ingest own.csv --capacity 8cores --store own.
    On a terminal you see what was guessed about its columns, and nothing is stored before you agree. What Python code
    of your own says of a format is kept in the store, which is then read, and added to, without that code.

    Example: borgtrace ingest clusterdata-2011-2 --store cell-2011, or --store /shared/cell --engine spark://host:7077
    """
    from borgtrace.cli.command import is_server
    from borgtrace.cli.console import talk
    from borgtrace.cli.guesses import can_ask, confirm_guess, show_guess
    from borgtrace.cli.ingestion import announce, bars, print_outcome, print_plan
    from borgtrace.cli.live_sources import (
        LiveOptions,
        fetch_all,
        notes_on_missing,
        print_query_plans,
    )
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.errors import SchemaError
    from borgtrace.ingest import IngestOptions, prepare_ingest
    from borgtrace.schema.dialects import DIALECT_KINDS

    own_formats = names_in_own_code(own_code, DIALECT_KINDS)
    options = IngestOptions(
        jobs=jobs,
        memory=memory,
        cell=cell,
        strict=strict,
        replace=replace,
        stage_only=stage_only,
        rebuild=rebuild,
        whole=whole,
        # Code that offers one format is named for it.
        dialect=dialect or (own_formats[0] if len(own_formats) == 1 else ""),
        capacity=capacity,
        time_zone=time_zone,
        engine=engine,
    )
    servers = [source for source in sources if is_server(source)]
    live = LiveOptions(since, until, selector, step)
    if servers and dry_run:
        print_query_plans(servers, store, live, as_json=as_json)
        return
    answers = fetch_all(servers, store, live)
    files = [source for source in sources if not is_server(source)]
    prepared = prepare_ingest(
        [*files, *answers], store, options, notes_on_missing([*files, *answers])
    )
    if dry_run:
        show_guess(prepared.raw_files)
        print_plan(prepared.plan, as_json=as_json)
        return
    confirm_guess(prepared.raw_files, is_accepted=yes)
    announce(prepared.plan)
    with bars() as progress:
        result = prepared.run(progress)
    guesses = prepared.raw_files.guesses if can_ask() else ()
    print_outcome(result, store, [*files, *answers], as_json=as_json, shown_notes=guesses)
    # Faulty files do not stop the others, so the account comes first and the exit code at the end.
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}")
    if result.faults:
        raise Exit(result.faults[0].exit_code)
    # Parts that are only staged wait for others, but a script must see that of these nothing is left.
    if stage_only and result.staged and not any(entry.stored for entry in result.staged):
        raise Exit(SchemaError.exit_code)
