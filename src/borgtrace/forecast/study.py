"""How well can the usage of a task be forecast an hour ahead, by whom, and how surely?

At the end of a slot of 300 s, forecasters see the last hour of a task, and the next hour as it was a day before. They
are trained on the hours before a cut and judged on those after it, for several cuts; no example before a cut has a
target after it. Deviations come from the last fifth of the training hours, and quantiles from the deviations, as if
errors were Gaussian; a forecaster that gives quantiles is judged by its own, and by their mean as the forecast. The
pinball loss of the quantile q of probability τ is τ·(y − q) where y came above it, and (1 − τ)·(q − y) below. A task
needs an hour of known slots, so short tasks are not judged. Skill is 1 − rmse ÷ rmse of persistence: below 0, a
forecast that nothing changes is better.
"""

from __future__ import annotations

import pyarrow as pa

from borgtrace.forecast.backtest import (
    BacktestQuestion,
    ForecastOptions,
    backtests,
    too_short_to_learn,
)
from borgtrace.forecast.scores import ForecastScores, score
from borgtrace.notation import percent
from borgtrace.question import Answer, Column, EngineTables, NotApplicable, Row, charts
from borgtrace.question.answer_sizes import amounts_of
from borgtrace.question.store_question import Report
from borgtrace.question.study_times import in_words
from borgtrace.schema.time import HOUR
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
            "crps",
            "float64",
            "fraction",
            (
                "Continuous ranked probability score: twice the mean pinball loss of the quantiles 5 %, "
                "10 %, …, 95 %; the mean absolute error of a forecast that is sure."
            ),
        ),
        Column(
            "coverage", "float64", "fraction", "Share of what came within the interval of 90 %."
        ),
        Column("width", "float64", "fraction", "Mean width of that interval."),
        Column(
            "coverage_80",
            "float64",
            "fraction",
            "Share of what came between the quantiles of 10 % and 90 %.",
        ),
    ],
    most_important=["forecaster", "horizon", "rmse", "skill", "crps", "coverage", "resource"],
)


def compute(
    store: Store,
    tables: EngineTables,
    options: ForecastOptions,
    report: Report,
) -> list[Row]:
    """Back-test forecasters.

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
        Where there is nothing to learn from, or to judge.
    """
    rows = []
    for resource in options.resources:
        scores: dict[str, ForecastScores] = {}
        for later, _, trained in backtests(store, resource, options, report):
            for name, forecaster in trained.items():
                added = score(forecaster.forecast(later), later)
                scores[name] = scores[name].plus(added) if name in scores else added
        for name, sums in scores.items():
            for row in sums.rows():
                rows.append({"resource": resource, "forecaster": name, **row})
    if not rows:
        raise NotApplicable(too_short_to_learn(store))
    return rows


def least_error(answer: pa.Table) -> str:
    """Return a sentence for each resource: which forecaster errs least, the furthest ahead.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows_by_resource: dict[str, list[Row]] = {}
    for row in answer.to_pylist():
        rows_by_resource.setdefault(row["resource"], []).append(row)
    amounts = amounts_of(answer)
    sentences = []
    for resource, rows in rows_by_resource.items():
        furthest = max(row["horizon"] for row in rows)
        compared = [row for row in rows if row["horizon"] == furthest]
        best = min(compared, key=lambda row: row["rmse"])
        skill = ""
        if best["skill"] is not None:
            comparison = "less" if best["skill"] >= 0 else "more"
            skill = f", {percent(abs(best['skill']))} {comparison} than if nothing changed"
        ahead = in_words(round(furthest * HOUR))
        error = amounts.text(best["rmse"], resource)
        sentences.append(
            f"{resource}, {ahead} ahead: of {len(compared)} forecasters "
            f"{best['forecaster']} errs least: rmse {error}{skill}; "
            f"its 90 % interval held {percent(best['coverage'])} of {best['forecasts']:,} forecasts."
        )
    return "\n".join(sentences)


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the error of forecasters by horizon."""
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
    sentence=least_error,
    reference="Cortez et al., SOSP'17 (Resource Central); Janus & Rzadca, SoCC'17; Gneiting & Raftery, JASA'07",
)
"""The errors of forecasters: ``FORECAST.run(store, forecasters=("seasonal",))``."""
