"""Predictions of a policy for single tasks: reservations that a scheduler may plan with.

Only policies that add up predictions of tasks predict anything for one of them.
"""

import numpy as np
import pyarrow as pa

from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.policies.policy import PeakPolicy
from borgtrace.overcommit.policies.registry import POLICY_KINDS
from borgtrace.overcommit.policies.tasks import TaskPolicy
from borgtrace.overcommit.replay import RESOURCES, ReplayInput
from borgtrace.overcommit.replay_question import open_replay
from borgtrace.overcommit.rule import parse_rule
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
    name = text.partition(":")[0]
    kinds: dict[str, type[TaskPolicy]] = {}
    for known in POLICY_KINDS:
        # Of installed packages only what is asked for is imported.
        if known in (*POLICY_KINDS.named, name):
            kind = POLICY_KINDS[known]
            if issubclass(kind, TaskPolicy):
                kinds[known] = kind
    try:
        check_names(
            "",
            [name],
            list(kinds),
            "no policy that predicts single tasks",
        )
        return parse_rule(text, kinds, PeakPolicy.option)
    except UsageError as error:
        raise UsageError(
            "--plan overcommit",
            error.what,
            expected=error.expected,
            got=error.got or text,
            way_out=error.way_out,
        ) from None


def reservations(
    store: Store,
    tables: Tables,
    policy: TaskPolicy,
    until: int | None,
) -> pa.Table:
    """Return what a policy predicts for each task that was measured, at the end of its last slot up to a time.

    Parameters
    ----------
    store, tables
        An open store and its tables.
    policy
        What predicts.
    until
        Slots that end later do not count, µs; None counts all.

    Returns
    -------
    Table
        ``collection_id``, ``instance_index``, ``cpu`` and ``memory``, fractions of the largest machine; NaN where the
        task was not measured.
    """
    options = ReplayOptions(policies=(policy.label,))
    replay_input = open_replay(
        store,
        tables,
        options,
        lambda step, done, total: None,
    )
    keys = store.task_columns(["collection_id", "instance_index"])
    end = replay_input.usage.facts["n_slots"]
    if until is not None:
        end = (until - TRACE_START) // WINDOW
    is_measured = np.zeros(keys.num_rows, np.bool_)
    for resource in RESOURCES:
        predicted = _predict_last_slots(
            replay_input,
            policy,
            resource,
            end,
            keys.num_rows,
        )
        is_measured |= ~np.isnan(predicted)
        keys = keys.append_column(resource, pa.array(predicted))
    return keys.filter(pa.array(is_measured))


def _predict_last_slots(
    replay_input: ReplayInput,
    policy: TaskPolicy,
    resource: str,
    end: int,
    n_tasks: int,
) -> Numbers:
    """Return what is predicted for each task at its last slot before `end`, on the machine where it was last."""
    predicted = np.full(n_tasks, np.nan)
    last_slot: Index = np.full(n_tasks, -1)
    for place in range(len(replay_input.usage.machines)):
        block = replay_input.block(place, resource).capped()
        seen = block.known.take(block.known.slot < end)
        is_last = np.append(np.diff(seen.task) != 0, True)[: len(seen)]
        task = block.identity[seen.task[is_last]]
        slot = seen.slot[is_last]
        is_newer = slot > last_slot[task]
        values, _ = policy.of_each(seen)
        last_slot[task[is_newer]] = slot[is_newer]
        predicted[task[is_newer]] = values[is_last][is_newer]
    return predicted
