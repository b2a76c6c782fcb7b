"""What a policy predicts for single tasks: reservations that a scheduler may plan with.

Only policies that add up predictions of tasks say anything of one of them.
"""

import numpy as np
import pyarrow as pa

from borgtrace.errors import UsageError, check_names
from borgtrace.overcommit.policies.policy import KINDS
from borgtrace.overcommit.policies.tasks import TaskPolicy
from borgtrace.overcommit.replay import RESOURCES
from borgtrace.overcommit.study import Setting, open_cell
from borgtrace.question import Tables
from borgtrace.schema.time import TRACE_START, WINDOW
from borgtrace.store import Store


def parse_task_policy(text: str) -> TaskPolicy:
    """Read a policy of single tasks, such as ``task-percentile:q=95``.

    Raises
    ------
    UsageError
        For one that predicts whole machines, or that is unknown.
    """
    names = sorted(name for name, kind in KINDS.items() if issubclass(kind, TaskPolicy))
    try:
        check_names("", [text.partition(":")[0]], names, "no policy that predicts single tasks")
        policy: TaskPolicy = TaskPolicy.parsed(text)
    except UsageError as error:
        given = {
            "expected": error.expected,
            "got": error.got or text,
            "way_out": error.way_out,
        }
        raise UsageError("--plan overcommit", error.what, **given) from None
    return policy


def reservations(store: Store, tables: Tables, policy: TaskPolicy, until: int | None) -> pa.Table:
    """Return what a policy predicts for each task that was measured, at the end of its last slot up to a time.

    Parameters
    ----------
    store, tables
        An open store and its tables.
    policy
        What predicts.
    until
        Slots that end later are not looked at, µs; all are where None.

    Returns
    -------
    Table
        ``collection_id``, ``instance_index``, ``cpu`` and ``memory``, fractions of the largest machine; NaN where the
        task was not measured.
    """
    cell = open_cell(
        store, tables, Setting(policies=(policy.label,)), lambda step, done, total: None
    )
    keys = store.layout.tasks(["collection_id", "instance_index"])
    found = np.full((2, keys.num_rows), np.nan)
    latest = np.full((2, keys.num_rows), -1)
    end = cell.usage.facts["n_slots"] if until is None else (until - TRACE_START) // WINDOW
    for place in range(len(cell.usage.machines)):
        for resource, values, slots in zip(RESOURCES, found, latest, strict=True):
            block = cell.block(place, resource).capped()
            seen = block.known.take(block.known.slot < end)
            is_last = np.append(np.diff(seen.task) != 0, True)[: len(seen)]
            task = block.identity[seen.task[is_last]]
            slot = seen.slot[is_last]
            # On the machine where it was last.
            is_newer = slot > slots[task]
            task = task[is_newer]
            slots[task[is_newer]] = slot[is_newer]
            values[task] = policy.of_each(seen)[0][is_last][is_newer]
    for resource, values in zip(RESOURCES, found, strict=True):
        keys = keys.append_column(resource, pa.array(values))
    return keys.filter(pa.array(~np.isnan(found).all(axis=0)))
