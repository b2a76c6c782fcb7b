"""Usage windows by machine: the store is sorted by task, and the page of a machine needs them by machine.

Windows of one task that follow each other on one machine are a run: its first row and its length.  Runs are kept
sorted by machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.kernels.arrays import Index

if TYPE_CHECKING:
    from borgtrace.store import Store

RUNS_FILE = "windows.parquet"
OFFSETS_FILE = "window_offsets.npy"
BATCH_ROWS = 1_000_000
NOWHERE = -1
"""Stands for the machine of a row that names none."""


class WindowFiles:
    """The runs of usage rows of each machine, read from a pyramid.

    Parameters
    ----------
    folder
        Of the pyramid.
    """

    def __init__(self, folder: Path) -> None:
        runs = pq.read_table(folder / RUNS_FILE, partitioning=None)
        self._offsets = np.load(folder / OFFSETS_FILE)
        self._first_rows = runs["first_row"].to_numpy()
        self._lengths = runs["n"].to_numpy()

    def of(self, place: int) -> Index:
        """Return the usage rows that were measured on a machine, run by run; shape (n,).

        Parameters
        ----------
        place
            Position of the machine among all.
        """
        low, high = self._offsets[place : place + 2]
        first_rows = self._first_rows[low:high].astype(np.int64)
        lengths = self._lengths[low:high].astype(np.int64)
        # Each run counts on from its first row: what lies before it in the answer is taken off.
        before = np.repeat(np.cumsum(lengths) - lengths, lengths)
        return np.repeat(first_rows, lengths) + np.arange(lengths.sum()) - before


class MachineRuns(NamedTuple):
    """Runs of usage rows: the first row and the machine of each, and the number of all rows."""

    first_rows: Index
    machines: Index
    n_rows: int


def find_runs(machine_ids: Iterable[Index], offsets: Index) -> MachineRuns:
    """Divide usage rows into runs.

    Parameters
    ----------
    machine_ids
        Machine of each usage row in the order of the store, part by part; `NOWHERE` where it names none.
    offsets
        First row of each task.
    """
    task_starts = np.unique(offsets)
    first_rows: list[Index] = [np.empty(0, np.int64)]
    machines: list[Index] = [np.empty(0, np.int64)]
    row = 0
    last_machine = NOWHERE
    for ids in machine_ids:
        is_first = np.empty(len(ids), np.bool_)
        is_first[0] = ids[0] != last_machine
        is_first[1:] = ids[1:] != ids[:-1]
        low, high = np.searchsorted(task_starts, [row, row + len(ids)])
        is_first[task_starts[low:high] - row] = True
        first_rows.append(np.flatnonzero(is_first) + row)
        machines.append(ids[is_first])
        row += len(ids)
        last_machine = ids[-1]
    return MachineRuns(np.concatenate(first_rows), np.concatenate(machines), row)


def write_windows(runs: MachineRuns, folder: Path, known_machines: Index) -> Index:
    """Write the runs of all machines; return the machines, ascending.

    Parameters
    ----------
    runs
        From `find_runs`.
    folder
        Where.
    known_machines
        Ids of machines that have a row whether or not anything was measured on them.

    Returns
    -------
    ndarray
        Shape (m,).
    """
    lengths = np.diff(np.append(runs.first_rows, runs.n_rows))
    is_somewhere = runs.machines != NOWHERE
    machine_of_run = runs.machines[is_somewhere]
    order = np.argsort(machine_of_run, kind="stable")
    machines = np.union1d(known_machines, machine_of_run)
    offsets = np.searchsorted(machine_of_run[order], machines)
    np.save(folder / OFFSETS_FILE, np.append(offsets, len(machine_of_run)))
    # Rows of a store are counted by 32 bits until there are four thousand million of them.
    row_type = np.uint32 if runs.n_rows < 2**32 else np.uint64
    columns = {
        "first_row": runs.first_rows[is_somewhere][order].astype(row_type),
        "n": lengths[is_somewhere][order].astype(np.uint32),
    }
    pq.write_table(pa.table(columns), folder / RUNS_FILE, compression="zstd", use_dictionary=False)
    return machines


def machine_ids(store: Store) -> Iterator[Index]:
    """Yield the machine of each usage row in the order of the store, `NOWHERE` where it names none."""
    for part in store.layout.parts("instance_usage"):
        for batch in pq.ParquetFile(part).iter_batches(BATCH_ROWS, columns=["machine_id"]):
            yield batch.column(0).fill_null(NOWHERE).to_numpy()
