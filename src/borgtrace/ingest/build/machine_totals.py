"""What the tasks of each machine use together in each window, added up while usage is written.

It tells amounts of another unit than was said: to read the rows again and to group them took a tenth of a conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import WINDOW

COLUMNS = ("average_cpu", "average_memory")
MOST_PLACES = 1 << 22
"""Most machines times windows: 16 MB a column.  Of more, rows are read again."""
_NEARLY_WHOLE = 0.999
"""Sums of float32 in any order are nearer to each other than this is to 1."""


class MachineTotals:
    """Sums of usage by machine and window, as fractions of the largest machine.

    Parameters
    ----------
    machines
        Ids of all machines, ascending.
    first, n_windows
        Number of the first window, and how many there are.
    """

    def __init__(self, machines: Index, first: int, n_windows: int) -> None:
        self._machines = machines
        self._first = first
        self._totals = {
            column: np.full((len(machines), n_windows), np.nan, np.float32) for column in COLUMNS
        }
        self._largest: dict[str, float] = dict.fromkeys(COLUMNS, 0.0)
        # Files are written side by side.
        self._lock = Lock()

    @classmethod
    def of(cls, rows: pa.Table) -> Self | None:
        """Return the sums that the rows of a table will have; None where there are too many.

        Parameters
        ----------
        rows
            All usage, without columns that nobody fills.
        """
        bounds = pc.min_max(rows.column("start_time")).as_py()
        first = bounds["min"] // WINDOW
        n_windows = bounds["max"] // WINDOW + 1 - first
        machines = np.zeros(0, np.int64)
        if "machine_id" in rows.column_names:
            machines = np.sort(np.asarray(pc.drop_null(pc.unique(rows.column("machine_id")))))
        if len(machines) * n_windows > MOST_PLACES:
            return None
        return cls(machines, first, n_windows)

    @contextmanager
    def watch(self, _path: Path, _first: int) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Yield a function that takes the rows of a file; several threads may have one."""
        yield self._add

    def _add(self, batch: pa.RecordBatch) -> None:
        machines = batch.column("machine_id")
        starts = np.asarray(batch.column("start_time"))
        ends = np.asarray(batch.column("end_time"))
        for column, totals in self._totals.items():
            values = batch.column(column)
            if values.null_count == len(values):
                continue
            with self._lock:
                self._largest[column] = max(self._largest[column], pc.max(values).as_py())
                if machines.null_count < len(machines):
                    _add_up(
                        np.asarray(pc.fill_null(machines, -1)),
                        starts,
                        ends,
                        np.asarray(pc.fill_null(values, np.float32(np.nan))),
                        self._machines,
                        self._first,
                        totals,
                    )

    def are_plausible(self, column: str) -> bool:
        """Return whether no row uses more than the largest machine, nor most machines at a time.

        Parameters
        ----------
        column
            One of `COLUMNS`.
        """
        totals = self._totals[column]
        n_known = int(np.count_nonzero(~np.isnan(totals)))
        n_above = int(np.count_nonzero(totals > _NEARLY_WHOLE))
        return self._largest[column] <= 1 and (n_known == 0 or 2 * n_above < n_known)


@compiled(makes_arrays=False)
def _add_up(
    machines: Index,
    starts: Index,
    ends: Index,
    values: Values,
    known_machines: Index,
    first: int,
    totals: Values,
) -> None:
    """Add what windows use to the totals of their machines; a machine of −1 is unknown, a value of NaN is none."""
    last_machine = np.int64(-1)
    place = 0
    for row in range(len(values)):
        machine = machines[row]
        if machine < 0 or np.isnan(values[row]):
            continue
        # Mostly that of the row before.
        if machine != last_machine:
            place = np.searchsorted(known_machines, machine)
            last_machine = machine
        length = min(ends[row] - starts[row], WINDOW)
        used = np.float32(values[row] * (length / WINDOW))
        window = starts[row] // WINDOW - first
        if np.isnan(totals[place, window]):
            totals[place, window] = used
        else:
            totals[place, window] += used
