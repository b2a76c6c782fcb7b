"""A smaller store that is consistent over its tables."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from borgtrace.engine.embedded import select_sql
from borgtrace.errors import UsageError
from borgtrace.ingest.clustering import cluster, sorting_connection
from borgtrace.ingest.completion import finish
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES
from borgtrace.storage import local, new_folder
from borgtrace.store.integrity import check_unchanged, read_intact
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Cut:
    """What to keep: exactly one of the four.

    Parameters
    ----------
    jobs
        Collections, with everything that belongs to them.
    machines
        All instances that ever were on one of these machines, whole.
    time
        Times in µs, [from, to): usage windows and events that begin there, with the earlier events
        of the instances they belong to, so that every life begins at its beginning.
    fraction
        This share of collections, chosen by the MD5 of seed and id.
    seed
        Chooses another share.

    Machine tables are kept whole (up to the end of ``time``): capacity belongs to the cell.
    """

    jobs: tuple[int, ...] = ()
    machines: tuple[int, ...] = ()
    time: tuple[int, int] | None = None
    fraction: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse none or several of the four, and values that make no sense."""
        given = [bool(self.jobs), bool(self.machines), self.time is not None, self.fraction is not None]
        if sum(given) != 1:
            raise UsageError(
                "subset",
                "choose exactly one selection",
                expected="one of --jobs, --machines, --time, --fraction",
                got=str(sum(given)),
            )
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise UsageError("--fraction", "not a share", expected="0 < F ≤ 1", got=str(self.fraction))
        if self.time is not None and self.time[0] >= self.time[1]:
            raise UsageError(
                "--time",
                "the end is not after the start",
                expected="A..B with A < B",
                got=f"{self.time[0]}..{self.time[1]}",
            )


def subset(
    store: str | Path,
    out: str | Path,
    cut: Cut,
    *,
    memory: str = "4GB",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Copy part of a store into a new one.

    Parameters
    ----------
    store, out
        Folders of the store and of the new one.
    cut
        What to keep.
    memory, threads
        Budget of the sort.
    progress
        Told what is being done.

    Raises
    ------
    UsageError
        When nothing is left, or `out` holds something.
    StoreError
        When `store` is not a finished store, or a file of it has changed since it was written.
    """
    held = read_intact(Path(store))
    with new_folder(local(out)) as work:
        spill = Layout(work).spill
        with sorting_connection(memory, threads, spill) as connection:
            manifest = _copy(connection, Layout(Path(store)), held, cut, work, progress or Progress())
        shutil.rmtree(spill, ignore_errors=True)
        manifest.write(Layout(work).manifest)
    return manifest


def _copy(
    connection: duckdb.DuckDBPyConnection, source: Layout, held: Manifest, cut: Cut, work: Path, progress: Progress
) -> Manifest:
    paths = {name: source.parts(name) for name in TRACE_TABLES}
    check_unchanged(source, held, [path for parts in paths.values() for path in parts])
    _choose(connection, paths, cut)
    files: dict[str, list[Path]] = {}
    for name in TRACE_TABLES:
        # A store of an earlier version may lack a table.
        rows = held.tables.get(name, 0)
        progress.begin(f"copy {name}", rows, "rows")
        if paths[name]:
            relation = f"SELECT * FROM {_read(name, paths)} AS t WHERE {_condition(name, cut)}"
            cluster(connection, TABLES[name], relation, work / name)
        progress.advance(f"copy {name}", rows)
        files[name] = sorted((work / name).glob("part-*.parquet"))
    done = finish(connection, files, held.dialect, work, progress)
    # Known only now, and harmless: `new_folder` removes what was written when the block fails.
    if not done["tables"]["tasks"] and not done["tables"]["collection_events"]:
        raise _nothing_left()
    return replace(
        held,
        # The ledger speaks of whole files, of which a subset has parts: conservation would not hold.
        sources=(),
        notes=(*held.notes, f"subset of {held.digest} by {_describe(cut)}"),
        **done,
    )


def _choose(connection: duckdb.DuckDBPyConnection, paths: Mapping[str, Sequence[Path]], cut: Cut) -> None:
    """Make the table ``chosen`` of (collection_id, instance_index), or of collection_id alone."""
    names = ("collection_events", "instance_events", "instance_usage")
    # Collections without instances count where whole collections are chosen; else a choice is one of instances.
    queries = [
        f"SELECT {_key(cut)} FROM {_read(name, paths)} WHERE {_is_chosen(name, cut)}"
        for name in (names if _by_collection(cut) else names[1:])
        if paths[name]
    ]
    # A store of machine tables alone has nothing to choose from.
    if not queries:
        raise _nothing_left()
    connection.execute(f"CREATE TEMP TABLE chosen AS {' UNION '.join(queries)}")


def _nothing_left() -> UsageError:
    return UsageError("subset", "nothing is left", way_out="see what the store holds: borgtrace info STORE")


def _by_collection(cut: Cut) -> bool:
    return bool(cut.jobs) or cut.fraction is not None


def _key(cut: Cut) -> str:
    return "collection_id" if _by_collection(cut) else "collection_id, instance_index"


def _is_chosen(name: str, cut: Cut) -> str:
    if cut.jobs:
        return f"collection_id IN ({', '.join(map(str, cut.jobs))})"
    if cut.machines:
        return f"machine_id IN ({', '.join(map(str, cut.machines))})"
    if cut.time:
        return f"{_time_of(name)} >= {cut.time[0]} AND {_time_of(name)} < {cut.time[1]}"
    # MD5 of seed and id as a number in [0, 1): the same collections on any machine, whatever the order.
    return f"md5_number_lower('{cut.seed}:' || collection_id) / {2**64}.0 < {cut.fraction}"


def _time_of(name: str) -> str:
    return "time" if "time" in TABLES[name].names else "start_time"


def _condition(name: str, cut: Cut) -> str:
    """SQL that is true for the rows of a table that belong to what was chosen."""
    # Machine tables and events before the time stay: without them a state at its start would be unknown.
    until = f"{_time_of(name)} < {cut.time[1]}" if cut.time else "true"
    if TABLES[name].is_about_machines:
        return until
    # Usage needs no earlier rows: a window says all it says by itself.
    if name == "instance_usage" and cut.time:
        until = _is_chosen(name, cut)
    key = _key(cut) if "instance_index" in TABLES[name].names else "collection_id"
    return f"{until} AND ({key}) IN (SELECT {key} FROM chosen)"


def _describe(cut: Cut) -> str:
    if cut.jobs:
        return f"{len(cut.jobs)} jobs"
    if cut.machines:
        return f"{len(cut.machines)} machines"
    if cut.time:
        return f"time {cut.time[0]}..{cut.time[1]}"
    return f"fraction {cut.fraction}, seed {cut.seed}"


def _read(name: str, paths: Mapping[str, Sequence[Path]]) -> str:
    return f"({select_sql(TABLES[name], paths[name])})"
