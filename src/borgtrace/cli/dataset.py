"""``borgtrace dataset``: chosen traces, divided, standardized, in files that learning libraries read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def dataset(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    out: Annotated[Path | None, typer.Argument(help="Folder to create.", metavar="OUT")] = None,
    min_length: Annotated[int, typer.Option(help="Fewest points of a trace.", metavar="N")] = 5,
    max_length: Annotated[int, typer.Option(help="Most points of a trace; 0: no bound.", metavar="N")] = 50,
    tier: Annotated[str, typer.Option(help="Tiers, such as production,beb.", metavar="A,B")] = "",
    priority: Annotated[str, typer.Option(help="Priorities, such as 0,9-11.", metavar="N,M")] = "",
    scheduling_class: Annotated[str, typer.Option("--class", help="Scheduling classes, 0 to 3.", metavar="N,M")] = "",
    user: Annotated[str, typer.Option(help="Users (hashes).", metavar="A,B")] = "",
    end_type: Annotated[str, typer.Option(help="How tasks ended, such as FINISH,KILL.", metavar="A,B")] = "",
    time: Annotated[
        str, typer.Option(help="All windows inside A..B of the trace's clock: 600s..24h.", metavar="A..B")
    ] = "",
    min_mean: Annotated[float | None, typer.Option(help="Smallest mean of average_cpu.", metavar="X")] = None,
    gaps: Annotated[
        str, typer.Option(help="Holes in time: keep as they come, put on a grid, or drop.", metavar="keep|grid|drop")
    ] = "keep",
    where: Annotated[str | None, typer.Option(help="Any SQL predicate over tasks.", metavar="SQL")] = None,
    sample: Annotated[int | None, typer.Option(help="Size of the random subset.", metavar="N")] = None,
    split: Annotated[str, typer.Option(help="Training, validation, testing.", metavar="A,B,C")] = "0.7,0.1,0.2",
    split_by: Annotated[str, typer.Option(help="What must not be torn apart.", metavar="task|job|user|time")] = "task",
    features: Annotated[
        str, typer.Option(help="Series: numeric usage columns, duration, elapsed.", metavar="A,B")
    ] = "average_cpu",
    static: Annotated[str, typer.Option(help="Columns of tasks, and tier.", metavar="A,B")] = "",
    scale: Annotated[str, typer.Option(help="How series are scaled.", metavar="standard|minmax|none")] = "standard",
    output_format: Annotated[
        str, typer.Option("--format", help="Format of the files.", metavar="tfrecord|parquet|npz")
    ] = "tfrecord",
    shards: Annotated[
        int | None, typer.Option(help="Files of each set; by its size if not given.", metavar="N")
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress (gzip, zstd, deflate).")] = False,
    seed: Annotated[int, typer.Option(help="Seed of order, subset and split.", metavar="N")] = 0,
    compat: Annotated[
        str | None, typer.Option(help="original: as google-cluster-prediction did in 2017.", metavar="original")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores if not given.", min=1, metavar="N")] = None,
    histogram: Annotated[bool, typer.Option("--histogram", help="Plot the lengths of the traces.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Build a learning dataset: select, split, standardize, write sharded files and meta.json.

    The same options give the same bytes; what training, validation and testing share is always told.

    Example: borgtrace dataset STORE traces --sample 1000000 --split-by job --format tfrecord --seed 0
    """
    import borgtrace
    from borgtrace.cli import _datasets as line
    from borgtrace.datasets import Options, Selection, Split, build
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import list_numbers, parse_words
    from borgtrace.schema.time import parse_span

    free: Any = {"split_by": split_by, "gaps": gaps, "scale": scale, "compat": compat}
    selection = Selection(
        min_length=min_length,
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
        split=Split(line.fractions(split), free["split_by"]),
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
        talk = line.talking()
        with line.progress(talk) as report:
            built = build(opened, out, options, threads=threads, progress=report)
        line.say_built(built, talk, as_json=as_json)
