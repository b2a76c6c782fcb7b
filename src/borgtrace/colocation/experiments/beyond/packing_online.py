"""What happens when tasks come and go, and are unknown at first?

Beyond Janus & Rzadca (SoCC'17): tasks arrive when they did, are placed by an estimator from what has been measured
before that moment, and leave; no task migrates. The usage of a new task is estimated from earlier tasks of the same
user and logical name, or else of the user, or from its request. Each hour counts machine-hours, and moments (machine ×
5 minutes) with an overflow. ``--include short`` keeps short tasks, which the paper drops. With ``--include failing``
each attempt of a failing task is placed again; the usage of the attempts that had to be repeated is the cost of the
retries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.online_cluster import ColdStart, SlotCounts, simulate
from borgtrace.colocation.tasks.simultaneous import Timeline
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Percentile, Request
from borgtrace.question import Answer, Claim, Column, NotApplicable, at_most, below, charts, sql

if TYPE_CHECKING:
    import altair as alt


ANSWER = Answer(
    grain="estimator, cold start and hour",
    key=[
        Column("estimator", "string", "id", "Estimator and parameter."),
        Column("cold_start", "string", "id", "What new tasks are guessed from: name or request."),
        Column("hour", "int64", "h", "Hour since the first arrival."),
    ],
    columns=[
        Column("machine_hours", "float64", "h", "Hours of machines in use."),
        Column("n_tasks", "float64", "1", "Mean number of tasks running."),
        Column("n_placed", "int64", "count", "Tasks placed."),
        Column(
            "n_unplaceable", "int64", "count", "Tasks that fitted no machine, even an empty one."
        ),
        Column("overflows", "int64", "count", "Machines × 5 minutes with an overflow."),
        Column("moments", "int64", "count", "Machines × 5 minutes in use."),
        Column("cpu_hours", "float64", "h", "CPU used, in hours of the largest machine."),
        Column(
            "retried_cpu_hours",
            "float64",
            "h",
            (
                "Of these, used by attempts that failed and were made again; needs --include "
                "failing."
            ),
        ),
    ],
)


SLOTS_PER_HOUR = 12


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Simulate the arrival and departure of the tasks with every estimator."""
    pool = study.pool(options)
    require_arrivals(pool)
    rows: list[Row] = []
    for way in ways(pool):
        counts = simulate(
            pool,
            way.estimator,
            capacity=options.capacity,
            cold_start=way.cold_start,
        )
        for row in hourly_rows(counts, pool):
            row |= {"estimator": way.estimator.label, "cold_start": way.cold_start}
            rows.append(row)
    return rows


class OnlineWay(NamedTuple):
    """An estimator, and what new tasks are guessed from."""

    estimator: Estimator
    cold_start: ColdStart


def ways(pool: TaskPool) -> list[OnlineWay]:
    """Return the estimators and cold starts compared; requests only where they are known.

    Parameters
    ----------
    pool
        The tasks.
    """
    estimators = (Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(95))
    listed = [OnlineWay(estimator, "name") for estimator in estimators]
    if pool.has_requests:
        listed += [OnlineWay(Gpa(0.01), "request"), OnlineWay(Request(1.0), "request")]
    return listed


def require_arrivals(pool: TaskPool) -> None:
    """Refuse a pool whose tasks all arrive at once: nothing would ever be known when a task is placed.

    Parameters
    ----------
    pool
        The tasks.

    Raises
    ------
    NotApplicable
        They do.
    """
    first_slot = pool.slots()[pool.offsets[:-1]]
    NotApplicable.unless(
        len(pool) <= 1 or np.ptp(first_slot), "all tasks of the pool arrive at the same moment"
    )


