"""Which policy keeps a violation rate on the days to come, when it is chosen on the days before?

Walk-forward: for each day the policy is advised that saved most on the days before among those whose violation rate
there, at the upper end of its interval, is within the target; the limits themselves always are. Only instants count
whose horizon had ended when the day began. The advice is then judged on that day, which it has not seen. Intervals
(95 %) take machines as what varies, and none ends below 3 ÷ trials (the rule of three: so many may go unseen),
where a trial is one machine for one horizon. A target therefore needs 3 ÷ target trials before any policy but the
limits can be advised: 300 machine-days for 1 % and a horizon of a day. Days of one trace are alike, so a rate on few
days says little about another month.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.block import Block
from borgtrace.overcommit.metrics import is_short
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import Limit, Policy, Prediction
from borgtrace.overcommit.replay import Part
from borgtrace.overcommit.study import ReplayQuestion, Setting
from borgtrace.overcommit.table import SLOTS_PER_DAY, ratio
from borgtrace.question import Answer, Column, Row, charts
from borgtrace.schema.time import WINDOW

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
        Column("policy", "string", "id", "Policy that is advised."),
        Column("learned", "float64", "fraction", "Its violation rate on the days before."),
        Column(
            "learned_high",
            "float64",
            "fraction",
            "Upper end of that rate's interval, at least 3 ÷ trials.",
        ),
        Column("instants", "int64", "count", "Instants of the day that are judged."),
        Column("rate", "float64", "fraction", "Violation rate on the day."),
        Column(
            "rate_low",
            "float64",
            "fraction",
            "Lower end of its interval; NULL with fewer than two machines.",
            nullable=True,
        ),
        Column(
            "rate_high", "float64", "fraction", "Upper end of its interval, at least 3 ÷ trials."
        ),
        Column(
            "savings",
            "float64",
            "fraction",
            "Limits of the day that are not promised; NULL without limits.",
            nullable=True,
        ),
        Column("is_kept", "bool", "1", "Whether the day's rate is within the target."),
    ],
)


N_SUMS = 4
_INSTANTS, _VIOLATIONS, _LIMIT, _PEAK = range(N_SUMS)


def daily(block: Block, horizon: int, predictions: Sequence[Prediction]) -> Numbers:
    """Return per policy and day: instants, violations, Σ limits and Σ predictions; float64 (policies, days, 4).

    Parameters
    ----------
    block, horizon, predictions
        As for :func:`borgtrace.overcommit.metrics.scores`.
    """
    peaks = oracle(block.all, horizon, block.n_slots)
    day = block.all.slots[: len(peaks)] // SLOTS_PER_DAY
    days = -(-block.n_slots // SLOTS_PER_DAY)
    limits = block.limits[: len(peaks)]
    out = np.empty((len(predictions), days, N_SUMS))
    for sums, each in zip(out, predictions, strict=True):
        promised = each.peak[: len(peaks)]
        for k, values in enumerate(
            (np.ones(len(peaks)), is_short(peaks, promised), limits, promised)
        ):
            sums[:, k] = np.bincount(day, values, minlength=days)
    return out


def walk(found: Numbers, policies: Sequence[Policy], horizon: int, target: float) -> list[Row]:
    """Return a row for each day that has days before it: what is advised, and how it did.

    Parameters
    ----------
    found
        What :func:`daily` returns, of each machine: float64 (machines, policies, days, 4).
    policies
        Their policies.
    horizon
        In slots: so long before a day the instants end that the advice may know.
    target
        Violation rate that is asked for.
    """
    lag = -(-horizon // SLOTS_PER_DAY)
    rows = []
    for day in range(1 + lag, found.shape[2]):
        known, judged = found[:, :, : day - lag].sum(axis=2), found[:, :, day]
        if not known[:, 0, _INSTANTS].sum() or not judged[:, 0, _INSTANTS].sum():
            continue
        k, learned, high = _advised(known, target, horizon)
        rate, low, upper = _rate(judged[:, k], horizon)
        limit, peak = judged[:, k, _LIMIT].sum(), judged[:, k, _PEAK].sum()
        rows.append(
            {
                "day": day,
                "policy": policies[k].label,
                "learned": learned,
                "learned_high": high,
                "instants": int(judged[:, k, _INSTANTS].sum()),
                "rate": rate,
                "rate_low": low,
                "rate_high": upper,
                "savings": float(1 - peak / limit) if limit > 0 else None,
                "is_kept": rate <= target,
            }
        )
    return rows


def _advised(known: Numbers, target: float, horizon: int) -> tuple[int, float, float]:
    """Return the policy that saves most within the target, its rate, and the upper end of that."""
    rates = [_rate(known[:, k], horizon) for k in range(known.shape[1])]
    promised = known[:, :, _PEAK].sum(axis=0)
    # The first policy is the limits, which nobody exceeds: they need no trials.
    allowed = [k for k, (_, _, high) in enumerate(rates) if k == 0 or high <= target]
    best = min(allowed, key=lambda k: promised[k])
    return best, rates[best][0], rates[best][2]


def _rate(sums: Numbers, horizon: int) -> tuple[float, float | None, float]:
    """Return the violation rate of machines and its interval, which never ends below the rule of three."""
    there = sums[sums[:, _INSTANTS] > 0]
    rate, low, high = ratio(there[:, _VIOLATIONS], there[:, _INSTANTS])
    # Instants of one horizon share most of their peak: together they are one trial.
    unseen = 3.0 * max(horizon, 1) / there[:, _INSTANTS].sum()
    return rate, None if low is None else max(low, 0.0), min(max(high or 0.0, unseen, rate), 1.0)


def compute(part: Part, policies: Sequence[Policy], options: Setting) -> list[Row]:
    """Return a row for each day that has days before it.

    Parameters
    ----------
    part
        What is replayed.
    policies
        Among which is chosen.
    options
        Horizon and target.
    """
    # The limits keep every target: so there always is an advice.
    candidates = [Limit(), *(policy for policy in policies if policy != Limit())]
    horizon = options.horizon // WINDOW
    sums = part.replay(candidates, horizon, daily)
    known = {"resource": part.resource, "tasks": part.tasks}
    return [{**known, **row} for row in walk(sums, candidates, horizon, options.target)]


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: violation rate of the advised policy, day by day."""
    import altair as alt

    rows = answer.to_pylist()
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
