"""``borgtrace dataset``: chosen traces, split, standardized, in files that learning libraries read."""

from pathlib import Path
from typing import Annotated, Any

from borgtrace.cli._criteria import takes_criteria
from borgtrace.cli._options import Json, Store, argument, flag, option


@takes_criteria
def dataset(
    store: Store,
    out: Annotated[Path | None, argument("OUT", "The folder to create.")] = None,
    *,
    criteria: dict[str, Any],
    min_length: Annotated[int | None, option("N", "Fewest points of a trace; 1, with --compat original 5.")] = None,
    max_length: Annotated[
        int | None, option("N", "Most points of a trace; 0, no limit, with --compat original 50.")
    ] = None,
    min_mean: Annotated[float | None, option("X", "Smallest mean of average_cpu.")] = None,
    gaps: Annotated[str, option("keep|grid|drop", "Gaps in time: keep as they are, put on a grid, or drop.")] = "keep",
    sample: Annotated[int | None, option("N", "Size of a random subset.")] = None,
    split: Annotated[
        str, option("A,B,C", "Training, validation, testing, or names: train=0.8,test=0.2.")
    ] = "0.7,0.1,0.2",
    split_by: Annotated[
        str, option("task|job|user|time", "Never split one of these; job, with --compat original task.")
    ] = "",
    features: Annotated[
        str,
        option(
            "A,B", "Series: numeric usage columns, p0 to p100, duration, elapsed, hour_of_day; .lagN is N points late."
        ),
    ] = "average_cpu",
    static: Annotated[str, option("A,B", "Static features: columns of tasks, and tier.")] = "",
    scale: Annotated[str, option("standard|minmax|none", "How series are scaled.")] = "standard",
    output_format: Annotated[str, option("FORMAT", "Format: tfrecord, parquet or npz.", "--format")] = "tfrecord",
    shards: Annotated[int | None, option("N", "Files per set; by default as its size needs.")] = None,
    gzip: Annotated[bool, flag("--gzip", "Compress (gzip, zstd or deflate, by format).")] = False,
    compat: Annotated[str | None, option("original", "original: as google-cluster-prediction did in 2017.")] = None,
    threads: Annotated[int | None, option("N", "Threads; all cores by default.", min=1)] = None,
    replace: Annotated[bool, flag("--replace", "Replace another dataset in OUT.")] = False,
    histogram: Annotated[bool, flag("--histogram", "Show how long the traces are.")] = False,
    as_json: Json = False,
) -> None:
    """Build a learning dataset: select, split, standardize, shard.

    It writes sharded files, meta.json and README.md. The same options always give the same bytes. What is left out is
    counted in traces and windows, and what training, validation and testing have in common is reported.

    Example: borgtrace dataset STORE traces --sample 1000000 --tier production --format tfrecord --seed 0
    """
    import borgtrace
    from borgtrace.cli import _datasets
    from borgtrace.cli._console import steps
    from borgtrace.datasets import Options, Selection, build
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import parse_words

    # Free text here; Split, Selection and Options refuse what is none of their names, with the option in the message.
    free: Any = {"split_by": split_by or None, "gaps": gaps, "scale": scale, "compat": compat}
    selection = Selection(
        **criteria, min_length=min_length, max_length=max_length, min_mean=min_mean, gaps=free["gaps"], sample=sample
    )
    options = Options(
        selection=selection,
        split=_datasets.split_of(split, free["split_by"]),
        features=parse_words(features),
        statics=parse_words(static),
        scale=free["scale"],
        format=output_format,
        shards=shards,
        is_compressed=gzip,
        seed=criteria["seed"],
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
            built = build(opened, out, options, replace=replace, threads=threads, progress=report)
        _datasets.print_built(built, opened, selection, as_json=as_json)