def hourly_rows(counts: SlotCounts, pool: TaskPool) -> list[Row]:
    """Add up what happened, hour by hour.

    Parameters
    ----------
    counts
        What happened in each slot.
    pool
        The tasks.
    """
    n_slots = len(counts.machines)
    starts = np.arange(0, n_slots, SLOTS_PER_HOUR)
    # The last hour may be shorter.
    lengths = np.diff(np.append(starts, n_slots))
    machine_slots = np.add.reduceat(counts.machines, starts)
    cpu, retried_cpu = cpu_by_slot(counts, pool)
    hours = {
        "hour": np.arange(len(starts)),
        "machine_hours": machine_slots / SLOTS_PER_HOUR,
        "n_tasks": np.add.reduceat(counts.tasks, starts) / lengths,
        "n_placed": np.add.reduceat(counts.cold, starts),
        "n_unplaceable": np.add.reduceat(counts.unplaceable, starts),
        "overflows": np.add.reduceat(counts.overflows, starts),
        "moments": machine_slots,
        "cpu_hours": np.add.reduceat(cpu, starts) / SLOTS_PER_HOUR,
        "retried_cpu_hours": np.add.reduceat(retried_cpu, starts) / SLOTS_PER_HOUR,
    }
    return pa.table(hours).to_pylist()


def cpu_by_slot(counts: SlotCounts, pool: TaskPool) -> tuple[Numbers, Numbers]:
    """Return the CPU in each slot, of all tasks and of the attempts that failed and were made again.

    Parameters
    ----------
    counts
        The slots.
    pool
        The tasks.
    """
    timeline = Timeline.of(pool)
    is_retried = np.zeros(len(pool), np.int64) if pool.retried is None else pool.retried
    retried_usage = timeline.usage * np.repeat(is_retried, np.diff(timeline.offsets))
    slot = timeline.slot - counts.first
    n_slots = len(counts.machines)
    cpu = np.bincount(slot, timeline.usage, n_slots)
    retried_cpu = np.bincount(slot, retried_usage, n_slots)
    return cpu.astype(np.float64), retried_cpu.astype(np.float64)


def chart(answer: pa.Table) -> alt.VConcatChart:
    """Draw machines and overflows over time."""
    import altair as alt

    rows = []
    for row in answer.to_pylist():
        rows.append({**row, "way": f"{row['estimator']}, by {row['cold_start']}"})
    return alt.vconcat(
        by_hour(rows, "machine_hours", "machine-hours per hour"),
        by_hour(rows, "overflows", "overflows (machines × 5 min)"),
    )


def by_hour(rows: list[Row], name: str, title: str) -> alt.Chart:
    """Draw one column over time, a line for each way of packing.

    Parameters
    ----------
    rows
        Rows of the answer, with their way of packing.
    name, title
        Column, and what its axis is called.
    """
    import altair as alt

    return (
        charts.base(rows, width=520, height=180)
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour since the first arrival (h)"),
            y=alt.Y(f"{name}:Q", title=title),
            color=alt.Color("way:N", title="way"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "online-saving",
        statement="gpa .01 saves machine-hours against packing by request (share kept)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                sum(machine_hours) filter (estimator = 'gpa 0.01' and cold_start = 'name')
                / sum(machine_hours) filter (estimator = 'request 1' and cold_start = 'request')
            from answer
            """,
            otherwise="not among the ways that were run",
        ),
        criterion=below(1),
    ),
    Claim(
        "online-promise",
        statement="gpa .01 meets its target without knowing the future (q ÷ ρ)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                sum(overflows) / nullif(sum(moments), 0) / 0.01,
                if(count(*) > 0, 'no task could be placed', 'not among the ways that were run')
            from answer
            where estimator = 'gpa 0.01' and cold_start = 'name'
            """,
        ),
        criterion=at_most(1),
    ),
    Claim(
        "online-names",
        statement=(
            "earlier tasks of the same name predict better than the request (machine-hours,"
            " gpa .01)"
        ),
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                sum(machine_hours) filter (estimator = 'gpa 0.01' and cold_start = 'name')
                / sum(machine_hours) filter (estimator = 'gpa 0.01' and cold_start = 'request')
            from answer
            """,
            otherwise="not among the ways that were run",
        ),
        criterion=below(1),
    ),
]

QUESTION = Experiment(
    name="packing_online",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=["tasks", "capacity", "include", "seed"],
    defaults={"tasks": 2_000},
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
