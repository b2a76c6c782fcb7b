"""What would another scheduler have done with the trace?

The attempts of the trace arrive when it submitted them (one that follows another, not before that has ended and the
trace's gap is over), run as long as they did, and wait where nothing takes them; machines come and go as in the trace.
Who waits is asked by priority, then by arrival, whenever a machine gets room. Tasks of production take what they ask
for, others a factor of it: in the traces more is asked for than machines have. The factor is the largest with which
what runs at the start packs as well as without the others. A task that is evicted is submitted again after 7 µs (the
median in 2011) and runs anew. The policy *recorded* is the trace itself: its own times and machines, whatever the room.

Reference: Verma et al., EuroSys'15 (Borg), section 3.2; 2011 trace, resubmission after evictions
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from borgtrace.engine.processes import map_processes
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import EngineTables, Row
from borgtrace.question.store_question import StoreQuestion
from borgtrace.scheduling.event_log import write_event_log
from borgtrace.scheduling.machines import EXTENDED, UNIT
from borgtrace.scheduling.plan import Plan, parse_plan, plan_of
from borgtrace.scheduling.policies import Policy, parse_policy
from borgtrace.scheduling.replay import (
    RECORDED,
    Trace,
    calibrated,
    impossible,
    recorded,
    replayed,
    with_factor,
)
from borgtrace.scheduling.room import room_of
from borgtrace.scheduling.state import ALIVE, ENDED, KIND, PREEMPTED, REMOVED, STARTED, SUBMITTED
from borgtrace.scheduling.variants import costliest, parse_machines, parse_upgrade, variants
from borgtrace.schema.time import HOUR, SECOND
from borgtrace.store import Store

_LARGE = 0.1
"""Tasks that ask for more of the largest machine's CPU or memory are large."""
DEFAULTS = (RECORDED, "best-fit", "best-fit+preempt")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a simulation may be told.

    Attributes
    ----------
    policies
        Policies as text; `DEFAULTS` by default.
    factor
        What tasks below production take of their requests; 0: calibrated.
    plan
        Estimator of what all tasks take, such as ``gpa:0.01``, instead of the factor; none where empty.
    whole_jobs
        Whether tasks of a job that arrive together start together or not at all.
    seed
        Of random orders of machines.
    each_constraint
        Whether the constraints on each attribute are dropped in turn, too.
    add_machines
        Machines to add, as text; each is a what-if of its own.
    upgrade_machines
        Shapes of machines to replace, as text; each is a what-if of its own.
    event_log
        Folder of a store to write of the schedule; none where empty.
    jobs
        Processes: each replays one policy at a time.
    """

    policies: Sequence[str] = DEFAULTS
    factor: float = 0.0
    plan: str = ""
    whole_jobs: bool = False
    seed: int = 0
    each_constraint: bool = False
    add_machines: Sequence[str] = ()
    upgrade_machines: Sequence[str] = ()
    event_log: str = ""
    jobs: int = 1

    def __post_init__(self) -> None:
        if self.event_log and (len(self.policies) != 1 or RECORDED in self.policies):
            got = ", ".join(self.policies)
            raise UsageError(
                "--event-log", "not one schedule", expected="one --policy, not recorded", got=got
            )
        for text in self.add_machines:
            parse_machines(text)
        for text in self.upgrade_machines:
            parse_upgrade(text)
        if self.plan and self.factor:
            got = f"--plan {self.plan} --factor {self.factor:g}"
            raise UsageError("--factor", "not beside --plan", expected="one of the two", got=got)
        if self.plan:
            parse_plan(self.plan)
        if not 0 <= self.factor <= 1:
            raise UsageError(
                "--factor", "not a share", expected="above 0 and at most 1", got=f"{self.factor:g}"
            )
        self.parsed()

    def parsed(self) -> dict[str, Policy | None]:
        """Return the policies by name, None for the trace itself; refuse those that there are not."""
        return {text: None if text == RECORDED else parse_policy(text) for text in self.policies}


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulate(StoreQuestion):
    """The table as a question: ``SIMULATE.run(store, policies=("recorded", "best-fit"))``.

    Attributes
    ----------
    said
        Called with what has to be known of the trace.
    """

    reads: tuple[str, ...] = ("machine_events", "instance_events")
    said: Callable[[str], None] = field(default=lambda text: None, compare=False)

    setting = Setting

    def answer(self, store: Store, tables: EngineTables, setting: Setting) -> list[Row]:
        """Schedule the trace again with each policy; see the base."""
        policies = setting.parsed()
        self.report("reading", 0, len(policies))
        trace = Trace.of(tables, store.manifest.time_range["instance_events"][1])
        plan = (
            plan_of(parse_plan(setting.plan), tables, trace.tasks, store) if setting.plan else None
        )
        factor = 1.0 if plan else setting.factor or calibrated(trace)
        self.said(_counted(trace, plan))
        changes = {"machines": setting.add_machines, "upgrades": setting.upgrade_machines}
        asked_of = list(variants(trace, tables, each_constraint=setting.each_constraint, **changes))
        # What was recorded cannot change.
        runs = [(*run, *of) for run in policies.items() for of in asked_of[: None if run[1] else 1]]

        def begun() -> Iterator[_Run]:
            for done, run in enumerate(runs):
                self.report(f"{run[0]}{run[2]}", done, len(runs))
                yield run

        rows: list[Row] = []
        work = partial(_replayed, setting=setting, plan=plan, factor=factor, compute=self.compute)
        for made, found in map_processes(work, begun(), setting.jobs, place=str(store.path)):
            rows += made
            if found is not None:
                write_event_log(
                    store, trace, found, setting.policies[0], setting.seed, setting.event_log
                )
        for sentence in costliest(rows):
            self.said(sentence)
        return rows


_Run = tuple[str, Policy | None, str, Trace]
"""A policy (None: what was recorded) by name, and a change of the trace, by what it adds to that name."""


def _replayed(
    run: _Run, setting: Setting, plan: Plan | None, factor: float, compute: Callable[..., list[Row]]
) -> tuple[list[Row], Index | None]:
    """Return the rows of one policy and change, and the schedule itself where a log of it is written."""
    name, policy, change, trace = run
    given: dict[str, Any] = {"seed": setting.seed, "plan": plan, "whole_jobs": setting.whole_jobs}
    found = recorded(trace) if policy is None else replayed(trace, policy, factor, **given)
    planned = (
        plan.lasting if plan and policy else with_factor(trace.tasks, factor if policy else 1.0)
    )
    never = impossible(trace, plan if policy else None)
    rows = compute(trace, found, f"{name}{change}", planned, never)
    return rows, found if setting.event_log and not change else None


def _counted(trace: Trace, plan: Plan | None) -> str:
    """Say what of the trace could not be used as it is."""
    tasks = trace.tasks
    waits = impossible(trace, plan)
    named = ", ".join(f"{tasks.collection[at]}/{tasks.instance[at]}" for at in waits[:3].tolist())
    machines = trace.machines
    return (
        f"{len(tasks):,} attempts: {trace.without_submit:,} without SUBMIT, {tasks.without_request:,} without request, "
        f"{trace.unknown_machine:,} on machines that are not known, "
        f"{len(waits):,} that fit no machine{f' ({named} …)' if named else ''}; "
        f"{len(machines.ids):,} machines, {machines.without_capacity:,} others without a capacity"
        + (
            f"; {plan.label}: {plan.unmeasured:,} attempts without usage take what they ask for"
            if plan
            else ""
        )
        + (
            f"; {plan.slowed:,} attempts take more CPU, slowed down by neighbors"
            if plan and plan.slowed
            else ""
        )
    )


def rows_of(
    trace: Trace, found: Index, policy: str, planned: Index, impossible: Index
) -> list[Row]:
    """Return the rows of a policy, one for each tier with tasks.

    Parameters
    ----------
    trace
        What was replayed.
    found
        What :func:`borgtrace.scheduling.events.run` returned.
    policy
        Its name.
    planned
        What tasks were planned with, int64 (n, 2).
    impossible
        Attempts that no machine takes.
    """
    tasks = trace.tasks
    never = np.isin(np.arange(len(tasks)), impossible)
    is_large: Flags = tasks.sizes.max(axis=1) > round(UNIT * _LARGE)
    # As a float: of a large cell and many hours it is more than 64 bits hold.
    total = trace.machines.capacity[:, :EXTENDED].sum(axis=0) * float(max(trace.until, 1))
    rows = []
    for tier in np.unique(tasks.tier).tolist():
        part = found[tasks.tier[found[:, 0]] == tier]
        has_start = part[:, STARTED] >= 0
        ran = part[has_start]
        waits = (ran[:, STARTED] - ran[:, SUBMITTED]) / SECOND
        others = part[~has_start]
        unstarted = (
            np.where(others[:, ENDED] >= 0, others[:, ENDED], trace.until) - others[:, SUBMITTED]
        )
        lasted = np.where(ran[:, ENDED] >= 0, ran[:, ENDED], trace.until) - ran[:, STARTED]
        used = (tasks.sizes[ran[:, 0]] * lasted[:, None].astype(np.float64)).sum(axis=0) / total
        alive = part[:, KIND] == ALIVE
        own = tasks.tier == tier
        taken = planned[own].sum() / max(tasks.sizes[own].sum(), 1)
        middle, high = np.percentile(waits, (50, 90)).tolist() if len(waits) else (None, None)
        row = {
            **{"policy": policy, "tier": tasks.tier_name(tier)},
            **{"submissions": len(part), "starts": len(ran), "wait_p50": middle, "wait_p90": high},
            "wait_mean": _mean(waits),
            **{
                f"wait_{size}": _mean(waits[is_large[ran[:, 0]] == (size == "large")])
                for size in ("small", "large")
            },
            "waiting_hours": float((waits.sum() * SECOND + unstarted.sum()) / HOUR),
            "evicted": int((part[:, KIND] == PREEMPTED).sum()),
            "removed": int((part[:, KIND] == REMOVED).sum()),
            "running": float(lasted.sum() / max(trace.until, 1)),
            "running_end": int((alive & has_start).sum()),
            "pending_end": int((alive & ~has_start).sum()),
            "impossible": int(never[part[alive & ~has_start, 0]].sum()),
            **{"cpu": float(used[0]), "memory": float(used[1]), "factor": float(round(taken, 6))},
        }
        rows.append(row)
    room = room_of(trace, found, planned)
    return [row | room for row in rows]


def _mean(values: Numbers) -> float | None:
    return float(values.mean()) if len(values) else None


SIMULATE = Simulate.declared(rows_of, name="simulation")
