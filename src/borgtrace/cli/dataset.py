"""``borgtrace dataset``: chosen traces, split, standardized, in files that learning libraries read."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from borgtrace.cli._options import Json, Seed, Store, TimeRange


def dataset(
    store: Store,
    out: Annotated[Path | None, Argument(help="The folder to create.", metavar="OUT")] = None,
    min_length: Annotated[int, Option(help="Fewest points of a trace.", metavar="N")] = 5,
    max_length: Annotated[int, Option(help="Most points of a trace; 0: unlimited.", metavar="N")] = 50,
    tier: Annotated[str, Option(help="Tiers, such as production,beb.", metavar="A,B")] = "",
    priority: Annotated[str, Option(help="Priorities, such as 0,9-11.", metavar="N,N-M")] = "",
    scheduling_class: Annotated[str, Option("--class", help="Scheduling classes, 0 to 3.", metavar="N,N-M")] = "",
    user: Annotated[str, Option(help="Users (hashes).", metavar="A,B")] = "",
    end_type: Annotated[str, Option(help="How tasks ended, such as FINISH,KILL.", metavar="A,B")] = "",
    time: TimeRange = "",
    min_mean: Annotated[float | None, Option(help="Smallest mean of average_cpu.", metavar="X")] = None,
    gaps: Annotated[
        str, Option(help="Gaps in time: keep as they are, put on a grid, or drop.", metavar="keep|grid|drop")
    ] = "keep",
    where: Annotated[str | None, Option(help="SQL predicate that selects tasks.", metavar="SQL")] = None,
    sample: Annotated[int | None, Option(help="Size of a random subset.", metavar="N")] = None,
    split: Annotated[str, Option(help="Training, validation, testing.", metavar="A,B,C")] = "0.7,0.1,0.2",
    split_by: Annotated[
        str, Option(help="Keep each of these in one set, so that it is never split.", metavar="task|job|user|time")
    ] = "task",
    features: Annotated[
        str, Option(help="Series: numeric usage columns, duration, elapsed.", metavar="A,B")
    ] = "average_cpu",
    static: Annotated[str, Option(help="Static features: columns of tasks, and tier.", metavar="A,B")] = "",
    scale: Annotated[str, Option(help="How series are scaled.", metavar="standard|minmax|none")] = "standard",
    output_format: Annotated[
        str, Option("--format", help="Format of the files, such as tfrecord, parquet or npz.", metavar="FORMAT")
    ] = "tfrecord",
    shards: Annotated[int | None, Option(help="Files per set; by default as its size needs.", metavar="N")] = None,
    gzip: Annotated[bool, Option("--gzip", help="Compress (gzip, zstd or deflate, by format).")] = False,
    seed: Seed = 0,
    compat: Annotated[
        str | None, Option(help="original: as google-cluster-prediction did in 2017.", metavar="original")
    ] = None,
    threads: Annotated[int | None, Option(help="Threads; all cores by default.", min=1, metavar="N")] = None,
    histogram: Annotated[bool, Option("--histogram", help="Show how long the traces are.")] = False,
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
