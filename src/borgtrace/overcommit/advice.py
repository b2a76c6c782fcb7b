"""Which policy keeps a violation rate on the periods to come, when it is chosen on the periods before?

Walk-forward: for each period, by default a day, the policy is advised that saved most on the periods before, among
those whose violation rate there, at the upper end of its interval, is within the target. Where none is, the limits are,
unless they were exceeded: then nothing tested keeps the target, and nothing is advised. Only instants count whose
horizon had ended when the period began. The advice is then judged on that period, which it has not seen: kept or
broken, where its interval tells. Intervals (95 %) take machines as what varies, and none ends below 3 ÷ trials (the
rule of three: so many may go unseen), where a trial is one machine for one horizon. A target therefore needs 3 ÷ target
trials before any policy but the limits can be advised: 300 machine-days for 1 % and a horizon of a day. Days of one
trace are alike, so a rate on few days says little about another month, and one on few hours little about another day.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.notation import percent
from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.metrics import is_short
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import Limit, PeakPolicy, Prediction
from borgtrace.overcommit.rates import SLOTS_PER_DAY, RatioEstimate, ratio
from borgtrace.overcommit.replay import ReplayPart
from borgtrace.overcommit.replay_question import ReplayQuestion
from borgtrace.question import Answer, Column, Row, charts
from borgtrace.question.promises import is_kept, keeps
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
SUMS = np.dtype(
    [
        ("instants", "f8"),
        ("violations", "f8"),
        ("limit", "f8"),
        ("peak", "f8"),
    ]
)
"""Of one policy, period and machine: judged instants, violations, Σ limits and Σ predictions."""


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
    # The limits come first: they are what is left where no policy keeps the target.
    candidates: list[PeakPolicy] = [Limit()]
    candidates += [policy for policy in policies if policy != Limit()]
    horizon = options.horizon_slots
    period = options.period_slots
    sums = part.replay(candidates, horizon, partial(sum_by_period, period=period))
    rows = []
    for advice in walk_forward(
        sums,
        candidates,
        horizon,
        options.target,
        period,
    ):
        rows.append(
            {
                "resource": part.resource,
                "tasks": part.tasks,
                **advice,
            }
        )
    return rows


def sum_by_period(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
    *,
    period: int = SLOTS_PER_DAY,
) -> npt.NDArray[np.void]:
    """Return the sums of each policy and period: `SUMS` of shape (policies, periods).

    Parameters
    ----------
    block, horizon, predictions
        As for :func:`borgtrace.overcommit.metrics.scores`.
    period
        Its length in slots; the first one begins with the trace.
    """
    actual = oracle(block, horizon)
    n = len(actual)
    n_periods = math.ceil(block.n_slots / period)
    place = block.all.slots[:n] // period
    limits = block.limits[:n]
    out = np.empty((len(predictions), n_periods), SUMS)
    for sums, prediction in zip(out, predictions, strict=True):
        promised = prediction.peak[:n]
        sums["instants"] = np.bincount(place, np.ones(n), minlength=n_periods)
        sums["violations"] = np.bincount(place, is_short(actual, promised), minlength=n_periods)
        sums["limit"] = np.bincount(place, limits, minlength=n_periods)
        sums["peak"] = np.bincount(place, promised, minlength=n_periods)
    return out


def walk_forward(
    sums: npt.NDArray[np.void],
    policies: Sequence[PeakPolicy],
    horizon: int,
    target: float,
    period: int = SLOTS_PER_DAY,
) -> list[Row]:
    """Return a row for each period that has periods before it: the policy that is advised, and how it did.

    Parameters
    ----------
    sums
        What :func:`sum_by_period` returns, of each machine: `SUMS` of shape (machines, policies, periods).
    policies
        Their policies.
    horizon
        In slots: so long before a period the instants end that the advice may know.
    target
        Violation rate that is asked for.
    period
        Length of a period in slots.
    """
    lag = math.ceil(horizon / period)
    n_periods = sums.shape[2]
    rows = []
    for place in range(1 + lag, n_periods):
        known = add_periods(sums[:, :, : place - lag])
        judged = sums[:, :, place]
        has_known = known["instants"][:, 0].sum() > 0
        has_judged = judged["instants"][:, 0].sum() > 0
        if not (has_known and has_judged):
            continue
        row: Row = dict.fromkeys(ADVISED) | {
            "begin": place * period * WINDOW / HOUR,
            "day": place * period // SLOTS_PER_DAY,
            "length": period * WINDOW / HOUR,
            "instants": int(judged["instants"][:, 0].sum()),
        }
        rows.append(row)
        best = best_policy(known, target, horizon)
        if best is None:
            continue
        k, learned = best
        advised = judged[:, k]
        rate = violation_rate(advised, horizon)
        limit = advised["limit"].sum()
        peak = advised["peak"].sum()
        row |= {
            "policy": policies[k].label,
            "learned": learned.value,
            "learned_high": learned.high,
            "rate": rate.value,
            "rate_low": rate.low,
            "rate_high": rate.high,
            "savings": float(1 - peak / limit) if limit > 0 else None,
            "is_kept": is_kept(rate.low, rate.high, target),
        }
    return rows


def add_periods(sums: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return the sums over the periods: `SUMS` of shape (machines, policies)."""
    # All columns at once, so that periods are added one after the other.
    columns = sums.view(np.float64).reshape(*sums.shape, -1)
    return columns.sum(axis=2).view(SUMS)[:, :, 0]


