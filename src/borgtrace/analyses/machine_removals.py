"""How often do machines leave?

One row per number of removals: how many machines left the cell that often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

_ENOUGH = 100
"""Machines removed, before a share of them is compared."""

RESULT = Table(
    "machine_removals",
    "number of removals",
    ("n_removals",),
    (
        Column("n_removals", "int64", "count", "How often a machine was removed.", nullable=False),
        Column("n_machines", "int64", "count", "Machines removed that often.", nullable=False),
        Column("n_gone", "int64", "count", "Of these, machines that were gone at the end.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the number of machines by their number of REMOVE events."""
    events = tables.machine_events
    is_removal = (events.type == "REMOVE").cast("int64")
    machines = (
        events.mutate(is_removal=is_removal)
        .group_by("machine_id")
        .aggregate(
            n_removals=lambda t: t.is_removal.sum(),
            removed=lambda t: t.time.max(where=t.type == "REMOVE"),
            there=lambda t: t.time.max(where=t.type != "REMOVE"),
        )
    )
    gone = machines.removed.notnull() & (machines.there.isnull() | (machines.removed > machines.there))
    return (
        machines.mutate(gone=gone.cast("int64"))
        .group_by("n_removals")
        .aggregate(n_machines=lambda t: t.count(), n_gone=lambda t: t.gone.sum())
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw machines against removals, both axes logarithmic."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, count_axis, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Machines by number of removals", width=WIDTH, height=HEIGHT)
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("n_removals:Q", title="removals", scale=alt.Scale(type="symlog"), axis=count_axis()),
            y=alt.Y("n_machines:Q", title="machines", scale=alt.Scale(type="symlog"), axis=count_axis()),
            tooltip=["n_removals:Q", "n_machines:Q", "n_gone:Q"],
        )
    )
    return chart


def _never_back(result: pa.Table) -> float:
    removed = sum(row["n_machines"] for row in result.to_pylist() if row["n_removals"])
    gone: int = sum(result["n_gone"].to_pylist())
    if removed < _ENOUGH:
        raise NotApplicable(f"fewer than {_ENOUGH} machines were removed")
    return gone / removed


CLAIMS = (
    Claim(
        "ME-gone",
        "machines that leave come back, but for one in fifty",
        97 / 5141,
        _never_back,
        lambda share: share <= 0.05,
        "count over the machine events of 2011",
    ),
)
RECIPE = Recipe(
    "machine_removals",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("machine_events",),
    reference="2011 format document, machine events",
    order=11,
    topic="Machines",
)
