"""What happens after an attempt ends: is the task submitted again, and how soon?

One row per way to end and tier: attempts that ended, those that were followed by another attempt, and
quantiles of the gap between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._quantiles import counts, fetch_counts, quantiles
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE

if TYPE_CHECKING:
    import altair as alt

_PERCENTS = (50.0, 90.0, 99.0)
_NEVER = -1
"""Stands for "not submitted again" while gaps are counted."""

RESULT = Table(
    "resubmission_gaps",
    "way to end and tier",
    ("end_type", "tier"),
    (
        Column("end_type", "enum", "enum", "How the attempt ended.", nullable=False, enum="event_type"),
        Column("tier", "string", "id", "Tier of the attempt.", nullable=False),
        Column("n", "int64", "count", "Attempts that ended so.", nullable=False),
        Column("n_again", "int64", "count", "Of these, followed by another attempt.", nullable=False),
        *(
            Column(f"gap_p{percent:g}", "float64", "s", f"Gap to the next attempt, {percent:g}th percentile.")
            for percent in _PERCENTS
        ),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return how often and how soon tasks are submitted again."""
    ended = jobs_only(tables.instance_attempts)
    ended = ended.filter(
        ended.end_type.notnull() & (ended.end_time > BEFORE_TRACE) & (ended.end_time < AFTER_TRACE)
    ).mutate(tier=tier(ended.priority, tables.generation))
    gap = (ended.next_time - ended.end_time).fill_null(_NEVER)
    groups = fetch_counts(tables, counts(ended, gap, ["end_type", "tier"]), ("end_type", "tier"), "gaps")
    if not groups:
        raise NotApplicable("no attempt ended within the trace")
    rows = []
    for (end_type, name), (values, n) in groups.items():
        again = values != _NEVER
        gaps = quantiles(values[again] / 1e6, n[again], _PERCENTS)
        rows.append(
            {"end_type": end_type, "tier": name, "n": int(n.sum()), "n_again": int(n[again].sum())}
            | {
                f"gap_p{percent:g}": None if np.isnan(value) else float(value)
                for percent, value in zip(_PERCENTS, gaps, strict=True)
            }
        )
    return pa.Table.from_pylist(rows)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the share that is submitted again."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows, tier_colour

    values = [{**row, "share": row["n_again"] / row["n"]} for row in result.to_pylist()]
    chart: alt.Chart = (
        alt.Chart(rows(pa.Table.from_pylist(values)), title="Attempts that are repeated", width=WIDTH, height=HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("end_type:N", title="end of the attempt"),
            xOffset="tier:N",
            y=alt.Y("share:Q", title="share submitted again"),
            color=tier_colour(result["tier"].to_pylist()),
            tooltip=["end_type:N", "tier:N", "share:Q", "n:Q", "gap_p50:Q", "gap_p90:Q"],
        )
    )
    return chart


def _again(end_type: str) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        rows = [row for row in result.to_pylist() if row["end_type"] == end_type]
        if not rows:
            raise NotApplicable(f"no attempt ended by {end_type}")
        return float(sum(row["n_again"] for row in rows) / sum(row["n"] for row in rows))

    return measure


def _slowest_median(result: pa.Table) -> float | None:
    """Largest median gap after an eviction, over the tiers."""
    gaps = [row["gap_p50"] for row in result.to_pylist() if row["end_type"] == "EVICT"]
    return max((gap for gap in gaps if gap is not None), default=None)


CLAIMS = (
    Claim(
        "DOC-evict-again",
        "what is evicted is submitted again",
        0.9998,
        _again("EVICT"),
        lambda share: share >= 0.99,
        "2011 format document; count over the first 19.65 h",
    ),
    Claim(
        "DOC-at-once",
        "… immediately (median gap, s)",
        "7 µs",
        _slowest_median,
        lambda seconds: seconds <= 1.0,
        "2011 format document; count over the first 19.65 h",
    ),
    Claim(
        "TE-fail-again",
        "what fails is mostly submitted again",
        0.948,
        _again("FAIL"),
        lambda share: abs(share - 0.948) <= 0.05,
        "count over the first 19.65 h of 2011",
    ),
    Claim(
        "TE-kill-again",
        "what is killed is submitted again in a third of the cases",
        0.351,
        _again("KILL"),
        lambda share: abs(share - 0.351) <= 0.1,
        "count over the first 19.65 h of 2011",
    ),
)
RECIPE = Recipe(
    "resubmission_gaps",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="2011 format document, job and task life cycles",
    order=24,
    topic="Submissions and completions",
)
