"""Do scheduling and execution times change over time?

Trailing averages at the end of every step: the mean wait of the attempts scheduled, and the mean run
of the attempts ended, within the last hour (a parameter).  Tasks only; what began before the trace has no
wait and no run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.errors import UsageError
from borgtrace.recipe import NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import HOUR, WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "moving_averages",
    "step of time",
    ("time",),
    (
        Column("time", "int64", "us", "End of the step.", nullable=False),
        Column("mean_wait", "float64", "s", "Mean wait of what was scheduled in the trailing period."),
        Column("n_scheduled", "int64", "count", "Attempts with a wait in that period.", nullable=False),
        Column("mean_run", "float64", "s", "Mean run of what ended in the trailing period."),
        Column("n_ended", "int64", "count", "Attempts with a run in that period.", nullable=False),
    ),
)


def compute(tables: Tables, *, trailing: Microseconds = HOUR, step: Microseconds = WINDOW) -> pa.Table:
    """Return trailing averages over `trailing` µs (a multiple of `step`) at the end of every `step`."""
    if step <= 0 or trailing < step or trailing % step:
        raise UsageError("trailing", "must be a multiple of step", expected=f"k × {step}", got=str(trailing))
    tasks = jobs_only(tables.instance_attempts)
    waits = tables.fetch(_sums(tasks, tasks.wait, tasks.schedule_time, step), "waits")
    runs = tables.fetch(_sums(tasks, tasks.run, tasks.end_time, step), "runs")
    if not waits.num_rows and not runs.num_rows:
        raise NotApplicable("no task was scheduled or ended within the trace")
    steps = np.concatenate([waits["step"].to_numpy(), runs["step"].to_numpy()])
    first, last = int(steps.min()), int(steps.max())
    width = trailing // step
    mean_wait, n_scheduled = _trail(waits, first, last, width)
    mean_run, n_ended = _trail(runs, first, last, width)
    return pa.table(
        {
            "time": (np.arange(first, last + 1, dtype=np.int64) + 1) * step,
            "mean_wait": pa.array(mean_wait, from_pandas=True),
            "n_scheduled": n_scheduled,
            "mean_run": pa.array(mean_run, from_pandas=True),
            "n_ended": n_ended,
        }
    )


def _sums(rows: ir.Table, duration: ir.Value, at: ir.Value, step: int) -> ir.Table:
    """Add durations up in whole µs, so that the sum is exact in any order."""
    timed = rows.mutate(duration=duration, step=(at // step).cast("int64"))
    timed = timed.filter(timed.duration.notnull())
    return timed.group_by("step").aggregate(total=timed.duration.sum().cast("int64"), n=timed.count())


def _trail(sums: pa.Table, first: int, last: int, width: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    totals, numbers = np.zeros(last - first + 1), np.zeros(last - first + 1)
    places = sums["step"].to_numpy() - first
    totals[places], numbers[places] = sums["total"].to_numpy() / 1e6, sums["n"].to_numpy()
    n = _window_sum(numbers, width)
    mean = np.full(len(n), np.nan)
    np.divide(_window_sum(totals, width), n, out=mean, where=n > 0)
    return mean, n.astype(np.int64)


def _window_sum(values: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Sum the last `width` values at every place; each window is added up afresh, so that none drifts."""
    padded = np.concatenate([np.zeros(width - 1), values])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, width).sum(axis=1))


def plot(result: pa.Table) -> alt.HConcatChart:
    """Draw both averages."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows, thinned

    thin = thinned(result, ["mean_wait", "mean_run"])
    data = rows(thin.append_column("hour", pa.array(thin["time"].to_numpy() / 3.6e9)))
    return alt.hconcat(
        *(
            alt.Chart(data, title=title, width=WIDTH, height=HEIGHT)
            .mark_line()
            .encode(
                x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)),
                y=alt.Y(f"{column}:Q", title="seconds"),
                tooltip=["hour:Q", f"{column}:Q", f"{n}:Q"],
            )
            for column, n, title in (
                ("mean_wait", "n_scheduled", "Mean wait, trailing"),
                ("mean_run", "n_ended", "Mean run, trailing"),
            )
        )
    )


RECIPE = Recipe(
    "moving_averages",
    compute,
    plot,
    RESULT,
    reads=("instance_events",),
    reference="Zhu et al., Fig. 6 and 7",
    order=40,
    topic="Waiting and running times",
)
