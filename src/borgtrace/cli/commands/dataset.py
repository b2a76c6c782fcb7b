"""``borgtrace dataset``: chosen traces, split, standardized, in files that learning libraries read."""

from dataclasses import asdict
from typing import Any

from borgtrace.cli.command import command
from borgtrace.cli.dataset_options import (
    DatasetFormatOption,
    FeaturesOption,
    GapsOption,
    GzipOption,
    HistogramOption,
    MaxLengthOption,
    MinLengthOption,
    MinMeanOption,
    NewDatasetArgument,
    OriginalOption,
    ReplaceDatasetOption,
    SampledTracesOption,
    ScaleOption,
    ShardsOption,
    SplitByOption,
    SplitOption,
    StaticFeaturesOption,
    ThreadsOption,
    TracesOfOption,
)
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import (
    CreatorOption,
    EndTypeOption,
    EngineOption,
    FractionOption,
    JobsOption,
    JsonOption,
    MachinesOption,
    MemoryOption,
    PriorityOption,
    PublisherOption,
    SchedulingClassOption,
    SeedOption,
    StoreArgument,
    TierOption,
    TimeOption,
    UserOption,
    WhereOption,
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
    "replace",
    "as_json",
    "creators",
)


@command(
    effects=[
        NoEffectWithout(["out"], OF_WHAT_IS_WRITTEN),
        NoEffectWithout(["creators"], ["publisher"]),
    ]
)
def dataset(
    *,
    store: StoreArgument,
    out: NewDatasetArgument = None,
    min_length: MinLengthOption = None,
    max_length: MaxLengthOption = None,
    min_mean: MinMeanOption = None,
    gaps: GapsOption = "keep",
    instances: TracesOfOption = "tasks",
    sample: SampledTracesOption = None,
    split: SplitOption = "0.7,0.1,0.2",
    split_by: SplitByOption = "",
    features: FeaturesOption = "average_cpu",
    static: StaticFeaturesOption = "",
    scale: ScaleOption = "standard",
    output_format: DatasetFormatOption = "tfrecord",
    shards: ShardsOption = None,
    gzip: GzipOption = False,
    compat: OriginalOption = None,
    threads: ThreadsOption = None,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    replace: ReplaceDatasetOption = False,
    histogram: HistogramOption = False,
    creators: CreatorOption = None,
    publisher: PublisherOption = "",
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
    from borgtrace import datasets
    from borgtrace.cli.citation import check_creators, write_citation
    from borgtrace.cli.console import steps
    from borgtrace.cli.criteria import parse_criteria
    from borgtrace.cli.datasets import lines_of_lengths, print_built, split_of
    from borgtrace.datasets import DatasetOptions, Selection, build
    from borgtrace.engine import tasks_on
    from borgtrace.errors import UsageError, shell_word
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
    check_creators(creators or ())
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
            "OUT",
            "no folder named",
            way_out=f"borgtrace dataset {shell_word(store)} OUT, or --histogram",
        )
    opened = borgtrace.open(store, memory=memory)
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
        if creators:
            write_citation(out, datasets.open(out).datacite, creators, publisher)
        print_built(built, opened, selection, as_json=as_json)
