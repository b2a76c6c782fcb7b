"""How large is the queue, and which shapes can a chart have?

Questions made for these tests: *one* for each shape of chart, with ``code`` and <angle brackets>.

- a list
- of two items
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import altair as alt
import pyarrow as pa

from borgtrace.question import Answer, Claim, Column, NotApplicable, Question, Tables
from borgtrace.question.criteria import above, below, equals

N_STEPS = 24_000
PEAK = 77_777


ANSWER = Answer(
    grain="step of a series",
    key=[
        Column("series", "string", "id", "Name of the series."),
        Column("hour", "float64", "h", "Hours since the trace began."),
    ],
    columns=[
        Column("n", "int64", "count", "Number of tasks.", nullable=True),
        Column("cpu", "float64", "fraction", "CPU used.", nullable=True),
    ],
)


def rows(n: int) -> pa.Table:
    """Two step functions; one of them has a single peak."""
    data = [
        {
            "series": series,
            "hour": i / 60,
            "n": PEAK if i == n // 3 and series == "a" else i % 50 + k * 60,
            "cpu": 0.5 + 0.4 * math.sin(i / n * 20 + k),
        }
        for k, series in enumerate("ab")
        for i in range(n)
    ]
    return pa.Table.from_pylist(data)


def step_line(result: pa.Table) -> Any:
    return (
        alt.Chart(result)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("hour:Q", title="hour of the trace"),
            y=alt.Y("n:Q", title="tasks in the queue"),
            color="series:N",
        )
    )


def side_by_side(result: pa.Table) -> Any:
    base = alt.Chart(result).encode(x=alt.X("hour:Q", title="hour"))
    area = base.mark_area(opacity=0.7).encode(
        y=alt.Y("cpu:Q", title="CPU", stack=True), color="series:N"
    )
    rule = alt.Chart(pa.table({"level": [1.0]})).mark_rule(color="black").encode(y="level:Q")
    line = base.mark_line(color="black", strokeDash=[4, 2]).encode(y="sum(cpu):Q")
    return alt.hconcat(area + rule, line)


def facets(result: pa.Table) -> Any:
    return (
        alt.Chart(result)
        .mark_bar()
        .encode(
            x=alt.X("cpu:Q", bin=alt.Bin(maxbins=12), title="CPU"),
            y=alt.Y("count()", title="windows"),
            facet=alt.Facet("series:N", columns=2, title=None),
        )
    )


def heat_map(result: pa.Table) -> Any:
    return (
        alt.Chart(result)
        .mark_rect()
        .encode(
            x=alt.X("hour:Q", bin=alt.Bin(maxbins=20)),
            y=alt.Y("series:N"),
            color=alt.Color("mean(cpu):Q", title="CPU"),
        )
    )


def interactive(result: pa.Table) -> Any:
    return (
        alt.Chart(result)
        .mark_point(size=20)
        .encode(
            x=alt.X("hour:Q"),
            y="n:Q",
            color=alt.value("#222"),
            column="series:N",
        )
        .interactive()
    )


def answer(n: int) -> Callable[..., pa.Table]:
    def compute(tables: Tables, *, step: int = 60) -> pa.Table:
        return rows(n)

    return compute


def no_answer(tables: Tables) -> pa.Table:
    raise NotApplicable("the trace has <no> usage & is short")


CLAIMS = (
    Claim(
        "T-1",
        statement="the queue has a peak",
        source="Zhu et al., Fig. 4",
        measure=lambda answer: max(answer["n"].to_pylist()),
        criterion=above(1000, "> 1 000"),
    ),
    Claim(
        "T-2",
        statement="CPU stays below a half",
        source="Reiss et al., section 4",
        measure=lambda answer: max(answer["cpu"].to_pylist()),
        criterion=below(0.5),
    ),
    Claim(
        "T-3",
        statement="memory is full",
        measure=lambda answer: None,
        criterion=equals(1.0, "100 %"),
    ),
)


def question(
    name: str,
    compute: Any,
    chart: Any,
    claims: tuple[Claim, ...] = (),
) -> Question:
    return Question(
        name=name,
        doc=__doc__,
        answer=ANSWER,
        compute=compute,
        chart=chart,
        claims=claims,
        reference="Zhu et al., Method 3-2",
    )


QUESTIONS = [
    question("queue_steps", answer(N_STEPS // 2), step_line, CLAIMS),
    question("side_by_side", answer(300), side_by_side, CLAIMS[1:2]),
    question("facets", answer(200), facets),
    question("heat_map", answer(200), heat_map),
    question("interactive", answer(150), interactive),
    question("no_answer", no_answer, step_line, CLAIMS[:1]),
]
