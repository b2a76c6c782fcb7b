"""Which state transitions do tasks make, and which state graphs allow them?

One row per pair of neighbouring events of an instance, in the order of the raw files (2011) or of the
life cycle (2019), UPDATE_* events included.  The last columns say in whose picture the pair is legal:
the 2011 format document, Fig. 2 of the Borg paper, Fig. 1 of Zhu et al., the 2019 format document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.errors import UsageError
from borgtrace.lifecycle import GRAPHS, is_legal
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "transitions",
    "pair of neighbouring events",
    ("from_type", "to_type"),
    (
        Column("from_type", "enum", "enum", "The earlier event, NULL for the first of a life.", enum="event_type"),
        Column("to_type", "enum", "enum", "The later event.", nullable=False, enum="event_type"),
        Column("n", "int64", "count", "How often.", nullable=False),
        *(Column(f"is_legal_{graph.name}", "bool", "1", graph.doc, nullable=False) for graph in GRAPHS.values()),
    ),
)


def compute(tables: Tables, *, of: str = "instances") -> pa.Table:
    """Return the transitions of instances or of collections with their legality.

    Parameters
    ----------
    tables
        The store's tables.
    of
        ``"instances"`` or ``"collections"``.
    """
    if of not in ("instances", "collections"):
        raise UsageError("of", "unknown entity", expected="instances or collections", got=of)
    steps = tables.instance_transitions if of == "instances" else tables.collection_transitions
    pairs = tables.fetch(steps.group_by(["from_type", "to_type"]).aggregate(n=steps.n.sum()), "pairs")
    arrows = list(zip(pairs["from_type"].to_pylist(), pairs["to_type"].to_pylist(), strict=True))
    for graph in GRAPHS.values():
        legal = pa.array([is_legal(graph, before, after) for before, after in arrows], pa.bool_())
        pairs = pairs.append_column(f"is_legal_{graph.name}", legal)
    return pairs


def plot(result: pa.Table) -> alt.Chart:
    """Draw the matrix of transitions; what the 2011 document forbids is framed."""
    import altair as alt

    from borgtrace.analyses._charts import rows

    lines = "split(datum.label, '_')"
    first = "datum.value === null ? '(first event)' : replace(datum.label, '_', ' ')"
    chart: alt.Chart = (
        alt.Chart(rows(result), title="Transitions between events", width=340, height=340)
        .mark_rect(strokeWidth=2)
        .encode(
            x=alt.X("to_type:N", title="next event", axis=alt.Axis(labelExpr=lines)),
            y=alt.Y("from_type:N", title="event", axis=alt.Axis(labelExpr=first)),
            color=alt.Color("n:Q", scale=alt.Scale(type="log", scheme="blues"), title="times"),
            stroke=alt.condition("datum.is_legal_document_2011", alt.value("transparent"), alt.value("#d62728")),
            tooltip=["from_type:N", "to_type:N", "n:Q", *(f"is_legal_{name}:N" for name in GRAPHS)],
        )
    )
    return chart


def _count(before: str, after: str) -> Callable[[pa.Table], int]:
    def measure(result: pa.Table) -> int:
        found = [row["n"] for row in result.to_pylist() if row["from_type"] == before and row["to_type"] == after]
        if "SUBMIT" not in result["to_type"].to_pylist():
            raise NotApplicable("nothing was submitted")
        return sum(found)

    return measure


CLAIMS = (
    Claim(
        "S4-pending-evict",
        "a pending task can be evicted",
        "SUBMIT→EVICT exists",
        _count("SUBMIT", "EVICT"),
        lambda n: n > 0,
        "Zhu et al., Fig. 1",
    ),
    Claim(
        "S4-no-double-submit",
        "SUBMIT never directly follows SUBMIT",
        "SUBMIT→SUBMIT 0",
        _count("SUBMIT", "SUBMIT"),
        lambda n: n == 0,
        "Zhu et al., Fig. 1",
    ),
)

RECIPE = Recipe(
    "transitions",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Fig. 1; Verma et al., EuroSys'15, Fig. 2; format documents",
    order=20,
    topic="Submissions and completions",
)
