"""How fast are tasks submitted, scheduled and completed?

Cumulative numbers of new tasks, submissions (resubmissions included), schedulings and completions, at
the end of every step; what happened before the trace is left out.  A curve divided by its last value is
the CDF of Zhu et al., Fig. 2; divided by the last value of *new*, the weighted one of Fig. 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import PROCESSES, moments
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "submissions",
    "step of time",
    ("time",),
    (
        Column("time", "int64", "us", "End of the step.", nullable=False),
        Column("new", "int64", "count", "New tasks until then.", nullable=False),
        Column("submitted", "int64", "count", "Submissions until then.", nullable=False),
        Column("scheduled", "int64", "count", "Schedulings until then.", nullable=False),
        Column("completed", "int64", "count", "Completions until then.", nullable=False),
    ),
)


def compute(tables: Tables, *, step: Microseconds = WINDOW) -> pa.Table:
    """Return the four cumulative counts at the end of every `step` (µs)."""
    rows = moments(tables.instance_attempts)
    steps = rows.group_by(step=(rows.time // step).cast("int64")).aggregate(
        **{name: rows[name].sum().cast("int64") for name in PROCESSES}
    )
    found = tables.fetch(steps, "steps")
    if not found.num_rows:
        raise NotApplicable("nothing was submitted, scheduled or completed within the trace")
    places = found["step"].to_numpy()
    first = int(places.min())
    ends = np.arange(first, int(places.max()) + 1, dtype=np.int64)
    columns = {"time": (ends + 1) * step}
    for name in PROCESSES:
        added = np.zeros(len(ends), np.int64)
        added[places - first] = found[name].to_numpy()
        columns[name] = np.cumsum(added)
    return pa.table(columns)


def plot(result: pa.Table) -> alt.HConcatChart:
    """Draw the CDFs (left) and the weighted CDFs (right)."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    total_new = max(result["new"][-1].as_py(), 1)
    panels = []
    for title, weighted in (("CDF", False), ("weighted CDF", True)):
        values = [
            {
                "hour": row["time"] / 3.6e9,
                "series": name,
                "share": row[name] / (total_new if weighted else max(result[name][-1].as_py(), 1)),
            }
            for row in _thin(result).to_pylist()
            for name in PROCESSES
        ]
        panels.append(
            alt.Chart(rows(pa.Table.from_pylist(values)), title=title, width=WIDTH, height=HEIGHT)
            .mark_line()
            .encode(
                x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)),
                y=alt.Y("share:Q", title="share of the total of new tasks" if weighted else "share"),
                color=alt.Color("series:N", sort=list(PROCESSES), title=None),
                tooltip=["hour:Q", "series:N", "share:Q"],
            )
        )
    return alt.hconcat(*panels)


def _thin(result: pa.Table, n: int = 600) -> pa.Table:
    """Keep about `n` rows: the curves never fall, so that nothing is lost between two kept points."""
    places = np.unique(np.linspace(0, result.num_rows - 1, min(n, result.num_rows)).astype(int))
    return result.take(places)


def _weight(name: str) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        if not result["new"][-1].as_py():
            raise NotApplicable("no task is new")
        return float(result[name][-1].as_py() / result["new"][-1].as_py())

    return measure


def _lag_at_end(result: pa.Table) -> float:
    """Return how far schedulings trail submissions at the end, over the 95th percentile before."""
    if result.num_rows < 288:
        raise NotApplicable("the trace is shorter than a day")
    behind = result["submitted"].to_numpy() - result["scheduled"].to_numpy()
    before = np.percentile(behind[: len(behind) * 9 // 10], 95)
    if before <= 0:
        raise NotApplicable("scheduling never lags behind submission")
    return float(behind[-1] / before)


CLAIMS = (
    Claim(
        "S4-weight-completed",
        "completions per new task",
        0.7165,
        _weight("completed"),
        lambda v: abs(v - 0.7165) <= 0.01,
        "Zhu et al., Fig. 3",
    ),
    Claim(
        "S4-weight-submitted",
        "submissions per new task",
        1.9027,
        _weight("submitted"),
        lambda v: abs(v - 1.9027) <= 0.01,
        "Zhu et al., Fig. 3",
    ),
    Claim(
        "S4-weight-scheduled",
        "schedulings per new task",
        1.8616,
        _weight("scheduled"),
        lambda v: abs(v - 1.8616) <= 0.01,
        "Zhu et al., Fig. 3",
    ),
    Claim(
        "S4-obs6",
        "scheduling falls behind submission at the end of the trace",
        "the gap at the end exceeds the 95th percentile of the first nine tenths (ratio > 1)",
        _lag_at_end,
        lambda v: v > 1.0,
        "Zhu et al., Observation 6",
    ),
)

RECIPE = Recipe(
    "submissions",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Methods 3 and 3-1, Fig. 2 and 3",
    order=21,
    topic="Submissions and completions",
)
