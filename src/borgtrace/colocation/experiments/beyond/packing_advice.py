"""Which way of packing, and which overcommit factor, should this cell use, and why?

Every way (the paper's estimators, those beyond it around the target, GPA told ever stricter targets, requests divided
by an overcommit factor) packs random instances by what earlier hours show. There the ways are ranked: first those whose
overflow keeps the target, at the upper end of its 95 % interval, both on held-out draws and on the simultaneous series,
by their number of machines; then the others, by how close they come. All are judged on later hours. The advice is the
first of the ranking that keeps the target there too, by its own interval; where nothing does, nothing is advised. The
overcommit factor is the largest that keeps the target, with all smaller ones (steps of .05). *Machines* count one more
for every task that fits no machine alone. Intervals: over instances (Student's t; none seen: 3 ÷ trials); of the
simultaneous series from drawing its days anew, with all instances together. Tasks without time stamps are judged on
draws alone.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.overflow_charts import estimator_color, overflow_axis
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.advice import TrialPlan, advise, overlap
from borgtrace.colocation.packing.intervals import LEAST_BLOCKS, SeriesBlocks
from borgtrace.question import Answer, Claim, Column, NotApplicable, above, at_most, charts, sql
from borgtrace.question.promises import NOTHING_KEEPS

if TYPE_CHECKING:
    import altair as alt


def with_interval(
    name: str,
    unit: Literal["1", "fraction"],
    doc: str,
    *,
    nullable: bool = False,
) -> list[Column]:
    """Return the columns of a number and of the ends of its 95 % interval, which may be unknown.

    Parameters
    ----------
    name, unit, doc, nullable
        Of the column of the number; the doc without a full stop.
    """
    return [
        Column(name, "float64", unit, f"{doc}.", nullable=nullable),
        Column(
            f"{name}_low",
            "float64",
            unit,
            f"{doc}: lower end of the 95 % interval.",
            nullable=True,
        ),
        Column(
            f"{name}_high",
            "float64",
            unit,
            f"{doc}: upper end of the 95 % interval.",
            nullable=True,
        ),
    ]


ANSWER = Answer(
    grain="way of packing",
    key=[
        Column("estimator", "string", "id", "Name of the estimator."),
        Column("parameter", "float64", "1", "Its parameter."),
    ],
    columns=[
        *with_interval("machines", "1", "Mean number of machines"),
        *with_interval("q_draws", "fraction", "Share of overflows on held-out draws"),
        *with_interval(
            "q_series",
            "fraction",
            "Share of overflows on the simultaneous series",
            nullable=True,
        ),
        *with_interval(
            "above",
            "fraction",
            "Share of the machines that overflow more often than the target",
        ),
        *with_interval("worst", "fraction", "Share of overflows of the worst machine"),
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
            "chosen_keeps",
            "bool",
            "1",
            "Whether that end keeps the target; of a factor, that of all smaller ones too.",
        ),
        Column(
            "is_first_choice",
            "bool",
            "1",
            "Whether it is ranked first where the choice was made.",
        ),
        Column(
            "is_chosen_factor",
            "bool",
            "1",
            "Whether it is the largest overcommit factor that keeps the target there.",
        ),
        Column(
            "keeps_target",
            "bool",
            "1",
            "Whether the upper ends of q on draws and on the series keep the target.",
        ),
        Column(
            "is_advised",
            "bool",
            "1",
            "Whether this is the advice: the first of the ranking that keeps the target.",
        ),
        Column(
            "is_nearest", "bool", "1", "Whether nothing keeps the target, and this comes closest."
        ),
        Column(
            "is_factor",
            "bool",
            "1",
            "Whether this is the overcommit factor, which keeps the target with all smaller ones.",
        ),
        *with_interval(
            "saved_request",
            "fraction",
            "Machines saved against packing by request",
            nullable=True,
        ),
        *with_interval(
            "saved_maximum",
            "fraction",
            "Machines saved against packing by the maximum",
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


NOTHING_KEEPS_EARLIER = "nothing is known to keep the target where the choice is made"
HOURS = 28 * 24
"""Longest hours that are sought: four weeks, halved until enough tasks run through them."""


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Choose on earlier hours, judge on later ones."""
    return study.once(("advice", options), lambda: choose_and_judge(study.pool(options), options))


