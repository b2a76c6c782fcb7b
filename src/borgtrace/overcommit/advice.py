"""Which policy keeps a violation rate on the periods to come, when it is chosen on the periods before?

This is walk-forward: for each period, by default a day, the advice is the policy that saved most in the periods before,
among those whose violation rate there, at the upper end of its interval, is within the target. Where no policy is, the
advice is the limits, unless these were exceeded: then nothing tested keeps the target, and there is no advice. Only
instants count whose horizon had ended when the period began. The advice is then judged on its own period, which it has
not seen: kept or broken, where its interval tells. Intervals (95 %) come from differences between machines, and none
ends below 3 ÷ trials (the rule of three), where a trial is one machine for one horizon. So a target needs 3 ÷ target
trials before any policy but the limits can be advised: 300 machine-days for 1 % and a horizon of a day. Days of one
trace are alike, so a rate over few days says little about another month, and one over few hours little about another
day.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.notation import percent
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.policies import Limit, PeakPolicy
from borgtrace.overcommit.rates import SLOTS_PER_DAY
from borgtrace.overcommit.replay import ReplayPart
from borgtrace.overcommit.replay_question import ReplayQuestion
from borgtrace.overcommit.walk_forward import (
    Choice,
    limits_first,
    savings,
    sum_by_period,
    violation_rate,
    walk_forward,
)
from borgtrace.question import Answer, Column, Row, charts
from borgtrace.question.promises import is_kept
from borgtrace.question.shares import with_interval
from borgtrace.schema.time import HOUR, WINDOW

ANSWER = Answer(
    grain="resource, tasks and period",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "tasks",
            "string",
            "id",
            "Tasks that are predicted and judged: all, high (high priority), or a tier.",
        ),
        Column(
            "begin",
            "float64",
            "h",
            "Beginning of the period on which the advice is judged, from the start of the trace.",
        ),
    ],
    columns=[
        Column("day", "int64", "d", "Day of the trace, from 0, in which the period begins."),
        Column("length", "float64", "h", "Length of the period."),
        Column(
            "policy",
            "string",
            "id",
            "Policy that is advised; NULL, as all about it, where nothing tested keeps the target.",
            nullable=True,
        ),
        Column(
            "learned",
            "float64",
            "fraction",
            "Its violation rate on the periods before.",
            nullable=True,
        ),
        Column(
            "learned_high",
            "float64",
            "fraction",
            "Upper end of that rate's interval, at least 3 ÷ trials.",
            nullable=True,
        ),
        Column("instants", "int64", "count", "Instants of the period that are judged."),
        Column("rate", "float64", "fraction", "Violation rate on the period.", nullable=True),
        Column(
            "rate_low",
            "float64",
            "fraction",
            "Lower end of its interval; NULL with fewer than two machines.",
            nullable=True,
        ),
        Column(
            "rate_high",
            "float64",
            "fraction",
            "Upper end of its interval, at least 3 ÷ trials.",
            nullable=True,
        ),
        Column("target", "float64", "fraction", "Violation rate that is asked for."),
        Column(
            "savings",
            "float64",
            "fraction",
            "Limits of the period that are not promised; NULL without limits.",
            nullable=True,
        ),
        Column(
            "is_kept",
            "bool",
            "1",
            "Whether the period kept the target, by that interval; NULL where it cannot tell.",
            nullable=True,
        ),
    ],
    most_important=[
        "policy",
        "rate",
        "savings",
        "begin",
        "resource",
        "tasks",
        "is_kept",
        "rate_high",
    ],
)


ADVISED = (
    "policy",
    "learned",
    "learned_high",
    "rate",
    "rate_low",
    "rate_high",
    "savings",
    "is_kept",
)
"""Columns about the policy that is advised."""


def compute(
    part: ReplayPart,
    policies: Sequence[PeakPolicy],
    options: ReplayOptions,
) -> list[Row]:
    """Return a row for each period that has periods before it.

    Parameters
    ----------
    part
        What is replayed.
    policies
        The policies to choose among.
    options
        Horizon, target, and length of a period.
    """
    candidates = limits_first(policies)
    period = options.period_slots
    sums = part.replay(
        candidates,
        options.horizon_slots,
        partial(sum_by_period, slots_per_period=period),
    )
    subject = {"resource": part.resource, "tasks": part.tasks}
    rows = rows_of_periods(sums, candidates, options.horizon_slots, options.target, period)
    return [{**subject, **row} for row in rows]


def rows_of_periods(
    sums: npt.NDArray[np.void],
    policies: Sequence[PeakPolicy],
    horizon: int,
    target: float,
    slots_per_period: int = SLOTS_PER_DAY,
) -> list[Row]:
    """Return a row for each period that has periods before it.

    Parameters
    ----------
    sums, horizon, target, slots_per_period
        As for :func:`borgtrace.overcommit.walk_forward.walk_forward`.
    policies
        The policies of the sums.
    """
    choices = walk_forward(
        sums,
        horizon,
        target,
        slots_per_period=slots_per_period,
    )
    rows = []
    for choice in choices:
        row: Row = {
            "begin": choice.period * slots_per_period * WINDOW / HOUR,
            "day": choice.period * slots_per_period // SLOTS_PER_DAY,
            "length": slots_per_period * WINDOW / HOUR,
            "target": target,
        }
        rows.append(row | judged_choice(choice, policies, horizon, target))
    return rows


def judged_choice(
    choice: Choice,
    policies: Sequence[PeakPolicy],
    horizon: int,
    target: float,
) -> Row:
    """Return the policy that is advised for a period, and how it did.

    Parameters
    ----------
    choice
        The period, as a walk through the trace has it.
    policies
        The policies that were chosen among.
    horizon
        In slots.
    target
        Violation rate that is asked for.
    """
    row: Row = dict.fromkeys(ADVISED) | {"instants": choice.instants}
    if choice.policy is None:
        return row
    rate = violation_rate(choice.judged, horizon)
    return row | {
        "policy": policies[choice.policy].label,
        "learned": choice.learned.value,
        "learned_high": choice.learned.high,
        "rate": rate.value,
        "rate_low": rate.low,
        "rate_high": rate.high,
        "savings": savings(choice.judged),
        "is_kept": is_kept(rate.low, rate.high, target),
    }


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the violation rate of the advised policy, period by period, and dashed the target."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["policy"] is not None]
    whole = charts.base(rows, height=200)
    base = whole.encode(
        x=charts.hour_axis(rows, "begin", title="beginning of the period (h)"),
        y=alt.Y("rate:Q", title="violation rate of the advice"),
    )
    target = whole.mark_rule(strokeDash=[5, 3]).encode(
        y=alt.Y("mean(target):Q", title="violation rate of the advice"),
    )
    lines = base.mark_line().encode(
        tooltip=charts.tooltips(rows),
    )
    points = base.mark_point(filled=True, size=40).encode(
        color=alt.Color("policy:N", title="policy"),
        tooltip=charts.tooltips(rows),
    )
    return (
        alt.layer(target, lines, points)
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tasks"),
        )
        .properties(title="Violation rate of the advised policy, period by period (dashed: target)")
    )


CANNOT_TELL = (
    "Too few windows to tell: take a longer trace, a larger --target or a shorter --horizon."
)
"""What to do where no period tells whether the target was kept."""


def advice_in_words(answer: pa.Table) -> str:
    """Return a sentence for each resource and group of tasks: what is advised now, and how earlier advice did.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows_by_part: dict[tuple[str, str], list[Row]] = {}
    for row in answer.to_pylist():
        rows_by_part.setdefault((row["resource"], row["tasks"]), []).append(row)
    sentences = []
    for (resource, tasks), rows in rows_by_part.items():
        last = rows[-1]
        n_kept = sum(row["is_kept"] is True for row in rows)
        n_broken = sum(row["is_kept"] is False for row in rows)
        periods = "1 period" if len(rows) == 1 else f"{len(rows):,} periods"
        advised = "nothing tested keeps the target"
        if last["policy"] == Limit().label:
            advised = "nothing tested but the limits surely keeps the target"
        elif last["policy"] is not None:
            savings = "" if last["savings"] is None else f" saves {percent(last['savings'])},"
            rate = with_interval(last["rate"], last["rate_low"], last["rate_high"])
            advised = f"{last['policy']} was best;{savings} violation rate {rate} on it"
        outcome = f"{n_kept:,} kept the target, {n_broken:,} broke it"
        if n_kept + n_broken == 0:
            outcome = "none can tell"
        elif n_kept + n_broken < len(rows):
            outcome += "; the rest cannot tell"
        sentences.append(
            f"{resource}, {tasks} tasks: before the last period, {advised}. "
            f"Of {periods} judged, {outcome}."
        )
    if sentences and all(row["is_kept"] is None for row in answer.to_pylist()):
        sentences.append(CANNOT_TELL)
    return "\n".join(sentences)


ADVICE = ReplayQuestion(
    name="overcommit_advice",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    sentence=advice_in_words,
    reference="Bashir et al., EuroSys'21 (Take it to the limit)",
    too_short="no period has one before it whose horizon has ended",
    looks_ahead=True,
)
"""The advice: ``ADVICE.run(store, target=0.01, policies=SWEEP)``."""
