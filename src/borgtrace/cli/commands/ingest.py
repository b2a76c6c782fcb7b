"""``borgtrace ingest``: raw files → a checked store."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_formats
from borgtrace.cli.options import (
    EngineOption,
    JsonOption,
    MemoryOption,
    SelectorOption,
    SinceOption,
    StepOption,
    UntilOption,
)
from borgtrace.schema.bounds import PROCESSES


@command(
    on_interrupt="files that were checked are kept; run the same command again to go on",
    reads=[],
    raw=["sources"],
    servers=["sources"],
    adds_to=["store"],
)
def ingest(
    sources: Annotated[
        list[Path],
        Argument(
            metavar="SRC…",
            help="Raw files, or folders of them; URLs such as s3://bucket/folder, or of a Prometheus server, too.",
        ),
    ],
    store: Annotated[
        Path,
        Option(
            "--store",
            metavar="STORE",
            help="The store to create or to add to; a new one may be a URL such as s3://bucket/store.",
        ),
    ],
    jobs: Annotated[
        int | None,
        PROCESSES,
        Option("--jobs", metavar="N", help="Parallel workers; one per core by default."),
    ] = None,
    memory: MemoryOption = "4GB",
    cell: Annotated[
        str,
        Option(
            "--cell",
            metavar="CELL",
            help="Cell to take: a … h of 2019, or 1 … 8 of the flattened sample.",
        ),
    ] = "",
    strict: Annotated[bool, Option("--strict", help="Fail if any row is rejected.")] = False,
    replace: Annotated[
        bool, Option("--replace", help="Accept sources whose content has changed.")
    ] = False,
    stage_only: Annotated[
        bool, Option("--stage-only", help="Check and stage only; a later ingest sorts.")
    ] = False,
    rebuild: Annotated[
        bool, Option("--rebuild", help="Delete a store of another format version first.")
    ] = False,
    whole: Annotated[
        bool,
        Option("--whole", help="Say that the store holds the whole trace (2019 does not tell)."),
    ] = False,
    dialect: Annotated[
        str,
        Option(
            "--dialect",
            metavar="NAME|FILE.toml",
            help="Trace format: name, file or its URL; by default the files tell.",
            autocompletion=complete_formats,
        ),
    ] = "",
    capacity: Annotated[
        str,
        Option(
            "--capacity",
            metavar="SIZE",
            help="Own data: size of the largest machine, such as 8cores,32GiB.",
        ),
    ] = "",
    time_zone: Annotated[
        str,
        Option(
            "--time-zone",
            metavar="ZONE",
            help="Job logs, own data: zone of times that name none, such as Europe/Berlin; UTC by default.",
        ),
    ] = "",
    since: SinceOption = "",
    until: UntilOption = "",
    selector: SelectorOption = "",
    step: StepOption = "",
    engine: EngineOption = "duckdb",
    yes: Annotated[
        bool,
        Option("--yes", help="Own data: take what was guessed of its columns without a question."),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show tables, columns, disk and time; write nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check raw files row by row, and build a columnar store.

    Partial traces are fine. Ingesting the same files again changes nothing, a killed ingest resumes, and more files
    are merged in. Rejected rows are kept in STORE/quarantine with their reasons.

    The URL of a Prometheus server (http:// or https://) is fetched first, 14 days of it by default: its answers are
    kept in STORE.answers. For passwords and other options: borgtrace fetch prometheus.

    Your own usage is taken too, as CSV, Parquet or JSON lines: borgtrace ingest own.csv --capacity 8cores --store own.
    What was guessed of its columns is shown on a terminal, and asked for before anything is stored.

    Example: borgtrace ingest clusterdata-2011-2 --store cell-2011, or --store /shared/cell --engine spark://host:7077
    """
    from borgtrace.cli.command import is_server
    from borgtrace.cli.console import talk
    from borgtrace.cli.guesses import confirm_guess, show_guess
    from borgtrace.cli.ingestion import announce, bars, print_outcome, print_plan
    from borgtrace.cli.live_sources import (
        LiveOptions,
        fetch_all,
        notes_on_missing,
        print_query_plans,
    )
    from borgtrace.errors import SchemaError
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
    print_outcome(result, store, as_json=as_json)
    # Faulty files do not stop the others, so the account comes first and the exit code at the end.
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}")
    if result.faults:
        raise Exit(result.faults[0].exit_code)
    # Parts that are only staged wait for others, but a script must see that of these nothing is left.
    if stage_only and result.staged and not any(entry.stored for entry in result.staged):
        raise Exit(SchemaError.exit_code)
