"""How do tasks change: at once, steadily, by the day, or in bursts?

The GPA paper leaves changing tasks open (Janus & Rzadca, SoCC'17, §7). Here the hourly means of each task in the
busiest span are regressed on a line, on a step at the place that explains most, and on two harmonics of the day (from
two days on). Each is tested beside the others by an F-test; its number of observations is that of independent ones with
the same information, from the lag-1 autocorrelation of the residuals. The p of a step is multiplied by the number of
places tried. Of line and step, only the one that explains more is tested. A task has bursts if it has more runs of
five-minute samples above mean + 3 standard deviations than a Gaussian would (binomial test). Each test has a level of 5
% ÷ 4, so that at most about one in twenty unchanging tasks is called changing; of tasks whose noise lasts for hours it
is more (12 % over two days, 3 % over three). A task may change in several ways. In less than two days, a daily rhythm
looks like a step.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.tasks.simultaneous import busiest_span, longest_busy_span, series
from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.kernels.incomplete import binomial_tail, fisher_tail
from borgtrace.kernels.normal import normal_probability
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
SLOTS_PER_HOUR = 12
LEAST_HOURS = 12
"""Without these hours nothing is tested."""
DAILY_HOURS = 48
"""From these hours on the rhythm of the day is tested."""
EDGE_HOURS = 3
"""Hours on either side of a step."""


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return the share of the tasks that change in each way, and of those that do not."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    if span.slots < LEAST_HOURS * SLOTS_PER_HOUR:
        # However few tasks run through it.
        span = busiest_span(pool, LEAST_HOURS * SLOTS_PER_HOUR)
    whole_hours = span.slots // SLOTS_PER_HOUR * SLOTS_PER_HOUR
    is_changing = changes(series(pool, span)[:, :whole_hours])
    is_changing["none"] = ~np.any(list(is_changing.values()), axis=0)
    rows: list[Row] = []
    for kind, flags in is_changing.items():
        rows.append(
            {
                "kind": kind,
                "share": float(flags.mean()),
                "n_tasks": len(span.tasks),
                "hours": span.slots / SLOTS_PER_HOUR,
            }
        )
    return rows


def changes(values: Values) -> dict[str, Flags]:
    """Tell how each task changes, bool (n,) by kind; under two days nobody can tell a rhythm of the day.

    Parameters
    ----------
    values
        float32 (n, slots): usage of n tasks in the same slots, whole hours of them.
    """
    hourly = hourly_means(values)
    hours, n_tasks = hourly.shape
    time = np.arange(hours)[:, None]
    mean = np.ones((hours, 1))
    day = harmonics_of_the_day(hours)
    base = np.hstack([mean, day])
    steps = time >= np.arange(EDGE_HOURS, hours - EDGE_HOURS + 1)
    # The line is shape 0; then a step at each place.
    shapes = np.hstack([time, steps])

    # Both sides without the day, so that neither a line nor a step is taken for part of a rhythm.
    columns = without(base, shapes)
    rest = without(base, hourly)
    power = (columns**2).sum(axis=0)
    slopes = columns.T @ rest / power[:, None]
    explained = slopes**2 * power[:, None]
    best = explained.argmax(axis=0)
    slope = slopes[best, np.arange(n_tasks)]
    residual = rest - slope * columns[:, best]
    is_step = best > 0
    n_places = np.where(is_step, steps.shape[1], 1)
    p_value = n_places * f_test(rest, residual, 1, base.shape[1] + 1)
    has_moved = p_value < SIGNIFICANCE

    # What did not move has a day of its own, not one beside the step that suits its noise best.
    slope = np.where(has_moved, slope, 0)
    residual = rest - slope * columns[:, best]
    kinds = {"level shift": has_moved & is_step, "trend": has_moved & ~is_step}
    n_harmonics = day.shape[1]
    if n_harmonics:
        unmoved = without(mean, hourly - slope * shapes[:, best])
        p_value = f_test(unmoved, residual, n_harmonics, base.shape[1] + has_moved)
        kinds["daily"] = p_value < SIGNIFICANCE
    kinds["bursty"] = is_bursty(values)
    return kinds


def hourly_means(values: Values) -> Numbers:
    """Return the mean usage of each hour, float64 (hours, n)."""
    n_tasks, n_slots = values.shape
    by_hour = values.reshape(n_tasks, n_slots // SLOTS_PER_HOUR, SLOTS_PER_HOUR)
    return by_hour.mean(axis=2, dtype=np.float64).T


def harmonics_of_the_day(hours: int) -> Numbers:
    """Return two harmonics of the day, float64 (hours, 4); without columns where there are too few hours."""
    if hours < DAILY_HOURS:
        return np.empty((hours, 0))
    angle = 2 * np.pi / 24 * np.arange(hours)[:, None] * (1, 2)
    return np.hstack([np.cos(angle), np.sin(angle)])


def without(columns: Numbers, values: Numbers) -> Numbers:
    """Return what is left of each column of `values` after its regression on `columns`."""
    basis = np.linalg.qr(columns)[0]
    return np.asarray(values - basis @ (basis.T @ values))


def f_test(before: Numbers, after: Numbers, k: int, n_columns: Index | int) -> Numbers:
    """Return p of the F-test that the last k of `n_columns` explain nothing; 1 where nothing varies.

    Parameters
    ----------
    before, after
        float64 (T, n): residuals without and with them.
    k, n_columns
        How many.
    """
    power = (after**2).sum(axis=0)
    products = (after[1:] * after[:-1]).sum(axis=0)
    autocorrelation = np.zeros_like(power)
    np.divide(products, power, out=autocorrelation, where=power > 0)
    # So many independent observations tell as much as these do (lag 1 taken as that of an AR(1) process).
    lag = autocorrelation.clip(0)
    n_independent = len(after) * (1 - lag) / (1 + lag)
    freedom = np.maximum(n_independent - n_columns, 1)
    gain = (before**2).sum(axis=0) - power
    f = np.zeros_like(gain)
    np.divide(gain * freedom, power * k, out=f, where=power > 0)
    return np.asarray(fisher_tail(k, freedom, f.clip(0)))


def is_bursty(values: Values) -> Flags:
    """Return which tasks have more bursts than a Gaussian has runs above three standard deviations, bool (n,)."""
    mean = values.mean(axis=1, dtype=np.float64)
    deviation = values.std(axis=1, dtype=np.float64)
    limit = mean + 3 * deviation
    is_above = values > limit[:, None]
    # A burst of several samples counts once: they are not independent.
    begins = is_above[:, 1:] & ~is_above[:, :-1]
    n_bursts = is_above[:, 0] + begins.sum(axis=1)
    p_value = binomial_tail(n_bursts - 1, values.shape[1], float(normal_probability(-3)))
    return np.asarray(p_value < SIGNIFICANCE)


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the share of the tasks that change in each way."""
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
