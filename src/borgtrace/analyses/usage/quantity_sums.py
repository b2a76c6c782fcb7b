"""Sums of several columns of usage by tier, from compiled code: an engine takes as long for each of thirty sums.

SQL states the same sums in :func:`borgtrace.analyses.usage.other_resources.quantity_sums`.
"""

from collections.abc import Mapping
from contextlib import closing

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.compiled_windows import (
    LARGEST,
    amount_of,
    is_regular,
    is_summable,
    seconds_of,
)
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import Tables
from borgtrace.question.shared_tables import LeftToSQLError

LEAST_ROWS = 1_000_000
"""Windows below which SQL is done before kernels are compiled."""
KNOWN, SECONDS, TOTAL, OF_BOTH, COMPARED = range(5)
NAMES = ("known", "seconds", "total", "of_both", "compared")
"""Sums of a quantity, in this order; beside them stands its largest value."""


def sums_by_tier(
    tables: Tables, compared_columns: Mapping[str, str | None], tasks: ibis.Table, bits: int
) -> pa.RecordBatch:
    """Return the sums of windows outside alloc sets, one row per tier that has any.

    Parameters
    ----------
    tables
        The store's tables.
    compared_columns
        Quantities, columns of usage, and with which column each is compared.
    tasks
        ``collection_id``, ``instance_index``, ``tier`` (position among the tiers of the trace) and compared columns of
        tasks.
    bits
        Binary digits of amounts.

    Raises
    ------
    LeftToSQLError
        There are few windows, or a sum may not fit into 64 bits.
    """
    if tables.n_rows("instance_usage") < LEAST_ROWS:
        raise LeftToSQLError
    names = blocks.tier_names(tables)
    sums = QuantitySums(len(names), compared_columns, bits)
    usage = tables.instance_usage
    is_of_usage = [name for name in compared_columns.values() if name in usage.columns]
    windows = usage.select(
        "collection_id",
        "instance_index",
        "start_time",
        "end_time",
        *dict.fromkeys([*compared_columns, *is_of_usage]),
        is_outermost=usage.alloc_collection_id.isnull().cast("int8"),
    )
    # Ranges of collections, as tasks of a month need not fit into memory.
    for ids in blocks.collection_ranges(tables):
        range_tasks = tables.fetch(blocks.within(tasks, ids), "quantity_tasks")
        range_tasks = blocks.in_order_of_tasks(range_tasks)
        stream = tables.fetch_batches(
            blocks.within(windows, ids), "quantities", blocks.ROWS_PER_BLOCK
        )
        with closing(stream) as batches:
            for batch in batches:
                block = pa.Table.from_batches([batch])
                sums.add(blocks.with_task_columns(block, range_tasks))
    return sums.rows(names)


class QuantitySums:
    """Sums of quantities by tier, as windows come.

    Parameters
    ----------
    n_tiers
        Tiers, of which the last one is that of tasks that are not known.
    compared_columns, bits
        As for :func:`sums_by_tier`.
    """

    def __init__(self, n_tiers: int, compared_columns: Mapping[str, str | None], bits: int) -> None:
        self._compared_columns = compared_columns
        self._scale = 2.0**bits
        self._n_tiers = n_tiers
        self._n_windows = np.zeros(n_tiers, np.int64)
        shape = (len(compared_columns), n_tiers)
        self._sums = np.zeros((*shape, len(NAMES)), np.int64)
        self._largest = np.full(shape, -np.inf)

    def add(self, block: pa.Table) -> None:
        """Add windows with the columns of their tasks.

        Raises
        ------
        LeftToSQLError
            A sum may not fit into 64 bits.
        """
        tiers = blocks.integers(block, "tier", missing=self._n_tiers - 1)
        seconds = seconds_outermost(
            blocks.integers(block, "start_time"),
            blocks.integers(block, "end_time"),
            blocks.integers(block, "is_outermost"),
        )
        self._n_windows += np.bincount(tiers[seconds > 0], minlength=self._n_tiers)
        unknown = np.full(len(seconds), np.nan)
        for place, (name, compared) in enumerate(self._compared_columns.items()):
            fits = add_quantity(
                read_only(blocks.column(block, name)),
                read_only(blocks.column(block, compared) if compared else unknown),
                tiers,
                seconds,
                self._scale,
                self._sums[place],
                self._largest[place],
            )
            if not fits:
                raise LeftToSQLError

    def rows(self, names: tuple[str, ...]) -> pa.RecordBatch:
        """Return the sums, one row per tier that has windows.

        Parameters
        ----------
        names
            Of the tiers.
        """
        tiers = np.flatnonzero(self._n_windows)
        columns: dict[str, pa.Array] = {
            "tier": pa.array([names[tier] for tier in tiers], pa.string()),
            "n_windows": pa.array(self._n_windows[tiers]),
        }
        for place, name in enumerate(self._compared_columns):
            for number, of_what in enumerate(NAMES):
                columns[f"{name}_{of_what}"] = pa.array(self._sums[place, tiers, number])
            largest = self._largest[place, tiers]
            columns[f"{name}_largest"] = pa.array(largest, mask=largest == -np.inf)
        return pa.record_batch(columns)


def read_only(values: Numbers) -> Numbers:
    """Return values that are not to be written: otherwise kernels would be compiled for both kinds."""
    view = values.view()
    view.flags.writeable = False
    return view


@compiled()
def seconds_outermost(starts: Index, ends: Index, is_outermost: Index) -> Index:
    """Return the lengths of regular windows outside alloc sets, 0 for all others; shape (n,) each."""
    seconds = np.zeros(len(starts), np.int64)
    for i in range(len(starts)):
        if is_outermost[i] and is_regular(starts[i], ends[i]):
            seconds[i] = seconds_of(starts[i], ends[i])
    return seconds


@compiled()
def add_quantity(
    values: Numbers,
    compared: Numbers,
    tiers: Index,
    seconds: Index,
    scale: float,
    sums: Index,
    largest: Numbers,
) -> bool:
    """Add the values of a quantity to the sums of their tiers, and return whether these are far from 64 bits.

    Parameters
    ----------
    values, compared
        Shape (n,), NaN where nothing is known.
    tiers, seconds
        Shape (n,); windows of 0 s are left out.
    scale
        Two to the power of the binary digits of amounts.
    sums, largest
        By tier, shape (n_tiers, 5) and (n_tiers,).
    """
    for i in range(len(values)):
        if not seconds[i] or np.isnan(values[i]):
            continue
        tier = tiers[i]
        if not is_summable(values[i], seconds[i], scale):
            return False
        used = amount_of(values[i], seconds[i], scale)
        sums[tier, KNOWN] += 1
        sums[tier, SECONDS] += seconds[i]
        sums[tier, TOTAL] += used
        largest[tier] = max(largest[tier], values[i])
        if not np.isnan(compared[i]):
            if not is_summable(compared[i], seconds[i], scale):
                return False
            sums[tier, OF_BOTH] += used
            sums[tier, COMPARED] += amount_of(compared[i], seconds[i], scale)
        if abs(sums[tier, TOTAL]) >= LARGEST or abs(sums[tier, COMPARED]) >= LARGEST:
            return False
    return True
