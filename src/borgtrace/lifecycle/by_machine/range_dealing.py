"""What a worker does with a range of tasks: deal their rows to buckets, and put the files into the bucket."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from borgtrace.engine import connect, read_table, to_arrow
from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.by_machine.dealing import Dealing, SlotMetrics
from borgtrace.lifecycle.by_machine.neighboring_tasks import NeighboringTasks
from borgtrace.lifecycle.by_machine.terms import KEY
from borgtrace.lifecycle.derived import DERIVED
from borgtrace.schema import TABLES, Dialect
from borgtrace.storage import RemotePath, as_path, scratch_folder, upload
from borgtrace.store.compatibility import unreadable
from borgtrace.store.digest import file_digests
from borgtrace.store.kept_in_bucket import PIECES
from borgtrace.store.traces import find_rows


class RangeOfTasks(NamedTuple):
    """Tasks of whole collections, and where they are.

    Attributes
    ----------
    number
        Of the range.
    first_task, n_windows
        Position of the first task in the store, and windows of all of them.
    usage, tasks, events
        Paths or URLs of the files that have them; those of events have other collections, too.
    """

    number: int
    first_task: int
    n_windows: int
    usage: tuple[str, ...]
    tasks: tuple[str, ...]
    events: tuple[str, ...]


class DealtRange(NamedTuple):
    """What a worker made of a range.

    Attributes
    ----------
    number
        Of the range.
    counts
        What was counted, int64 (`N_COUNTS`,).
    n_terms
        Terms of its tasks.
    digests
        SHA-256 of each file that has rows, by its name.
    """

    number: int
    counts: Index
    n_terms: int
    digests: Mapping[str, str]


@dataclass(frozen=True)
class RangeDealer:
    """Deals one range; a task that runs again writes what it wrote before.

    Attributes
    ----------
    root
        The store, for messages.
    folder
        Where the files go.
    dialect
        Settles equal times.
    memory
        Budget of the engine.
    metrics
        What counts as usage.
    chunk
        Windows that are read at a time.
    n_slots, n_buckets
        Of the whole store.
    """

    root: Path
    folder: RemotePath
    dialect: Dialect
    memory: str
    metrics: SlotMetrics
    chunk: int
    n_slots: int
    n_buckets: int

    def deal(self, tasks: RangeOfTasks) -> DealtRange:
        """Deal a range.

        Raises
        ------
        StoreError
            The store is damaged, or the bucket cannot be read or written to.
        """
        with TemporaryDirectory(dir=scratch_folder()) as name, self._open(tasks) as opened:
            folder = Path(name)
            dealing = Dealing(opened, self.metrics, folder, self.chunk)
            counts = dealing.deal(self.n_slots, self.n_buckets)
            for path in folder.iterdir():
                if not path.stat().st_size:
                    path.unlink()
            digests = file_digests({path.name: path for path in sorted(folder.iterdir())})
            upload(folder, piece_folder(self.folder, tasks.number))
            return DealtRange(tasks.number, counts, len(dealing.terms), digests)

    @contextmanager
    def _open(self, tasks: RangeOfTasks) -> Iterator[NeighboringTasks]:
        backend = connect("duckdb", memory=self.memory, threads=1)
        try:
            index = read_table(backend, TABLES["tasks"], tasks.tasks)
            columns = to_arrow(index.select(*KEY, "n_windows").order_by(KEY))
            collections, instances, n_windows = (
                np.ascontiguousarray(columns[name].to_numpy(), kind)
                for name, kind in zip(columns.column_names, ("i8", "i4", "i8"), strict=True)
            )
            offsets = np.append(0, np.cumsum(n_windows))
            # Compiled code reads what the offsets say, without checking bounds.
            if offsets[-1] != tasks.n_windows or (n_windows < 0).any():
                raise self._damaged_index(f"{offsets[-1]:,} windows for {tasks.n_windows:,}")

            def task_rows(pairs: Index) -> Index:
                rows = find_rows(collections, instances, pairs)
                if (rows < 0).any():
                    collection, instance = pairs[np.argmin(rows)].tolist()
                    raise self._damaged_index(f"no task {collection} {instance}")
                return rows + tasks.first_task

            events = read_table(backend, TABLES["instance_events"], tasks.events)
            if len(collections):
                low = int(collections[0])
                high = int(collections[-1])
                events = events.filter(events.collection_id >= low, events.collection_id <= high)
            read_table(backend, TABLES["instance_usage"], tasks.usage)
            yield NeighboringTasks(
                first=tasks.first_task,
                offsets=offsets,
                task_rows=task_rows,
                events=events,
                attempts=DERIVED["instance_attempts"].build(events, self.dialect),
                stream=lambda query: backend.con.sql(query).to_arrow_reader(self.chunk),
                dialect=self.dialect,
            )
        finally:
            backend.disconnect()

    def _damaged_index(self, got: str) -> Exception:
        return unreadable(as_path(self.root), "the index of tasks is damaged", got)


def piece_folder(folder: RemotePath, number: int) -> RemotePath:
    """Return the folder of the files of a range.

    Parameters
    ----------
    folder
        That of usage by machine.
    number
        Of the range.
    """
    return folder / PIECES / f"{number:05d}"
