"""How long are chains of jobs that wait for each other, and is their order kept?

A collection may name others that must finish before it starts. Its depth is the length of the
longest chain of such references that leads to it. The order is kept if it is first scheduled at or
after the last end of everything it names, and unknown if one of these times is not in the trace.

Reference: 2019 format document (start_after_collection_ids).
"""

from collections import Counter, defaultdict

import ibis.expr.types as ir

from borgtrace.analyses._attempts import collection_ends
from borgtrace.analyses._joins import lookup
from borgtrace.kernels.arrays import Index
from borgtrace.question import NotApplicable, Recipe, Row, Tables
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE


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
    waits: dict[int, int] = defaultdict(int)
    behind: dict[int, list[int]] = defaultdict(list)
    for later, earlier in zip(after.tolist(), before.tolist(), strict=True):
        waits[later] += 1
        behind[earlier].append(later)
    depth = dict.fromkeys(sorted({*waits, *behind}), 0)
    ready = [node for node in depth if node not in waits]
    # Two numbers per node: `longest` grows while it still waits, and only a node that becomes ready takes it over as
    # its depth. What is in a circle never does.
    longest = dict(depth)
    while ready:
        node = ready.pop()
        depth[node] = longest[node]
        for later in behind[node]:
            longest[later] = max(longest[later], longest[node] + 1)
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    return depth


ORDERS = ("kept", "unknown", "broken")
"""One broken dependency breaks the order, whatever the others; else one unknown leaves it open."""


def compute(tables: Tables) -> list[Row]:
    """Return collections with dependencies by depth, and whether the order was kept."""
    tables.require_published("what a collection starts after", column="start_after_collection_ids")
    edges = tables.fetch(_edges(tables), "edges")
    NotApplicable.unless(edges.num_rows, "no collection names another to start after")
    depth = depths(edges["collection_id"].to_numpy(), edges["named_id"].to_numpy())
    worst: defaultdict[int, int] = defaultdict(int)
    for row in edges.to_pylist():
        place = ORDERS.index(_order(row["started"], row["ended"]))
        worst[row["collection_id"]] = max(place, worst[row["collection_id"]])
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for one, place in worst.items():
        found[depth[one]].update(("n_collections", f"n_{ORDERS[place]}"))
    names = ("n_collections", *(f"n_{order}" for order in ORDERS))
    return [
        {"depth": level, **{name: numbers[name] for name in names}}
        for level, numbers in found.items()
    ]


def _order(started: int | None, ended: int | None) -> str:
    # Never scheduled, alive at the end, or not in this store: nothing shows that the order was broken.
    # Nor where both lie before the trace, or both after it: equal sentinels are no equal times.
    if (
        started is None
        or ended is None
        or (started == ended and started in (BEFORE_TRACE, AFTER_TRACE))
    ):
        return "unknown"
    # At the same instant too: the end of one may set off the start of the other.
    return "kept" if started >= ended else "broken"


def _edges(tables: Tables) -> ir.Table:
    """Return which collection names which, with the times that must be in order."""
    events = tables.collection_events
    named = events.filter(events.start_after_collection_ids.length() > 0)
    # Every event of a collection repeats the list.
    pairs = named.select(
        "collection_id", named_id=named.start_after_collection_ids.unnest()
    ).distinct()
    ends = collection_ends(tables.collection_attempts)
    rows = lookup(pairs, ends.select("collection_id", started="schedule_time"), ["collection_id"])
    return lookup(rows, ends.select(named_id="collection_id", ended="end_time"), ["named_id"])


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=121)
