"""``borgtrace subset``: part of a store."""

from typing import Annotated

from borgtrace.cli._options import Json, Memory, NewFolder, Seed, Store, TimeRange, option


def subset(
    store: Store,
    out: NewFolder,
    jobs: Annotated[str, option("N,N-M", "Job ids and ranges of them.")] = "",
    machines: Annotated[str, option("N,N-M", "Machine ids and ranges of them.")] = "",
    time: TimeRange = "",
    fraction: Annotated[float | None, option("F", "Share of the collections, chosen by hash.")] = None,
    seed: Seed = 0,
    memory: Memory = "4GB",
    as_json: Json = False,
) -> None:
    """Copy part of a store into a new, consistent store.

    Choose by one of --jobs, --machines, --time and --fraction. Machine tables are copied whole, because capacity
    belongs to the cell. With --time, tasks that are alive in the range keep their earlier events.

    Example: borgtrace subset cell-2011 day-2 --time 24h..48h
    """
    from borgtrace.cli._ingestion import bars
    from borgtrace.ingest.subset import Cut
    from borgtrace.ingest.subset import subset as run
    from borgtrace.schema.ranges import list_numbers
    from borgtrace.schema.time import parse_span

    # Options are read before the store is opened.
    span = parse_span(time, "--time") if time else None
    cut = Cut(list_numbers(jobs, "--jobs"), list_numbers(machines, "--machines"), span, fraction, seed)
    with bars() as progress:
        manifest = run(store, out, cut, memory=memory, progress=progress)
    if as_json:
        print(manifest.to_json(), end="")
        return
    for name, rows in manifest.tables.items():
        print(f"{name}: {rows:,} rows")
    print(f"digest {manifest.digest}")
