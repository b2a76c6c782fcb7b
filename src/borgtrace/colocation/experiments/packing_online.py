"""What happens when tasks come and go, and are unknown at first?

Beyond Janus & Rzadca (SoCC'17): tasks arrive when they did, are placed by any estimator from what has been
measured before that moment, and leave; no task migrates. The usage of a new task is estimated from earlier
tasks of the same user and logical name, else of the user, or from its request. Counted per hour: machine-hours, and
moments (machine × 5 minutes) with an overflow. Short tasks, which the paper drops, come along with ``--include
short``; with ``--include failing`` each attempt of a failing task is placed anew, and what the attempts used that had
to be made again is the cost of the retries.

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Pool, Study
from borgtrace.colocation.cluster import ColdStart, SlotCounts, simulate
from borgtrace.colocation.experiments._answers import Row
from borgtrace.colocation.raw_series import Timeline
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Percentile, Request
from borgtrace.question import NotApplicable
from borgtrace.question.charts import Chart, Plot, added, axis, line

_HOUR = 12  # slots


def ways(pool: Pool) -> list[tuple[Estimator, ColdStart]]:
    """Estimators and cold starts compared; requests only where they are known."""
    plain: list[tuple[Estimator, ColdStart]] = [
        (estimator, "name")
        for estimator in (Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(95))
    ]
    if not pool.has_requests:
        return plain
    return [*plain, (Gpa(0.01), "request"), (Request(1.0), "request")]


def compute(study: Study, options: Options) -> list[Row]:
    """Simulate the arrival and departure of the tasks with every estimator."""
    pool = study.pool(options)
    _require_arrivals(pool)
    rows = []
    for estimator, cold_start in ways(pool):
        day = simulate(pool, estimator, capacity=options.capacity, cold_start=cold_start)
        rows += [
            {"estimator": estimator.label, "cold_start": cold_start, **row}
            for row in _hours(day, pool)
        ]
    return rows


def _require_arrivals(pool: Pool) -> None:
    begin = pool.slots()[pool.offsets[:-1]]
    # Without arrivals at different moments nothing is ever known when a task is placed.
    NotApplicable.unless(
        len(pool) <= 1 or np.ptp(begin), "all tasks of the pool arrive at the same moment"
    )


def _hours(day: SlotCounts, pool: Pool) -> list[Row]:
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


def _usage(day: SlotCounts, pool: Pool) -> dict[str, Numbers]:
    """CPU in each slot: of all tasks, and of the attempts that failed and were made again."""
    timeline, again = (
        Timeline.of(pool),
        np.zeros(len(pool), np.int64) if pool.retried is None else pool.retried,
    )
    lost = timeline.usage * np.repeat(again, np.diff(timeline.offsets))
    slot, slots = timeline.slot - day.first, len(day.machines)
    used = {"cpu_hours": timeline.usage, "retried_cpu_hours": lost}
    return {
        name: np.asarray(np.bincount(slot, cpu, slots), np.float64) for name, cpu in used.items()
    }


def plot(result: pa.Table) -> Chart:
    """Draw machines and overflows over time."""
    import altair as alt

    rows = added(result, way=lambda row: f"{row['estimator']}, by {row['cold_start']}")
    titles = {
        "machine_hours": "machine-hours per hour",
        "overflows": "overflows (machines × 5 min)",
    }
    panels = [
        Plot(rows, result, x="hour", y=axis(name, title), color="way")
        for name, title in titles.items()
    ]
    return alt.vconcat(*(panel.add(line()).draw(width=520, height=180) for panel in panels))


_OPTIONS = ("tasks", "capacity", "include", "seed")
EXPERIMENT = Experiment.declared(
    compute, plot=plot, order=420, options=_OPTIONS, defaults={"tasks": 2_000}
)
