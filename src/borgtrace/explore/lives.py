"""The attempts of every task, small enough to be looked up by machine and by job: one row each, sorted by machine.

What an attempt is, and how equal times are settled, is decided by `borgtrace.lifecycle.attempts`.  Times are whole
seconds here, as in the trace arrays of a store, which is finer than a pixel; `AFTER` stands for "not known to have
ended".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.kernels.arrays import Index
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import SECOND

AFTER = 2**32 - 1
NO_END = 255
LIVES_FILE = "lives.parquet"
LIFE = np.dtype(
    [
        ("machine", "i4"),
        ("task", "u4"),
        ("begin", "u4"),
        ("schedule", "u4"),
        ("left", "u4"),
        ("end", "u1"),
    ]
)
"""One attempt as it is kept."""
Seconds = npt.NDArray[np.uint32]
TaskRows = Callable[[Index], Index]
"""Returns the rows of tasks in their table by their ids, shape (n, 2)."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Some attempts, in columns of shape (n,).

    ``task`` is the row in the table of tasks, ``machine`` the position among all machines (−1: none); times in s, with
    `AFTER` for what did not happen; ``end`` the type of its end, None where none is known.
    """

    task: Index
    machine: Index
    begin: Seconds
    schedule: Seconds
    left: Seconds
    end: list[str | None]


class Lives:
    """All attempts of a store, read from a pyramid.

    Parameters
    ----------
    folder
        Of the pyramid.
    """

    def __init__(self, folder: Path) -> None:
        table = pq.read_table(folder / LIVES_FILE, partitioning=None)
        self._columns = {name: table[name].to_numpy() for name in table.column_names}

    def of_machine(self, place: int) -> Attempts:
        """Return the attempts that were scheduled on a machine, by the time they were."""
        low, high = np.searchsorted(self._columns["machine"], [place, place + 1])
        return self._take(np.arange(low, high))

    def of_tasks(self, first: int, last: int) -> Attempts:
        """Return the attempts of neighboring tasks (rows `first` to `last`, the latter excluded), by their begin."""
        task = self._columns["task"]
        rows = np.flatnonzero((task >= first) & (task < last))
        by_begin = np.argsort(self._columns["begin"][rows], kind="stable")
        return self._take(rows[by_begin])

    def _take(self, rows: Index) -> Attempts:
        columns = {name: column[rows] for name, column in self._columns.items()}
        ends = []
        for code in columns["end"]:
            ends.append(None if code == NO_END else TERMINAL_EVENTS[code])
        return Attempts(
            task=columns["task"].astype(np.int64),
            machine=columns["machine"].astype(np.int64),
            begin=columns["begin"],
            schedule=columns["schedule"],
            left=columns["left"],
            end=ends,
        )


def write_lives(
    attempts: Iterable[pa.RecordBatch],
    folder: Path,
    machines: Index,
    task_rows: TaskRows,
) -> None:
    """Write all attempts.

    Parameters
    ----------
    attempts
        Rows of ``instance_attempts``.
    folder
        Where.
    machines
        Ids of all machines, ascending.
    task_rows
        Finds the rows of tasks by their ids.
    """
    # A store without events has no attempts, and a table of them nevertheless.
    parts = [np.empty(0, LIFE)]
    for batch in attempts:
        parts.append(compact(batch, machines, task_rows))
    lives = np.concatenate(parts)
    order = np.lexsort((lives["task"], lives["schedule"], lives["machine"]))
    columns = {name: lives[name][order] for name in LIFE.names or ()}
    pq.write_table(
        pa.table(columns),
        folder / LIVES_FILE,
        compression="zstd",
        use_dictionary=["machine", "end"],
    )


def compact(batch: pa.RecordBatch, machines: Index, task_rows: TaskRows) -> npt.NDArray[np.void]:
    """Return attempts as they are kept: positions for ids, seconds for µs, codes for types."""
    collection_ids = batch["collection_id"].to_numpy().astype(np.int64)
    instance_indexes = batch["instance_index"].to_numpy().astype(np.int64)
    machine_ids = batch["machine_id"].fill_null(-1).to_numpy(zero_copy_only=False)
    lives = np.empty(len(machine_ids), LIFE)
    lives["begin"] = whole_seconds(batch["begin_time"])
    lives["schedule"] = whole_seconds(batch["schedule_time"])
    lives["left"] = whole_seconds(batch["left_time"])
    place = np.searchsorted(machines, machine_ids)
    # Where the SCHEDULE is lost nobody knows since when it ran there: its usage tells.
    is_known = (place < len(machines)) & (lives["schedule"] != AFTER)
    is_known[is_known] = machines[place[is_known]] == machine_ids[is_known]
    lives["machine"] = np.where(is_known, place, -1)
    lives["task"] = task_rows(np.stack([collection_ids, instance_indexes], axis=1))
    lives["end"] = NO_END
    end_types = batch["end_type"].to_numpy(zero_copy_only=False)
    for code, name in enumerate(TERMINAL_EVENTS):
        lives["end"][end_types == name] = code
    return lives


def whole_seconds(times: pa.Array) -> Seconds:
    """Cut to whole seconds; NULL and "after the trace" are `AFTER`."""
    seconds = times.fill_null(AFTER * SECOND).to_numpy(zero_copy_only=False) // SECOND
    return np.minimum(seconds, AFTER).astype(np.uint32)
