"""``borgtrace dataset``: chosen traces, split, standardized, in files that learning libraries read."""

from pathlib import Path
from typing import Any

from borgtrace.cli._criteria import takes_criteria


@takes_criteria
def dataset(
    store: Path,
    out: Path | None = None,
    *,
    criteria: dict[str, Any],
    min_length: int | None = None,
    max_length: int | None = None,
    min_mean: float | None = None,
    gaps: str = "keep",
    sample: int | None = None,
    split: str = "0.7,0.1,0.2",
    split_by: str = "",
    features: str = "average_cpu",
    static: str = "",
    scale: str = "standard",
    output_format: str = "tfrecord",
    shards: int | None = None,
    gzip: bool = False,
    compat: str | None = None,
    threads: int | None = None,
    engine: str = "duckdb",
    memory: str = "4GB",
    replace: bool = False,
    histogram: bool = False,
    as_json: bool = False,
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
    from borgtrace.engine import tasks_on
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import parse_words

    # Free text here; Split, Selection and Options refuse what is none of their names, with the option in the message.
    free: Any = {"split_by": split_by or None, "gaps": gaps, "scale": scale, "compat": compat}
    selection = Selection(
        **criteria,
        min_length=min_length,
        max_length=max_length,
        min_mean=min_mean,
        gaps=free["gaps"],
        sample=sample,
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
        raise UsageError(
            "OUT", "no folder named", way_out="borgtrace dataset STORE OUT, or --histogram"
        )
    opened = borgtrace.open(store)
    if histogram:
        from borgtrace.datasets import histogram as lengths

        print("\n".join(lengths.drawn(lengths.lengths(opened, selection))))
    if out is not None:
        with steps() as report:
            workers = tasks_on(engine, memory) or threads
            built = build(opened, out, options, replace=replace, threads=workers, progress=report)
        _datasets.print_built(built, opened, selection, as_json=as_json)
