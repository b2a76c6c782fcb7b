"""``borgtrace dataset``: chosen traces, split, standardized, in files that learning libraries read."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_columns
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import (
    EndTypeOption,
    EngineOption,
    FractionOption,
    JobsOption,
    JsonOption,
    MachinesOption,
    MemoryOption,
    PriorityOption,
    SchedulingClassOption,
    SeedOption,
    StoreArgument,
    TierOption,
    TimeOption,
    UserOption,
    WhereOption,
)
from borgtrace.schema.bounds import (
    LENGTH_OR_ALL,
    MEAN_CPU,
    PROCESSES,
    SAMPLE_SIZE,
    SHARDS,
    TRACE_LENGTH,
)

OF_WHAT_IS_WRITTEN = (
    "split",
    "split_by",
    "features",
    "static",
    "scale",
    "output_format",
    "shards",
    "gzip",
    "threads",
    "engine",
    "memory",
    "replace",
    "as_json",
)


@command(effects=[NoEffectWithout(["out"], OF_WHAT_IS_WRITTEN)])
def dataset(
    *,
    store: StoreArgument,
    out: Annotated[Path | None, Argument(metavar="OUT", help="The folder to create.")] = None,
    min_length: Annotated[
        int | None,
        TRACE_LENGTH,
        Option(
            "--min-length",
            metavar="N",
            help="Fewest points of a trace; 1, with --compat original 5.",
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        LENGTH_OR_ALL,
        Option(
            "--max-length",
            metavar="N",
            help="Most points of a trace; 0, no limit, with --compat original 50.",
        ),
    ] = None,
    min_mean: Annotated[
        float | None,
        MEAN_CPU,
        Option("--min-mean", metavar="X", help="Smallest mean of average_cpu."),
    ] = None,
    gaps: Annotated[
        str,
        Option(
            "--gaps",
            metavar="keep|grid|drop",
            help="Gaps in time: keep as they are, put on a grid, or drop.",
        ),
    ] = "keep",
    instances: Annotated[
        str,
        Option(
            "--instances",
            metavar="tasks|allocs",
            help="Traces of tasks, or of alloc instances with all that runs in them.",
        ),
    ] = "tasks",
    sample: Annotated[
        int | None,
        SAMPLE_SIZE,
        Option("--sample", metavar="N", help="Size of a random subset."),
    ] = None,
    split: Annotated[
        str,
        Option(
            "--split",
            metavar="A,B,C",
            help="Training, validation, testing, or names: train=0.8,test=0.2.",
        ),
    ] = "0.7,0.1,0.2",
    split_by: Annotated[
        str,
        Option(
            "--split-by",
            metavar="task|job|user|time",
            help="Never split one of these; job, with --compat original task.",
        ),
    ] = "",
    features: Annotated[
        str,
        Option(
            "--features",
            metavar="A,B",
            help="Series: numeric usage columns, p0 to p100, duration, elapsed, hour_of_day; .lagN is N points late.",
            autocompletion=complete_columns,
        ),
    ] = "average_cpu",
    static: Annotated[
        str, Option("--static", metavar="A,B", help="Static features: columns of tasks, and tier.")
    ] = "",
    scale: Annotated[
        str, Option("--scale", metavar="standard|minmax|none", help="How series are scaled.")
    ] = "standard",
    output_format: Annotated[
        str, Option("--format", metavar="FORMAT", help="Format: tfrecord, parquet or npz.")
    ] = "tfrecord",
    shards: Annotated[
        int | None,
        SHARDS,
        Option("--shards", metavar="N", help="Files per set; by default as its size needs."),
    ] = None,
    gzip: Annotated[
        bool, Option("--gzip", help="Compress (gzip, zstd or deflate, by format).")
    ] = False,
    compat: Annotated[
        str | None,
        Option(
            "--compat",
            metavar="original",
            help="original: as google-cluster-prediction did in 2017.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        PROCESSES,
        Option("--threads", metavar="N", help="Threads; all cores by default."),
    ] = None,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    replace: Annotated[bool, Option("--replace", help="Replace another dataset in OUT.")] = False,
    histogram: Annotated[bool, Option("--histogram", help="Show how long the traces are.")] = False,
    as_json: JsonOption = False,
    jobs: JobsOption = "",
    machines: MachinesOption = "",
    time: TimeOption = "",
    tier: TierOption = "",
    priority: PriorityOption = "",
    scheduling_class: SchedulingClassOption = "",
    user: UserOption = "",
    end_type: EndTypeOption = "",
    where: WhereOption = "",
    fraction: FractionOption = None,
    seed: SeedOption = 0,
) -> None:
    """Build a learning dataset: select, split, scale, shard.

    It writes sharded files, meta.json and README.md. The same options always give the same bytes. What is left out is
    counted in traces and windows, and what training, validation and testing have in common is reported.

    Example: borgtrace dataset STORE traces --sample 1000000 --tier production --format tfrecord --seed 0
    """
    import borgtrace
    from borgtrace.cli.console import steps
    from borgtrace.cli.criteria import parse_criteria
    from borgtrace.cli.datasets import lines_of_lengths, print_built, split_of
    from borgtrace.datasets import DatasetOptions, Selection, build
    from borgtrace.engine import tasks_on
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import parse_words

    # Free text here; Split, Selection and DatasetOptions refuse unknown names, with the option in the message.
    free: Any = {
        "split_by": split_by or None,
        "gaps": gaps,
        "instances": instances,
        "scale": scale,
        "compat": compat,
    }
    criteria = parse_criteria(
        store,
        jobs=jobs,
        machines=machines,
        time=time,
        tier=tier,
        priority=priority,
        scheduling_class=scheduling_class,
        user=user,
        end_type=end_type,
        where=where,
        fraction=fraction,
        seed=seed,
    )
    selection = Selection(
        **asdict(criteria),
        min_length=min_length,
        max_length=max_length,
        min_mean=min_mean,
        gaps=free["gaps"],
        sample=sample,
        instances=free["instances"],
    )
    options = DatasetOptions(
        selection=selection,
        split=split_of(split, free["split_by"]),
        features=parse_words(features),
        static=parse_words(static),
        scale=free["scale"],
        format=output_format,
        shards=shards,
        gzip=gzip,
        seed=seed,
        compat=free["compat"],
    )
    if out is None and not histogram:
        raise UsageError(
            "OUT", "no folder named", way_out="borgtrace dataset STORE OUT, or --histogram"
        )
    opened = borgtrace.open(store)
    if histogram:
        print("\n".join(lines_of_lengths(opened, selection)))
    if out is not None:
        with steps() as report:
            workers = tasks_on(engine, memory) or threads
            built = build(
                opened,
                out,
                options,
                replace=replace,
                threads=workers,
                progress=report,
            )
        print_built(built, opened, selection, as_json=as_json)
