"""Which rows go to which Parquet file: ranges of collections."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from borgtrace.engine.stored import footers
from borgtrace.kernels.arrays import Index


@dataclass(frozen=True)
class SortedFiles:
    """The files of a sorted table, in order: each has whole collections, or it is the only one.

    Parameters
    ----------
    paths
        The files.
    rows
        How many each has.
    starts
        First collection of each file but the first.
    """

    paths: tuple[Path, ...] = ()
    rows: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()

    @classmethod
    def of(cls, paths: Sequence[Path]) -> SortedFiles:
        """Return the files with their rows and first collections, from their footers."""
        footers_of_files = footers(paths)
        return cls(
            paths=tuple(paths),
            rows=tuple(footer.num_rows for footer in footers_of_files),
            starts=tuple(_first_collection(footer) for footer in footers_of_files[1:]),
        )

    def range_sql(self, number: int) -> str:
        """Write whether a row is of the collections of a file."""
        return range_sql(self.starts, number)

    def first_row(self, number: int) -> int:
        """Return the number of the first row of a file in the whole table."""
        return sum(self.rows[:number])

    def beside(self, other: SortedFiles, number: int) -> list[Path]:
        """Return those files that may have collections of file `number` of `other`."""
        first_file = 0
        last_file = len(self.starts)
        if number > 0 and other.starts:
            first_file = bisect_right(self.starts, other.starts[number - 1])
        if number < len(other.starts):
            last_file = bisect_left(self.starts, other.starts[number])
        return list(self.paths[first_file : last_file + 1])


def sorted_files(files: Mapping[str, Sequence[Path]]) -> dict[str, SortedFiles]:
    """Return the files of each table with their rows and first collections, from their footers."""
    return {name: SortedFiles.of(paths) for name, paths in files.items()}


def _first_collection(footer: pq.FileMetaData) -> int:
    group = footer.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    collections = next(column for column in columns if column.path_in_schema == "collection_id")
    return int(collections.statistics.min)


def plan_files(
    collections: Index,
    counts: Index,
    rows: int,
    present: Sequence[Path] = (),
    starts: Sequence[int] = (),
    fresh: npt.ArrayLike = (),
) -> tuple[list[int], dict[int, Path]]:
    """Plan the files of a table, where there are some already: those that get no new rows stay, others may be split.

    Parameters
    ----------
    collections
        Distinct collection ids, ascending, shape (n,).
    counts
        Rows of each, old and new, shape (n,).
    rows
        Most rows of a file, see `cut_ranges`.
    present
        Files that there are, in order.
    starts
        First collection of each of these but the first.
    fresh
        Collections that have new rows.

    Returns
    -------
    cuts
        First collection of each file but the first.
    kept
        Present files that stay, by their new number.

    Examples
    --------
    >>> ids, counts = np.array([1, 5, 9]), np.array([3, 3, 3])
    >>> plan_files(ids, counts, 5)
    ([5, 9], {})
    >>> plan_files(ids, counts, 5, [Path("a"), Path("b")], [9], np.array([5]))
    ([5, 9], {2: PosixPath('b')})
    """
    cuts: list[int] = []
    kept: dict[int, Path] = {}
    file_of_collection = np.searchsorted(starts, collections, "right")
    touched = {0}
    if present:
        touched = set(np.searchsorted(starts, fresh, "right").tolist())
    for number in range(len(starts) + 1):
        if number > 0:
            cuts.append(starts[number - 1])
        if number in touched:
            is_here = file_of_collection == number
            cuts.extend(cut_ranges(collections[is_here], counts[is_here], rows))
        else:
            kept[len(cuts)] = present[number]
    return cuts, kept


def cut_ranges(collections: Index, counts: Index, rows: int) -> list[int]:
    """Return the first collection of each file but the first.

    Parameters
    ----------
    collections
        Distinct collection ids, ascending, shape (n,).
    counts
        Rows of each, shape (n,).
    rows
        A file is closed before it would hold more; a collection is never split.

    Examples
    --------
    >>> cut_ranges(np.array([1, 5, 9]), np.array([3, 3, 3]), rows=5)
    [5, 9]
    """
    cuts: list[int] = []
    filled = 0
    for collection, count in zip(collections.tolist(), counts.tolist(), strict=True):
        # `filled and`: a collection larger than a file gets one of its own, and no file stays empty.
        if filled and filled + count > rows:
            cuts.append(collection)
            filled = 0
        filled += count
    return cuts


def bounds_of(cuts: Sequence[int], number: int) -> tuple[int | None, int | None]:
    """Return the first collection of file `number`, and that of the file behind it; None for no bound.

    Parameters
    ----------
    cuts
        First collection of each file but the first, ascending.
    number
        Of a file, from 0 to ``len(cuts)``.

    Examples
    --------
    >>> bounds_of([5, 9], 1), bounds_of([5, 9], 2)
    ((5, 9), (9, None))
    """
    low = int(cuts[number - 1]) if number > 0 else None
    high = int(cuts[number]) if number < len(cuts) else None
    return low, high


def range_sql(cuts: Sequence[int], number: int) -> str:
    """Write whether a row is of the collections of file `number`.

    Parameters
    ----------
    cuts
        First collection of each file but the first, ascending.
    number
        Of a file, from 0 to ``len(cuts)``.

    Examples
    --------
    >>> range_sql([5, 9], 1)
    'collection_id >= 5 AND collection_id < 9'
    """
    return between_sql(*bounds_of(cuts, number))


def between_sql(low: int | None, high: int | None) -> str:
    """Write whether a row is of the collections from `low` to below `high`; None for no bound.

    Examples
    --------
    >>> between_sql(None, 9)
    'collection_id < 9'
    """
    bounds = []
    if low is not None:
        bounds.append(f"collection_id >= {int(low)}")
    if high is not None:
        bounds.append(f"collection_id < {int(high)}")
    return " AND ".join(bounds) or "true"
