"""Which overcommit value should this cell use, and why?

Every way of packing (the paper's estimators, those beyond it at half, once and twice the target, and requests divided
by an overcommit factor) is tried on one set of random instances; the one advised needs the fewest machines among those
whose overflow, at the upper end of its 95 % confidence interval, stays within the target. All of them are then judged
on other instances. *Machines* count one more for every task that fits no machine alone. *Overcommit* is the sum of
requests on the machines in use ÷ their capacity: the value to set where a scheduler knows only that. Savings are
against packing by request and by the highest usage seen, instance by instance.

Reference: question of cluster operators; method after Janus & Rzadca, SoCC'17.
"""

from __future__ import annotations

from textwrap import wrap

import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.advice import advise
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments._charts import ESTIMATOR_COLOURS, OVERFLOW, from_data
from borgtrace.colocation.experiments._columns import CAPACITY, ESTIMATOR, PARAMETER, TARGET
from borgtrace.colocation.experiments._rows import Row
from borgtrace.colocation.experiments._scopes import OWN
from borgtrace.recipe import Claim, NotApplicable, from_source
from borgtrace.recipe.charts import Chart, Plot, added, palette, point, probability_axis, rule, text, when
from borgtrace.recipe.columns import count, declare, flag, number
from borgtrace.recipe.criteria import above, at_most
from borgtrace.schema import Column


def _interval(name: str, unit: str, doc: str, *, nullable: bool = False) -> tuple[Column, ...]:
    ends = {name: f"{doc}.", f"{name}_low": f"{doc}: lower end of the 95 % interval."}
    ends[f"{name}_high"] = f"{doc}: upper end of the 95 % interval."
    return tuple(number(end, unit, text, nullable=nullable) for end, text in ends.items())


RESULT = declare(
    "packing_advice",
    "way of packing",
    ("estimator", "parameter"),
    *(ESTIMATOR, PARAMETER),
    *_interval("machines", "1", "Mean number of machines"),
    *_interval("q", "fraction", "Share of overflows"),
    number("n_unplaceable", "1", "Mean number of tasks that fit no machine alone."),
    number("overcommit", "1", "Requests over the capacity of the machines in use.", nullable=True),
    flag("keeps_target", "Whether q kept the target where the choice was made."),
    flag("is_on_front", "Whether no other is better in both machines and q."),
    flag("is_advised", "Whether this is the advice."),
    *_interval("saved_request", "fraction", "Machines saved against packing by request", nullable=True),
    *_interval("saved_maximum", "fraction", "Machines saved against packing by the maximum", nullable=True),
    *(TARGET, CAPACITY),
    count("n_tasks", "Tasks per instance."),
)


def compute(study: Study, options: Options) -> pa.Table:
    """Choose a way of packing on some instances and judge all on others."""
    return study.once(("advice", options), lambda: _judged(study, options))


def _judged(study: Study, options: Options) -> pa.Table:
    judging, choosing = study.halves(options)
    found = advise(choosing, judging, options.target, options.capacity)
    n_tasks = min(judging.instances.size, len(judging.instances.pool))
    common = {"target": options.target, "capacity": options.capacity, "n_tasks": n_tasks}
    return pa.Table.from_pylist([row | common for row in found])


def advised(result: pa.Table) -> Row:
    """The row of the advice.

    Raises
    ------
    NotApplicable
        No way of packing keeps the target.
    """
    for row in result.to_pylist():
        if row["is_advised"]:
            return dict(row)
    raise NotApplicable("no packing meets the target")


def advice(result: pa.Table) -> str:
    """The advice in words, for people."""
    if not result.num_rows:
        return "No advice: nothing was packed."
    target, capacity = result["target"][0].as_py(), result["capacity"][0].as_py()
    promise = f"at most {target:.3g} of the time over capacity {capacity:g}"
    try:
        row = advised(result)
    except NotApplicable:
        return f"None of the packing methods stays {promise}; allow more overflow or use larger machines."
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
    # A negative saving reads badly; its ends change places when the sign does.
    if saved < 0:
        return f"takes {-saved:.0%} ({-high:.0%} … {-low:.0%}) more machines than packing"
    return f"saves {saved:.0%} ({low:.0%} … {high:.0%}) of the machines of packing"


def plot(result: pa.Table) -> Chart:
    """Draw machines against overflow: all ways, the front, the advice."""
    import altair as alt

    # 1e-8 stands for none seen: a logarithmic axis has no 0.
    rows = added(
        result, label=lambda row: f"{row['estimator']} {row['parameter']:g}", shown_q=lambda row: max(row["q"], 1e-8)
    )
    chosen = [row for row in rows if row["is_advised"]]
    chart = Plot(rows, RESULT, x=from_data("machines", "machines"), y=probability_axis("shown_q", OVERFLOW))
    chart.add(rule(dashed=True), y=rows[0]["target"])
    pale = when("datum.is_on_front", 1.0, 0.35)
    chart.add(point(55), color=palette("estimator", ESTIMATOR_COLOURS), opacity=pale)
    chart.add(point(260, filled=False, color="black", strokeWidth=2), data=chosen)
    chart.add(text(align="left", dx=12, fontWeight="bold"), data=chosen, text="label")
    title = alt.Title("Advice", subtitle=wrap(advice(result), 95))
    return chart.draw(width=520, height=340).properties(title=title)


CLAIMS = from_source(
    "",
    Claim(
        "advice-keeps",
        "the advice keeps the target on instances it has not seen (q ÷ target)",
        at_most(1),
        lambda r: advised(r)["q"] / advised(r)["target"],
    ),
    Claim(
        "advice-saves-maximum",
        "it saves machines against packing by the maximum (lower end of the interval)",
        above(0),
        lambda r: advised(r)["saved_maximum_low"],
    ),
    Claim(
        "advice-saves-request",
        "it saves machines against packing by request (lower end of the interval)",
        above(0),
        lambda r: advised(r)["saved_request_low"],
    ),
    scope=OWN,
    kind="criterion",
)
EXPERIMENT = Experiment(RESULT, compute, plot, CLAIMS, order=440, options=(*PACKING, "target", "capacity"))
