"""How long are chains of jobs that wait for each other, and is their order kept?

A collection may name others that must finish before it starts. Its depth is the longest chain of
such names that leads to it. The order is kept where it is first scheduled at or after the last end
of everything it names; unknown where one of these times is not in the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._dag_depth import depths
from borgtrace.analyses._dependencies import last_ends, require_2019
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.arrow import arrow_schema

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "start_after",
    "depth",
    ("depth",),
    (
        Column("depth", "int64", "count", "Collections before it on the longest chain; 0 in a circle.", nullable=False),
        Column("n_collections", "int64", "count", "Collections of this depth.", nullable=False),
        Column("n_kept", "int64", "count", "Scheduled after everything they name had ended.", nullable=False),
        Column("n_broken", "int64", "count", "Scheduled while something they name had not ended.", nullable=False),
        Column("n_unknown", "int64", "count", "A time is not in the trace.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return collections with dependencies by depth, and whether the order was kept."""
    require_2019(tables, "what a collection starts after")
    edges = tables.fetch(_edges(tables), "edges")
    if not edges.num_rows and not tables.is_plan:
        raise NotApplicable("no collection names another to start after")
    depth = depths(edges["collection_id"].to_numpy(), edges["named_id"].to_numpy())
    kept: dict[int, bool | None] = {}
    for row in edges.to_pylist():
        so_far = kept.get(row["collection_id"], True)
        known = row["started"] is not None and row["ended"] is not None
        now = row["started"] >= row["ended"] if known else None
        kept[row["collection_id"]] = False if False in (so_far, now) else None if None in (so_far, now) else True
    rows = [
        {
            "depth": level,
            "n_collections": len(members),
            "n_kept": sum(kept[member] is True for member in members),
            "n_broken": sum(kept[member] is False for member in members),
            "n_unknown": sum(kept[member] is None for member in members),
        }
        for level, members in sorted(_members(depth, set(kept)).items())
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(RESULT))


def _edges(tables: Tables) -> ir.Table:
    """Return who names whom, with the times that must be in order."""
    events = tables.collection_events
    named = events.filter(events.start_after_collection_ids.length() > 0)
    pairs = named.select("collection_id", named_id=named.start_after_collection_ids.unnest()).distinct()
    ends = last_ends(tables.collection_attempts)
    own = ends.select("collection_id", started="schedule_time")
    theirs = ends.select(other_id="collection_id", ended="end_time")
    rows = pairs.left_join(own, "collection_id").drop("collection_id_right")
    return rows.left_join(theirs, rows.named_id == theirs.other_id).drop("other_id")


def _members(depth: dict[int, int], dependent: set[int]) -> dict[int, list[int]]:
    levels: dict[int, list[int]] = {}
    for member in sorted(dependent):
        levels.setdefault(depth[member], []).append(member)
    return levels


def plot(result: pa.Table) -> alt.Chart:
    """Draw the number of collections by depth, coloured by whether the order was kept."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, long

    data = long(result, ["depth"], {"n_kept": "kept", "n_broken": "broken", "n_unknown": "unknown"})
    chart: alt.Chart = (
        alt.Chart(data, title="Chains of collections that start after each other")
        .mark_bar()
        .encode(
            x=alt.X("depth:O", title="collections before it"),
            y=alt.Y("value:Q", title="collections"),
            color=alt.Color("series:N", title="order"),
            tooltip=["depth:O", "series:N", "value:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _kept(result: pa.Table) -> float:
    rows = result.to_pylist()
    known = sum(row["n_kept"] + row["n_broken"] for row in rows)
    if not known:
        raise NotApplicable("no dependency with both times in the trace")
    return float(sum(row["n_kept"] for row in rows) / known)


CLAIMS = (
    Claim(
        "V3-start-after",
        "a collection starts only after those it names have finished",
        "always",
        _kept,
        lambda v: v >= 0.999,
        "2019 format document",
    ),
)

RECIPE = Recipe(
    "start_after",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="2019 format document (start_after_collection_ids)",
    order=121,
    topic="Dependencies and limits",
)
