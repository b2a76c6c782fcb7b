"""Cells of an experiment with schedulers: waits and evictions by job and the hour in which its tasks arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.experiments.cells import Cell, code_of_extension, key_from
from borgtrace.experiments.schedules.plan import SchedulePlan
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling import PlacementPolicy, ScheduleInput
from borgtrace.scheduling.plan import TaskPlan
from borgtrace.scheduling.replay import recorded, replayed
from borgtrace.scheduling.scheduler import ROLES, anywhere, least_left
from borgtrace.scheduling.state import ALIVE, ATTEMPT, ENDED, OUTCOME, PREEMPTED, STARTED, SUBMITTED
from borgtrace.schema.time import HOUR

SUMMED = ("attempts", "waited", "evictions", "pending")
SCHEMA = pa.schema(
    [
        ("tier", pa.string()),
        ("job", pa.int64()),
        ("hour", pa.int64()),
        *((name, pa.int64()) for name in SUMMED),
    ]
)
"""Of a cell: attempts that arrived, what they waited (µs), how often they were evicted, and how many wait at the end;
of a job, by the hour of the trace, from 0, in which they arrived in it.  Whole numbers: no order changes their sums."""
CODE = (
    "experiments/schedules",
    "kernels",
    "lifecycle",
    "placement/estimators",
    "scheduling",
    "scheduling/event_log_sql",
)
"""Folders whose modules decide what a cell holds."""


class StoreTrace(NamedTuple):
    """What the replays of a store read.

    Attributes
    ----------
    trace
        What arrives, and the machines.
    factor, plan
        What tasks are planned with, as for :func:`borgtrace.scheduling.replay.replayed`.
    """

    trace: ScheduleInput
    factor: float
    plan: TaskPlan | None


@dataclass(frozen=True, eq=False)
class ScheduleRunner:
    """Computes cells: what all of them share, so that a cell alone travels to a worker.

    Attributes
    ----------
    inputs
        What replays read, by store.
    policies
        By name; None for what was recorded.
    whole_jobs
        Whether tasks of a job that arrive together start together.
    """

    inputs: Mapping[str, StoreTrace]
    policies: Mapping[str, PlacementPolicy | None]
    whole_jobs: bool

    def __call__(self, cell: Cell) -> tuple[Cell, pa.Table]:
        """Schedule the trace of a cell's store again, and return the cell with its sums."""
        given = self.inputs[cell.store]
        policy = self.policies[cell.policy]
        if policy is None:
            submissions = recorded(given.trace)
        else:
            submissions = replayed(
                given.trace,
                policy,
                given.factor,
                seed=cell.seed,
                plan=given.plan,
                whole_jobs=self.whole_jobs,
            )
        return cell, sums_of(given.trace, submissions)


def sums_of(trace: ScheduleInput, submissions: Index) -> pa.Table:
    """Return the sums of a schedule by tier, job and hour, sorted by these.

    Parameters
    ----------
    trace
        What was scheduled.
    submissions
        What :func:`borgtrace.scheduling.events.run` returned.
    """
    tasks = trace.tasks
    attempt = submissions[:, ATTEMPT]
    has_started = submissions[:, STARTED] >= 0
    left = np.where(submissions[:, ENDED] >= 0, submissions[:, ENDED], trace.until)
    waited_until = np.where(has_started, submissions[:, STARTED], left)
    outcome = submissions[:, OUTCOME]
    n_submissions = sum_by(attempt, np.ones(len(attempt), np.int64), len(tasks))
    # An attempt that follows another may not arrive before the end.
    has_arrived = n_submissions > 0
    tier_names = [tasks.tier_name(tier) for tier in range(-1, len(tasks.tiers))]
    columns = {
        "tier": pa.array(tier_names).take(pa.array(tasks.tier[has_arrived] + 1)),
        "job": tasks.collection[has_arrived],
        "hour": trace.arrivals[has_arrived] // HOUR,
        "attempts": np.ones(has_arrived.sum(), np.int64),
    }
    of_submissions = {
        "waited": waited_until - submissions[:, SUBMITTED],
        "evictions": outcome == PREEMPTED,
        "pending": (outcome == ALIVE) & ~has_started,
    }
    for name, values in of_submissions.items():
        columns[name] = sum_by(attempt, values.astype(np.int64), len(tasks))[has_arrived]
    keys = ["tier", "job", "hour"]
    grouped = pa.table(columns).group_by(keys, use_threads=False)
    sums = grouped.aggregate([(name, "sum") for name in SUMMED])
    renamed = sums.select([*keys, *(f"{name}_sum" for name in SUMMED)])
    ordered = renamed.rename_columns(SCHEMA.names).sort_by([(key, "ascending") for key in keys])
    return ordered.cast(SCHEMA).combine_chunks()


def sum_by(place: Index, values: Index, n: int) -> Index:
    """Return the sums of values by place: int64 (n,).

    Examples
    --------
    >>> sum_by(np.array([2, 0, 2]), np.array([5, 1, 7]), 3).tolist()
    [1, 0, 12]
    """
    sums = np.zeros(n, np.int64)
    np.add.at(sums, place, values)
    return sums


def key_of(plan: SchedulePlan, policy: PlacementPolicy | None, seed: int, store_digest: str) -> str:
    """Return the key of a cell: a digest of all that its sums depend on.

    Parameters
    ----------
    plan
        The experiment.
    policy, seed
        Of the cell; None: what was recorded.
    store_digest
        Content digest of the store.
    """
    facts: dict[str, object] = {"store": store_digest, "policy": None}
    if policy is not None:
        facts |= {
            "policy": policy.label,
            "policy_code": code_of(policy),
            # Only what looks at machines in random order has another schedule with another seed.
            "seed": seed if policy.k else 0,
            "factor": plan.factor,
            "plan": plan.plan,
            "whole_jobs": plan.whole_jobs,
        }
    return key_from(facts, CODE)


def code_of(policy: PlacementPolicy) -> str:
    """Return the digests of the code of a scheduler that is not borgtrace's; empty for one of ours."""
    if policy.scheduler is None:
        return ""
    functions = [getattr(policy.scheduler, role) for role in ROLES]
    own = [function for function in functions if function not in (None, least_left, anywhere)]
    digests = [code_of_extension(policy.name, function) for function in own]
    return "+".join([*digests, *policy.scheduler.attributes])
