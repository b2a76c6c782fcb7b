"""Which usage windows were measured on which machine: the store is sorted by task, and a machine's page is not.

Windows of one task that follow each other on one machine are a run: its first row and its length.  Runs are kept
sorted by machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.kernels.arrays import Index

if TYPE_CHECKING:
    from borgtrace.store import Store

_FILE = "windows.parquet"
_BATCH = 1_000_000
_NOWHERE = -1


class Windows:
    """The runs of usage rows of each machine, read from a pyramid.

    Parameters
    ----------
    folder
        Of the pyramid.
    """

    def __init__(self, folder: Path) -> None:
        self._offsets = np.load(folder / "window_offsets.npy")
        table = pq.read_table(folder / _FILE)
        self._first, self._n = table["first_row"].to_numpy(), table["n"].to_numpy()

    def of(self, place: int) -> Index:
        """Return the usage rows that were measured on a machine, run by run; shape (n,).

        Parameters
        ----------
        place
            Position of the machine among all.
        """
        low, high = self._offsets[place : place + 2]
        first, n = self._first[low:high].astype(np.int64), self._n[low:high].astype(np.int64)
        # Each run counts on from its first row: what lies before it in the answer is taken off.
        before = np.repeat(np.cumsum(n) - n, n)
        return np.repeat(first, n) + np.arange(n.sum()) - before


def write_windows(store: Store, folder: Path, known: Index) -> Index:
    """Write the runs of all machines; return the machines, ascending.

    Parameters
    ----------
    store
        An open store.
    folder
        Where.
    known
        Ids of machines that have a row whether or not anything was measured on them.

    Returns
    -------
    ndarray
        Shape (m,).
    """
    starts, on, n_rows = _runs(store)
    counts = np.diff(np.append(starts, n_rows))
    on, starts, counts = (values[on != _NOWHERE] for values in (on, starts, counts))
    machines = np.union1d(known, on)
    order = np.argsort(on, kind="stable")
    offsets = np.searchsorted(on[order], machines)
    np.save(folder / "window_offsets.npy", np.append(offsets, len(on)))
    # Rows of a store are counted by 32 bits until there are four thousand million of them.
    kind = np.uint32 if n_rows < 2**32 else np.uint64
    runs = {"first_row": starts[order].astype(kind), "n": counts[order].astype(np.uint32)}
    pq.write_table(pa.table(runs), folder / _FILE, compression="zstd", use_dictionary=False)
    return machines


def _runs(store: Store) -> tuple[Index, Index, int]:
    """Return the first row of each run, its machine, and the number of rows."""
    task_starts = np.unique(store.offsets)
    starts: list[Index] = [np.empty(0, np.int64)]
    on: list[Index] = [np.empty(0, np.int64)]
    row, last = 0, _NOWHERE
    for ids in _machine_ids(store):
        begins = np.empty(len(ids), np.bool_)
        begins[0], begins[1:] = ids[0] != last, ids[1:] != ids[:-1]
        low, high = np.searchsorted(task_starts, [row, row + len(ids)])
        begins[task_starts[low:high] - row] = True
        starts.append(np.flatnonzero(begins) + row)
        on.append(ids[begins])
        row, last = row + len(ids), ids[-1]
    return np.concatenate(starts), np.concatenate(on), row


def _machine_ids(store: Store) -> Iterator[Index]:
    """Yield the machine of each usage row in the order of the store, `_NOWHERE` where it names none."""
    for part in store.layout.parts("instance_usage"):
        for batch in pq.ParquetFile(part).iter_batches(_BATCH, columns=["machine_id"]):
            yield batch.column(0).fill_null(_NOWHERE).to_numpy()
