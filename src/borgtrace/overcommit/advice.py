"""Which policy keeps a violation rate on the days to come, when it is chosen on the days before?

Walk-forward: for each day the policy is advised that saved most on the days before among those whose violation rate
there, at the upper end of its interval, is within the target. Where none is, the limits are, unless they were exceeded:
then nothing tested keeps the target, and nothing is advised. Only instants count whose horizon had ended when the day
began. The advice is then judged on that day, which it has not seen: kept or broken, where its interval tells. Intervals
(95 %) take machines as what varies, and none ends below 3 ÷ trials (the rule of three: so many may go unseen),
where a trial is one machine for one horizon. A target therefore needs 3 ÷ target trials before any policy but the
limits can be advised: 300 machine-days for 1 % and a horizon of a day. Days of one trace are alike, so a rate on few
days says little about another month.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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

ANSWER = Answer(
    grain="resource, tasks and day",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "tasks",
            "string",
            "id",
            "Tasks that are predicted and judged: all, high (high priority), or a tier.",
        ),
        Column("day", "int64", "d", "Day of the trace, from 0, on which the advice is judged."),
    ],
    columns=[
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
            "Its violation rate on the days before.",
            nullable=True,
        ),
        Column(
            "learned_high",
            "float64",
            "fraction",
            "Upper end of that rate's interval, at least 3 ÷ trials.",
            nullable=True,
        ),
        Column("instants", "int64", "count", "Instants of the day that are judged."),
        Column("rate", "float64", "fraction", "Violation rate on the day.", nullable=True),
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
            "Limits of the day that are not promised; NULL without limits.",
            nullable=True,
        ),
        Column(
            "is_kept",
            "bool",
            "1",
            "Whether the day kept the target, by that interval; NULL where it cannot tell.",
            nullable=True,
        ),
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
"""Of one policy, day and machine: judged instants, violations, Σ limits and Σ predictions."""


def compute(
    part: ReplayPart,
    policies: Sequence[PeakPolicy],
    options: ReplayOptions,
) -> list[Row]:
    """Return a row for each day that has days before it.

    Parameters
    ----------
    part
        What is replayed.
    policies
        The policies to choose among.
    options
        Horizon and target.
    """
    # The limits come first: they are what is left where no policy keeps the target.
    candidates: list[PeakPolicy] = [Limit()]
    candidates += [policy for policy in policies if policy != Limit()]
    horizon = options.horizon_slots
    sums = part.replay(candidates, horizon, sum_by_day)
    rows = []
    for advice in walk_forward(
        sums,
        candidates,
        horizon,
        options.target,
    ):
        rows.append(
            {
                "resource": part.resource,
                "tasks": part.tasks,
                **advice,
            }
        )
    return rows


def sum_by_day(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
) -> npt.NDArray[np.void]:
    """Return the sums of each policy and day: `SUMS` of shape (policies, days).

    Parameters
    ----------
    block, horizon, predictions
        As for :func:`borgtrace.overcommit.metrics.scores`.
    """
    actual = oracle(block, horizon)
    n = len(actual)
    n_days = math.ceil(block.n_slots / SLOTS_PER_DAY)
    day = block.all.slots[:n] // SLOTS_PER_DAY
    limits = block.limits[:n]
    out = np.empty((len(predictions), n_days), SUMS)
    for sums, prediction in zip(out, predictions, strict=True):
        promised = prediction.peak[:n]
        sums["instants"] = np.bincount(day, np.ones(n), minlength=n_days)
        sums["violations"] = np.bincount(day, is_short(actual, promised), minlength=n_days)
        sums["limit"] = np.bincount(day, limits, minlength=n_days)
        sums["peak"] = np.bincount(day, promised, minlength=n_days)
    return out


def walk_forward(
    sums: npt.NDArray[np.void],
    policies: Sequence[PeakPolicy],
    horizon: int,
    target: float,
) -> list[Row]:
    """Return a row for each day that has days before it: the policy that is advised, and how it did.

    Parameters
    ----------
    sums
        What :func:`sum_by_day` returns, of each machine: `SUMS` of shape (machines, policies, days).
    policies
        Their policies.
    horizon
        In slots: so long before a day the instants end that the advice may know.
    target
        Violation rate that is asked for.
    """
    lag = math.ceil(horizon / SLOTS_PER_DAY)
    n_days = sums.shape[2]
    rows = []
    for day in range(1 + lag, n_days):
        known = add_days(sums[:, :, : day - lag])
        judged = sums[:, :, day]
        has_known = known["instants"][:, 0].sum() > 0
        has_judged = judged["instants"][:, 0].sum() > 0
        if not (has_known and has_judged):
            continue
        row: Row = dict.fromkeys(ADVISED) | {
            "day": day,
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


def add_days(sums: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return the sums over the days: `SUMS` of shape (machines, policies)."""
    # All columns at once, so that days are added one after the other.
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
        Sums of the days before: `SUMS` of shape (machines, policies).
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
    """Draw the violation rate of the advised policy, day by day."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["policy"] is not None]
    base = charts.base(rows, height=200).encode(
        x=alt.X("day:Q", title="day of the trace (days)"),
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
        .properties(title="Violation rate of the advised policy, day by day")
    )


ADVICE = ReplayQuestion(
    name="overcommit_advice",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reference="Bashir et al., EuroSys'21 (Take it to the limit)",
    too_short=(
        "no day has a day before it whose horizon has ended: "
        "a longer trace is needed, or a shorter --horizon"
    ),
)
"""The advice: ``ADVICE.run(store, target=0.01, policies=SWEEP)``."""
