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


def compute(tables: Tables) -> list[Row]:
    """Return the largest distances between the four CDFs and to their chords."""
    rows = counted_events(tables.instance_attempts)
    instants = rows.group_by("time").aggregate(
        **{f"d_{name}": rows[name].sum().cast("int32") for name in PROCESSES}
    )
    numbers = {f"n_{name}": int_sum(rows[name]).fill_null(0) for name in PROCESSES}
    # A first pass for the totals: the second has no need of windows over all rows to divide by them.
    totals = rows.aggregate(
        begin=rows.time.min().fill_null(0), end=rows.time.max().fill_null(0), **numbers
    )
    # Without rows (as in a plan) the distances are still a query: over totals of 0.
    (total,) = tables.fetch(totals, "totals").to_pylist() or [dict.fromkeys(totals.columns, 0)]
    n = {name: total[f"n_{name}"] for name in PROCESSES}
    length = total["end"] - total["begin"]
    found = tables.fetch(
        _largest(instants, n, total["begin"], max(length, 1)), "distances"
    ).to_pylist()
    measured = length > 0 and any(n.values()) and found
    if not measured:
        raise NotApplicable("fewer than two instants with submissions, schedulings or completions")
    pairs = [(name, CHORD) for name in PROCESSES if n[name]]
    pairs += [(a, b) for a, b in combinations(PROCESSES, 2) if n[a] and n[b]]
    return [
        {"process": a, "other": b, "distance": found[0][f"{a}_{b}"], "n": n[a]} for a, b in pairs
    ]


def _largest(instants: ibis.Table, n: dict[str, int], begin: int, length: int) -> ibis.Table:
    """Return one row with all distances, looked at just before and just after every jump."""
    so_far = ibis.cumulative_window(order_by="time")
    total = {name: float(max(n[name], 1)) for name in PROCESSES}
    after = instants.mutate(
        line=(instants.time - begin).cast("float64") / float(length),
        **{name: instants[f"d_{name}"].sum().over(so_far).cast("int64") for name in PROCESSES},
    )
    share = {name: after[name].cast("float64") / total[name] for name in PROCESSES}
    # The chord rises between two jumps, so that the largest distance may lie just before one.
    before = {
        name: (after[name] - after[f"d_{name}"]).cast("float64") / total[name] for name in PROCESSES
    }
    sides = {name: [(at[name] - after.line).abs() for at in (share, before)] for name in PROCESSES}
    chords = {f"{name}_{CHORD}": ibis.greatest(*both).max() for name, both in sides.items()}
    # Two step functions do not move between jumps: just before one is just after another.
    pairs = {f"{a}_{b}": (share[a] - share[b]).abs().max() for a, b in combinations(PROCESSES, 2)}
    return after.aggregate(**chords, **pairs)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: distances between curves."""
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
        scope=LIKE_2011,
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
        scope=LIKE_2011,
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
        scope=LIKE_2011,
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
        scope=LIKE_2011,
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
