"""How well can the usage of a task be told an hour ahead, by whom, and how sure is that?

Forecasters see the last hour of a task, and the same hour a day before, at the end of a slot of 300 s. They are trained
on the hours before a cut and judged on those after it, for several cuts; no example before a cut has a target after it.
Deviations come from the last fifth of the training hours, and intervals of 90 % from them, as though errors were
Gaussian. A task needs an hour of known slots: short ones are not judged. Skill is 1 − rmse ÷ that of persistence: below
0 the forecaster is beaten by saying that nothing changes.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.forecast.backtest import BacktestQuestion, Setting, backtests
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Answer, Column, EngineTables, NotApplicable, Row, charts
from borgtrace.question.store_question import Report
from borgtrace.schema.time import HOUR, WINDOW
from borgtrace.store import Store

ANSWER = Answer(
    grain="resource, forecaster and horizon",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column("forecaster", "string", "id", "Forecaster."),
        Column("horizon", "float64", "h", "How far ahead."),
    ],
    columns=[
        Column("forecasts", "int64", "count", "Forecasts that are judged, over all back-tests."),
        Column(
            "mean_error",
            "float64",
            "fraction",
            "Mean absolute error, as a fraction of the largest machine.",
        ),
        Column("rmse", "float64", "fraction", "Root of the mean squared error."),
        Column(
            "skill",
            "float64",
            "fraction",
            "1 − rmse ÷ that of persistence; NULL where persistence errs by nothing.",
            nullable=True,
        ),
        Column(
            "coverage", "float64", "fraction", "Share of what came within the interval of 90 %."
        ),
        Column("width", "float64", "fraction", "Mean width of that interval."),
    ],
)


_REPORTED = (1, 3, 6, 12)
"""Slots ahead that have a row."""
_Z = 1.6448536269514722
"""Of an interval of 90 %."""


def compute(store: Store, tables: EngineTables, options: Setting, report: Report) -> list[Row]:
    """Back-test forecasters.

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
        Where there is nothing to learn from, or to judge.
    """
    rows = []
    for resource in options.resources:
        sums: dict[str, Any] = {}
        for later, _, trained in backtests(store, resource, options, report):
            for name, forecaster in trained.items():
                error = np.abs(later.target - forecaster.mean(later))
                half = _Z * forecaster.deviation(later)
                still = later.target - later.past[:, -1:]
                parts = (~np.isnan(error), error, error**2, error <= half, 2 * half, still**2)
                sums[name] = sums.get(name, 0.0) + np.stack(
                    [np.where(np.isnan(error), 0.0, part).sum(axis=0) for part in parts]
                )
        rows += [row for name, found in sums.items() for row in _rows(found, name, resource)]
    NotApplicable.unless(
        rows, "too short: no hour of a task's usage before a cut, and an hour after it"
    )
    return rows


def _rows(found: Numbers, name: str, resource: str) -> list[Row]:
    rows = []
    for h in (h - 1 for h in _REPORTED if found[0, h - 1] > 0):
        n, error, square, inside, width, still = found[:, h]
        rows.append(
            {
                "resource": resource,
                "forecaster": name,
                "horizon": (h + 1) * WINDOW / HOUR,
                "forecasts": int(n),
                "mean_error": error / n,
                "rmse": np.sqrt(square / n),
                "skill": 1 - np.sqrt(square / still) if still > 0 else None,
                "coverage": inside / n,
                "width": width / n,
            }
        )
    return rows


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: error of forecasters by horizon."""
    import altair as alt

    rows = answer.to_pylist()
    base = charts.base(rows, height=200).encode(
        x=alt.X("horizon:Q", title="how far ahead (h)"),
        y=alt.Y("rmse:Q", title="root mean squared error"),
        color=alt.Color("forecaster:N", title="forecaster"),
    )
    lines = base.mark_line().encode(
        tooltip=charts.tooltips(rows, "horizon", "rmse", "forecaster"),
    )
    points = base.mark_point(filled=True, size=40).encode(
        tooltip=charts.tooltips(rows),
    )
    return (
        alt.layer(lines, points)
        .facet(
            row=charts.rows_of_panels("resource"),
        )
        .properties(title="Error of forecasters by horizon")
    )


FORECAST = BacktestQuestion(
    name="forecast",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reference="Cortez et al., SOSP'17 (Resource Central); Janus & Rzadca, SoCC'17",
)
"""The errors of forecasters: ``FORECAST.run(store, forecasters=("seasonal",))``."""
