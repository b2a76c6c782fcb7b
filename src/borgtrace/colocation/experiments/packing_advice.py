"""Which overcommit value should this cell use, and why that one?

Every way of packing (the paper's estimators, those past it at half, once and twice the target, and requests divided by
an overcommit factor) is tried on one set of random instances; advised is the one with the fewest machines whose
overflow, with the upper end of its 95 % confidence interval, stays within the target.  All are then judged on other
instances.  *Machines* count one more for every task that fits no machine alone.  *Overcommit* is the sum of requests on
the machines in use ÷ their capacity: the value to set where a scheduler knows only that.  Savings are against packing
by request and by the highest usage seen, instance by instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.colocation.advice import Candidate, Interval, advise
from borgtrace.colocation.experiments._charts import HUES, overflow_axis
from borgtrace.colocation.experiments._grids import Scale, halves_of
from borgtrace.colocation.grid import Grid
from borgtrace.colocation.source import shared
from borgtrace.errors import UsageError
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt


def _interval(name: str, unit: str, doc: str, *, nullable: bool = False) -> tuple[Column, ...]:
    return (
        Column(name, "float64", unit, f"{doc}.", nullable=nullable),
        Column(f"{name}_low", "float64", unit, f"{doc}: lower end of the 95 % interval.", nullable=nullable),
        Column(f"{name}_high", "float64", unit, f"{doc}: upper end of the 95 % interval.", nullable=nullable),
    )


RESULT = Table(
    "packing_advice",
    "way of packing",
    ("estimator", "parameter"),
    (
        Column("estimator", "string", "id", "Name of the estimator.", nullable=False),
        Column("parameter", "float64", "1", "Its parameter.", nullable=False),
        *_interval("machines", "1", "Mean number of machines"),
        *_interval("q", "fraction", "Share of overflows"),
        Column("n_unplaceable", "float64", "1", "Mean number of tasks that fit no machine alone.", nullable=False),
        Column("overcommit", "float64", "1", "Requests over the capacity of the machines in use."),
        Column("keeps_target", "bool", "1", "Whether q kept the target where the choice was made.", nullable=False),
        Column("is_on_front", "bool", "1", "Whether none is better in machines and q.", nullable=False),
        Column("is_advised", "bool", "1", "Whether this is the advice.", nullable=False),
        *_interval("saved_request", "fraction", "Machines saved against packing by request", nullable=True),
        *_interval("saved_maximum", "fraction", "Machines saved against packing by the maximum", nullable=True),
        Column("target", "float64", "fraction", "Tolerated probability of overflow.", nullable=False),
        Column("capacity", "float64", "fraction", "Capacity of every machine.", nullable=False),
        Column("n_tasks", "int64", "1", "Tasks per instance.", nullable=False),
    ),
)


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    instances: int = 5,
    size: int = 1_000,
    seed: int = 0,
    target: float = 0.001,
    capacity: float = 1.0,
) -> pa.Table:
    """Choose a way of packing on some instances and judge all on others."""
    if not 0 < target < 1:
        raise UsageError("target", "not a probability", expected="above 0 and below 1", got=f"{target:g}")
    scale = Scale(tasks, realizations, instances, size, seed)
    key = ("advice", scale, target, capacity)
    return shared(tables, key, lambda: _judged(*halves_of(tables, scale), target, capacity))


def _judged(judging: Grid, choosing: Grid, target: float, capacity: float) -> pa.Table:
    n_tasks = min(judging.instances.size, len(judging.instances.pool))
    found = advise(choosing, judging, target, capacity)
    return pa.Table.from_pylist([_row(candidate, target, capacity, n_tasks) for candidate in found])


def _row(found: Candidate, target: float, capacity: float, n_tasks: int) -> dict[str, Any]:
    intervals = {
        "machines": found.machines,
        "q": found.q,
        "saved_request": found.saved_request,
        "saved_maximum": found.saved_maximum,
    }
    row: dict[str, Any] = {
        "estimator": found.estimator.name,
        "parameter": float(found.estimator.parameter),
        "n_unplaceable": found.n_unplaceable,
        "overcommit": found.overcommit,
        "keeps_target": found.keeps,
        "is_on_front": found.is_on_front,
        "is_advised": found.is_advised,
        "target": target,
        "capacity": capacity,
        "n_tasks": n_tasks,
    }
    for name, interval in intervals.items():
        row |= _parts(name, interval)
    return row


def _parts(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}


def advised(result: pa.Table) -> dict[str, Any]:
    """The row of the advice.

    Raises
    ------
    NotApplicable
        No way of packing keeps the target.
    """
    for row in result.to_pylist():
        if row["is_advised"]:
            return dict(row)
    raise NotApplicable("no way of packing keeps the target")


def advice(result: pa.Table) -> str:
    """The advice in words, for people."""
    if not result.num_rows:
        return "No advice: nothing was packed."
    target, capacity = result["target"][0].as_py(), result["capacity"][0].as_py()
    promise = f"at most {target:.3g} of the time over capacity {capacity:g}"
    try:
        row = advised(result)
    except NotApplicable:
        return f"No way of packing that was tried stays {promise}; allow more overflow or use larger machines."
    text = (
        f"To stay {promise}, pack by {row['estimator']} {row['parameter']:g}: {row['machines']:.1f} machines "
        f"({row['machines_low']:.1f} … {row['machines_high']:.1f}) for {row['n_tasks']:,} tasks, "
        f"overflow {row['q']:.2e} ({row['q_low']:.2e} … {row['q_high']:.2e})"
    )
    for name, against in (("saved_request", "by request"), ("saved_maximum", "by maximum")):
        if row[name] is not None:
            text += f"; {_compared(row[name], row[f'{name}_low'], row[f'{name}_high'])} {against}"
    if row["overcommit"] is not None:
        text += f"; as an overcommit factor on requests: {row['overcommit']:.2f}"
    if row["n_unplaceable"]:
        text += f"; {row['n_unplaceable']:.1f} tasks fit no machine alone and count as one machine each"
    return text + "."


def _compared(saved: float, low: float, high: float) -> str:
    """Say how many machines are saved, or how many more it takes.

    Examples
    --------
    >>> _compared(0.24, 0.22, 0.25)
    'saves 24% (22% … 25%) of the machines of packing'
    >>> _compared(-0.45, -0.57, -0.33)
    'takes 45% (33% … 57%) more machines than packing'
    """
    if saved < 0:
        return f"takes {-saved:.0%} ({-high:.0%} … {-low:.0%}) more machines than packing"
    return f"saves {saved:.0%} ({low:.0%} … {high:.0%}) of the machines of packing"


def plot(result: pa.Table) -> alt.LayerChart:
    """Draw machines against overflow: all ways, the front, the advice."""
    import altair as alt

    rows = [
        row | {"label": f"{row['estimator']} {row['parameter']:g}", "shown": max(row["q"], 1e-8)}
        for row in result.to_pylist()
    ]
    present = [name for name in HUES if any(row["estimator"] == name for row in rows)]
    colour = alt.Color("estimator:N", scale=alt.Scale(domain=present, range=[HUES[n] for n in present]))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("machines:Q", title="machines", scale=alt.Scale(zero=False)), y=overflow_axis(alt.Y, "shown")
    )
    points = base.mark_point(filled=True, size=55).encode(
        color=colour,
        opacity=alt.condition("datum.is_on_front", alt.value(1.0), alt.value(0.35)),
        tooltip=[
            "label:N",
            "machines:Q",
            alt.Tooltip("q:Q", format=".2e"),
            "overcommit:Q",
            "saved_request:Q",
            "saved_maximum:Q",
            "n_unplaceable:Q",
        ],
    )
    chosen = base.transform_filter("datum.is_advised")
    ring = chosen.mark_point(size=260, color="black", strokeWidth=2)
    name = chosen.mark_text(align="left", dx=12, fontWeight="bold").encode(text="label:N")
    limit = alt.Chart(alt.Data(values=[{"q": rows[0]["target"]}])).mark_rule(strokeDash=[4, 4]).encode(y="q:Q")
    return alt.layer(limit, points, ring, name).properties(
        width=520, height=340, title=alt.Title("Advice", subtitle=_wrapped(advice(result)))
    )


def _wrapped(text: str, width: int = 95) -> list[str]:
    from textwrap import wrap

    return wrap(text, width)


CLAIMS = (
    Claim(
        "advice-keeps",
        "the advice keeps the target on instances it has not seen (q ÷ target)",
        "≤ 1",
        lambda r: advised(r)["q"] / advised(r)["target"],
        lambda v: v <= 1.0,
    ),
    Claim(
        "advice-saves-maximum",
        "it saves machines against packing by the maximum (lower end of the interval)",
        "> 0",
        lambda r: advised(r)["saved_maximum_low"],
        lambda v: v > 0,
    ),
    Claim(
        "advice-saves-request",
        "it saves machines against packing by request (lower end of the interval)",
        "> 0",
        lambda r: advised(r)["saved_request_low"],
        lambda v: v > 0,
    ),
)

RECIPE = Recipe(
    "packing_advice",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="question of cluster operators; method after Janus & Rzadca, SoCC'17",
    order=440,
)
