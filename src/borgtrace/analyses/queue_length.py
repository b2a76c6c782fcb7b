"""Does the queue grow, and does the number of running tasks surge?

Three counts at the end of every step, of tasks (instances of jobs):

*published* – Zhu et al., Methods 3-2 and 3-3: cumulated
``submitted − scheduled − (fail, kill, lost while pending)`` and
``scheduled − finish − evict − (fail, kill, lost while running)``.  An eviction of a *pending* task is
missing in the first and taken off the second, so that each leaves +1 in the queue and −1 in
running for ever.

*literal* – the same with "while running" read literally: a task whose last event is an UPDATE_RUNNING
is not counted when it fails, is killed or lost.

*stock* – how many tasks are pending or running (exact, with the extremes within the step).  Submissions
minus all ends equal pending plus running at every instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses._trend import Interval, slope
from borgtrace.errors import UsageError
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, DAY, WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

_PENDING = ("SUBMIT", "QUEUE", "ENABLE", "UPDATE_PENDING")
_DIE = ("FAIL", "KILL", "LOST")
_COUNTED = ("pending_published", "running_published", "running_literal", "unfinished")


def _count(name: str, doc: str) -> Column:
    return Column(name, "int64", "count", doc, nullable=False)


RESULT = Table(
    "queue_length",
    "step of time",
    ("time",),
    (
        Column("time", "int64", "us", "End of the step.", nullable=False),
        _count("pending_published", "Queue by the published formula."),
        _count("pending", "Tasks that are pending."),
        _count("pending_min", "Fewest pending within the step."),
        _count("pending_max", "Most pending within the step."),
        _count("running_published", "Running tasks by the published formula."),
        _count("running_literal", "The same, predecessor read literally."),
        _count("running", "Tasks that are running."),
        _count("running_min", "Fewest running within the step."),
        _count("running_max", "Most running within the step."),
        _count("unfinished", "New tasks minus completed ones, as Observation 5 counts."),
    ),
)


def compute(tables: Tables, *, step: Microseconds = WINDOW) -> pa.Table:
    """Return queue and running tasks at the end of every `step` (µs, a multiple of 300 s)."""
    if step < WINDOW or step % WINDOW:
        raise UsageError("step", "must be a multiple of 300 s", expected=f"k × {WINDOW}", got=str(step))
    flows = _fetch_flows(tables, step)
    stocks = _fetch_stocks(tables, step)
    if not stocks.num_rows:
        raise NotApplicable("no task is ever pending or running")
    last = int(max(stocks["step"].to_numpy().max(), max((key[0] for key in flows), default=0)))
    n = last + 1
    moved = {name: np.zeros(n, np.int64) for name in _COUNTED}
    for (at, before, after), count in flows.items():
        for name, sign in _signs(before, after).items():
            moved[name][at] += sign * count
    columns = {name: np.cumsum(values) for name, values in moved.items()} | _levels(stocks, n)
    return pa.table({"time": (np.arange(n, dtype=np.int64) + 1) * step, **columns})


def _signs(before: str | None, after: str) -> dict[str, int]:
    """Return what one transition adds to each of the published counts."""
    if after == "SUBMIT":
        return {"pending_published": 1, "unfinished": int(before is None)}
    if after == "SCHEDULE":
        return {"pending_published": -1, "running_published": 1, "running_literal": 1}
    if after in ("FINISH", "EVICT"):
        return {"running_published": -1, "running_literal": -1, "unfinished": -int(after == "FINISH")}
    if after in _DIE and before in _PENDING:
        return {"pending_published": -1}
    if after in _DIE and before is not None:
        return {"running_published": -1, "running_literal": -1 if before == "SCHEDULE" else 0}
    return {}


def _fetch_flows(tables: Tables, step: int) -> dict[tuple[int, str | None, str], int]:
    rows = tables.instance_transitions
    rows = rows.filter((rows.collection_type == "JOB") & (rows.step_time < AFTER_TRACE - AFTER_TRACE % WINDOW))
    flows = tables.fetch(
        rows.group_by(step=(rows.step_time // step).cast("int64"), before="from_type", after="to_type").aggregate(
            n=rows.n.sum().cast("int64")
        ),
        "flows",
    )
    return {(row["step"], row["before"], row["after"]): row["n"] for row in flows.to_pylist()}


def _fetch_stocks(tables: Tables, step: int) -> pa.Table:
    rows = tables.instance_occupancy
    rows = rows.filter((rows.collection_type == "JOB") & (rows.time < AFTER_TRACE))
    rows = rows.mutate(step=(rows.time // step).cast("int64"))
    ends: Any = rows.group_by("step").aggregate(
        time=rows.time.max(),
        pending_min=rows.pending.min(),
        pending_max=rows.pending.max(),
        running_min=rows.running.min(),
        running_max=rows.running.max(),
    )
    at_end = rows.select("time", "pending", "running")
    return tables.fetch(ends.inner_join(at_end, "time").drop("time"), "stocks")


def _levels(stocks: pa.Table, n: int) -> dict[str, npt.NDArray[np.int64]]:
    """Spread the steps in which something changed over all steps."""
    at = stocks["step"].to_numpy()
    place = np.zeros(n, np.int64)
    place[at] = 1
    latest = np.cumsum(place) - 1  # row of the latest change, in order of steps
    order = np.argsort(at)
    columns: dict[str, npt.NDArray[np.int64]] = {}
    for name in ("pending", "running"):
        level = stocks[name].to_numpy()[order]
        held = np.where(latest < 0, 0, level[np.maximum(latest, 0)])
        entering = np.concatenate([[0], held[:-1]])
        columns[name] = held
        for bound, choose in (("min", np.minimum), ("max", np.maximum)):
            extreme = held.copy()
            seen = stocks[f"{name}_{bound}"].to_numpy()[order]
            extreme[at[order]] = choose(seen, entering[at[order]]) if n else seen
            extreme[at[order][0]] = seen[0]  # nothing is known before the first change
            columns[f"{name}_{bound}"] = extreme
    return columns


def plot(result: pa.Table) -> alt.HConcatChart:
    """Draw queue and running tasks: stock and published formula."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, long, thinned

    hours = result.append_column("hour", pa.array(result["time"].to_numpy() / 3.6e9))
    thin = thinned(hours, ["pending", "pending_published", "running", "running_published"], 2000)
    panels = [
        alt.Chart(
            long(thin, ["hour"], {state: "stock", f"{state}_published": "published formula"}),
            title=f"Tasks {state}",
            width=WIDTH,
            height=HEIGHT,
        )
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title="tasks", scale=alt.Scale(zero=False)),
            color=alt.Color("series:N", title=None),
            tooltip=["hour:Q", "series:N", "value:Q"],
        )
        for state in ("pending", "running")
    ]
    return alt.hconcat(*panels)


