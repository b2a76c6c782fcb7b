"""Are the limits on tasks per machine and per switch kept?

Three limits: ``max_per_machine`` and ``max_per_switch`` of a collection, and the 2011 flag of a
task that it must run on another machine than all other tasks of its job (a limit of one for its own
start). Every start is replayed against the tasks of the same collection that run there at that
instant; ends come before starts at one time. A start above the limit breaks it. Starts without a
known machine (or switch) are not judged.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._lookup import lookup
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

LIMITS = ("max_per_machine", "max_per_switch", "different_machine")
RESULT = Table(
    "placement_limits",
    "limit",
    ("kind",),
    (
        Column(
            "kind", "string", "id", "Which limit: max_per_machine, max_per_switch or different_machine.", nullable=False
        ),
        Column(
            "n_collections", "int64", "count", "Collections with the limit whose starts were judged.", nullable=False
        ),
        Column("n_starts", "int64", "count", "Starts that were judged.", nullable=False),
        Column("n_broken", "int64", "count", "Starts that broke the limit.", nullable=False),
        Column("n_collections_broken", "int64", "count", "Collections with such a start.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return how often each limit was judged and broken."""
    attempts = tables.instance_attempts
    placed = attempts.filter(attempts.schedule_time.notnull() & attempts.machine_id.notnull()).select(
        "collection_id", "instance_index", "machine_id", "schedule_time", "left_time"
    )
    events = tables.collection_events
    limits = events.group_by("collection_id").aggregate(
        machine=events.max_per_machine.max(), switch=events.max_per_switch.max()
    )
    by_collection = lookup(placed, limits, ["collection_id"])
    switches = tables.machine_events.group_by("machine_id").aggregate(switch_id=tables.machine_events.switch_id.max())
    on_switch = lookup(by_collection, switches, ["machine_id"])
    judged = ibis.union(
        _judge(by_collection, "max_per_machine", by_collection.machine_id.cast("string"), by_collection.machine),
        _judge(on_switch, "max_per_switch", on_switch.switch_id, on_switch.switch),
        _judge(*_different(tables, placed)),
    )
    per_collection = judged.group_by(["kind", "collection_id"]).aggregate(
        n_starts=judged.count(), n_broken=judged.is_broken.cast("int64").sum().cast("int64")
    )
    return per_collection.group_by("kind").aggregate(
        n_collections=per_collection.count(),
        n_starts=per_collection.n_starts.sum().cast("int64"),
        n_broken=per_collection.n_broken.sum().cast("int64"),
        n_collections_broken=per_collection.count(where=per_collection.n_broken > 0),
    )


def _different(tables: Tables, placed: ir.Table) -> tuple[ir.Table, str, ir.StringColumn, ir.IntegerColumn]:
    """Return the tasks of jobs with the flag, each with a limit of one where it carries the flag itself."""
    events = tables.instance_events
    flagged = events.filter(events.needs_different_machine.fill_null(False))
    own = flagged.select("collection_id", "instance_index").distinct().mutate(own_limit=ibis.literal(1, "int32"))
    rows = placed.semi_join(flagged.select("collection_id").distinct(), "collection_id")
    rows = lookup(rows, own, ["collection_id", "instance_index"])
    return rows, "different_machine", rows.machine_id.cast("string"), rows.own_limit


def _judge(rows: ir.Table, kind: str, place: ir.StringColumn, limit: ir.IntegerColumn) -> ir.Table:
    """Replay starts and ends at each place; return the judged starts."""
    rows = rows.select(
        "collection_id", "instance_index", "schedule_time", "left_time", place=place, most=limit.cast("int64")
    ).filter(place.notnull())
    starts = rows.select(
        "collection_id", "instance_index", "place", "most", at="schedule_time", step=ibis.literal(1, "int64")
    )
    ended = rows.filter(rows.left_time.notnull())
    ends = ended.select(
        "collection_id",
        "instance_index",
        "place",
        "most",
        at=ibis.greatest(ended.left_time, ended.schedule_time + 1),
        step=ibis.literal(-1, "int64"),
    )
    steps = starts.union(ends)
    running = ibis.cumulative_window(group_by=["collection_id", "place"], order_by=["at", "step", "instance_index"])
    seen = steps.mutate(n_running=steps.step.sum().over(running))
    judged = seen.filter((seen.step == 1) & seen.most.notnull() & (seen.most > 0))
    return judged.select("collection_id", kind=ibis.literal(kind), is_broken=judged.n_running > judged.most)


def plot(result: pa.Table) -> alt.Chart:
    """Draw judged and broken starts per limit."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH, long, spoken_header

    data = long(result, ["kind"], {"n_starts": "judged", "n_broken": "broken"})
    chart: alt.Chart = (
        alt.Chart(data, title="Starts under a placement limit")
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="starts", scale=alt.Scale(type="symlog")),
            y=alt.Y("series:N", title=None, sort=["judged", "broken"]),
            row=alt.Row("kind:N", title=None, header=spoken_header(labelAngle=0, labelAlign="left")),
            color=alt.Color("series:N", legend=None),
            tooltip=["kind:N", "series:N", "value:Q"],
        )
        .properties(width=WIDTH, height=60)
    )
    return chart


def _broken(result: pa.Table, kind: str) -> float:
    for row in result.to_pylist():
        if row["kind"] == kind:
            return float(row["n_broken"] / row["n_starts"])
    raise NotApplicable("no start is subject to this limit")


CLAIMS = tuple(
    Claim(
        f"LIMIT-{kind}",
        f"{kind.replace('_', ' ')} is kept",
        "always",
        partial(_broken, kind=kind),
        lambda v: v == 0.0,
        source,
    )
    for kind, source in zip(LIMITS, ("2019 format document",) * 2 + ("2011 format document",), strict=True)
)

RECIPE = Recipe(
    "placement_limits",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events", "collection_events"),
    reference="format documents (different-machine restriction; max_per_machine, max_per_switch)",
    order=126,
    topic="Dependencies and limits",
)
