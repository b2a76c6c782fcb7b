"""What would another scheduler have done with the trace?

The attempts of the trace arrive when it submitted them and run as long as they did. (An attempt that follows another
arrives only after the other has ended here, and after the same gap as in the trace.) Machines come and go as in the
trace. Attempts that fit nowhere wait; whenever a machine gets room, they are tried by priority, and then by arrival.
Tasks of production take their requests, others a factor of theirs, because in the traces tasks request more than the
machines have. The factor is the largest with which the tasks that run at the start pack as well as without those
others. A task that is evicted is submitted again after 7 µs (the median in 2011) and starts from the beginning. The
policy *recorded* is the trace itself: its own times and machines, whatever the room.
"""

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Answer, Column, Row, charts
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, UNIT
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.room import room_of
from borgtrace.scheduling.schedule_question import ScheduleQuestion
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
from borgtrace.schema.time import HOUR, SECOND

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
    most_important=[
        "policy",
        "tier",
        "wait_mean",
        "pending_end",
        "evicted",
        "starts",
        "machines",
        "wait_p90",
    ],
)


LARGE = 0.1
"""Tasks that ask for more of the largest machine's CPU or memory are large."""


def compute(
    trace: ScheduleInput,
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


def waits_of(trace: ScheduleInput, submissions: Index) -> Row:
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
    trace: ScheduleInput,
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


def running_of(trace: ScheduleInput, submissions: Index) -> Row:
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


def waits_in_words(answer: pa.Table) -> str:
    """Return how long the tasks of the cell wait by each policy, the shortest first.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    waiting: dict[str, float] = {}
    pending: dict[str, int] = {}
    for row in answer.to_pylist():
        policy = row["policy"]
        waiting[policy] = waiting.get(policy, 0.0) + row["waiting_hours"]
        pending[policy] = pending.get(policy, 0) + row["pending_end"]
    parts = []
    for policy in sorted(waiting, key=lambda policy: (waiting[policy], policy)):
        hours = f"{waiting[policy]:,.0f}" if waiting[policy] >= 100 else f"{waiting[policy]:.3g}"
        parts.append(f"{policy} {hours} h, {pending[policy]:,} pending at the end")
    return f"Waits of all tasks together: {'; '.join(parts)}."


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
    sentence=waits_in_words,
    reference=(
        "Verma et al., EuroSys'15 (Borg), section 3.2; 2011 trace, resubmission after evictions"
    ),
)
"""The table of policies: ``SIMULATE.run(store, policies=("recorded", "best-fit"))``."""
