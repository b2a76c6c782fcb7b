"""How do tasks change: at once, steadily, by the day, or in bursts?

The GPA paper leaves changing tasks open (Janus & Rzadca, SoCC'17, §7). Here hourly means of the tasks of the busiest
span are regressed on a line, on a step at the place that explains most, and on two harmonics of the day (from two days
on), each tested beside the others: F-tests with as many observations as independent ones would have had the lag-1
autocorrelation of the residuals; p of a step × the number of places tried. Of line and step the one that explains more
is tested. Bursts: more runs of five-minute samples above mean + 3 standard deviations than a Gaussian has (binomial
test). Each at 5 % ÷ 4, so that at most about one in twenty tasks that do not change is said to; more (12 % over two
days, 3 % over three) of those whose noise lasts for hours. A task may change in several ways; under two days a rhythm
of the day looks like a step.
"""

import numpy as np
import pyarrow as pa
from scipy.special import bdtrc, fdtrc, ndtr

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.tasks.simultaneous import busiest_span, longest_busy_span, series
from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.question import Answer, Column, charts

ANSWER = Answer(
    grain="kind of change",
    key=[
        Column(
            "kind",
            "string",
            "id",
            "How usage changes: a level shift, a trend, daily, bursty, or none of these.",
        ),
    ],
    columns=[
        Column(
            "share", "float64", "fraction", "Share of the tasks that do, at 5 % ÷ 4 for each kind."
        ),
        Column("n_tasks", "int64", "count", "Tasks that run through the span."),
        Column("hours", "float64", "h", "Length of the span."),
    ],
)


SIGNIFICANCE = 0.05 / 4
_HOUR = 12  # slots
_LEAST = 12
_DAYS = 48
_EDGE = 3
"""Hours: without which nothing is tested, from which on the day is, on either side of a step."""


def changes(values: Values) -> dict[str, Flags]:
    """Tell how each task changes, bool (n,) by kind; under two days nobody can tell a rhythm of the day.

    Parameters
    ----------
    values
        float32 (n, slots): usage of n tasks in the same slots, whole hours of them.
    """
    hourly = (
        values.reshape(len(values), values.shape[1] // _HOUR, _HOUR)
        .mean(axis=2, dtype=np.float64)
        .T
    )
    hours = len(hourly)
    tasks = np.arange(len(values))
    time = np.arange(hours)[:, None]
    angle = 2 * np.pi / 24 * time * (1, 2)
    day = np.hstack([np.cos(angle), np.sin(angle)]) if hours >= _DAYS else np.empty((hours, 0))
    mean = np.ones((hours, 1))
    base = np.hstack([mean, day])
    # The line, then a step at each place.
    shapes = np.hstack([time, time >= np.arange(_EDGE, hours - _EDGE + 1)])
    # Both sides without the day, so that neither a line nor a step is taken for part of a rhythm.
    columns = _without(base, shapes)
    rest = _without(base, hourly)
    power = (columns**2).sum(axis=0)
    slopes = columns.T @ rest / power[:, None]
    best = (slopes**2 * power[:, None]).argmax(axis=0)
    slope = slopes[best, tasks]
    residual = rest - slope * columns[:, best]
    places = np.where(best > 0, shapes.shape[1] - 1, 1)
    moved = places * _f_test(rest, residual, 1, base.shape[1] + 1) < SIGNIFICANCE
    # What did not move has a day of its own, not one beside the step that suits its noise best.
    slope = np.where(moved, slope, 0)
    alone = hourly - slope * shapes[:, best]
    residual = rest - slope * columns[:, best]
    found = {"level shift": moved & (best > 0), "trend": moved & (best == 0)}
    if day.shape[1]:
        found["daily"] = (
            _f_test(
                _without(mean, alone),
                residual,
                day.shape[1],
                base.shape[1] + moved,
            )
            < SIGNIFICANCE
        )
    return found | {"bursty": _bursty(values)}


def _without(columns: Numbers, values: Numbers) -> Numbers:
    """What is left of each column of `values` after its regression on `columns`."""
    basis = np.linalg.qr(columns)[0]
    return np.asarray(values - basis @ (basis.T @ values))


def _f_test(
    before: Numbers,
    after: Numbers,
    k: int,
    n_columns: Index | int,
) -> Numbers:
    """p of the F-test that the last k of `n_columns` explain nothing; 1 where nothing varies.

    Parameters
    ----------
    before, after
        float64 (T, n): residuals without and with them.
    k, n_columns
        How many.
    """
    power = (after**2).sum(axis=0)
    lag = np.divide(
        (after[1:] * after[:-1]).sum(axis=0),
        power,
        out=np.zeros_like(power),
        where=power > 0,
    )
    # So many independent observations tell as much as these do (lag 1 taken as that of an AR(1) process).
    freedom = np.maximum(len(after) * (1 - lag.clip(0)) / (1 + lag.clip(0)) - n_columns, 1)
    gain = (before**2).sum(axis=0) - power
    f = np.divide(
        gain * freedom,
        power * k,
        out=np.zeros_like(gain),
        where=power > 0,
    )
    return np.asarray(fdtrc(k, freedom, f.clip(0)))


def _bursty(values: Values) -> Flags:
    limit = values.mean(axis=1, dtype=np.float64) + 3 * values.std(axis=1, dtype=np.float64)
    above = values > limit[:, None]
    # A burst of several samples counts once: they are not independent.
    runs = above[:, 0] + (above[:, 1:] & ~above[:, :-1]).sum(axis=1)
    return np.asarray(bdtrc(runs - 1, values.shape[1], ndtr(-3)) < SIGNIFICANCE)


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return the share of the tasks that change in each way, and of those that do not."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    if span.slots < _LEAST * _HOUR:
        span = busiest_span(pool, _LEAST * _HOUR)  # however few tasks
    found = changes(series(pool, span)[:, : span.slots // _HOUR * _HOUR])
    found["none"] = ~np.any(list(found.values()), axis=0)
    common = {"n_tasks": len(span.tasks), "hours": span.slots / _HOUR}
    return [{"kind": kind, "share": float(of.mean())} | common for kind, of in found.items()]


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: how tasks change."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="How tasks change")
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share of the tasks", axis=alt.Axis(format="%")),
            y=alt.Y("kind:N", title=None),
            tooltip=charts.tooltips(rows),
        )
    )


QUESTION = Experiment(
    name="usage_changes",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    options=["tasks", "size", "hours", "seed"],
    defaults={"hours": 72},
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
