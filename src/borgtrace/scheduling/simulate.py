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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.engine.processes import map_processes
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Answer, Column, EngineTables, Row, charts
from borgtrace.question.store_question import StoreQuestion
from borgtrace.scheduling.event_log import write_event_log
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, UNIT
from borgtrace.scheduling.plan import TaskPlan, parse_plan, plan_of
from borgtrace.scheduling.policies import PlacementPolicy, parse_policy
from borgtrace.scheduling.replay import (
    RECORDED,
    ReplayInput,
    calibrated,
    impossible,
    recorded,
    replayed,
    with_factor,
)
from borgtrace.scheduling.room import room_of
from borgtrace.scheduling.state import (
    ALIVE,
    ATTEMPT,
    ENDED,
    OUTCOME,
    PREEMPTED,
    REMOVED,
    STARTED,
    SUBMITTED,
)
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
            "wait_mean",
            "float64",
            "s",
            "Mean of their waits; NULL without any.",
            nullable=True,
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


LARGE = 0.1
"""Tasks that ask for more of the largest machine's CPU or memory are large."""
DEFAULTS = (RECORDED, "best-fit", "best-fit+preempt")


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """Options of a simulation.

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
            raise UsageError(
                "--event-log",
                "not one schedule",
                expected="one --policy, not recorded",
                got=", ".join(self.policies),
            )
        for text in self.add_machines:
            parse_machines(text)
        for text in self.upgrade_machines:
            parse_upgrade(text)
        if self.plan and self.factor:
            raise UsageError(
                "--factor",
                "not beside --plan",
                expected="one of the two",
                got=f"--plan {self.plan} --factor {self.factor:g}",
            )
        if self.plan:
            parse_plan(self.plan)
        if not 0 <= self.factor <= 1:
            raise UsageError(
                "--factor",
                "not a share",
                expected="above 0 and at most 1",
                got=f"{self.factor:g}",
            )
        self.parsed_policies()

    def parsed_policies(self) -> dict[str, PlacementPolicy | None]:
        """Return the policies by name, None for the trace itself; refuse unknown ones."""
        return {text: None if text == RECORDED else parse_policy(text) for text in self.policies}


class PolicyRun(NamedTuple):
    """One schedule to make.

    Attributes
    ----------
    label
        Name of the policy, and of the change of the trace.
    policy
        None: what was recorded.
    trace
        As it is, or changed.
    is_logged
        Whether the schedule is written as a store of its own.
    """

    label: str
    policy: PlacementPolicy | None
    trace: ReplayInput
    is_logged: bool


class PolicyRows(NamedTuple):
    """Rows of one schedule, and the schedule itself where it is written as a store of its own."""

    rows: list[Row]
    submissions: Index | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleQuestion(StoreQuestion):
    """A question that schedules a trace again.

    ``compute(trace, submissions, policy, planned, impossible)`` returns the rows of one policy.

    Attributes
    ----------
    note
        Called with what has to be known of the trace.
    """

    options: type[Any] = SimulateOptions
    reads: Sequence[str] = ("machine_events", "instance_events")
    note: Callable[[str], None] = field(default=lambda text: None, compare=False)

    def rows_of_store(
        self,
        store: Store,
        tables: EngineTables,
        options: SimulateOptions,
        /,
    ) -> list[Row]:
        """Schedule the trace again with each policy; see the base."""
        self.report("reading", 0, len(options.policies))
        trace = ReplayInput.of(tables, store.manifest.time_range["instance_events"][1])
        plan = None
        factor = 1.0
        if options.plan:
            plan = plan_of(parse_plan(options.plan), tables, trace.tasks, store)
        else:
            factor = options.factor or calibrated(trace)
        self.note(describe_input(trace, plan))
        runs = list(runs_of(trace, tables, options))

        def reported_runs() -> Iterator[PolicyRun]:
            for done, run in enumerate(runs):
                self.report(run.label, done, len(runs))
                yield run

        schedule = partial(
            rows_of_run,
            options=options,
            plan=plan,
            factor=factor,
            compute=self.compute,
        )
        rows: list[Row] = []
        for result in map_processes(
            schedule,
            reported_runs(),
            options.jobs,
            place=str(store.path),
        ):
            rows += result.rows
            if result.submissions is not None:
                write_event_log(
                    store,
                    trace,
                    result.submissions,
                    policy=options.policies[0],
                    seed=options.seed,
                    out=options.event_log,
                )
        for sentence in costliest(rows):
            self.note(sentence)
        return rows


def runs_of(
    trace: ReplayInput,
    tables: EngineTables,
    options: SimulateOptions,
) -> Iterator[PolicyRun]:
    """Yield the schedules to make: each policy on each variant of the trace."""
    traces = list(
        variants(
            trace,
            tables,
            each_constraint=options.each_constraint,
            machines=options.add_machines,
            upgrades=options.upgrade_machines,
        )
    )
    for name, policy in options.parsed_policies().items():
        # What was recorded cannot change.
        for variant in traces if policy else traces[:1]:
            yield PolicyRun(
                label=f"{name}{variant.suffix}",
                policy=policy,
                trace=variant.trace,
                is_logged=bool(options.event_log) and not variant.suffix,
            )


def rows_of_run(
    run: PolicyRun,
    *,
    options: SimulateOptions,
    plan: TaskPlan | None,
    factor: float,
    compute: Callable[..., list[Row]],
) -> PolicyRows:
    """Make one schedule, and return its rows."""
    trace = run.trace
    if run.policy is None:
        submissions = recorded(trace)
        planned = with_factor(trace.tasks, 1.0)
        never_fit = impossible(trace)
    else:
        submissions = replayed(
            trace,
            run.policy,
            factor,
            seed=options.seed,
            plan=plan,
            whole_jobs=options.whole_jobs,
        )
        planned = plan.lasting if plan else with_factor(trace.tasks, factor)
        never_fit = impossible(trace, plan)
    rows = compute(trace, submissions, run.label, planned, never_fit)
    return PolicyRows(rows, submissions if run.is_logged else None)


def describe_input(trace: ReplayInput, plan: TaskPlan | None) -> str:
    """Say what of the trace could not be used as it is."""
    tasks = trace.tasks
    machines = trace.machines
    never_fit = impossible(trace, plan)
    names = [f"{tasks.collection[k]}/{tasks.instance[k]}" for k in never_fit[:3].tolist()]
    examples = f" ({', '.join(names)} …)" if names else ""
    sentence = (
        f"{len(tasks):,} attempts: {trace.without_submit:,} without SUBMIT, "
        f"{tasks.without_request:,} without request, "
        f"{trace.unknown_machine:,} on machines that are not known, "
        f"{len(never_fit):,} that fit no machine{examples}; "
        f"{len(machines.ids):,} machines, {machines.without_capacity:,} others without a capacity"
    )
    if plan:
        unmeasured = f"{plan.unmeasured:,} attempts without usage take what they ask for"
        sentence += f"; {plan.label}: {unmeasured}"
    if plan and plan.slowed:
        sentence += f"; {plan.slowed:,} attempts take more CPU, slowed down by neighbors"
    return sentence


def compute(
    trace: ReplayInput,
    submissions: Index,
    policy: str,
    planned: Index,
    impossible: Index,
) -> list[Row]:
    """Return the rows of a policy, one for each tier with tasks.

    Parameters
    ----------
    trace
        What was replayed.
    submissions
        What :func:`borgtrace.scheduling.events.run` returned.
    policy
        Its name.
    planned
        What tasks were planned with, int64 (n, 2).
    impossible
        Attempts that no machine takes.
    """
    tasks = trace.tasks
    room = room_of(trace, submissions, planned)
    rows = []
    for tier in np.unique(tasks.tier).tolist():
        is_own = tasks.tier == tier
        requested = tasks.sizes[is_own].sum()
        own_submissions = submissions[is_own[submissions[:, ATTEMPT]]]
        row: Row = {
            "policy": policy,
            "tier": tasks.tier_name(tier),
            **waits_of(trace, own_submissions),
            **states_of(trace, own_submissions, impossible),
            **running_of(trace, own_submissions),
            "factor": float(round(planned[is_own].sum() / max(requested, 1), 6)),
        }
        rows.append(row | room)
    return rows


def waits_of(trace: ReplayInput, submissions: Index) -> Row:
    """Return counts and waits of some submissions."""
    has_started = submissions[:, STARTED] >= 0
    ran = submissions[has_started]
    never_ran = submissions[~has_started]
    waits = (ran[:, STARTED] - ran[:, SUBMITTED]) / SECOND
    left = np.where(never_ran[:, ENDED] >= 0, never_ran[:, ENDED], trace.until)
    unstarted = left - never_ran[:, SUBMITTED]
    sizes = trace.tasks.sizes[ran[:, ATTEMPT]]
    is_large: Flags = sizes.max(axis=1, initial=0) > round(UNIT * LARGE)
    median = None
    high = None
    if len(waits):
        median, high = np.percentile(waits, (50, 90)).tolist()
    return {
        "submissions": len(submissions),
        "starts": len(ran),
        "wait_p50": median,
        "wait_p90": high,
        "wait_mean": mean_of(waits),
        "wait_small": mean_of(waits[~is_large]),
        "wait_large": mean_of(waits[is_large]),
        "waiting_hours": float((waits.sum() * SECOND + unstarted.sum()) / HOUR),
    }


def states_of(
    trace: ReplayInput,
    submissions: Index,
    impossible: Index,
) -> Row:
    """Return how some submissions ended, or what they are at the end."""
    outcome = submissions[:, OUTCOME]
    has_started = submissions[:, STARTED] >= 0
    is_alive = outcome == ALIVE
    pending = submissions[is_alive & ~has_started, ATTEMPT]
    return {
        "evicted": int((outcome == PREEMPTED).sum()),
        "removed": int((outcome == REMOVED).sum()),
        "running_end": int((is_alive & has_started).sum()),
        "pending_end": len(pending),
        "impossible": int(np.isin(pending, impossible).sum()),
    }


def running_of(trace: ReplayInput, submissions: Index) -> Row:
    """Return the mean number of running tasks, and their share of all machines."""
    ran = submissions[submissions[:, STARTED] >= 0]
    ended = np.where(ran[:, ENDED] >= 0, ran[:, ENDED], trace.until)
    lasted = ended - ran[:, STARTED]
    span = max(trace.until, 1)
    # As a float: of a large cell and many hours it is more than 64 bits hold.
    total = trace.machines.capacity[:, :EXTENDED].sum(axis=0) * float(span)
    sizes = trace.tasks.sizes[ran[:, ATTEMPT]]
    used = (sizes * lasted[:, None].astype(np.float64)).sum(axis=0) / total
    return {
        "running": float(lasted.sum() / span),
        "cpu": float(used[CPU]),
        "memory": float(used[MEMORY]),
    }


def mean_of(values: Numbers) -> float | None:
    """Return a mean, None of nothing."""
    return float(values.mean()) if len(values) else None


ROOM_SERIES = {
    "stranded_cpu": "stranded CPU",
    "stranded_memory": "stranded memory",
    "overcommitted": "overcommitted time",
}


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the tasks that wait at the end beside the room of machines."""
    import altair as alt

    rows = answer.to_pylist()
    # What is known of the whole cell is the same in all rows of a policy.
    row_of_policy = {row["policy"]: row for row in rows}
    room_rows = charts.melted(list(row_of_policy.values()), ROOM_SERIES, "share")
    panels = []
    if rows:
        panels.append(pending_chart(rows))
    if room_rows:
        panels.append(room_chart(room_rows))
    return (
        alt.hconcat(*panels)
        .properties(title="Other schedulers (simulated, beside what was recorded)")
        .resolve_scale(color="independent")
    )


