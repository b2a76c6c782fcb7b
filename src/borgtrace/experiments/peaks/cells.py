"""Cells of an experiment with peak policies: sums by machine and day of the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.experiments.cells import Cell, code_of_extension, key_from
from borgtrace.experiments.peaks.plan import PeakPlan
from borgtrace.overcommit import PeakPolicy, ReplayInput, ReplayOptions
from borgtrace.overcommit.options import policies_by_tasks
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.overcommit.policies.policy import Maximum
from borgtrace.overcommit.replay import ReplayPart
from borgtrace.overcommit.replay_question import sample_machines
from borgtrace.overcommit.walk_forward import sum_by_period
from borgtrace.question.store_question import no_report
from borgtrace.schema.time import DAY, WINDOW

SLOTS_PER_DAY = DAY // WINDOW
SUMMED = ("instants", "violations", "limit", "peak")
SCHEMA = pa.schema(
    [
        ("resource", pa.string()),
        ("tasks", pa.string()),
        ("machine", pa.int64()),
        ("day", pa.int32()),
        *((name, pa.float64()) for name in SUMMED),
    ]
)
"""Of a cell: judged instants, violations, Σ limits and Σ predictions of a machine on a day of the trace, from 0."""
CODE = (
    "experiments/peaks",
    "kernels",
    "lifecycle",
    "lifecycle/by_machine",
    "overcommit",
    "overcommit/policies",
    "placement/estimators",
)
"""Folders whose modules decide what a cell holds."""


@dataclass(frozen=True, eq=False)
class CellRunner:
    """Computes cells: what all of them share, so that a cell alone travels to a worker.

    Attributes
    ----------
    inputs
        What replays read, by store.
    policies
        By store and policy, as cells name them.
    options
        By store: horizon, resources, tasks.
    machines
        Size of a sample; 0 takes all.
    """

    inputs: Mapping[str, ReplayInput]
    policies: Mapping[tuple[str, str], PeakPolicy]
    options: Mapping[str, ReplayOptions]
    machines: int

    def __call__(self, cell: Cell) -> tuple[Cell, pa.Table]:
        """Replay the policy of a cell, and return the cell with its sums."""
        policy = self.policies[cell.store, cell.policy]
        replay_input = self.inputs[cell.store]
        # As an object: a worker knows the names of borgtrace's policies alone.
        options = replace(self.options[cell.store], policies=(policy,))
        n_machines = len(replay_input.usage.machines)
        places = sample_machines(n_machines, self.machines, cell.seed)
        tables = [SCHEMA.empty_table()]
        for resource in options.resources:
            for tasks in policies_by_tasks(options):
                part = ReplayPart(
                    input=replay_input,
                    tasks=tasks,
                    resource=resource,
                    places=places,
                    jobs=1,
                    report=no_report,
                )
                sums = part.replay([policy], options.horizon_slots, sum_by_day)
                tables.append(table_of(part, sums[:, 0]))
        return cell, pa.concat_tables(tables).combine_chunks()


def sum_by_day(block: Any, horizon: int, predictions: Any) -> npt.NDArray[np.void]:
    """Return the sums of predictions on one machine by day, as a replay asks for them."""
    return sum_by_period(block, horizon, predictions, slots_per_period=SLOTS_PER_DAY)


def table_of(part: ReplayPart, sums: npt.NDArray[np.void]) -> pa.Table:
    """Return sums of shape (machines, days) as a table; days on which nothing was judged are left out."""
    place, day = np.nonzero(sums["instants"] > 0)
    machines = part.input.usage.machines[np.asarray(part.places)]
    columns: dict[str, Any] = {
        "resource": [part.resource] * len(place),
        "tasks": [part.tasks] * len(place),
        "machine": machines[place],
        "day": day.astype(np.int32),
    }
    for name in SUMMED:
        columns[name] = sums[name][place, day]
    return pa.table(columns, SCHEMA)


def key_of(
    plan: PeakPlan,
    options: ReplayOptions,
    policy: PeakPolicy,
    seed: int,
    store_digest: str,
) -> str:
    """Return the key of a cell: a digest of all that its sums depend on.

    Parameters
    ----------
    plan
        The experiment.
    options
        Of the replay of the store.
    policy, seed
        Of the cell.
    store_digest
        Content digest of the store.
    """
    facts = {
        "store": store_digest,
        "policy": policy.label,
        "policy_code": code_of(policy),
        "seed": seed if plan.machines else 0,
        "machines": plan.machines,
        "horizon": options.horizon,
        "resources": list(options.resources),
        "tasks": list(options.tasks),
        "metrics": list(options.metrics),
    }
    return key_from(facts, CODE)


def code_of(policy: PeakPolicy) -> str:
    """Return the digest of the code of a policy that is not borgtrace's; empty for one of ours."""
    if isinstance(policy, Maximum):
        return "+".join(code_of(part) for part in policy.policies)
    if POLICY_KINDS.own.get(policy.name) is type(policy):
        return ""
    return code_of_extension(policy.name, policy)
