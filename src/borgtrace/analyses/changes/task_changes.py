"""Changes of each task's usage from slot to slot, by compiled code over sorted windows.

`task_pairs` and `relative` of `relative_change` define them in SQL, for engines that are far from the rows.  There each
mean of a task and slot is a group of its own, nearly as many as there are windows, and its neighbor is found by sorting
them: that took 1 µs a window, and more where the groups do not fit into the processor's cache.  In the order of a store
both are the rows before.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses.changes.relative_change import GROWN, by_resource, task_pairs
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.window_passes import result_of_pass, rows_on_workers
from borgtrace.analyses.shared.windows import FINE_BITS, RESOURCES, regular
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import Tables
from borgtrace.question.window_passes import GatheredRows, WindowPass


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """A summary of changes, for engines that are far from the rows and for those that hand them over.

    Attributes
    ----------
    query
        In SQL, from ``resource``, ``change`` and ``seconds`` to few rows with ``resource``.
    of_arrays
        The same rows, by column but without ``resource``, of changes of one resource and their seconds.
    """

    query: Callable[[ir.Table], ir.Table]
    of_arrays: Callable[[str, Numbers, Index], Mapping[str, NDArray[Any]]]


def over_tasks(tables: Tables, summary: ChangeSummary, asked: WindowPass) -> ir.Table:
    """Return the rows of a summary of the changes of all tasks; of several blocks of tasks, those of each.

    Parameters
    ----------
    tables
        The store's tables.
    summary
        Of changes.
    asked
        Its :func:`pass_of_changes`, for tables whose rows are near.
    """
    if tables.has_blocks:
        return ibis.memtable(result_of_pass(tables, asked))
    if tables.engine != "duckdb":
        rows = rows_on_workers(tables, asked)
        if rows is not None:
            return ibis.memtable(rows)
    return summary.query(by_resource(task_pairs(regular(tables.instance_usage), "slot")))


def pass_of_changes(
    question: str, stage: str, summary: ChangeSummary, *parameters: Hashable
) -> WindowPass:
    """Return the pass over windows that summarizes the changes of tasks.

    Parameters
    ----------
    question, stage
        Name of the question, and of its stage.
    summary
        Of changes.
    parameters
        All that the summary depends on.
    """
    return WindowPass(
        question=question,
        stage=stage,
        parameters=parameters,
        columns=[f"average_{name}" for name in RESOURCES],
        of_tasks=None,
        kernel=lambda tables: partial(summarize_block, summary=summary),
        gather=GatheredRows,
    )


def summarize_block(block: pa.Table, summary: ChangeSummary) -> pa.Table:
    """Return the summary of the changes in a block of sorted windows."""
    tasks = blocks.task_numbers(block)
    slots = blocks.integers(block, "slot")
    seconds = blocks.integers(block, "seconds")
    parts = []
    for name in RESOURCES:
        usage = blocks.column(block, f"average_{name}")
        changes, seconds_of_both = slot_changes(tasks, slots, seconds, usage)
        rows = pa.table(dict(summary.of_arrays(name, changes, seconds_of_both)))
        parts.append(rows.append_column("resource", pa.repeat(name, rows.num_rows)))
    return pa.concat_tables(parts)


@compiled()
def slot_changes(task: Index, slot: Index, seconds: Index, usage: Numbers) -> tuple[Numbers, Index]:
    """Return the changes between neighboring slots of a task, and the seconds measured in both.

    Parameters
    ----------
    task, slot
        Task number and 300 s slot of each window, both ascending; shape (n,).
    seconds, usage
        Length and usage of each window; one whose usage is NaN has no weight in the mean of its slot.

    Returns
    -------
    tuple
        Changes (0 from zero to zero, `GROWN` from zero to something) and seconds, shape (k,).

    Examples
    --------
    >>> task, slot, seconds = np.array([0, 0, 0, 1]), np.array([4, 5, 5, 6]), np.array([300, 100, 50, 300])
    >>> changes, both = slot_changes(task, slot, seconds, np.array([0.5, 1.0, 0.25, 1.0]))
    >>> changes.tolist(), both.tolist()
    ([0.5], [450])
    """
    changes = np.empty(len(task))
    seconds_of_both = np.empty(len(task), np.int64)
    n_changes = 0
    start = 0
    seconds_in_slot = 0
    mean = np.nan
    while start < len(task):
        # The slot before, if it is the neighbor; the first window of all has none.
        is_neighbor = (
            start > 0 and task[start] == task[start - 1] and slot[start] == slot[start - 1] + 1
        )
        previous_mean = mean if is_neighbor else np.nan
        previous_seconds = seconds_in_slot
        total = 0
        weight = 0
        seconds_in_slot = 0
        end = start
        while end < len(task) and task[end] == task[start] and slot[end] == slot[start]:
            seconds_in_slot += seconds[end]
            if not np.isnan(usage[end]):
                # As integers, like `task_means`: the same mean whatever the order of the windows.
                total += int(np.floor(usage[end] * float(2**FINE_BITS) + 0.5)) * seconds[end]
                weight += seconds[end]
            end += 1
        mean = float(total) / float(2**FINE_BITS) / float(weight) if weight else np.nan
        if not (np.isnan(previous_mean) or np.isnan(mean)):
            difference = abs(mean - previous_mean)
            if previous_mean > 0.0:
                changes[n_changes] = difference / previous_mean
            else:
                changes[n_changes] = GROWN if difference else 0.0
            seconds_of_both[n_changes] = seconds_in_slot + previous_seconds
            n_changes += 1
        start = end
    return changes[:n_changes], seconds_of_both[:n_changes]
