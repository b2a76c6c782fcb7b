"""Do scheduling and execution times change over time?

Trailing averages at the end of every step: the mean wait of the attempts scheduled, and the mean run of
the attempts ended, within the last hour (a parameter). Tasks only; what began before the trace has
neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import duration_sums
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import (
    Answer,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    query_answer,
)
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, HOUR, SECOND, WINDOW, Microseconds, write_time

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="step of time",
    key=[Column("time", "int64", "us", "End of the step.")],
    columns=[
        Column(
            "mean_wait",
            "float64",
            "s",
            "Mean wait of what was scheduled in the trailing period.",
            nullable=True,
        ),
        Column("n_scheduled", "int64", "count", "Attempts with a wait in that period."),
        Column(
            "mean_run",
            "float64",
            "s",
            "Mean run of what ended in the trailing period.",
            nullable=True,
        ),
        Column("n_ended", "int64", "count", "Attempts with a run in that period."),
    ],
)


def compute(
    tables: Tables,
    *,
    trailing: Annotated[Microseconds, Bounds(SECOND, 31 * DAY)] = HOUR,
    step: Annotated[Microseconds, Bounds(SECOND, 31 * DAY)] = WINDOW,
) -> pa.Table:
    """Return trailing averages over `trailing` µs (a multiple of `step`) at the end of every `step`."""
    if trailing % step:
        raise UsageError(
            "trailing",
            "not a multiple of step",
            expected=f"a multiple of {write_time(step)}",
            got=write_time(trailing),
        )
    sums = duration_sums(tables, step)
    waits = tables.fetch(sums["waits"], "waits")
    runs = tables.fetch(sums["runs"], "runs")
    # One range for both, so that the two curves share their rows.
    steps = np.concatenate([waits["period"].to_numpy(), runs["period"].to_numpy()])
    if not len(steps):
        raise NotApplicable("no task was scheduled or ended within the trace")
    first = int(steps.min())
    last = int(steps.max())
    width = trailing // step
    average_waits = trailing_averages(waits, first=first, last=last, width=width)
    average_runs = trailing_averages(runs, first=first, last=last, width=width)
    return pa.table(
        {
            "time": (np.arange(first, last + 1, dtype=np.int64) + 1) * step,
            # from_pandas turns NaN into NULL: a step without any wait has no mean.
            "mean_wait": pa.array(average_waits.mean, from_pandas=True),
            "n_scheduled": average_waits.n,
            "mean_run": pa.array(average_runs.mean, from_pandas=True),
            "n_ended": average_runs.n,
        }
    )


class TrailingAverages(NamedTuple):
    """Mean duration in seconds at each step (NaN without any), and how many durations it is of, shape (n,)."""

    mean: Numbers
    n: Index


def trailing_averages(sums: pa.Table, *, first: int, last: int, width: int) -> TrailingAverages:
    """Average durations over the last `width` steps, at each step from `first` to `last`."""
    n_steps = last - first + 1
    positions = sums["period"].to_numpy() - first
    seconds = np.zeros(n_steps)
    seconds[positions] = sums["total"].to_numpy() / 1e6
    numbers = np.zeros(n_steps)
    numbers[positions] = sums["n"].to_numpy()
    trailing_numbers = trailing_sums(numbers, width)
    means = np.full(n_steps, np.nan)
    np.divide(
        trailing_sums(seconds, width), trailing_numbers, out=means, where=trailing_numbers > 0
    )
    return TrailingAverages(means, trailing_numbers.astype(np.int64))


def trailing_sums(values: Numbers, width: int) -> Numbers:
    """Sum the last `width` values at every position; each window is summed anew, so that no error accumulates."""
    padded = np.concatenate([np.zeros(width - 1), values])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, width).sum(axis=1))


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw the trailing averages of waits and of runs over time."""
    import altair as alt

    # A month has 8,352 steps of 300 s, more than a chart can show.
    shown = charts.thinned(answer, ["mean_wait", "mean_run"])
    rows = query_answer(shown, "select *, time / 3.6e9 as hour from answer")
    return alt.hconcat(
        average_over_time(
            rows, "mean_wait", "n_scheduled", title="Mean wait, trailing (Zhu et al., Fig. 6)"
        ),
        average_over_time(
            rows, "mean_run", "n_ended", title="Mean run, trailing (Zhu et al., Fig. 7)"
        ),
    )


def average_over_time(rows: list[Row], mean: str, number: str, *, title: str) -> alt.Chart:
    """Draw one of the two averages."""
    import altair as alt

    return (
        charts.base(rows, title)
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y(f"{mean}:Q", title="seconds"),
            tooltip=charts.tooltips(rows, "hour", mean, number),
        )
    )


QUESTION = Question(
    name="moving_averages",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_events"],
    reference="Zhu et al., Fig. 6 and 7",
)
