"""How straight are the curves of submission and completion, and which of them coincide?

Sup distances between CDFs, exact to the microsecond: of each process to its chord (the straight line
from the first counted event of any process to the last), and of each pair.  A curve is called linear
where the distance to the chord is at most .05; new tasks and completions coincide up to .05,
submissions and schedulings up to .01.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._processes import PROCESSES, moments
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

CHORD = "chord"

RESULT = Table(
    "submission_distances",
    "pair of curves",
    ("process", "other"),
    (
        Column("process", "string", "id", "Which curve: new, submitted, scheduled or completed.", nullable=False),
        Column("other", "string", "id", "Another process, or chord.", nullable=False),
        Column("distance", "float64", "1", "Largest distance of the two CDFs.", nullable=False),
        Column("n", "int64", "count", "Events of the process.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return the sup distances between the four CDFs and to their chords."""
    rows = moments(tables.instance_attempts)
    names = {f"d_{name}": name for name in PROCESSES}
    instants = rows.group_by("time").aggregate(
        **{column: rows[name].sum().cast("int32") for column, name in names.items()}
    )
    totals = rows.aggregate(
        begin=rows.time.min(),
        end=rows.time.max(),
        **{f"n_{name}": rows[name].sum().cast("int64") for name in PROCESSES},
    )
    ends = tables.fetch(totals, "totals").to_pylist()
    total = ends[0] if ends and ends[0]["begin"] is not None else {"begin": 0, "end": 0}
    n = {name: int(total.get(f"n_{name}", 0)) for name in PROCESSES}
    length = int(total["end"]) - int(total["begin"])
    if not tables.is_plan and (length <= 0 or not any(n.values())):
        raise NotApplicable("fewer than two instants with submissions, schedulings or completions")
    found = tables.fetch(_largest(instants, n, int(total["begin"]), max(length, 1)), "distances").to_pylist()
    if not found:
        raise NotApplicable("no event was counted")
    pairs = [(name, CHORD) for name in PROCESSES if n[name]]
    pairs += [(a, b) for a, b in combinations(PROCESSES, 2) if n[a] and n[b]]
    return pa.table(
        {
            "process": [name for name, _ in pairs],
            "other": [other for _, other in pairs],
            "distance": [float(found[0][f"{name}_{other}"]) for name, other in pairs],
            "n": [n[name] for name, _ in pairs],
        }
    )


def _largest(instants: ir.Table, n: dict[str, int], begin: int, length: int) -> ir.Table:
    """Return one row with all distances, looked at just before and just after every jump."""
    so_far = ibis.cumulative_window(order_by="time")
    total = {name: float(max(n[name], 1)) for name in PROCESSES}
    after = instants.mutate(
        line=(instants.time - begin).cast("float64") / float(length),
        **{name: instants[f"d_{name}"].sum().over(so_far).cast("int64") for name in PROCESSES},
    )
    share = {name: after[name].cast("float64") / total[name] for name in PROCESSES}
    before = {name: (after[name] - after[f"d_{name}"]).cast("float64") / total[name] for name in PROCESSES}
    chords = {
        f"{name}_{CHORD}": ibis.greatest((share[name] - after.line).abs(), (before[name] - after.line).abs()).max()
        for name in PROCESSES
    }
    pairs = {f"{a}_{b}": (share[a] - share[b]).abs().max() for a, b in combinations(PROCESSES, 2)}
    return after.aggregate(**chords, **pairs)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the distances as bars."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    values = [{**row, "pair": f"{row['process']} – {row['other']}"} for row in result.to_pylist()]
    chart: alt.Chart = (
        alt.Chart(rows(pa.Table.from_pylist(values)), title="Distances between curves", width=WIDTH, height=HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("distance:Q", title="largest distance of the CDFs"),
            y=alt.Y("pair:N", sort="-x", title=None),
            tooltip=["pair:N", "distance:Q", "n:Q"],
        )
    )
    return chart


def _distance(name: str, other: str) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        for row in result.to_pylist():
            if (row["process"], row["other"]) == (name, other):
                return float(row["distance"])
        raise NotApplicable(f"no task is {name if other == CHORD else f'{name} or none is {other}'}")

    return measure


CLAIMS = (
    Claim(
        "S4-obs1",
        "the rate of new submissions is stable (the CDF is a line)",
        "distance ≤ 0.05",
        _distance("new", CHORD),
        lambda v: v <= 0.05,
        "Zhu et al., Observation 1",
    ),
    Claim(
        "S4-obs2-line",
        "the rate of completions is stable",
        "distance ≤ 0.05",
        _distance("completed", CHORD),
        lambda v: v <= 0.05,
        "Zhu et al., Observation 2",
    ),
    Claim(
        "S4-obs2",
        "the CDFs of new submissions and of completions coincide",
        "distance ≤ 0.05",
        _distance("new", "completed"),
        lambda v: v <= 0.05,
        "Zhu et al., Observation 2",
    ),
    Claim(
        "S4-obs4",
        "the CDF of schedulings superposes that of submissions",
        "distance ≤ 0.01",
        _distance("submitted", "scheduled"),
        lambda v: v <= 0.01,
        "Zhu et al., Observation 4",
    ),
)

RECIPE = Recipe(
    "submission_distances",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Observations 1, 2 and 4",
    order=22,
    topic="Submissions and completions",
)
