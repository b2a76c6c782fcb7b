"""Do scheduling and execution times change over time?

Trailing averages at the end of every step: the mean wait of the attempts scheduled, and the mean run of
the attempts ended, within the last hour (a parameter). Tasks only; what began before the trace has
neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses.shared.attempts import duration_sums
from borgtrace.errors import UsageError
from borgtrace.question import Answer, Column, NotApplicable, Question, Tables, charts, query_answer
from borgtrace.schema.time import HOUR, WINDOW, Microseconds

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
    tables: Tables, *, trailing: Microseconds = HOUR, step: Microseconds = WINDOW
) -> pa.Table:
    """Return trailing averages over `trailing` µs (a multiple of `step`) at the end of every `step`."""
    if step <= 0 or trailing < step or trailing % step:
        raise UsageError(
            "trailing", "must be a multiple of step", expected=f"k × {step}", got=str(trailing)
        )
    waits, runs = (tables.fetch(sums, name) for name, sums in duration_sums(tables, step).items())
    # One range for both, so that the two curves share their rows.
    steps = np.concatenate([waits["period"].to_numpy(), runs["period"].to_numpy()])
    if not len(steps):
        raise NotApplicable("no task was scheduled or ended within the trace")
    first, last = int(steps.min()), int(steps.max())
    mean_wait, n_scheduled = _trail(waits, first, last, trailing // step)
    mean_run, n_ended = _trail(runs, first, last, trailing // step)
    return pa.table(
        {
            "time": (np.arange(first, last + 1, dtype=np.int64) + 1) * step,
            # from_pandas turns NaN into NULL: a step without any wait has no mean.
            "mean_wait": pa.array(mean_wait, from_pandas=True),
            "n_scheduled": n_scheduled,
            "mean_run": pa.array(mean_run, from_pandas=True),
            "n_ended": n_ended,
        }
    )


def _trail(
    sums: pa.Table, first: int, last: int, width: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    totals, numbers = np.zeros(last - first + 1), np.zeros(last - first + 1)
    places = sums["period"].to_numpy() - first
    totals[places], numbers[places] = sums["total"].to_numpy() / 1e6, sums["n"].to_numpy()
    n = _window_sum(numbers, width)
    mean = np.full(len(n), np.nan)
    np.divide(_window_sum(totals, width), n, out=mean, where=n > 0)
    return mean, n.astype(np.int64)


def _window_sum(values: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Sum the last `width` values at every place; each window is added up afresh, so that none drifts."""
    padded = np.concatenate([np.zeros(width - 1), values])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, width).sum(axis=1))


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw: moving averages."""
    import altair as alt

    # A month has 8,352 steps of 300 s, more than a chart can show.
    panels = []
    shown = charts.thinned(answer, ["mean_wait", "mean_run"])
    rows = query_answer(shown, "select *, time / 3.6e9 as hour from answer")
    if rows:
        panels.append(
            charts.base(rows, title="Mean wait, trailing")
            .mark_line()
            .encode(
                x=charts.hour_axis(rows),
                y=alt.Y("mean_wait:Q", title="seconds"),
                tooltip=charts.tooltips(rows, "hour", "mean_wait", "n_scheduled"),
            )
        )
    shown = charts.thinned(answer, ["mean_wait", "mean_run"])
    rows = query_answer(shown, "select *, time / 3.6e9 as hour from answer")
    if rows:
        panels.append(
            charts.base(rows, title="Mean run, trailing")
            .mark_line()
            .encode(
                x=charts.hour_axis(rows),
                y=alt.Y("mean_run:Q", title="seconds"),
                tooltip=charts.tooltips(rows, "hour", "mean_run", "n_ended"),
            )
        )
    return alt.hconcat(*panels)


QUESTION = Question(
    name="moving_averages",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_events"],
    reference="Zhu et al., Fig. 6 and 7",
)
