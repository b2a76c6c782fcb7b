"""What happens when tasks come and go, and are unknown at first?

Beyond Janus & Rzadca (SoCC'17): tasks arrive when they did, are placed by any estimator from what has been
measured before that moment, and leave; no task migrates. The usage of a new task is estimated from earlier
tasks of the same user and logical name, else of the user, or from its request. Counted per hour: machine-hours, and
moments (machine × 5 minutes) with an overflow. Short tasks, which the paper drops, come along with ``--include
short``; with ``--include failing`` each attempt of a failing task is placed anew, and what the attempts used that had
to be made again is the cost of the retries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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


_HOUR = 12  # slots


def ways(pool: TaskPool) -> list[tuple[Estimator, ColdStart]]:
    """Estimators and cold starts compared; requests only where they are known."""
    plain: list[tuple[Estimator, ColdStart]] = [
        (estimator, "name")
        for estimator in (Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(95))
    ]
    if not pool.has_requests:
        return plain
    return [*plain, (Gpa(0.01), "request"), (Request(1.0), "request")]


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Simulate the arrival and departure of the tasks with every estimator."""
    pool = study.pool(options)
    _require_arrivals(pool)
    rows = []
    for estimator, cold_start in ways(pool):
        day = simulate(pool, estimator, capacity=options.capacity, cold_start=cold_start)
        rows += [
            {
                "estimator": estimator.label,
                "cold_start": cold_start,
                **row,
            }
            for row in _hours(day, pool)
        ]
    return rows


def _require_arrivals(pool: TaskPool) -> None:
    begin = pool.slots()[pool.offsets[:-1]]
    # Without arrivals at different moments nothing is ever known when a task is placed.
    NotApplicable.unless(
        len(pool) <= 1 or np.ptp(begin), "all tasks of the pool arrive at the same moment"
    )


def _hours(day: SlotCounts, pool: TaskPool) -> list[Row]:
    starts = np.arange(0, len(day.machines), _HOUR)
    machines = np.add.reduceat(day.machines, starts)
    # The last hour may be shorter.
    length = np.diff(np.append(starts, len(day.machines)))
    hours = {
        "hour": np.arange(len(starts)),
        "machine_hours": machines / _HOUR,
        "n_tasks": np.add.reduceat(day.tasks, starts) / length,
        "n_placed": np.add.reduceat(day.cold, starts),
        "n_unplaceable": np.add.reduceat(day.unplaceable, starts),
        "overflows": np.add.reduceat(day.overflows, starts),
        "moments": machines,
        **{name: np.add.reduceat(used, starts) / _HOUR for name, used in _usage(day, pool).items()},
    }
    return pa.table(hours).to_pylist()


def _usage(day: SlotCounts, pool: TaskPool) -> dict[str, Numbers]:
    """CPU in each slot: of all tasks, and of the attempts that failed and were made again."""
    timeline = Timeline.of(pool)
    again = np.zeros(len(pool), np.int64) if pool.retried is None else pool.retried
    lost = timeline.usage * np.repeat(again, np.diff(timeline.offsets))
    slot = timeline.slot - day.first
    slots = len(day.machines)
    used = {"cpu_hours": timeline.usage, "retried_cpu_hours": lost}
    return {
        name: np.asarray(np.bincount(slot, cpu, slots), np.float64) for name, cpu in used.items()
    }


def chart(answer: pa.Table) -> alt.VConcatChart:
    """Draw machines and overflows over time."""
    import altair as alt

    rows = [
        {**row, "way": f"{row['estimator']}, by {row['cold_start']}"} for row in answer.to_pylist()
    ]
    return alt.vconcat(
        by_hour(rows, "machine_hours", "machine-hours per hour"),
        by_hour(rows, "overflows", "overflows (machines × 5 min)"),
    )


def by_hour(rows: list[Row], name: str, title: str) -> alt.Chart:
    """Draw one column over time, a line for each way of packing."""
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


_OPTIONS = ("tasks", "capacity", "include", "seed")
CLAIMS = [
    Claim(
        "online-saving",
        statement="gpa .01 saves machine-hours against packing by request (share kept)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
        select sum(machine_hours) filter (estimator = 'gpa 0.01' and cold_start = 'name')
            / sum(machine_hours) filter (estimator = 'request 1'
                and cold_start = 'request') from answer
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
        select sum(overflows) / nullif(sum(moments), 0) / 0.01,
            if(count(*) > 0, 'no task could be placed', 'not among the ways that were run')
        from answer where estimator = 'gpa 0.01' and cold_start = 'name'
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
        select sum(machine_hours) filter (estimator = 'gpa 0.01' and cold_start = 'name')
            / sum(machine_hours) filter (estimator = 'gpa 0.01'
                and cold_start = 'request') from answer
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
    options=_OPTIONS,
    defaults={"tasks": 2_000},
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
