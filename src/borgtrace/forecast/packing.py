"""What does a better forecast buy: how many machines does GPA need with it, and how often are they overloaded?

At each cut the running tasks are packed again by GPA, as if all could move at once. GPA gets the mean and deviation
that a forecaster gives for the next hour: the mean of its slots, and the variance within and between them. ``history``
packs by the mean and deviation of the last hour, ``future`` by those of the hour to come. Overload is the share of
machines and slots in that hour whose tasks used more than the capacity of the largest machine. Compare machines at
equal overload: ρ is the target of GPA, not what came.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.forecast.backtest import (
    BacktestQuestion,
    ForecastBacktest,
    ForecastOptions,
    backtests,
    too_short_to_learn,
)
from borgtrace.forecast.series import HORIZONS
from borgtrace.kernels.arrays import Numbers
from borgtrace.notation import percent
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
SENTENCE_RHO = 0.01
"""The probability that the sentence is about."""
REFERENCES = {"history": "the last hour's usage", "future": "the hour to come, were it known"}
"""What is packed by where no forecaster is."""


def compute(
    store: Store,
    tables: EngineTables,
    options: ForecastOptions,
    report: Report,
) -> list[Row]:
    """Pack the tasks that run at each cut.

    Parameters
    ----------
    store
        An open store.
    tables
        Not used.
    options
        Forecasters, resources and cuts.
    report
        Called with the progress.

    Raises
    ------
    NotApplicable
        Where no task runs at a cut.
    """
    rows = []
    for resource in options.resources:
        counts: dict[tuple[str, float], PackingCounts] = {}
        for backtest in backtests(store, resource, options, report):
            for name, tasks in moments_at_cut(backtest).items():
                for rho in RHOS:
                    before = counts.get((name, rho), PackingCounts(0, 0, 0))
                    counts[name, rho] = before.plus(count_packing(tasks, rho))
        for (name, rho), total in counts.items():
            row: Row = {
                "resource": resource,
                "forecaster": name,
                "rho": rho,
                "tasks": total.tasks,
                "machines": total.machines,
                "overload": total.overloaded / (total.machines * HORIZONS),
            }
            rows.append(row)
    if not rows:
        raise NotApplicable(too_short_to_learn(store))
    return rows


class TaskMoments(NamedTuple):
    """What is forecast of tasks, and what came.

    Attributes
    ----------
    mean, variance
        Over the next hour: float64 (n,).
    used
        What came: float64 (n, slots).
    """

    mean: Numbers
    variance: Numbers
    used: Numbers


def moments_at_cut(backtest: ForecastBacktest) -> dict[str, TaskMoments]:
    """Return the moments of the tasks at the cut, by forecaster."""
    at_cut = np.flatnonzero(backtest.later.slot == backtest.cut - 1)
    if not len(at_cut):
        return {}
    seen = backtest.later.take(at_cut)
    # A task that ended uses nothing any more.
    used = np.nan_to_num(seen.target)
    moments = {
        "history": TaskMoments(seen.usage.mean(axis=1), seen.usage.var(axis=1), used),
        "future": TaskMoments(used.mean(axis=1), used.var(axis=1), used),
    }
    for name, forecaster in backtest.trained.items():
        forecasts = forecaster.forecast(seen)
        within = (forecasts.deviation**2).mean(axis=1)
        between = forecasts.mean.var(axis=1)
        moments[name] = TaskMoments(forecasts.mean.mean(axis=1), within + between, used)
    return moments


class PackingCounts(NamedTuple):
    """Tasks that were placed, machines, and machines and slots whose use exceeded the capacity of 1."""

    tasks: int
    machines: int
    overloaded: int

    def plus(self, other: PackingCounts) -> PackingCounts:
        """Return the sums of both."""
        return PackingCounts(
            self.tasks + other.tasks,
            self.machines + other.machines,
            self.overloaded + other.overloaded,
        )


def count_packing(tasks: TaskMoments, rho: float) -> PackingCounts:
    """Pack tasks by GPA onto machines of capacity 1; `rho` is the probability of an overflow."""
    moments = np.column_stack([tasks.mean, tasks.variance])
    packing = pack_fitted(Fitted(Gpa(rho), moments, 1.0))
    is_placed = packing.bins >= 0
    sums = np.zeros((packing.n_bins, tasks.used.shape[1]))
    np.add.at(sums, packing.bins[is_placed], tasks.used[is_placed])
    return PackingCounts(
        tasks=int(is_placed.sum()),
        machines=packing.n_bins,
        overloaded=int((sums > CAPACITY_RTOL).sum()),
    )


def fewest_machines(answer: pa.Table) -> str:
    """Return a sentence for each resource: which forecaster needs fewest machines without more overload than told.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows_by_resource: dict[str, list[Row]] = {}
    for row in answer.to_pylist():
        if row["rho"] == SENTENCE_RHO:
            rows_by_resource.setdefault(row["resource"], []).append(row)
    told = percent(SENTENCE_RHO)
    sentences = []
    for resource, rows in rows_by_resource.items():
        forecasters = [row for row in rows if row["forecaster"] not in REFERENCES]
        keeping = [row for row in forecasters if row["overload"] <= SENTENCE_RHO]
        if keeping:
            best = min(keeping, key=lambda row: (row["machines"], row["overload"]))
            lead = f"fewest machines at an overload of at most {told} are needed by"
        else:
            best = min(forecasters, key=lambda row: (row["overload"], row["machines"]))
            lead = f"no forecaster keeps {told}; least overloaded is"
        beside = [
            f"{_machines_and_overload(row)} by {REFERENCES[row['forecaster']]}"
            for row in rows
            if row["forecaster"] in REFERENCES
        ]
        outcomes = "; ".join([_machines_and_overload(best), *beside])
        sentences.append(f"{resource}: {lead} {best['forecaster']}: {outcomes}.")
    return "\n".join(sentences)


def _machines_and_overload(row: Row) -> str:
    noun = "machine" if row["machines"] == 1 else "machines"
    return f"{row['machines']:,} {noun} ({percent(row['overload'])} overloaded)"


def chart(answer: pa.Table) -> charts.Chart:
    """Draw machines and overload of packings by forecasts: a curve for each forecaster."""
    import altair as alt

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
    sentence=fewest_machines,
    reference="Janus & Rzadca, SoCC'17 (Gaussian Percentile Approximation)",
)
"""Packings by forecasts: ``PACKED.run(store)``."""
