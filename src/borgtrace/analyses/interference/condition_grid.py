"""The conditions on each machine in each slot as a grid, and sums over windows by them, in compiled code."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import Tables

CONDITIONS = ("tasks", "cpu percent")
PERCENT_PER_BIN = 5
ABOVE_ALL_BINS = 155
"""Bin of the slots that use more than 150 % of the machine's CPU."""
UNKNOWN_PERCENT = ABOVE_ALL_BINS // PERCENT_PER_BIN + 1
"""Position of a slot without a share of CPU, after those of all bins."""
PERCENTS = UNKNOWN_PERCENT + 1
MOST_CELLS = 2**27
"""Machines × slots of a grid; a month of 12,500 machines has 1.1 · 10⁸."""
AFTER_ALL_SLOTS = np.iinfo(np.int32).max
NO_MACHINE = np.iinfo(np.int64).min
"""Stands for NULL: a machine that is in no grid."""
SECONDS, TOTAL, SQUARES = range(3)
"""Sums of a metric: seconds with a possible value, values and squares of values times seconds."""


@dataclass(frozen=True, eq=False)
class ConditionGrid:
    """The condition on each machine in each slot.

    Attributes
    ----------
    machines
        Ids, ascending, shape (m,).
    first_slot
        The slot of the first column.
    codes
        Shape (m, slots): 0 where nothing ran, else as :func:`conditions_of_codes` explains.
    n_codes
        All codes are below.
    """

    machines: Index
    first_slot: int
    codes: NDArray[np.unsignedinteger[Any]]
    n_codes: int

    def sum_windows(
        self,
        machine: Index,
        slot: Index,
        seconds: Index,
        values: Numbers,
        possible: Numbers,
        one: Numbers,
    ) -> Index:
        """Return sums over windows, int64 (n_codes, metrics, 3), the last axis `SECONDS`, `TOTAL`, `SQUARES`.

        Parameters
        ----------
        machine, slot, seconds
            Machine, slot and length of each window, shape (n,).
        values
            Shape (metrics, n); NaN where it is not known.
        possible
            The least and the largest possible value of each metric, shape (metrics, 2).
        one
            What a value of 1 is in the sums, shape (metrics,).
        """
        sums = np.zeros((self.n_codes, len(one), 3), np.int64)
        add_windows(
            machine,
            slot - self.first_slot,
            seconds,
            values,
            possible,
            one,
            self.machines,
            self.codes,
            sums,
        )
        return sums


def conditions_of_codes(codes: Index) -> tuple[Index, pa.Array]:
    """Return number of tasks and percent of CPU of each code, NULL where that is unknown.

    Examples
    --------
    >>> tasks, percent = conditions_of_codes(np.array([1, 2, 33, 34]))
    >>> tasks.tolist(), percent.to_pylist()
    ([1, 1, 1, 2], [0, 5, None, 0])
    """
    tasks, position = np.divmod(codes - 1, PERCENTS)
    percent = pa.array(position * PERCENT_PER_BIN, mask=position == UNKNOWN_PERCENT)
    return tasks + 1, percent


def grid_of_conditions(
    tables: Tables, slots: ir.Table, conditions: ir.Table, most_tasks: int
) -> ConditionGrid | None:
    """Return the grid of some conditions; None where it would have more than `MOST_CELLS`.

    Parameters
    ----------
    tables
        The store's tables.
    slots
        ``machine_id`` and ``slot`` of all conditions.
    conditions
        ``machine_id``, ``slot``, ``tasks`` (1 to `most_tasks`) and ``cpu percent``.
    most_tasks
        The last bin of tasks.
    """
    by_machine = slots.group_by("machine_id").aggregate(
        first_slot=slots.slot.min(), last_slot=slots.slot.max()
    )
    extents = tables.fetch(by_machine.order_by("machine_id"), "machine_extents")
    machines = numbers(extents, "machine_id")
    first_slot = int(numbers(extents, "first_slot").min(initial=AFTER_ALL_SLOTS))
    n_slots = int(numbers(extents, "last_slot").max(initial=first_slot)) - first_slot + 1
    if len(machines) * n_slots > MOST_CELLS:
        return None
    n_codes = most_tasks * PERCENTS + 1
    # Two bytes a cell but for very many tasks.
    codes = np.zeros((len(machines), n_slots), np.uint16 if n_codes <= 2**16 else np.uint32)
    position = (conditions["cpu percent"] // PERCENT_PER_BIN).fill_null(UNKNOWN_PERCENT)
    cells = conditions.select(
        "machine_id", "slot", code=((conditions.tasks - 1) * PERCENTS + position + 1).cast("int64")
    )
    with closing(tables.fetch_batches(cells, "machine_conditions")) as batches:
        for batch in batches:
            rows = np.searchsorted(machines, numbers(batch, "machine_id"))
            codes[rows, numbers(batch, "slot") - first_slot] = numbers(batch, "code")
    return ConditionGrid(machines, first_slot, codes, n_codes)


def numbers(rows: Any, name: str) -> Index:
    """Return a column of whole numbers without NULL, of a table or of a batch, as int64."""
    return np.asarray(rows[name].cast(pa.int64()).to_numpy())


@compiled(makes_arrays=False)
def add_windows(
    machine: Index,
    column: Index,
    seconds: Index,
    values: Numbers,
    possible: Numbers,
    one: Numbers,
    machines: Index,
    codes: NDArray[np.unsignedinteger[Any]],
    sums: Index,
) -> None:
    """Add windows to `sums`; the rest is as for :meth:`ConditionGrid.sum_windows`, `column` one of the grid."""
    row = -1
    for i in range(machine.size):
        # Windows of one task follow each other, mostly on one machine.
        if row < 0 or machines[row] != machine[i]:
            row = row_of(machines, machine[i])
        if row < 0 or not 0 <= column[i] < codes.shape[1]:
            continue
        code = codes[row, column[i]]
        if code == 0:
            continue
        for metric in range(one.size):
            value = values[metric, i]
            if possible[metric, 0] <= value <= possible[metric, 1]:
                # As `windows.amount` in SQL.
                amount = int(np.floor(value * one[metric] + 0.5))
                square = int(np.floor(value * value * one[metric] + 0.5))
                sums[code, metric, SECONDS] += seconds[i]
                sums[code, metric, TOTAL] += amount * seconds[i]
                sums[code, metric, SQUARES] += square * seconds[i]


@compiled(makes_arrays=False)
def row_of(machines: Index, machine: int) -> int:
    """Return the position of a number in ascending ones, −1 where it is not among them.

    Examples
    --------
    >>> row_of(np.array([3, 5]), 5), row_of(np.array([3, 5]), 4)
    (1, -1)
    """
    low = 0
    high = machines.size
    while low < high:
        middle = (low + high) // 2
        if machines[middle] < machine:
            low = middle + 1
        else:
            high = middle
    return low if low < machines.size and machines[low] == machine else -1
