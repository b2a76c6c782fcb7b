"""How straight are the curves of submission and completion, and which of them coincide?

Largest distances between CDFs, exact to the microsecond: of each process to its chord (the straight line
from the first counted event of any process to the last), and of each pair. A curve is called linear if
the distance to the chord is at most .05; new tasks and completions coincide up to .05, submissions and
schedulings up to .01.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import PROCESSES, counted_events
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    at_most,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="pair of curves",
    key=[
        Column("process", "string", "id", "Which curve: new, submitted, scheduled or completed."),
        Column("other", "string", "id", "Another process, or chord."),
    ],
    columns=[
        Column("distance", "float64", "1", "Largest distance of the two CDFs."),
        Column("n", "int64", "count", "Events of the process."),
    ],
)


CHORD = "chord"
PAIRS = tuple(combinations(PROCESSES, 2))


def compute(tables: Tables) -> list[Row]:
    """Return the largest distances between the four CDFs and to their chords."""
    events = counted_events(tables.instance_attempts)
    # A first pass for the totals: the second then needs no windows over all rows to divide by them.
    totals = fetch_totals(tables, events)
    n = {name: totals[f"n_{name}"] for name in PROCESSES}
    length = totals["end"] - totals["begin"]
    distances = largest_distances(events, n, totals["begin"], max(length, 1))
    rows = tables.fetch(distances, "distances").to_pylist()
    if length <= 0 or not any(n.values()) or not rows:
        raise NotApplicable("fewer than two instants with submissions, schedulings or completions")
    pairs = [(name, CHORD) for name in PROCESSES if n[name]]
    pairs += [(first, second) for first, second in PAIRS if n[first] and n[second]]
    return [
        {
            "process": process,
            "other": other,
            "distance": rows[0][f"{process}_{other}"],
            "n": n[process],
        }
        for process, other in pairs
    ]


def fetch_totals(tables: Tables, events: ir.Table) -> Row:
    """Return the first and last time, and how many events each process counts."""
    numbers = {f"n_{name}": int_sum(events[name]).fill_null(0) for name in PROCESSES}
    totals = events.aggregate(
        begin=events.time.min().fill_null(0), end=events.time.max().fill_null(0), **numbers
    )
    rows = tables.fetch(totals, "totals").to_pylist()
    # A plan has no rows, and still needs the query after this one.
    return rows[0] if rows else dict.fromkeys(totals.columns, 0)


def largest_distances(events: ir.Table, n: dict[str, int], begin: int, length: int) -> ir.Table:
    """Return one row with all distances, taken just before and just after every jump."""
    jumps = events.group_by("time").aggregate(
        **{f"jump_{name}": events[name].sum().cast("int32") for name in PROCESSES}
    )
    so_far = ibis.cumulative_window(order_by="time")
    curves = jumps.mutate(
        chord=(jumps.time - begin).cast("float64") / float(length),
        **{name: jumps[f"jump_{name}"].sum().over(so_far).cast("int64") for name in PROCESSES},
    )
    distances = {}
    shares = {}
    for name in PROCESSES:
        total = float(max(n[name], 1))
        after = curves[name].cast("float64") / total
        before = (curves[name] - curves[f"jump_{name}"]).cast("float64") / total
        # The chord rises between two jumps, so the largest distance may lie just before one.
        distance = ibis.greatest((after - curves.chord).abs(), (before - curves.chord).abs())
        distances[f"{name}_{CHORD}"] = distance.max()
        shares[name] = after
    # Two step functions do not move between jumps: just before one jump is just after another.
    for first, second in PAIRS:
        distances[f"{first}_{second}"] = (shares[first] - shares[second]).abs().max()
    return curves.aggregate(**distances)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the largest distance of each pair of curves."""
    import altair as alt

    rows = query_answer(answer, "select *, process || ' – ' || other as pair from answer")
    return (
        charts.base(rows, title="Distances between curves")
        .mark_bar()
        .encode(
            x=alt.X("distance:Q", title="largest distance of the CDFs"),
            y=alt.Y("pair:N", title=None, sort="-x"),
            tooltip=charts.tooltips(rows, "distance", "pair", "n"),
        )
    )


CLAIMS = [
    Claim(
        "S4-obs1",
        statement="the rate of new submissions is stable (the CDF is a line)",
        source="Zhu et al., Observation 1",
        scope=LIKE_2011.needing(days=28),
        measure=sql(
            """
            select distance
            from answer
            where process = 'new' and other = 'chord'
            """,
            otherwise="no task is new or none is chord",
        ),
        criterion=at_most(0.05, published="distance ≤ 0.05"),
    ),
    Claim(
        "S4-obs2-line",
        statement="the rate of completions is stable",
        source="Zhu et al., Observation 2",
        scope=LIKE_2011.needing(days=28),
        measure=sql(
            """
            select distance
            from answer
            where process = 'completed' and other = 'chord'
            """,
            otherwise="no task is completed or none is chord",
        ),
        criterion=at_most(0.05, published="distance ≤ 0.05"),
    ),
    Claim(
        "S4-obs2",
        statement="the CDFs of new submissions and of completions coincide",
        source="Zhu et al., Observation 2",
        scope=LIKE_2011.needing(days=28),
        measure=sql(
            """
            select distance
            from answer
            where process = 'new' and other = 'completed'
            """,
            otherwise="no task is new or none is completed",
        ),
        criterion=at_most(0.05, published="distance ≤ 0.05"),
    ),
    Claim(
        "S4-obs4",
        statement="the CDF of schedulings coincides with that of submissions",
        source="Zhu et al., Observation 4",
        scope=LIKE_2011.needing(days=28),
        measure=sql(
            """
            select distance
            from answer
            where process = 'submitted' and other = 'scheduled'
            """,
            otherwise="no task is submitted or none is scheduled",
        ),
        criterion=at_most(0.01, published="distance ≤ 0.01"),
    ),
]

QUESTION = Question(
    name="submission_distances",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Observations 1, 2 and 4",
)
