"""The attempts of every task, small enough to be looked up by machine and by job: one row each, sorted by machine.

What an attempt is, and how equal times are settled, is `borgtrace.lifecycle.attempts`'s.  Times are whole seconds here,
as in the trace arrays of a store, which is finer than a pixel; `AFTER` stands for "not known to have ended".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.kernels.arrays import Index
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import SECOND

if TYPE_CHECKING:
    from borgtrace.store import Store

AFTER = 2**32 - 1
_NONE = 255
_FILE = "lives.parquet"
_LIFE = np.dtype(
    [
        ("machine", "i4"),
        ("task", "u4"),
        ("begin", "u4"),
        ("schedule", "u4"),
        ("left", "u4"),
        ("end", "u1"),
    ]
)
Seconds = npt.NDArray[np.uint32]


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
        table = pq.read_table(folder / _FILE)
        self._columns = {name: table[name].to_numpy() for name in table.column_names}

    def of_machine(self, place: int) -> Attempts:
        """Return the attempts that were scheduled on a machine, by the time they were."""
        low, high = np.searchsorted(self._columns["machine"], [place, place + 1])
        return self._take(np.arange(low, high))

    def of_tasks(self, first: int, last: int) -> Attempts:
        """Return the attempts of neighboring tasks (rows `first` to `last`, the latter excluded), by their begin."""
        task = self._columns["task"]
        rows = np.flatnonzero((task >= first) & (task < last))
        return self._take(rows[np.argsort(self._columns["begin"][rows], kind="stable")])

    def _take(self, rows: Index) -> Attempts:
        taken = {name: column[rows] for name, column in self._columns.items()}
        ends = [None if code == _NONE else TERMINAL_EVENTS[code] for code in taken.pop("end")]
        ids = {name: taken.pop(name).astype(np.int64) for name in ("task", "machine")}
        return Attempts(**ids, **taken, end=ends)


def write_lives(
    store: Store, attempts: Iterable[pa.RecordBatch], folder: Path, machines: Index
) -> None:
    """Write all attempts.

    Parameters
    ----------
    store
        Whose tasks they are.
    attempts
        Rows of ``instance_attempts``.
    folder
        Where.
    machines
        Ids of all machines, ascending.
    """
    # A store without events has no attempts, and a table of them nevertheless.
    lives = np.concatenate(
        [np.empty(0, _LIFE), *(_compact(store, batch, machines) for batch in attempts)]
    )
    order = np.lexsort((lives["task"], lives["schedule"], lives["machine"]))
    table = pa.table({name: lives[name][order] for name in _LIFE.names or ()})
    pq.write_table(table, folder / _FILE, compression="zstd", use_dictionary=["machine", "end"])


def _compact(store: Store, batch: pa.RecordBatch, machines: Index) -> npt.NDArray[np.void]:
    pairs = np.stack(
        [batch[name].to_numpy().astype(np.int64) for name in ("collection_id", "instance_index")],
        axis=1,
    )
    ids = batch["machine_id"].fill_null(-1).to_numpy(zero_copy_only=False)
    place = np.searchsorted(machines, ids)
    lives = np.empty(len(ids), _LIFE)
    for name in ("begin", "schedule", "left"):
        lives[name] = _seconds(batch[f"{name}_time"])
    # Where the SCHEDULE is lost nobody knows since when it ran there: its usage tells.
    known = (place < len(machines)) & (lives["schedule"] != AFTER)
    known[known] = machines[place[known]] == ids[known]
    lives["machine"], lives["task"], lives["end"] = (
        np.where(known, place, -1),
        store.task_rows(pairs),
        _NONE,
    )
    names = batch["end_type"].to_numpy(zero_copy_only=False)
    for code, name in enumerate(TERMINAL_EVENTS):
        lives["end"][names == name] = code
    return lives


def _seconds(times: pa.Array) -> npt.NDArray[np.uint32]:
    """Cut to whole seconds; NULL and "after the trace" are `AFTER`."""
    whole = times.fill_null(AFTER * SECOND).to_numpy(zero_copy_only=False) // SECOND
    return np.minimum(whole, AFTER).astype(np.uint32)
