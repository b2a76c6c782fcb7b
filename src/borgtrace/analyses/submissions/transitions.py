"""Which state transitions do tasks make, and which state graphs allow them?

One row per pair of consecutive events of an instance, in the order of the raw files (2011) or of the
life cycle (2019), UPDATE_* events included. The last columns show in which graphs the pair is legal:
the 2011 format document, Fig. 2 of the Borg paper, Fig. 1 of Zhu et al., the 2019 format document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from borgtrace.analyses.submissions.state_diagram import state_diagram
from borgtrace.lifecycle import GRAPHS, is_legal
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Row,
    Tables,
    above,
    charts,
    equals,
    sql,
)
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="pair of neighboring events",
    key=[
        Column(
            "from_type",
            "enum",
            "enum",
            "The earlier event; NULL for the first event of a task.",
            nullable=True,
            enum="event_type",
        ),
        Column("to_type", "enum", "enum", "The later event.", enum="event_type"),
    ],
    columns=[
        Column("n", "int64", "count", "Number of such transitions."),
        Column(
            "is_legal_document_2011",
            "bool",
            "1",
            "Format document of 2011: a pending task is scheduled, fails, is killed or "
            "lost; eviction needs a machine.",
        ),
        Column(
            "is_legal_borg_paper",
            "bool",
            "1",
            "Borg paper, Fig. 2: eviction leads back to pending, so that SCHEDULE may "
            "follow it at once (the trace writes a SUBMIT in between).",
        ),
        Column(
            "is_legal_zhu",
            "bool",
            "1",
            "Zhu et al., Fig. 1: as the 2011 document, and a pending task may be evicted.",
        ),
        Column(
            "is_legal_document_2019",
            "bool",
            "1",
            "Format document of 2019 (v3): SUBMIT, then perhaps QUEUE and ENABLE, then SCHEDULE.",
        ),
    ],
)


def compute(tables: Tables, *, of: Literal["instances", "collections"] = "instances") -> pa.Table:
    """Return the transitions of instances or of collections with their legality.

    Parameters
    ----------
    tables
        The store's tables.
    of
        ``"instances"`` or ``"collections"``.
    """
    transitions = tables.instance_transitions
    if of == "collections":
        transitions = tables.collection_transitions
    counts = transitions.group_by(["from_type", "to_type"]).aggregate(n=transitions.n.sum())
    pairs = tables.fetch(counts, "pairs")
    events_before = pairs["from_type"].to_pylist()
    events_after = pairs["to_type"].to_pylist()
    for graph in GRAPHS.values():
        # Decided here and not in SQL: eleven types make 132 pairs at most.
        legality = [
            is_legal(graph, before, after)
            for before, after in zip(events_before, events_after, strict=True)
        ]
        pairs = pairs.append_column(f"is_legal_{graph.name}", pa.array(legality, pa.bool_()))
    return pairs


def chart(answer: pa.Table) -> alt.VConcatChart:
    """Draw the states with their arrows, and below them how often each event follows each other."""
    import altair as alt

    rows = answer.to_pylist()
    return alt.vconcat(state_diagram(rows), pairs_of_events(rows))


def pairs_of_events(rows: list[Row]) -> alt.Chart:
    """Draw how often each event follows each other; what the 2011 document forbids is framed."""
    import altair as alt

    return (
        charts.base(
            rows,
            title=charts.subtitled(
                "Transitions between events",
                "framed: not in the 2011 document",
                "the table says which are in Fig. 2 of Verma et al.",
            ),
            width=340,
            height=340,
        )
        .mark_rect(strokeWidth=2)
        .encode(
            x=alt.X(
                "to_type:N", title="next event", axis=alt.Axis(labelExpr="split(datum.label, '_')")
            ),
            y=alt.Y(
                "from_type:N",
                title="event",
                axis=alt.Axis(
                    labelExpr="datum.value === null ? '(first event)' : replace(datum.label, '_', ' ')"
                ),
            ),
            color=alt.Color("n:Q", title="times", scale=alt.Scale(type="log", scheme="blues")),
            stroke=alt.condition(
                "datum.is_legal_document_2011", alt.value("transparent"), alt.value("#d62728")
            ),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # Without any SUBMIT a count of 0 would confirm that none is doubled.
    Claim(
        "S4-pending-evict",
        statement="a pending task can be evicted",
        source="Zhu et al., Fig. 1",
        scope=LIKE_2011,
        with_more_data="rises",
        measure=sql(
            """
            select
                coalesce(
                    sum(n) filter (
                        from_type in ('SUBMIT', 'QUEUE', 'ENABLE', 'UPDATE_PENDING')
                        and to_type = 'EVICT'
                    ),
                    0
                )
            from answer
            having bool_or(to_type = 'SUBMIT')
            """,
            otherwise="nothing was submitted",
        ),
        criterion=above(0, published="SUBMIT→EVICT exists"),
    ),
    Claim(
        "S4-no-double-submit",
        statement="SUBMIT never directly follows SUBMIT",
        source="Zhu et al., Fig. 1",
        scope=LIKE_2011,
        with_more_data="rises",
        measure=sql(
            """
            select coalesce(sum(n) filter (from_type = 'SUBMIT' and to_type = 'SUBMIT'), 0)
            from answer
            having bool_or(to_type = 'SUBMIT')
            """,
            otherwise="nothing was submitted",
        ),
        criterion=equals(0, published="SUBMIT→SUBMIT 0"),
    ),
]

QUESTION = Question(
    name="transitions",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Fig. 1; Verma et al., EuroSys'15, Fig. 2; format documents",
)
