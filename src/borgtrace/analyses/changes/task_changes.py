"""Changes of each task's usage from slot to slot, by compiled code over sorted windows.

What they are, `_relative_change.task_pairs` and `relative` say in SQL, for engines that are far from the rows.  There a
mean per task and slot is a group of its own, nearly as many as there are windows, and its neighbor is found by sorting
them: that took 1 µs a window, and the more the less fits into the processor's cache.  In the order of a store both are
the rows before.
"""

from collections.abc import Callable

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.changes.relative_change import GROWN, by_resource, task_pairs
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.windows import FINE_BITS, RESOURCES, regular
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import Tables


def over_tasks(tables: Tables, query: Callable[[ir.Table], ir.Table], stage: str) -> ir.Table:
    """Return the rows of a query over changes: of all of them, or one block of tasks after the other.

    Parameters
    ----------
    tables
        The store's tables.
    query
        From ``resource``, ``change`` and ``seconds`` to few rows.
    stage
        Name of the relational stage.
    """
    usage = regular(tables.instance_usage)
    if not tables.has_blocks:
        return query(by_resource(task_pairs(usage, "slot")))
    columns = (*blocks.ORDER, "seconds", "slot", *(f"average_{name}" for name in RESOURCES))
    made = blocks.map_blocks(tables, of_jobs(usage).select(*columns), None, _changes, stage)
    parts = (
        query(ibis.memtable(part).mutate(resource=ibis.literal(name)))
        for each in made
        for name, part in each
    )
    return ibis.memtable(pa.concat_tables(tables.fetch(part, f"{stage}_rows") for part in parts))


def _changes(block: pa.Table) -> list[tuple[str, pa.Table]]:
    of_window = (
        blocks.task_numbers(block),
        blocks.integers(block, "slot"),
        blocks.integers(block, "seconds"),
    )
    found = (
        (name, slot_changes(*of_window, blocks.column(block, f"average_{name}")))
        for name in RESOURCES
    )
    return [
        (name, pa.table(dict(zip(("change", "seconds"), arrays, strict=True))))
        for name, arrays in found
    ]


@compiled()
def slot_changes(task: Index, slot: Index, seconds: Index, usage: Numbers) -> tuple[Numbers, Index]:
    """Return the changes between neighboring slots of a task, and the seconds measured in both.

    Parameters
    ----------
    task, slot
        Task number and 300 s slot of each window, both ascending; shape (n,).
    seconds, usage
        Length and usage of each window, NaN where it is not known: it then has no weight in the mean of its slot.

    Returns
    -------
    tuple
        Changes (0 from nothing to nothing, `GROWN` from nothing to something) and seconds, shape (k,).

    Examples
    --------
    >>> task, slot, seconds = np.array([0, 0, 0, 1]), np.array([4, 5, 5, 6]), np.array([300, 100, 50, 300])
    >>> changes, both = slot_changes(task, slot, seconds, np.array([0.5, 1.0, 0.25, 1.0]))
    >>> changes.tolist(), both.tolist()
    ([0.5], [450])
    """
    changes, both, found = np.empty(len(task)), np.empty(len(task), np.int64), 0
    start, lasted, mean = 0, 0, np.nan
    while start < len(task):
        # The slot before, if it is the neighbor; the first window of all has none.
        follows = (
            start > 0 and task[start] == task[start - 1] and slot[start] == slot[start - 1] + 1
        )
        previous, previously = mean if follows else np.nan, lasted
        end, total, weight, lasted = start, 0, 0, 0
        while end < len(task) and task[end] == task[start] and slot[end] == slot[start]:
            lasted += seconds[end]
            if not np.isnan(usage[end]):
                # As integers, like `task_means`: the same mean whatever the order of the windows.
                total += int(np.floor(usage[end] * float(2**FINE_BITS) + 0.5)) * seconds[end]
                weight += seconds[end]
            end += 1
        mean = float(total) / float(2**FINE_BITS) / float(weight) if weight else np.nan
        if not (np.isnan(previous) or np.isnan(mean)):
            difference = abs(mean - previous)
            changes[found] = (
                difference / previous if previous > 0.0 else (GROWN if difference else 0.0)
            )
            both[found] = lasted + previously
            found += 1
        start = end
    return changes[:found], both[:found]