def trend(result: pa.Table, *columns: str) -> Interval:
    """Return the trend of a sum of columns in tasks per day, with values up to a day apart taken as alike."""
    days = result["time"].to_numpy() / DAY
    inside = result["time"].to_numpy() >= 3 * WINDOW
    days, values = days[inside], sum(result[c].to_numpy().astype(float) for c in columns)[inside]
    if len(days) < 3 or days[-1] - days[0] < 2:
        raise NotApplicable("the trace is shorter than two days")
    return slope(values, days, round(1.0 / (days[1] - days[0])))


def _rises(interval: Interval) -> bool:
    return interval.low > 0


def _drift(result: pa.Table) -> int:
    return int(result["pending_published"][-1].as_py() - result["pending"][-1].as_py())


CLAIMS = (
    Claim(
        "S4-obs5",
        "unfinished tasks accumulate (pending plus running)",
        "trend > 0 a day",
        lambda r: trend(r, "pending", "running"),
        _rises,
        "Zhu et al., Observation 5",
    ),
    Claim(
        "S4-obs5-counted",
        "new minus completed tasks rises, as the paper counts",
        "trend > 0 a day",
        lambda r: trend(r, "unfinished"),
        _rises,
        "Zhu et al., Observation 5",
    ),
    Claim(
        "S4-obs7",
        "the queue slowly grows",
        "trend > 0 a day",
        lambda r: trend(r, "pending"),
        _rises,
        "Zhu et al., Observation 7",
    ),
    Claim(
        "S4-obs7-formula",
        "the queue grows by the published formula",
        "trend > 0 a day",
        lambda r: trend(r, "pending_published"),
        _rises,
        "Zhu et al., Observation 7 by Method 3-2",
    ),
    Claim(
        "S4-obs8",
        "the number of running tasks surges",
        "trend > 0 a day",
        lambda r: trend(r, "running"),
        _rises,
        "Zhu et al., Observation 8",
    ),
    Claim(
        "S4-obs8-literal",
        "running surges where ends after UPDATE_RUNNING are not counted",
        "trend > 0 a day",
        lambda r: trend(r, "running_literal"),
        _rises,
        "Zhu et al., Observation 8 by Method 3-3",
    ),
    Claim(
        "S4-method-3-2",
        "the published formula counts the queue",
        "difference to the stock 0",
        _drift,
        lambda n: n == 0,
        "Zhu et al., Method 3-2",
    ),
)

RECIPE = Recipe(
    "queue_length",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Methods 3-2 and 3-3",
    order=30,
    topic="The queue and the running tasks",
)