def choose_and_judge(pool: TaskPool, options: ColocationOptions) -> list[Row]:
    """Return every way of packing as it was judged, with the choice.

    Parameters
    ----------
    pool
        The tasks.
    options
        Of the experiment.
    """
    plan = TrialPlan.of(pool, options)
    instances = plan.judging.instances
    block_hours = None
    if not plan.why:
        block_hours = float(SeriesBlocks.of([plan.judging.slots]).hours)
    setting = {
        "target": options.target,
        "capacity": options.capacity,
        "n_tasks": min(instances.size, len(instances.pool)),
        "n_instances": instances.count,
        "overlap": overlap(instances),
        "scope": f"{plan.words} of {pool.source or 'the pool'}",
        "block_hours": block_hours,
    }
    return [way | setting for way in advise(plan, options)]


def advised(result: pa.Table) -> Row:
    """Return the row of the advice.

    Parameters
    ----------
    result
        The answer.

    Raises
    ------
    NotApplicable
        No way of packing keeps the target.
    """
    return _flagged(result, "is_advised", "no packing keeps the target")


def factor(result: pa.Table) -> Row:
    """Return the row of the overcommit factor.

    Parameters
    ----------
    result
        The answer.

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
    rows = result.filter(result[flag_name]).to_pylist()
    NotApplicable.unless(rows, reason)
    return dict(rows[0])


def advice(result: pa.Table) -> str:
    """Say what is advised, its overflow, and what that rests on; then the baseline and the overcommit factor.

    Parameters
    ----------
    result
        The answer.
    """
    if not result.num_rows:
        return "No advice: nothing was packed."
    rows = result.to_pylist()
    best = next(row for row in rows if row["is_advised"] or row["is_nearest"])
    is_advised = best["is_advised"]
    way = f"{best['estimator']} {best['parameter']:.3g}"
    text = f"Pack by {way}" if is_advised else f"{NOTHING_KEEPS}; nearest is {way}"
    text += f" (target q ≤ {best['target']:.3g}; {best['scope']}): {packing_in_words(best)}."
    text += doubt_of_choice(best)
    text += caveats(best)
    base = next((row for row in rows if is_base(row)), None)
    if base is None:
        return text
    text += f" By requests: {packing_in_words(base)}"
    if is_advised:
        saved = best["saved_request"]
        low = best["saved_request_low"]
        high = best["saved_request_high"]
        text += f"; the advice {saving_in_words(saved, low, high)}"
    largest_factor = next((row for row in rows if row["is_factor"]), None)
    if largest_factor is None:
        return f"{text}. No overcommit factor: not even packing by requests keeps the target by its interval."
    parameter = largest_factor["parameter"]
    overflow = overflow_in_words(largest_factor)
    return f"{text}. Overcommit factor on requests: {parameter:.3g}, {overflow}."


def doubt_of_choice(row: Row) -> str:
    """Say where the choice was made without knowing that the advice keeps the target; empty where it was known."""
    if not row["is_advised"] or row["chosen_keeps"]:
        return ""
    q = f"{row['chosen_q']:.2g}"
    upper_end = row["chosen_q_high"]
    ends = "no interval" if upper_end is None else f"up to {upper_end:.2g}"
    return f" Where it was chosen nothing was known to keep it: q {q} [{ends}]."


def is_base(row: Row) -> bool:
    """Whether a row is of packing by requests as they are."""
    return row["estimator"] == "request" and row["parameter"] == 1


def packing_in_words(row: Row) -> str:
    """Say how many machines a way of packing takes, and how often they overflow."""
    machines = with_ends(row, "machines", ".3g")
    text = f"{machines} machines of capacity {row['capacity']:g} for {row['n_tasks']:,} tasks"
    if row["n_unplaceable"]:
        text += f" ({row['n_unplaceable']:.1f} for tasks that fit none)"
    return f"{text}, {overflow_in_words(row)}"


def overflow_in_words(row: Row) -> str:
    """Say how much overflow was measured, on what there is."""
    on_draws = f"{with_ends(row, 'q_draws', '.2g')} on draws"
    if row["q_series"] is None:
        return f"measured q {on_draws}"
    on_series = f"{with_ends(row, 'q_series', '.2g')} on series"
    return f"measured q {on_series}, {on_draws}"


def with_ends(row: Row, name: str, form: str) -> str:
    """Write a number with its interval.

    Parameters
    ----------
    row
        Of the answer.
    name
        Column of the number.
    form
        How numbers are written.

    Examples
    --------
    >>> with_ends({"q": 0.001, "q_low": None, "q_high": None}, "q", ".2g")
    '0.001 [no interval]'
    """
    value = row[name]
    low = row[f"{name}_low"]
    high = row[f"{name}_high"]
    if high is None:
        return f"{value:{form}} [no interval]"
    return f"{value:{form}} [95%: {low:{form}} … {high:{form}}]"


def caveats(row: Row) -> str:
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
        text += (
            f" Of the tasks of {row['n_instances']} instances, "
            f"{row['overlap']:.0%} are in an earlier one."
        )
    return text


def saving_in_words(saved: float, low: float | None, high: float | None) -> str:
    """Say how many machines are saved, or how many more it takes.

    Parameters
    ----------
    saved, low, high
        Share of machines saved, and its interval.

    Examples
    --------
    >>> saving_in_words(0.24, 0.22, 0.25)
    'saves 24% [95%: 22% … 25%] of these machines'
    >>> saving_in_words(-0.45, -0.57, -0.33)
    'takes 45% [95%: 33% … 57%] more machines'
    >>> saving_in_words(0.24, None, None)
    'saves 24% [no interval] of these machines'
    """
    is_saving = saved >= 0
    if low is None or high is None:
        ends = "no interval"
    elif is_saving:
        ends = f"95%: {low:.0%} … {high:.0%}"
    else:
        # A negative saving reads badly; its ends change places when the sign does.
        ends = f"95%: {-high:.0%} … {-low:.0%}"
    if is_saving:
        return f"saves {saved:.0%} [{ends}] of these machines"
    return f"takes {-saved:.0%} [{ends}] more machines"


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
        .mark_point(size=260, filled=False, color="black", strokeWidth=2)
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
    """Whether the advice is in the left half, with room for its label: at the right end it would lie on the legend."""
    machines = [row["machines"] for row in rows]
    middle = (min(machines) + max(machines)) / 2
    return not advised_rows or advised_rows[0]["machines"] <= middle


def excess_of(row: Row) -> float:
    """Return the upper end of the stricter overflow, over the target.

    Parameters
    ----------
    row
        Of the answer.

    Raises
    ------
    NotApplicable
        It has no interval.
    """
    upper_ends = []
    for name in ("q_draws", "q_series"):
        if row[name] is not None:
            upper_ends.append(row[f"{name}_high"])
    NotApplicable.unless(None not in upper_ends, "there is no interval to judge by")
    return float(max(upper_ends) / row["target"])


def excess_of_first_choice(result: pa.Table) -> float:
    """Measure the overflow of the way that is ranked first over the target, where it was known to keep it."""
    first = _flagged(result, "is_first_choice", NOTHING_KEEPS_EARLIER)
    NotApplicable.unless(first["chosen_keeps"], NOTHING_KEEPS_EARLIER)
    return excess_of(first)


def excess_of_chosen_factor(result: pa.Table) -> float:
    """Measure the overflow at the largest overcommit factor of the earlier hours over the target."""
    return excess_of(_flagged(result, "is_chosen_factor", NOTHING_KEEPS_EARLIER))


CLAIMS = [
    Claim(
        "advice-keeps",
        statement=(
            "what keeps the target with the fewest machines on earlier hours keeps it on later ones "
            "(upper end of q ÷ target, the stricter of draws and series)"
        ),
        kind="criterion",
        scope=OWN,
        measure=excess_of_first_choice,
        criterion=at_most(1),
    ),
    Claim(
        "advice-factor-keeps",
        statement="the largest overcommit factor of earlier hours keeps the target on later ones (the same)",
        kind="criterion",
        scope=OWN,
        measure=excess_of_chosen_factor,
        criterion=at_most(1),
    ),
    Claim(
        "advice-saves-maximum",
        statement="the advice saves machines against packing by the maximum (lower end of the interval)",
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
        statement="the advice saves machines against packing by request (lower end of the interval)",
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
    options=(*PACKING, "hours", "target", "capacity"),
    defaults={"hours": HOURS},
    sentence=advice,
    reference="question of cluster operators; method after Janus & Rzadca, SoCC'17",
)
