"""Which way of packing, and which overcommit factor, should this cell use, and why?

Every way of packing (the paper's estimators, others around the target, GPA with ever stricter targets, requests divided
by an overcommit factor) packs random instances by what earlier hours show. These hours also rank the ways. First come
those that keep the target, by their number of machines: the upper end of the 95 % interval of their overflow must be
within it, on held-out draws and on the simultaneous series. Then come the others, by how close they are. All ways are
then judged on later hours. The advice is the first way of the ranking that keeps the target there too, by its own
interval; where none does, there is no advice. The overcommit factor is the largest that keeps the target together with
all smaller ones (in steps of .05). *Machines* count one more for every task that does not fit on a machine alone.
Intervals on draws are Student's t over instances (3 ÷ trials where no overflow was seen). Intervals on the simultaneous
series resample its days, with all instances of a day together. Tasks without time stamps are judged on draws alone.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.advice_words import advice
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.overflow_charts import estimator_color, overflow_axis
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.advice import TrialPlan, advise, overlap
from borgtrace.colocation.packing.intervals import SeriesBlocks
from borgtrace.question import Answer, Claim, Column, NotApplicable, above, at_most, charts, sql

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
    most_important=[
        "estimator",
        "parameter",
        "machines",
        "q_series",
        "q_draws",
        "q_series_high",
        "overcommit",
        "saved_request",
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
