"""How much does a task's usage change from hour to hour?

The usage of a task in an hour is the mean over its windows, weighted by their length. Every pair of
neighbouring hours counts with the time measured in both, so long tasks weigh by their duration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._change import CURVE_COLUMNS, curves, plot_curves, share_within, task_pairs
from borgtrace.analyses._lookup import lookup
from borgtrace.analyses._windows import UNKNOWN, regular, tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "hourly_change",
    "tier, resource and percent",
    ("tier", "resource", "percent"),
    (Column("tier", "string", "id", "Tier of the tasks.", nullable=False), *CURVE_COLUMNS),
)


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the change between neighbouring hours, per tier."""
    key = ["collection_id", "instance_index"]
    rows = task_pairs(regular(tables.instance_usage), "hour")
    index = tables.tasks.select(*key, tier=tier(tables.tasks.priority, tables.generation))
    rows = lookup(rows, index, key)
    rows = rows.mutate(tier=rows.tier.fill_null(UNKNOWN))
    return curves(rows, ["tier"])


def plot(result: pa.Table) -> alt.Chart:
    """Draw the cumulative curves per tier."""
    return plot_curves(result, "Change between neighbouring hours", "tier", "resource")


def _within(result: pa.Table, resource: str, percent: int) -> float:
    if not result.num_rows:
        raise NotApplicable("no task was measured in two neighbouring hours")
    return share_within(result, percent, resource=resource)


CLAIMS = (
    Claim(
        "REISS-hourly-cpu",
        "from hour to hour the CPU of 60 % of the tasks, by duration, changes by less than 15 %",
        "≈ 0.6",
        lambda r: _within(r, "cpu", 15),
        lambda v: 0.5 <= v <= 0.7,
        "Reiss et al., SoCC'12, as quoted by Janus & Rzadca",
    ),
)

RECIPE = Recipe(
    "hourly_change",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Reiss et al., SoCC'12",
    order=71,
    topic="How usage changes",
)
