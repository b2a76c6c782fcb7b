"""Do tasks wait longer if fewer machines can run them?

Waits of attempts by the share of machines that meet their constraints (at the end of the day of
submission), in bands; tasks without constraints are the last band.  Observation 9 suspects this and not
the load behind long waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses._placement import Sets, fingerprints, shares_by_day
from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._quantiles import counts, fetch_counts, quantiles
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import DAY, TRACE_START

if TYPE_CHECKING:
    import altair as alt

BANDS = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Upper ends of the bands of eligible share."""
FREE = 2.0
"""Stands for "no constraint" in the column ``share_below``."""
_PERCENTS = (50.0, 90.0, 99.0)
_HUNDREDTH = 10_000

RESULT = Table(
    "delay_by_eligibility",
    "band of eligible share",
    ("share_below",),
    (
        Column(
            "share_below", "float64", "1", "Upper end of the band; 2 for tasks without constraints.", nullable=False
        ),
        Column("n", "int64", "count", "Attempts with a wait.", nullable=False),
        Column("mean", "float64", "s", "Mean wait.", nullable=False),
        *(
            Column(f"wait_p{percent:g}", "float64", "s", f"Wait, {percent:g}th percentile.", nullable=False)
            for percent in _PERCENTS
        ),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return quantiles of the waits per band."""
    events, sets = fingerprints(tables)
    tasks = jobs_only(tables.instance_attempts)
    waited = tasks.filter(tasks.wait.notnull())
    dated = waited.select(
        "collection_id",
        "instance_index",
        time="submit_time",
        day=((waited.submit_time - TRACE_START) // DAY).cast("int64"),
        wait=(waited.wait // _HUNDREDTH).cast("int64"),
    )
    joined = dated.left_join(events, ["collection_id", "instance_index", "time"])
    joined = joined.select("day", "wait", "fingerprint")
    bands = _bands(tables, joined, sets)
    banded = joined.inner_join(bands, ["day", "fingerprint"]).select("band", "wait")
    free = joined.filter(joined.fingerprint.isnull()).select(band=ibis.literal(FREE, "float64"), wait="wait")
    waits = ibis.union(banded, free)
    groups = fetch_counts(tables, counts(waits, waits.wait, ["band"]), ("band",), "waits")
    if not groups:
        raise NotApplicable("no wait lies within the trace")
    return pa.Table.from_pylist([_row(float(band), *group) for (band,), group in groups.items()])


def _bands(tables: Tables, demands: ir.Table, sets: Sets) -> ir.Table:
    """Put each demand of each day into its band: ``day``, ``fingerprint``, ``band``."""
    constrained = demands.filter(demands.fingerprint.notnull())
    pairs = tables.fetch(constrained.select("day", "fingerprint").distinct(), "demands")
    days = shares_by_day(tables, sets)
    last = max(days, default=0)
    known = [
        (day, fingerprint, days[min(day, last)].share[fingerprint])
        for day, fingerprint in zip(pairs["day"].to_pylist(), pairs["fingerprint"].to_pylist(), strict=True)
        if fingerprint in days[min(day, last)].share
    ]
    return ibis.memtable(
        pa.table(
            {
                "day": pa.array([day for day, _, _ in known], pa.int64()),
                "fingerprint": pa.array([fingerprint for _, fingerprint, _ in known], pa.int64()),
                "band": pa.array([BANDS[int(np.searchsorted(BANDS, share))] for _, _, share in known], pa.float64()),
            }
        )
    )


def _row(band: float, waits: npt.NDArray[np.float64], n: npt.NDArray[np.int64]) -> dict[str, float | int]:
    seconds = waits / 100.0
    points = quantiles(seconds, n, _PERCENTS)
    return {
        "share_below": band,
        "n": int(n.sum()),
        "mean": float((seconds * n).sum() / n.sum()),
        **{f"wait_p{percent:g}": float(value) for percent, value in zip(_PERCENTS, points, strict=True)},
    }


def plot(result: pa.Table) -> alt.Chart:
    """Draw waits by band."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    names = [
        "no constraint" if row["share_below"] == FREE else f"≤ {row['share_below']:g}" for row in result.to_pylist()
    ]
    data = result.append_column("band", pa.array(names))
    chart: alt.Chart = (
        alt.Chart(rows(data), title="Waits by share of eligible machines", width=WIDTH, height=HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("band:N", sort=names, title="share of the machines that may run it"),
            y=alt.Y("wait_p90:Q", title="90th percentile of the wait, s"),
            tooltip=["band:N", "n:Q", "mean:Q", *(f"wait_p{percent:g}:Q" for percent in _PERCENTS)],
        )
    )
    return chart


def _ratio(result: pa.Table) -> float:
    """Return the mean wait of tasks that under 10 % of the machines may run, over that of free tasks."""
    found = result.to_pylist()
    tight = [row for row in found if row["share_below"] <= BANDS[2]]
    free = [row for row in found if row["share_below"] == FREE]
    if not tight or not free or not free[0]["mean"]:
        raise NotApplicable("no task has such a constraint, or every task has one")
    n = sum(row["n"] for row in tight)
    return float(sum(row["mean"] * row["n"] for row in tight) / n / free[0]["mean"])


CLAIMS = (
    Claim(
        "S4-obs9-constraints",
        "long waits come from constraints",
        "tightly constrained ÷ free waits > 2",
        _ratio,
        lambda v: v > 2.0,
        "Zhu et al., Observation 9; Sharma et al., SoCC'11 (2 to 6 times)",
    ),
)

RECIPE = Recipe(
    "delay_by_eligibility",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_constraints", "instance_events", "machine_events", "machine_attributes"),
    reference="Zhu et al., Observation 9; Sharma et al., SoCC'11",
    order=91,
    topic="Placement constraints",
)
