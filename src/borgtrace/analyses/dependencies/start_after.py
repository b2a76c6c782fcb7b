"""How long are chains of jobs that wait for each other, and does their order hold?

A collection may name others that must finish before it starts. Its depth is the length of the
longest chain of such references that leads to it. The order is kept if it is first scheduled at or
after the last end of everything it names, and unknown if one of these times is not in the trace.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import collection_ends
from borgtrace.analyses.shared.joins import lookup
from borgtrace.kernels.arrays import Index
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    at_least,
    charts,
    sql,
)
from borgtrace.question.scopes import OF_2019
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="depth",
    key=[
        Column(
            "depth", "int64", "count", "Collections before it on the longest chain; 0 in a circle."
        )
    ],
    columns=[
        Column("n_collections", "int64", "count", "Collections of this depth."),
        Column("n_kept", "int64", "count", "Scheduled after everything they name had ended."),
        Column("n_broken", "int64", "count", "Scheduled while something they name had not ended."),
        Column("n_unknown", "int64", "count", "A time is not in the trace."),
    ],
)


ORDERS = ("kept", "unknown", "broken")
"""From best to worst: one broken dependency breaks the order; else one unknown leaves it open."""


def compute(tables: Tables) -> list[Row]:
    """Return collections with dependencies by depth, and whether the order was kept."""
    tables.require_published("what a collection starts after", column="start_after_collection_ids")
    dependencies = tables.fetch(select_dependencies(tables), "edges")
    if not dependencies.num_rows:
        raise NotApplicable("no collection names another to start after")
    worst_order: defaultdict[int, int] = defaultdict(int)
    for row in dependencies.to_pylist():
        order = ORDERS.index(order_of_times(row["started"], row["ended"]))
        collection = row["collection_id"]
        worst_order[collection] = max(order, worst_order[collection])
    depth = depths(dependencies["collection_id"].to_numpy(), dependencies["named_id"].to_numpy())
    orders_by_depth: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for collection, order in worst_order.items():
        orders_by_depth[depth[collection]][ORDERS[order]] += 1
    return [
        {
            "depth": level,
            "n_collections": orders.total(),
            "n_kept": orders["kept"],
            "n_broken": orders["broken"],
            "n_unknown": orders["unknown"],
        }
        for level, orders in orders_by_depth.items()
    ]


def select_dependencies(tables: Tables) -> ir.Table:
    """Return which collection names which, with the times that must be in order."""
    events = tables.collection_events
    with_list = events.filter(events.start_after_collection_ids.length() > 0)
    named_id = with_list.start_after_collection_ids.unnest()
    # Every event of a collection repeats the list.
    pairs = with_list.select("collection_id", named_id=named_id).distinct()
    ends = collection_ends(tables.collection_attempts)
    starts = ends.select("collection_id", started="schedule_time")
    ends_of_named = ends.select(named_id="collection_id", ended="end_time")
    return lookup(lookup(pairs, starts, ["collection_id"]), ends_of_named, ["named_id"])


def order_of_times(started: int | None, ended: int | None) -> str:
    """Return whether a collection was scheduled after the one it names had ended."""
    # Never scheduled, alive at the end, or not in this store: nothing shows that the order was broken.
    if started is None or ended is None:
        return "unknown"
    # Both lie before the trace, or both after it: equal sentinels are no equal times.
    if started == ended and started in (BEFORE_TRACE, AFTER_TRACE):
        return "unknown"
    # Equal times are in order: the end of one may trigger the start of the other.
    return "kept" if started >= ended else "broken"


def depths(after: Index, before: Index) -> dict[int, int]:
    """Return the length of the longest chain that leads to each node.

    Parameters
    ----------
    after, before
        Edges: ``after[i]`` waits for ``before[i]``; shape (n,).

    Returns
    -------
    dict
        Node to depth; 0 for a node that waits for none, and for what is in, or behind, a circle.

    Notes
    -----
    Kahn's algorithm, linear in nodes and edges.

    Examples
    --------
    >>> import numpy as np
    >>> depths(np.array([2, 3, 3]), np.array([1, 2, 1]))
    {1: 0, 2: 1, 3: 2}
    """
    n_waits: dict[int, int] = defaultdict(int)
    waiting_nodes: dict[int, list[int]] = defaultdict(list)
    for later, earlier in zip(after.tolist(), before.tolist(), strict=True):
        n_waits[later] += 1
        waiting_nodes[earlier].append(later)
    depth = dict.fromkeys(sorted({*n_waits, *waiting_nodes}), 0)
    ready = [node for node in depth if node not in n_waits]
    # Two numbers per node: `longest` grows while the node still waits, and becomes its depth once it is ready.
    # A node in a circle never is.
    longest = dict(depth)
    while ready:
        node = ready.pop()
        depth[node] = longest[node]
        for later in waiting_nodes[node]:
            longest[later] = max(longest[later], longest[node] + 1)
            n_waits[later] -= 1
            if not n_waits[later]:
                ready.append(later)
    return depth


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how many collections of each depth kept or broke the order."""
    import altair as alt

    rows = charts.melted(
        answer.to_pylist(), {"n_kept": "kept", "n_broken": "broken", "n_unknown": "unknown"}
    )
    return (
        charts.base(rows, title="Dependency chains of collections")
        .mark_bar()
        .encode(
            x=alt.X("depth:O", title="collections before it"),
            y=alt.Y("value:Q", title="collections"),
            color=alt.Color("series:N", title="order"),
            tooltip=charts.tooltips(rows, "depth", "value", "series"),
        )
    )


CLAIMS = [
    Claim(
        "V3-start-after",
        statement="collections start only after those they name have finished (99.9 % or more of them)",
        source="2019 format document",
        scope=OF_2019,
        measure=sql(
            """
            select sum(n_kept) / nullif(sum(n_kept) + sum(n_broken), 0)
            from answer
            """,
            otherwise="no dependency has both times in the trace",
        ),
        criterion=at_least(0.999, published="always"),
    ),
]

QUESTION = Question(
    name="start_after",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="2019 format document (start_after_collection_ids)",
)
