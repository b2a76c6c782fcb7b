"""What happens when tasks come and go, and nothing is known of them at first?

Past Janus & Rzadca (SoCC'17): tasks arrive when they did, are placed by any estimator from what has been
measured before that moment, and leave; nobody migrates.  New tasks are guessed from earlier tasks of the same
logical name, or from their request.  Counted per hour: machine-hours, and moments (machine × 5 minutes) with an
overflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation.cluster import ColdStart
from borgtrace.colocation.online import Day, simulate
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.source import pool_of
from borgtrace.placement.estimators.average import Average
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.percentile import Percentile
from borgtrace.placement.estimators.request import Request
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "packing_online",
    "estimator, cold start and hour",
    ("estimator", "cold_start", "hour"),
    (
        Column("estimator", "string", "id", "Estimator and parameter.", nullable=False),
        Column("cold_start", "string", "id", "What new tasks are guessed from: name or request.", nullable=False),
        Column("hour", "int64", "h", "Hour since the first arrival.", nullable=False),
        Column("machine_hours", "float64", "h", "Hours of machines in use.", nullable=False),
        Column("n_tasks", "float64", "1", "Mean number of tasks running.", nullable=False),
        Column("n_placed", "int64", "1", "Tasks placed.", nullable=False),
        Column("n_unplaceable", "int64", "1", "Tasks that fitted no machine, even an empty one.", nullable=False),
        Column("overflows", "int64", "1", "Machines × 5 minutes with an overflow.", nullable=False),
        Column("moments", "int64", "1", "Machines × 5 minutes in use.", nullable=False),
    ),
)
_HOUR = 12  # slots


def ways(pool: Pool) -> list[tuple[Estimator, ColdStart]]:
    """Estimators and cold starts compared; requests only where they are known."""
    plain: list[tuple[Estimator, ColdStart]] = [
        (estimator, "name") for estimator in (Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(95))
    ]
    if pool.cpu_request is None or not np.isfinite(pool.cpu_request).any():
        return plain
    return [*plain, (Gpa(0.01), "request"), (Request(1.0), "request")]


def compute(tables: Tables, *, tasks: int = 2_000, capacity: float = 1.0, seed: int = 0) -> pa.Table:
    """Simulate the arrival and departure of the tasks with every estimator."""
    pool = pool_of(tables, tasks=tasks, seed=seed)
    _require_arrivals(pool)
    rows = []
    for estimator, cold_start in ways(pool):
        rows += _hours(estimator, cold_start, simulate(pool, estimator, capacity=capacity, cold_start=cold_start))
    return pa.Table.from_pylist(rows)


def _require_arrivals(pool: Pool) -> None:
    if pool.start is None:
        raise NotApplicable("the pool has no time stamps")
    start = pool.start[pool.offsets[:-1]]
    if len(pool) > 1 and (start == start[0]).all():
        raise NotApplicable("all tasks of the pool arrive at the same moment")


def _hours(estimator: Estimator, cold_start: str, day: Day) -> list[dict[str, Any]]:
    starts = np.arange(0, len(day.machines), _HOUR)
    machines, tasks, overflows, cold, unplaceable = (
        np.add.reduceat(column, starts)
        for column in (day.machines, day.tasks, day.overflows, day.cold, day.unplaceable)
    )
    length = np.diff(np.append(starts, len(day.machines)))
    return [
        {
            "estimator": estimator.label,
            "cold_start": cold_start,
            "hour": hour,
            "machine_hours": machines[hour] / _HOUR,
            "n_tasks": tasks[hour] / length[hour],
            "n_placed": int(cold[hour]),
            "n_unplaceable": int(unplaceable[hour]),
            "overflows": int(overflows[hour]),
            "moments": int(machines[hour]),
        }
        for hour in range(len(starts))
    ]


def plot(result: pa.Table) -> alt.VConcatChart:
    """Draw machines and overflows over time."""
    import altair as alt

    base = alt.Chart(alt.Data(values=result.to_pylist())).transform_calculate(
        way="datum.estimator + ', by ' + datum.cold_start"
    )
    x = alt.X("hour:Q", title="hour since the first arrival")
    machines = base.mark_line().encode(x=x, y=alt.Y("machine_hours:Q", title="machine-hours per hour"), color="way:N")
    overflows = base.mark_line().encode(
        x=x, y=alt.Y("overflows:Q", title="overflows (machines × 5 min)"), color="way:N"
    )
    return alt.vconcat(machines.properties(width=520, height=200), overflows.properties(width=520, height=160))


def total(result: pa.Table, column: str, estimator: str, cold_start: str = "name") -> float:
    """Sum of a column over all hours of one way."""
    kept = [r[column] for r in result.to_pylist() if (r["estimator"], r["cold_start"]) == (estimator, cold_start)]
    if not kept:
        raise NotApplicable("not among the ways that were run")
    return float(sum(kept))


def overflow(result: pa.Table, estimator: str, cold_start: str = "name") -> float:
    """Share of moments with an overflow."""
    moments = total(result, "moments", estimator, cold_start)
    if not moments:
        raise NotApplicable("no task could be placed")
    return total(result, "overflows", estimator, cold_start) / moments


CLAIMS = (
    Claim(
        "online-saving",
        "gpa .01 saves machine-hours against packing by request (share kept)",
        "< 1",
        lambda r: total(r, "machine_hours", "gpa 0.01") / total(r, "machine_hours", "request 1", "request"),
        lambda v: v < 1,
    ),
    Claim(
        "online-promise",
        "gpa .01 keeps its promise without knowing the future (q ÷ ρ)",
        "≤ 1",
        lambda r: overflow(r, "gpa 0.01") / 0.01,
        lambda v: v <= 1,
    ),
    Claim(
        "online-names",
        "earlier tasks of a name beat the request as a guess (machine-hours, gpa .01)",
        "< 1",
        lambda r: total(r, "machine_hours", "gpa 0.01") / total(r, "machine_hours", "gpa 0.01", "request"),
        lambda v: v < 1,
    ),
)

RECIPE = Recipe(
    "packing_online",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
    order=420,
)
