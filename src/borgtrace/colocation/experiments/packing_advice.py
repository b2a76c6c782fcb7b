"""Which way of packing, and which overcommit factor, should this cell use, and why?

Every way (the paper's estimators, those beyond it around the target, GPA told ever stricter targets, requests divided
by an overcommit factor) packs random instances by what earlier hours show. Chosen is the one with the fewest machines
among those whose overflow keeps the target there, at the upper end of its 95 % interval, both on held-out draws and on
the simultaneous series. All ways are then judged on later hours. The overcommit factor is the largest that keeps the
target, with all smaller ones (steps of .05). *Machines* count one more for every task that fits no machine alone.
Intervals: over instances (Student's t; none seen: 3 ÷ trials); of the simultaneous series from drawing its days anew,
with all instances together. Tasks without time stamps are judged on draws alone.

Reference: question of cluster operators; method after Janus & Rzadca, SoCC'17.
"""

from textwrap import wrap

import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Pool, Study
from borgtrace.colocation.advice import Plan, advise, overlap
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments._answers import Row
from borgtrace.colocation.experiments._charts import ESTIMATOR_COLOURS, OVERFLOW, from_data
from borgtrace.colocation.intervals import LEAST_BLOCKS, Blocks
from borgtrace.question import NotApplicable
from borgtrace.question.charts import (
    Chart,
    Plot,
    added,
    palette,
    point,
    probability_axis,
    rule,
    text,
    when,
)

HOURS = 28 * 24
"""Longest hours that are sought: four weeks, halved until enough tasks run through them."""


def compute(study: Study, options: Options) -> pa.Table:
    """Choose on earlier hours, judge on later ones."""
    return study.once(("advice", options), lambda: _judged(study.pool(options), options))


def _judged(pool: Pool, options: Options) -> pa.Table:
    plan = Plan.of(pool, options)
    found = advise(plan, options)
    instances = plan.judging.instances
    common = {
        "target": options.target,
        "capacity": options.capacity,
        "n_tasks": min(instances.size, len(instances.pool)),
        "n_instances": instances.count,
        "overlap": overlap(instances),
        "scope": f"{plan.words} of {pool.source or 'the pool'}",
        "block_hours": None if plan.why else float(Blocks.of([plan.judging.slots]).hours),
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
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if high is None:
        return f"{row[name]:{form}} [no interval]"
    return f"{row[name]:{form}} [95%: {low:{form}} … {high:{form}}]"


def _caveats(row: Row) -> str:
    """Say what the intervals rest on where it is less than days, and that instances share tasks."""
    text, hours = "", row["block_hours"]
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


def plot(result: pa.Table) -> Chart:
    """Draw machines against the larger overflow of draws and series: all ways, the choice."""
    import altair as alt

    # 1e-8 stands for none seen: a logarithmic axis has no 0.
    rows = added(
        result,
        label=lambda row: f"{row['estimator']} {row['parameter']:.3g}",
        shown_q=lambda row: max(row["q_draws"], row["q_series"] or 0.0, 1e-8),
    )
    chosen = [row for row in rows if row["is_advised"] or row["is_factor"]]
    chart = Plot(
        rows, result, x=from_data("machines", "machines"), y=probability_axis("shown_q", OVERFLOW)
    )
    chart.add(rule(dashed=True), y=rows[0]["target"])
    pale = when("datum.keeps_target", 1.0, 0.35)
    chart.add(point(55), color=palette("estimator", ESTIMATOR_COLOURS), opacity=pale)
    chart.add(point(260, filled=False, color="black", strokeWidth=2), data=chosen)
    # One label alone: factor and advice often lie side by side.
    named = [row for row in rows if row["is_advised"]]
    # Towards the middle, where there is room: at the right end it would lie on the legend.
    widths = [row["machines"] for row in rows]
    is_left = not named or named[0]["machines"] <= (min(widths) + max(widths)) / 2
    align, dx = ("left", 12) if is_left else ("right", -12)
    chart.add(text(align=align, dx=dx, fontWeight="bold"), data=named, text="label")
    title = alt.Title("Advice", subtitle=wrap(advice(result), 95))
    return chart.draw(width=520, height=340).properties(title=title)


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
EXPERIMENT = Experiment.declared(
    compute,
    (keeps, factor_keeps),
    plot=plot,
    order=440,
    options=_OPTIONS,
    defaults={"hours": HOURS},
    sentence=advice,
)