def pending_chart(rows: list[Row]) -> charts.Chart:
    """Draw the tasks that wait at the end."""
    import altair as alt

    tooltip = charts.tooltips(
        rows,
        "pending_end",
        "policy",
        "tier",
        "running_end",
        "wait_p50",
        "wait_p90",
        "evicted",
    )
    return (
        charts.base(
            rows,
            title="Tasks that wait at the end",
            height=160,
        )
        .mark_bar()
        .encode(
            x=alt.X("pending_end:Q", title="pending tasks at the end"),
            y=alt.Y("policy:N", title=None),
            color=charts.tier_color(rows),
            tooltip=tooltip,
        )
    )


def room_chart(rows: list[Row]) -> charts.Chart:
    """Draw what of the cell's room is stranded or overcommitted."""
    import altair as alt

    share_axis = alt.X(
        "share:Q",
        title="share of the cell or of machine time",
        axis=alt.Axis(format="%"),
    )
    return (
        charts.base(rows, title="Room", height=160)
        .mark_bar()
        .encode(
            x=share_axis,
            y=alt.Y("policy:N", title=None),
            color=alt.Color("series:N", title="series"),
            yOffset="series:N",
            tooltip=charts.tooltips(rows, "share", "policy", "series"),
        )
    )


SIMULATE = ScheduleQuestion(
    name="simulation",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reference=(
        "Verma et al., EuroSys'15 (Borg), section 3.2; 2011 trace, resubmission after evictions"
    ),
)
"""The table of policies: ``SIMULATE.run(store, policies=("recorded", "best-fit"))``."""
