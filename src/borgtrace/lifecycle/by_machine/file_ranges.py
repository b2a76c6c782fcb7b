"""Ranges of a store's tasks by its files, and what a worker that reads their footers says of them."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from borgtrace.engine.stored import footers
from borgtrace.errors import StoreError
from borgtrace.lifecycle.by_machine.slots import last_end
from borgtrace.storage import as_path
from borgtrace.store import Store
from borgtrace.store.columns import column_blocks
from borgtrace.store.compatibility import unreadable

_KEY = "collection_id"
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class CollectionSpan(NamedTuple):
    """Ids of collections: the first, and the last."""

    first: int
    last: int

    def meets(self, other: "CollectionSpan") -> bool:
        """Return whether two spans may have a collection in common."""
        return self.first <= other.last and other.first <= self.last


class RangeFiles(NamedTuple):
    """Files of whole collections, by their paths or URLs.

    Attributes
    ----------
    usage, tasks
        Files of ``instance_usage``, and those of ``tasks`` with the same tasks.
    events
        Files of ``instance_events``: those that are measured with them, whatever collections they have.
    """

    usage: tuple[str, ...]
    tasks: tuple[str, ...]
    events: tuple[str, ...]


class RangeFacts(NamedTuple):
    """What is known of the files of a range.

    Attributes
    ----------
    n_windows, n_tasks
        Their rows.
    last_end
        Last end of a window that is known, s.
    collections
        Those of the tasks.
    of_events
        Those of each file of events.
    """

    n_windows: int
    n_tasks: int
    last_end: int
    collections: CollectionSpan
    of_events: tuple[CollectionSpan, ...]


def ranges_of(store: Store) -> list[RangeFiles]:
    """Return the ranges of a store that has usage.

    Each file of usage has whole collections, and a file of tasks beside it.  Where another version of this package
    wrote the store in another way, all of it is one range.
    """
    usage, tasks, events = (
        [str(path) for path in store.layout.parts(name)]
        for name in ("instance_usage", "tasks", "instance_events")
    )
    if len(usage) != len(tasks):
        return [RangeFiles(tuple(usage), tuple(tasks), tuple(events))]
    n = len(usage)
    return [RangeFiles((usage[k],), (tasks[k],), tuple(events[k::n])) for k in range(n)]


def measure_range(files: RangeFiles) -> RangeFacts:
    """Read the footers of a range, and the times of its windows.

    Parameters
    ----------
    files
        Of the range.
    """
    usage = [as_path(path) for path in files.usage]
    times = zip(column_blocks(usage, "start_time"), column_blocks(usage, "duration"), strict=True)
    end = last_end((starts, seconds) for (_, starts), (_, seconds) in times)
    of_tasks = _footers(files.tasks)
    return RangeFacts(
        n_windows=sum(footer.num_rows for footer in _footers(files.usage)),
        n_tasks=sum(footer.num_rows for footer in of_tasks),
        last_end=end,
        collections=_span_of(of_tasks),
        of_events=tuple(_span_of([footer]) for footer in _footers(files.events)),
    )


def check_order(store: Store, facts: Iterable[RangeFacts]) -> None:
    """Refuse ranges that are not one after the other.

    Raises
    ------
    StoreError
        A collection is in two of them.
    """
    last = _LEAST
    for of_range in facts:
        if of_range.n_tasks and of_range.collections.first <= last:
            raise _damaged_index(store, f"collection {of_range.collections.first} in two files")
        last = max(last, of_range.collections.last)


def _damaged_index(store: Store, got: str) -> StoreError:
    return unreadable(store.path, "the index of tasks is damaged", got)


def _footers(paths: Iterable[str]) -> list[pq.FileMetaData]:
    return footers(as_path(path) for path in paths)


def _span_of(footers_of_files: Iterable[pq.FileMetaData]) -> CollectionSpan:
    """Return the first and the last collection of files by their statistics; all where a file has none."""
    least = _MOST
    most = _LEAST
    for footer in footers_of_files:
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            columns = [group.column(place) for place in range(group.num_columns)]
            (key,) = [column for column in columns if column.path_in_schema == _KEY]
            statistics = key.statistics
            if statistics is None or not statistics.has_min_max:
                return CollectionSpan(_LEAST, _MOST)
            least = min(least, statistics.min)
            most = max(most, statistics.max)
    return CollectionSpan(least, most)
