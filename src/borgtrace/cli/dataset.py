"""``borgtrace dataset``: chosen traces, split, standardized, in files that learning libraries read."""

from pathlib import Path
from typing import Annotated, Any

from borgtrace.cli._options import Json, Seed, Store, TimeRange, argument, flag, option


def dataset(
    store: Store,
    out: Annotated[Path | None, argument("OUT", "The folder to create.")] = None,
    min_length: Annotated[int, option("N", "Fewest points of a trace.")] = 5,
    max_length: Annotated[int, option("N", "Most points of a trace; 0: unlimited.")] = 50,
    tier: Annotated[str, option("A,B", "Tiers, such as production,beb.")] = "",
    priority: Annotated[str, option("N,N-M", "Priorities, such as 0,9-11.")] = "",
    scheduling_class: Annotated[str, option("N,N-M", "Scheduling classes, 0 to 3.", "--class")] = "",
    user: Annotated[str, option("A,B", "Users (hashes).")] = "",
    end_type: Annotated[str, option("A,B", "How tasks ended, such as FINISH,KILL.")] = "",
    time: TimeRange = "",
    min_mean: Annotated[float | None, option("X", "Smallest mean of average_cpu.")] = None,
    gaps: Annotated[str, option("keep|grid|drop", "Gaps in time: keep as they are, put on a grid, or drop.")] = "keep",
    where: Annotated[str | None, option("SQL", "SQL predicate that selects tasks.")] = None,
    sample: Annotated[int | None, option("N", "Size of a random subset.")] = None,
    split: Annotated[str, option("A,B,C", "Training, validation, testing.")] = "0.7,0.1,0.2",
    split_by: Annotated[
        str, option("task|job|user|time", "Keep each of these in one set, so that it is never split.")
    ] = "task",
    features: Annotated[str, option("A,B", "Series: numeric usage columns, duration, elapsed.")] = "average_cpu",
    static: Annotated[str, option("A,B", "Static features: columns of tasks, and tier.")] = "",
    scale: Annotated[str, option("standard|minmax|none", "How series are scaled.")] = "standard",
    output_format: Annotated[str, option("FORMAT", "Format: tfrecord, parquet or npz.", "--format")] = "tfrecord",
    shards: Annotated[int | None, option("N", "Files per set; by default as its size needs.")] = None,
    gzip: Annotated[bool, flag("--gzip", "Compress (gzip, zstd or deflate, by format).")] = False,
    seed: Seed = 0,
    compat: Annotated[str | None, option("original", "original: as google-cluster-prediction did in 2017.")] = None,
    threads: Annotated[int | None, option("N", "Threads; all cores by default.", min=1)] = None,
    histogram: Annotated[bool, flag("--histogram", "Show how long the traces are.")] = False,
    as_json: Json = False,
) -> None:
    """Build a learning dataset: select, split, standardize, shard.

    It writes sharded files and meta.json. The same options always give the same bytes. What training, validation and
    testing have in common is reported.

    Example: borgtrace dataset STORE traces --sample 1000000 --split-by job --format tfrecord --seed 0
    """
    import borgtrace
    from borgtrace.cli import _datasets
    from borgtrace.cli._console import steps
    from borgtrace.datasets import Options, Selection, Split, build
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import list_numbers, parse_words
    from borgtrace.schema.time import parse_span

    # Free text here; Split, Selection and Options refuse what is none of their names, with the option in the message.
    free: Any = {"split_by": split_by, "gaps": gaps, "scale": scale, "compat": compat}
    selection = Selection(
        min_length=min_length,
        # 0 stands for no limit, since an option cannot be left empty.
        max_length=max_length or None,
        tiers=parse_words(tier),
        priorities=list_numbers(priority, "--priority"),
        scheduling_classes=list_numbers(scheduling_class, "--class"),
        users=parse_words(user),
        end_types=parse_words(end_type),
        time=parse_span(time, "--time") if time else None,
        min_mean=min_mean,
        gaps=free["gaps"],
        where=where,
        sample=sample,
    )
    options = Options(
        selection=selection,
        split=Split(_datasets.fractions(split), free["split_by"]),
        features=parse_words(features),
        statics=parse_words(static),
        scale=free["scale"],
        format=output_format,
        shards=shards,
        is_compressed=gzip,
        seed=seed,
        compat=free["compat"],
    )
    if out is None and not histogram:
        raise UsageError("OUT", "no folder named", way_out="borgtrace dataset STORE OUT, or --histogram")
    opened = borgtrace.open(store)
    if histogram:
        from borgtrace.datasets import histogram as lengths

        print("\n".join(lengths.drawn(lengths.lengths(opened, selection))))
    if out is not None:
        with steps() as report:
            built = build(opened, out, options, threads=threads, progress=report)
        _datasets.print_built(built, as_json=as_json)
