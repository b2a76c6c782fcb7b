"""Do tasks wait longer if fewer machines can run them?

Waits of attempts by the share of machines that meet their constraints (at the end of the day of
submission), in bands; tasks without constraints are the last band. Observation 9 suspects that this,
and not the load, causes long waits.

Reference: Zhu et al., Observation 9; Sharma et al., SoCC'11.
"""

from __future__ import annotations

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import HUNDREDTH, TASK, of_jobs
from borgtrace.analyses._constraints import Sets, fingerprints, on_day, shares_by_day
from borgtrace.analyses._histograms import period
from borgtrace.analyses._quantiles import fetch_counts
from borgtrace.analyses._scopes import LIKE_2011
from borgtrace.recipe import Claim, NotApplicable, Recipe, Row, Tables, from_source
from borgtrace.recipe.charts import Chart, Plot, added, axis, bar
from borgtrace.recipe.columns import count, declare, number, seconds
from borgtrace.recipe.criteria import above
from borgtrace.schema.time import DAY, TRACE_START

BANDS = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Upper ends of the bands of eligible share."""
FREE = 2.0
"""Stands for "no constraint" in the column ``share_below``."""
_PERCENTS = (50.0, 90.0, 99.0)
RESULT = declare(
    "delay_by_eligibility",
    "band of eligible share",
    ("share_below",),
    number("share_below", "1", "Upper end of the band; 2 for tasks without constraints."),
    count("n", "Attempts with a wait."),
    seconds("mean", "Mean wait."),
    *(seconds(f"wait_p{p:g}", f"Wait, {p:g}th percentile.") for p in _PERCENTS),
)


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the waits per band."""
    events, sets = fingerprints(tables)
    tasks = of_jobs(tables.instance_attempts)
    waited = tasks.filter(tasks.wait.notnull())
    day, wait = period(waited.submit_time, DAY, TRACE_START), (waited.wait // HUNDREDTH).cast("int64")
    dated = waited.select(*TASK, time="submit_time", day=day, wait=wait)
    # Constraints come with the event that demands them: those of the SUBMIT rule the wait after it.
    joined = dated.left_join(events, [*TASK, "time"]).select("day", "wait", "fingerprint")
    bands = _bands(tables, joined, sets)
    banded = joined.inner_join(bands, ["day", "fingerprint"]).select("band", "wait")
    # Apart, for the inner join above drops what has no fingerprint.
    free = joined.filter(joined.fingerprint.isnull()).select(band=ibis.literal(FREE, "float64"), wait="wait")
    waits = ibis.union(banded, free)
    groups = fetch_counts(tables, waits, waits.wait, "waits", ("band",), per=100.0)
    NotApplicable.unless(groups, "no wait lies within the trace")
    return [
        {"share_below": float(band), "n": len(found), "mean": found.mean(), **found.columns("wait_p", _PERCENTS)}
        for (band,), found in groups.items()
    ]


def _bands(tables: Tables, demands: ir.Table, sets: Sets) -> ir.Table:
    """Put each demand of each day into its band: ``day``, ``fingerprint``, ``band``."""
    constrained = demands.filter(demands.fingerprint.notnull())
    pairs = tables.fetch(constrained.select("day", "fingerprint").distinct(), "demands")
    days = shares_by_day(tables, sets)
    rows = []
    for pair in pairs.to_pylist() if days else ():
        share = on_day(days, pair["day"]).share.get(pair["fingerprint"])
        if share is not None:
            # A band is named by its upper end, which belongs to it.
            rows.append({**pair, "band": BANDS[int(np.searchsorted(BANDS, share))]})
    schema = pa.schema({"day": pa.int64(), "fingerprint": pa.int64(), "band": pa.float64()})
    return ibis.memtable(pa.Table.from_pylist(rows, schema=schema))


def plot(result: pa.Table) -> Chart:
    """Draw waits by band."""
    rows = added(
        result, band=lambda row: "no constraint" if row["share_below"] == FREE else f"≤ {row['share_below']:g}"
    )
    x = axis("band", "share of the machines that can run it", order=[row["band"] for row in rows])
    y = axis("wait_p90", "90th percentile of the wait (s)")
    return Plot(rows, RESULT, x=x, y=y).add(bar()).draw("Waits by share of eligible machines")


def _ratio(result: pa.Table) -> float:
    """Return the mean wait of tasks that under 10 % of the machines can run, over that of unconstrained tasks."""
    found = result.to_pylist()
    tight = [row for row in found if row["share_below"] <= BANDS[2]]
    free = [row for row in found if row["share_below"] == FREE]
    if not tight or not free or not free[0]["mean"]:
        raise NotApplicable("no task has such a constraint, or every task has one")
    # Bands hold different numbers of attempts: a mean of their means would weigh them alike.
    n = sum(row["n"] for row in tight)
    return float(sum(row["mean"] * row["n"] for row in tight) / n / free[0]["mean"])


CLAIMS = from_source(
    "Zhu et al., Observation 9; Sharma et al., SoCC'11 (2 to 6 times)",
    Claim(
        "S4-obs9-constraints",
        "long waits come from constraints",
        above(2.0, "tightly constrained ÷ free waits > 2"),
        _ratio,
    ),
    scope=LIKE_2011,
)

RECIPE = Recipe(
    RESULT,
    compute,
    plot,
    CLAIMS,
    reads=("instance_constraints", "instance_events", "machine_events", "machine_attributes"),
    order=91,
)
