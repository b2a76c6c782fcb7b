"""What does a better forecast buy: how many machines does GPA need with it, and how often are they overloaded?

At each cut the tasks that run then are packed by GPA, as though all moved at once, by the mean and deviation that a
forecaster tells for the next hour: over the slots of it, the mean of the means, and the variance within and between
them. ``history`` takes the last hour's own mean and deviation, ``future`` those that came. Overload counts machines and
slots of that hour whose tasks used more than the capacity of the largest machine. Compare machines at equal overload:
ρ is what GPA was told, not what came out.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.forecast.backtest import Backtest, BacktestQuestion, Setting, backtests
from borgtrace.forecast.series import HORIZONS
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import CAPACITY_RTOL, Fitted, Gpa, pack_fitted
from borgtrace.question import Answer, Column, EngineTables, NotApplicable, Row, charts
from borgtrace.question.store_question import Report
from borgtrace.store import Store

ANSWER = Answer(
    grain="resource, forecaster and ρ",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "forecaster",
            "string",
            "id",
            (
                "Forecaster; history for the mean and deviation of what a task had used, future"
                " for what came."
            ),
        ),
        Column("rho", "float64", "fraction", "Probability of an overflow that GPA was told."),
    ],
    columns=[
        Column("tasks", "int64", "count", "Tasks that were packed, over all back-tests."),
        Column("machines", "int64", "count", "Largest machines that they took."),
        Column(
            "overload",
            "float64",
            "fraction",
            (
                "Share of the machines and slots of the hour to come whose use exceeded the "
                "capacity."
            ),
        ),
    ],
)


RHOS = (0.1, 0.01, 0.001)


def compute(store: Store, tables: EngineTables, options: Setting, report: Report) -> list[Row]:
    """Pack the tasks that run at each cut.

    Parameters
    ----------
    store
        An open store.
    tables
        Not looked at.
    options
        Forecasters, resources and cuts.
    report
        Told how far it is.

    Raises
    ------
    NotApplicable
        Where no task runs at a cut.
    """
    rows = []
    for resource in options.resources:
        sums: dict[tuple[str, float], Any] = {}
        for backtest in backtests(store, resource, options, report):
            for name, (mean, variance, used) in _moments(backtest).items():
                for rho in RHOS:
                    counts = packed(mean, variance, used, rho)
                    sums[name, rho] = sums.get((name, rho), 0) + counts
        for (name, rho), (tasks, machines, overloaded) in sums.items():
            row = {
                "resource": resource,
                "forecaster": name,
                "rho": rho,
                "tasks": tasks,
                "machines": machines,
            }
            rows.append({**row, "overload": overloaded / (machines * HORIZONS)})
    NotApplicable.unless(rows, "no task with an hour of usage before a cut runs at it")
    return rows


def _moments(backtest: Backtest) -> dict[str, tuple[Numbers, Numbers, Numbers]]:
    """Return mean, variance and what came, of the tasks at the cut, by forecaster."""
    now = np.flatnonzero(backtest.later.slot == backtest.cut - 1)
    if not len(now):
        return {}
    seen = backtest.later.take(now)
    # A task that ended uses nothing any more.
    used = np.nan_to_num(seen.target)
    found = {"history": (seen.past.mean(axis=1), seen.past.var(axis=1), used)}
    found["future"] = used.mean(axis=1), used.var(axis=1), used
    for name, forecaster in backtest.trained.items():
        mean = forecaster.mean(seen)
        variance = (forecaster.deviation(seen) ** 2).mean(axis=1) + mean.var(axis=1)
        found[name] = mean.mean(axis=1), variance, used
    return found


def packed(mean: Numbers, variance: Numbers, used: Numbers, rho: float) -> Numbers:
    """Return tasks that were placed, machines, and machines and slots whose use exceeded the capacity of 1.

    Parameters
    ----------
    mean, variance
        Of each task: float64 (n,).
    used
        What came: float64 (n, slots).
    rho
        Probability of an overflow.
    """
    packing = pack_fitted(Fitted(Gpa(rho), np.column_stack([mean, variance]), 1.0))
    there = packing.bins >= 0
    sums = np.zeros((packing.n_bins, used.shape[1]))
    np.add.at(sums, packing.bins[there], used[there])
    return np.array([there.sum(), packing.n_bins, (sums > CAPACITY_RTOL).sum()])


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: machines and overload of packings by forecasts."""
    import altair as alt

    # A curve for each forecaster.
    rows = answer.to_pylist()
    base = charts.base(rows, height=200).encode(
        x=alt.X("overload:Q", title="share of machines and slots that are overloaded"),
        y=alt.Y("machines:Q", title="largest machines that they took"),
        color=alt.Color("forecaster:N", title="forecaster"),
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        tooltip=charts.tooltips(rows, "overload", "machines", "forecaster"),
    )
    points = base.mark_point(filled=True, size=40).encode(
        tooltip=charts.tooltips(rows),
    )
    return (
        alt.layer(lines, points)
        .facet(
            row=charts.rows_of_panels("resource"),
        )
        .properties(title="Machines and overload of packings by forecasts")
    )


PACKED = BacktestQuestion(
    name="packed_by_forecast",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reference="Janus & Rzadca, SoCC'17 (Gaussian Percentile Approximation)",
)
"""Packings by forecasts: ``PACKED.run(store)``."""
