"""What would another scheduler have done with the trace?

The attempts of the trace arrive when it submitted them (one that follows another, not before that has ended and the
trace's gap is over), run as long as they did, and wait where nothing takes them; machines come and go as in the trace.
Who waits is asked by priority, then by arrival, whenever a machine gets room. Tasks of production take what they ask
for, others a factor of it: in the traces more is asked for than machines have. The factor is the largest with which
what runs at the start packs as well as without the others. A task that is evicted is submitted again after 7 µs (the
median in 2011) and runs anew. The policy *recorded* is the trace itself: its own times and machines, whatever the room.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.engine.processes import map_processes
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Answer, Column, EngineTables, Row, charts, query_answer
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

ANSWER = Answer(
    grain="policy and tier",
    key=[
        Column(
            "policy",
            "string",
            "id",
            "Policy, or recorded: the trace itself. All others are simulated.",
        ),
        Column(
            "tier", "string", "id", "Tier of the tasks; unknown: no event tells their priority."
        ),
    ],
    columns=[
        Column(
            "submissions",
            "int64",
            "count",
            "Submissions, those after an eviction by the simulator among them.",
        ),
        Column("starts", "int64", "count", "Submissions that started."),
        Column(
            "wait_p50",
            "float64",
            "s",
            "Median wait of those that started; NULL without any.",
            nullable=True,
        ),
        Column(
            "wait_p90",
            "float64",
            "s",
            "90th percentile of their waits; NULL without any.",
            nullable=True,
        ),
        Column(
            "wait_mean", "float64", "s", "Mean of their waits; NULL without any.", nullable=True
        ),
        Column(
            "wait_small",
            "float64",
            "s",
            (
                "Mean wait of those that ask for at most a tenth of the largest machine's CPU "
                "and memory; NULL without any."
            ),
            nullable=True,
        ),
        Column(
            "wait_large",
            "float64",
            "s",
            "Mean wait of the others of those that started; NULL without any.",
            nullable=True,
        ),
        Column(
            "waiting_hours",
            "float64",
            "h",
            "Their waits and those of submissions that never started, together.",
        ),
        Column("evicted", "int64", "count", "Submissions that a task of a higher tier evicted."),
        Column("removed", "int64", "count", "Submissions that ended with their machine."),
        Column("running", "float64", "count", "Mean number of running tasks."),
        Column("running_end", "int64", "count", "Running tasks at the end."),
        Column("pending_end", "int64", "count", "Pending tasks at the end."),
        Column(
            "impossible",
            "int64",
            "count",
            "Of these, tasks that no machine of the trace could ever take.",
        ),
        Column(
            "cpu",
            "float64",
            "fraction",
            "Mean CPU of running tasks, by their requests, of all machines.",
        ),
        Column(
            "memory",
            "float64",
            "fraction",
            "Mean memory of running tasks, by their requests, of all machines.",
        ),
        Column(
            "factor",
            "float64",
            "fraction",
            "Share of its request that a task of this tier was planned with.",
        ),
        Column(
            "machines", "float64", "count", "Mean number of machines with tasks, of the whole cell."
        ),
        Column(
            "tasks_per_machine",
            "float64",
            "count",
            "Mean number of tasks on a machine with tasks, of the whole cell.",
        ),
        Column(
            "stranded_cpu",
            "float64",
            "fraction",
            (
                "CPU of the cell that is free beyond the share of memory that is free on the "
                "same machine."
            ),
        ),
        Column(
            "stranded_memory",
            "float64",
            "fraction",
            (
                "Memory of the cell that is free beyond the share of CPU that is free on the "
                "same machine."
            ),
        ),
        Column(
            "overcommitted",
            "float64",
            "fraction",
            (
                "Time of machines with tasks during which these ask for more CPU or memory than"
                " the machine has."
            ),
        ),
        Column(
            "overloaded",
            "float64",
            "fraction",
            (
                "Time of machines with tasks during which their mean usage exceeds the machine;"
                " NULL below 90 % measured."
            ),
            nullable=True,
        ),
    ],
)


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
class ScheduleQuestion(StoreQuestion):
    """A question that schedules a trace again.

    ``compute(trace, found, policy, planned, impossible)`` returns the rows of one policy.

    Attributes
    ----------
    said
        Called with what has to be known of the trace.
    """

    options: type[Any] = Setting
    reads: Sequence[str] = ("machine_events", "instance_events")
    said: Callable[[str], None] = field(default=lambda text: None, compare=False)

    def rows_of_store(self, store: Store, tables: EngineTables, setting: Setting, /) -> list[Row]:
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


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: other schedulers (simulated, beside what was recorded)."""
    import altair as alt

    panels = []
    rows = answer.to_pylist()
    if rows:
        panels.append(
            charts.base(rows, title="Tasks that wait at the end", height=160)
            .mark_bar()
            .encode(
                x=alt.X("pending_end:Q", title="pending tasks at the end"),
                y=alt.Y("policy:N", title=None),
                color=charts.tier_color(rows),
                tooltip=charts.tooltips(
                    rows,
                    "pending_end",
                    "policy",
                    "tier",
                    "running_end",
                    "wait_p50",
                    "wait_p90",
                    "evicted",
                ),
            )
        )
    rows = query_answer(
        answer,
        """
        select * exclude (place, last)
        from (
            select * exclude place, min(place) over of as place, place = max(place) over of
                as last
            from (select *, row_number() over () as place from answer)
            window of as (partition by policy)
        ) unpivot (
            share for series in (
                stranded_cpu as 'stranded CPU', stranded_memory as 'stranded memory',
                    overcommitted as 'overcommitted time'
            )
        )
        where last order by place
        """,
    )
    if rows:
        panels.append(
            charts.base(rows, title="Room", height=160)
            .mark_bar()
            .encode(
                x=alt.X(
                    "share:Q",
                    title="share of the cell or of machine time",
                    axis=alt.Axis(format="%"),
                ),
                y=alt.Y("policy:N", title=None),
                color=alt.Color("series:N", title="series"),
                yOffset="series:N",
                tooltip=charts.tooltips(rows, "share", "policy", "series"),
            )
        )
    return (
        alt.hconcat(*panels)
        .properties(title="Other schedulers (simulated, beside what was recorded)")
        .resolve_scale(color="independent")
    )


SIMULATE = ScheduleQuestion(
    name="simulation",
    doc=__doc__,
    answer=ANSWER,
    compute=rows_of,
    chart=chart,
    reference=(
        "Verma et al., EuroSys'15 (Borg), section 3.2; 2011 trace, resubmission after evictions"
    ),
)
"""The table of policies: ``SIMULATE.run(store, policies=("recorded", "best-fit"))``."""
