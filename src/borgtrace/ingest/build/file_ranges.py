"""Which rows go to which Parquet file: ranges of collections."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
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
        """Return what the footers of files say."""
        found = footers(paths)
        return cls(
            tuple(paths),
            tuple(one.num_rows for one in found),
            tuple(map(_first_collection, found[1:])),
        )

    def condition(self, number: int) -> str:
        """Return SQL that is true for the collections of a file."""
        return range_condition(self.starts, number)

    def first_row(self, number: int) -> int:
        """Return the number of the first row of a file in the whole table."""
        return sum(self.rows[:number])

    def beside(self, other: SortedFiles, number: int) -> list[Path]:
        """Return those files that may have collections of file `number` of `other`."""
        low, high = (
            other.starts[number - 1 : number] if number else (),
            other.starts[number : number + 1],
        )
        first = bisect_right(self.starts, low[0]) if low else 0
        last = bisect_left(self.starts, high[0]) if high else len(self.starts)
        return list(self.paths[first : last + 1])


def _first_collection(footer: pq.FileMetaData) -> int:
    group = footer.row_group(0)
    columns = (group.column(number) for number in range(group.num_columns))
    return next(int(one.statistics.min) for one in columns if one.path_in_schema == "collection_id")


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
    owner = np.searchsorted(starts, collections, "right")
    touched = set(np.searchsorted(starts, fresh, "right").tolist()) if present else {0}
    for number in range(len(starts) + 1):
        cuts.extend(starts[number - 1 : number] if number else ())
        if number in touched:
            cuts.extend(cut_ranges(collections[owner == number], counts[owner == number], rows))
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


def range_condition(cuts: Sequence[int], number: int) -> str:
    """Return SQL that is true for the collections of file `number`.

    Parameters
    ----------
    cuts
        First collection of each file but the first, ascending.
    number
        Of a file, from 0 to ``len(cuts)``.

    Examples
    --------
    >>> range_condition([5, 9], 1)
    'collection_id >= 5 AND collection_id < 9'
    """
    low = [f"collection_id >= {cuts[number - 1]}"] if number else []
    high = [f"collection_id < {cuts[number]}"] if number < len(cuts) else []
    return " AND ".join(low + high) or "true"