def best_policy(
    known: npt.NDArray[np.void],
    target: float,
    horizon: int,
) -> tuple[int, RatioEstimate] | None:
    """Return the policy that saves most within the target, and its rate; None where nothing keeps the target.

    Parameters
    ----------
    known
        Sums of the periods before: `SUMS` of shape (machines, policies).
    target
        Violation rate that is asked for.
    horizon
        In slots.
    """
    rates = [violation_rate(known[:, k], horizon) for k in range(known.shape[1])]
    promised = known["peak"].sum(axis=0)
    keeping = [k for k, rate in enumerate(rates) if keeps(rate.high, target)]
    # The first policy is the limits.  Until they are exceeded they need no trials: with them nothing is overcommitted.
    if rates[0].value == 0 and 0 not in keeping:
        keeping.insert(0, 0)
    if not keeping:
        return None
    # Of equal ones the first.
    best = min(keeping, key=lambda k: promised[k])
    return best, rates[best]


def violation_rate(sums: npt.NDArray[np.void], horizon: int) -> RatioEstimate:
    """Return the violation rate of machines and its interval, which never ends below the rule of three.

    Parameters
    ----------
    sums
        Of each machine: `SUMS` of shape (machines,).
    horizon
        In slots.
    """
    judged = sums[sums["instants"] > 0]
    rate = ratio(judged["violations"], judged["instants"])
    # Instants of one horizon share most of their peak: together they are one trial.
    unseen = 3.0 * max(horizon, 1) / judged["instants"].sum()
    return RatioEstimate(
        value=rate.value,
        low=None if rate.low is None else max(rate.low, 0.0),
        high=min(max(rate.high or 0.0, unseen, rate.value), 1.0),
    )


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the violation rate of the advised policy, period by period."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["policy"] is not None]
    base = charts.base(rows, height=200).encode(
        x=alt.X("begin:Q", title="beginning of the period (h)"),
        y=alt.Y("rate:Q", title="violation rate of the advice"),
    )
    lines = base.mark_line().encode(
        tooltip=charts.tooltips(rows),
    )
    points = base.mark_point(filled=True, size=40).encode(
        color=alt.Color("policy:N", title="policy"),
        tooltip=charts.tooltips(rows),
    )
    return (
        alt.layer(lines, points)
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tasks"),
        )
        .properties(title="Violation rate of the advised policy, period by period")
    )


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
        sentences.append(
            f"{resource}, {tasks} tasks: before the last period, {advised}. Of {periods} judged, "
            f"{n_kept:,} kept the target, {n_broken:,} broke it; the rest cannot tell."
        )
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
)
"""The advice: ``ADVICE.run(store, target=0.01, policies=SWEEP)``."""
