"""How fast are tasks submitted, scheduled and completed?

Cumulative numbers of new tasks, submissions (resubmissions included), schedulings and completions, at
the end of every step; what happened before the trace is left out.  A curve divided by its last value is
the CDF of Zhu et al., Fig. 2; divided by the last value of *new*, the weighted one of Fig. 3.

Reference: Zhu et al., Methods 3 and 3-1, Fig. 2 and 3.
"""

import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import PROCESSES, counted_events
from borgtrace.analyses._histograms import period
from borgtrace.analyses._windows import int_sum
from borgtrace.question import NotApplicable, Recipe, Tables
from borgtrace.question.charts import Chart, Plot, axis, beside, hour_axis, line
from borgtrace.schema.time import WINDOW, Microseconds


def compute(tables: Tables, *, step: Microseconds = WINDOW) -> pa.Table:
    """Return the four cumulative counts at the end of every `step` (µs)."""
    rows = counted_events(tables.instance_attempts)
    sums = {name: int_sum(rows[name]) for name in PROCESSES}
    steps = rows.group_by(step=period(rows.time, step)).aggregate(**sums)
    found = tables.fetch(steps, "steps")
    NotApplicable.unless(
        found.num_rows, "nothing was submitted, scheduled or completed within the trace"
    )
    places = found["step"].to_numpy()
    first = int(places.min())
    ends = np.arange(first, int(places.max()) + 1, dtype=np.int64)
    columns = {"time": (ends + 1) * step}
    for name in PROCESSES:
        # Steps without an event have no group; counts are whole numbers as floats too.
        columns[name] = (
            np.bincount(places - first, found[name].to_numpy()).cumsum().astype(np.int64)
        )
    return pa.table(columns)


def plot(result: pa.Table) -> Chart:
    """Draw the CDFs (left) and the weighted CDFs (right)."""
    # At least 1: a trace may have no completion to divide by.
    final = {name: max(result[name][-1].as_py(), 1) for name in PROCESSES}
    weighted, of_new = dict.fromkeys(PROCESSES, final["new"]), "share of the total of new tasks"
    return beside(
        "", _panel(result, "CDF", "share", final), _panel(result, "Weighted CDF", of_new, weighted)
    )


def _panel(result: pa.Table, title: str, y_title: str, totals: dict[str, int]) -> Chart:
    rows = [
        {"hour": row["time"] / 3.6e9, "series": name, "share": row[name] / totals[name]}
        for row in _thin(result).to_pylist()
        for name in PROCESSES
    ]
    color = axis("series", None, order=PROCESSES)
    return Plot(rows, x=hour_axis(), y=axis("share", y_title), color=color).add(line()).draw(title)


def _thin(result: pa.Table, n: int = 600) -> pa.Table:
    """Keep about `n` rows: the curves never fall, so that nothing is lost between two kept points."""
    places = np.unique(np.linspace(0, result.num_rows - 1, min(n, result.num_rows)).astype(int))
    return result.take(places)


def lag_at_end(result: pa.Table) -> float:
    """Return how far schedulings trail submissions at the end, over the 95th percentile before."""
    # Steps of 300 s in a day.
    NotApplicable.unless(result.num_rows >= 288, "the trace is shorter than a day")
    behind = result["submitted"].to_numpy() - result["scheduled"].to_numpy()
    # The last tenth is what the observation is about: it must not set its own measure.
    before = np.percentile(behind[: len(behind) * 9 // 10], 95)
    NotApplicable.unless(before > 0, "scheduling never lags behind submission")
    return float(behind[-1] / before)


RECIPE = Recipe.declared(compute, (lag_at_end,), plot=plot, reads=("instance_events",), order=21)
