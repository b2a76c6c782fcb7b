"""Which way of packing, and which overcommit factor, should this cell use, and why?

Every way (the paper's estimators, those beyond it around the target, GPA told ever stricter targets, requests divided
by an overcommit factor) packs random instances by what earlier hours show. Chosen is the one with the fewest machines
among those whose overflow keeps the target there, at the upper end of its 95 % interval, both on held-out draws and on
the simultaneous series. All ways are then judged on later hours. The overcommit factor is the largest that keeps the
target, with all smaller ones (steps of .05). *Machines* count one more for every task that fits no machine alone.
Intervals: over instances (Student's t; none seen: 3 ÷ trials); of the simultaneous series from drawing its days anew,
with all instances together. Tasks without time stamps are judged on draws alone.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.overflow_charts import estimator_color, overflow_axis
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.advice import TrialPlan, advise, overlap
from borgtrace.colocation.packing.intervals import LEAST_BLOCKS, SeriesBlocks
from borgtrace.question import Answer, Claim, Column, NotApplicable, above, at_most, charts, sql

if TYPE_CHECKING:
    import altair as alt


ANSWER = Answer(
    grain="way of packing",
    key=[
        Column("estimator", "string", "id", "Name of the estimator."),
        Column("parameter", "float64", "1", "Its parameter."),
    ],
    columns=[
        Column("machines", "float64", "1", "Mean number of machines."),
        Column(
            "machines_low",
            "float64",
            "1",
            "Mean number of machines: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "machines_high",
            "float64",
            "1",
            "Mean number of machines: upper end of the 95 % interval.",
            nullable=True,
        ),
        Column("q_draws", "float64", "fraction", "Share of overflows on held-out draws."),
        Column(
            "q_draws_low",
            "float64",
            "fraction",
            "Share of overflows on held-out draws: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "q_draws_high",
            "float64",
            "fraction",
            "Share of overflows on held-out draws: upper end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "q_series",
            "float64",
            "fraction",
            "Share of overflows on the simultaneous series.",
            nullable=True,
        ),
        Column(
            "q_series_low",
            "float64",
            "fraction",
            "Share of overflows on the simultaneous series: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "q_series_high",
            "float64",
            "fraction",
            "Share of overflows on the simultaneous series: upper end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "above",
            "float64",
            "fraction",
            "Share of the machines that overflow more often than the target.",
        ),
        Column(
            "above_low",
            "float64",
            "fraction",
            (
                "Share of the machines that overflow more often than the target: lower end of "
                "the 95 % interval."
            ),
            nullable=True,
        ),
        Column(
            "above_high",
            "float64",
            "fraction",
            (
                "Share of the machines that overflow more often than the target: upper end of "
                "the 95 % interval."
            ),
            nullable=True,
        ),
        Column("worst", "float64", "fraction", "Share of overflows of the worst machine."),
        Column(
            "worst_low",
            "float64",
            "fraction",
            "Share of overflows of the worst machine: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "worst_high",
            "float64",
            "fraction",
            "Share of overflows of the worst machine: upper end of the 95 % interval.",
            nullable=True,
        ),
        Column("n_unplaceable", "float64", "1", "Mean number of tasks that fit no machine alone."),
        Column(
            "overcommit",
            "float64",
            "1",
            "Requests over the capacity of the machines in use.",
            nullable=True,
        ),
        Column(
            "chosen_machines", "float64", "1", "Mean number of machines where the choice was made."
        ),
        Column(
            "chosen_q",
            "float64",
            "fraction",
            "The larger share of overflows, of both, where the choice was made.",
        ),
        Column(
            "chosen_q_high", "float64", "fraction", "Upper end of its 95 % interval.", nullable=True
        ),
        Column(
            "keeps_target",
            "bool",
            "1",
            "Whether that end keeps the target; of a factor, that of all smaller ones too.",
        ),
        Column("is_advised", "bool", "1", "Whether this is the advice."),
        Column(
            "is_nearest", "bool", "1", "Whether nothing keeps the target, and this comes closest."
        ),
        Column("is_factor", "bool", "1", "Whether this is the overcommit factor."),
        Column(
            "saved_request",
            "float64",
            "fraction",
            "Machines saved against packing by request.",
            nullable=True,
        ),
        Column(
            "saved_request_low",
            "float64",
            "fraction",
            "Machines saved against packing by request: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "saved_request_high",
            "float64",
            "fraction",
            "Machines saved against packing by request: upper end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "saved_maximum",
            "float64",
            "fraction",
            "Machines saved against packing by the maximum.",
            nullable=True,
        ),
        Column(
            "saved_maximum_low",
            "float64",
            "fraction",
            "Machines saved against packing by the maximum: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            "saved_maximum_high",
            "float64",
            "fraction",
            "Machines saved against packing by the maximum: upper end of the 95 % interval.",
            nullable=True,
        ),
        Column("target", "float64", "fraction", "Tolerated probability of overflow."),
        Column("capacity", "float64", "fraction", "Capacity of every machine."),
        Column("n_tasks", "int64", "count", "Tasks per instance."),
        Column("n_instances", "int64", "count", "Instances that judge."),
        Column(
            "overlap",
            "float64",
            "fraction",
            "Share of the tasks of all instances that an earlier one has had.",
        ),
        Column("scope", "string", "id", "What it was chosen on, and what it was judged on."),
        Column(
            "block_hours",
            "float64",
            "h",
            "Length of the blocks that are drawn anew; 0 where there is no interval.",
            nullable=True,
        ),
    ],
)


HOURS = 28 * 24
"""Longest hours that are sought: four weeks, halved until enough tasks run through them."""


def compute(study: Study, options: ColocationOptions) -> pa.Table:
    """Choose on earlier hours, judge on later ones."""
    return study.once(("advice", options), lambda: _judged(study.pool(options), options))


def _judged(pool: TaskPool, options: ColocationOptions) -> pa.Table:
    plan = TrialPlan.of(pool, options)
    found = advise(plan, options)
    instances = plan.judging.instances
    common = {
        "target": options.target,
        "capacity": options.capacity,
        "n_tasks": min(instances.size, len(instances.pool)),
        "n_instances": instances.count,
        "overlap": overlap(instances),
        "scope": f"{plan.words} of {pool.source or 'the pool'}",
        "block_hours": None if plan.why else float(SeriesBlocks.of([plan.judging.slots]).hours),
    }
    return pa.Table.from_pylist([row | common for row in found])


def advised(result: pa.Table) -> Row:
    """The row of the advice.

    Raises
    ------
    NotApplicable
        No way of packing keeps the target.
    """
    return _flagged(result, "is_advised", "no packing keeps the target")


def factor(result: pa.Table) -> Row:
    """The row of the overcommit factor.

    Raises
    ------
    NotApplicable
        There is none, or no requests are known.
    """
    return _flagged(
        result,
        "is_factor",
        "packing by requests does not keep the target, or no requests are known",
    )


def _flagged(result: pa.Table, flag_name: str, reason: str) -> Row:
    found = result.filter(result[flag_name]).to_pylist()
    NotApplicable.unless(found, reason)
    return dict(found[0])


def advice(result: pa.Table) -> str:
    """The advice in words, for people: what, its overflow, on what it rests; the baseline; the factor."""
    if not result.num_rows:
        return "No advice: nothing was packed."
    rows = result.to_pylist()
    row = next(row for row in rows if row["is_advised"] or row["is_nearest"])
    way = f"{row['estimator']} {row['parameter']:.3g}"
    text = f"Pack by {way}" if row["is_advised"] else f"None keeps the target; nearest is {way}"
    text += f" (target q ≤ {row['target']:.3g}; {row['scope']}): {_packed(row)}.{_caveats(row)}"
    base = next(
        (each for each in rows if each["estimator"] == "request" and each["parameter"] == 1), None
    )
    if base is None:
        return text
    text += f" By requests: {_packed(base)}"
    if row["is_advised"]:
        text += f"; the advice {_compared(row['saved_request'], row['saved_request_low'], row['saved_request_high'])}"
    found = next((each for each in rows if each["is_factor"]), None)
    if found is None:
        return f"{text}. No overcommit factor: packing by requests is not known to keep the target."
    return f"{text}. Overcommit factor on requests: {found['parameter']:.3g}, {_overflow(found)}."


def _packed(row: Row) -> str:
    """Machines of a way of packing, with its overflow."""
    alone = f" ({row['n_unplaceable']:.1f} for tasks that fit none)" if row["n_unplaceable"] else ""
    machines = _bracketed(row, "machines", ".3g")
    return f"{machines} machines of capacity {row['capacity']:g} for {row['n_tasks']:,} tasks{alone}, {_overflow(row)}"


def _overflow(row: Row) -> str:
    """Overflow as it was measured, on what there is."""
    draws = f"{_bracketed(row, 'q_draws', '.2g')} on draws"
    if row["q_series"] is None:
        return f"measured q {draws}"
    return f"measured q {_bracketed(row, 'q_series', '.2g')} on series, {draws}"


def _bracketed(row: Row, name: str, form: str) -> str:
    """Write a number with its interval.

    Examples
    --------
    >>> _bracketed({"q": 0.001, "q_low": None, "q_high": None}, "q", ".2g")
    '0.001 [no interval]'
    """
    low = row[f"{name}_low"]
    high = row[f"{name}_high"]
    if high is None:
        return f"{row[name]:{form}} [no interval]"
    return f"{row[name]:{form}} [95%: {low:{form}} … {high:{form}}]"


def _caveats(row: Row) -> str:
    """Say what the intervals rest on where it is less than days, and that instances share tasks."""
    text = ""
    hours = row["block_hours"]
    if hours == 0:
        text = f" The hours are too short for an interval: fewer than {LEAST_BLOCKS} blocks of an hour."
    elif hours is not None and hours < 24:
        text = (
            f" Intervals draw blocks of {hours:g} h, as there are fewer than {LEAST_BLOCKS} days."
        )
    if row["overlap"] > 0:
        text += f" Of the tasks of {row['n_instances']} instances, {row['overlap']:.0%} are in an earlier one."
    return text


def _compared(saved: float, low: float | None, high: float | None) -> str:
    """Say how many machines are saved, or how many more it takes.

    Examples
    --------
    >>> _compared(0.24, 0.22, 0.25)
    'saves 24% [95%: 22% … 25%] of these machines'
    >>> _compared(-0.45, -0.57, -0.33)
    'takes 45% [95%: 33% … 57%] more machines'
    >>> _compared(0.24, None, None)
    'saves 24% [no interval] of these machines'
    """
    # A negative saving reads badly; its ends change places when the sign does.
    if saved < 0:
        low, high = (None, None) if low is None or high is None else (-high, -low)
    ends = "no interval" if low is None else f"95%: {low:.0%} … {high:.0%}"
    verb, what = ("takes", "more machines") if saved < 0 else ("saves", "of these machines")
    return f"{verb} {abs(saved):.0%} [{ends}] {what}"


def chart(answer: pa.Table) -> alt.LayerChart:
    """Draw machines against the larger overflow of draws and series: all ways, and the choice."""
    import altair as alt

    rows = [shown_way(row) for row in answer.to_pylist()]
    chosen = [row for row in rows if row["is_advised"] or row["is_factor"]]
    # One label alone: factor and advice often lie side by side.
    advised_rows = [row for row in rows if row["is_advised"]]

    x = alt.X("machines:Q", title="machines", scale=alt.Scale(zero=False))
    target = charts.rule_at(y=rows[0]["target"])
    ways = (
        charts.base(rows, width=520, height=340)
        .mark_point(filled=True, size=55)
        .encode(
            x=x,
            y=overflow_axis(),
            color=estimator_color(rows),
            opacity=alt.condition("datum.keeps_target", alt.value(1.0), alt.value(0.35)),
            tooltip=charts.tooltips(rows),
        )
    )
    rings = (
        charts.base(chosen, width=520, height=340)
        .mark_point(
            size=260,
            filled=False,
            color="black",
            strokeWidth=2,
        )
        .encode(x=x, y=overflow_axis(), tooltip=charts.tooltips(chosen))
    )
    align, dx = ("left", 12) if is_in_left_half(advised_rows, rows) else ("right", -12)
    names = (
        charts.base(advised_rows, width=520, height=340)
        .mark_text(align=align, dx=dx, fontWeight="bold")
        .encode(
            x=x,
            y=overflow_axis(),
            text="label:N",
            tooltip=charts.tooltips(advised_rows),
        )
    )
    title = alt.Title("Advice", subtitle=wrap(advice(answer), 95))
    return alt.layer(target, ways, rings, names).properties(title=title)


def shown_way(row: Row) -> Row:
    """Return a way of packing with its label, and the overflow that is drawn."""
    # 1e-8 stands for none seen: a logarithmic axis has no 0.
    larger_q = max(row["q_draws"], row["q_series"] or 0.0, 1e-8)
    return {
        **row,
        "label": f"{row['estimator']} {row['parameter']:.3g}",
        "shown_q": larger_q,
    }


def is_in_left_half(advised_rows: list[Row], rows: list[Row]) -> bool:
    """Return on which side there is room for the label: at the right end it would lie on the legend."""
    machines = [row["machines"] for row in rows]
    middle = (min(machines) + max(machines)) / 2
    return not advised_rows or advised_rows[0]["machines"] <= middle


def _least(row: Row) -> float:
    """Lower end of the stricter overflow, over the target.

    Raises
    ------
    NotApplicable
        It has no interval.
    """
    ends = [row[f"{name}_low"] for name in ("q_draws", "q_series") if row[name] is not None]
    NotApplicable.unless(None not in ends, "there is no interval to judge by")
    return float(max(ends) / row["target"])


def keeps(result: pa.Table) -> float:
    """Return the overflow of the advice over the target."""
    return _least(advised(result))


def factor_keeps(result: pa.Table) -> float:
    """Return the overflow at the overcommit factor over the target."""
    return _least(factor(result))


_OPTIONS = (*PACKING, "hours", "target", "capacity")
CLAIMS = [
    Claim(
        "advice-keeps",
        statement=(
            "the advice keeps the target on later hours (lower end of q ÷ target, the "
            "stricter of draws and series)"
        ),
        kind="criterion",
        scope=OWN,
        measure=keeps,
        criterion=at_most(1),
    ),
    Claim(
        "advice-factor-keeps",
        statement="the overcommit factor keeps the target on later hours (the same)",
        kind="criterion",
        scope=OWN,
        measure=factor_keeps,
        criterion=at_most(1),
    ),
    Claim(
        "advice-saves-maximum",
        statement="it saves machines against packing by the maximum (lower end of the interval)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select saved_maximum_low from answer where is_advised",
            otherwise="no packing keeps the target",
        ),
        criterion=above(0),
    ),
    Claim(
        "advice-saves-request",
        statement="it saves machines against packing by request (lower end of the interval)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select saved_request_low from answer where is_advised",
            otherwise="no packing keeps the target",
        ),
        criterion=above(0),
    ),
]

QUESTION = Experiment(
    name="packing_advice",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=_OPTIONS,
    defaults={"hours": HOURS},
    sentence=advice,
    reference="question of cluster operators; method after Janus & Rzadca, SoCC'17",
)
