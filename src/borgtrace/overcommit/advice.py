"""Which policy keeps a violation rate on the days to come, when it is chosen on the days before?

Walk-forward: for each day the policy is advised that saved most on the days before among those whose violation rate
there, at the upper end of its interval, is within the target; the limits themselves always are. Only instants count
whose horizon had ended when the day began. The advice is then judged on that day, which it has not seen. Intervals
(95 %) take machines as what varies, and none ends below 3 ÷ trials (the rule of three: so many may go unseen),
where a trial is one machine for one horizon. A target therefore needs 3 ÷ target trials before any policy but the
limits can be advised: 300 machine-days for 1 % and a horizon of a day. Days of one trace are alike, so a rate on few
days says little about another month.

Reference: Bashir et al., EuroSys'21 (Take it to the limit)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.block import Block
from borgtrace.overcommit.metrics import is_short
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import Limit, Policy, Prediction
from borgtrace.overcommit.replay import Part
from borgtrace.overcommit.study import Replay, Setting
from borgtrace.overcommit.table import SLOTS_PER_DAY, ratio
from borgtrace.question import Row
from borgtrace.schema.time import WINDOW

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Replay):
    """The advice as a question: ``ADVICE.run(store, target=0.01, policies=SWEEP)``."""

    too_short: str = (
        "no day has a day before it whose horizon has ended: "
        "a longer trace is needed, or a shorter --horizon"
    )

    def rows(self, part: Part, policies: Sequence[Policy], setting: Setting) -> list[Row]:
        """Return a row for each day that has days before it; see the base."""
        # The limits keep every target: so there always is an advice.
        every = [Limit(), *(policy for policy in policies if policy != Limit())]
        horizon = setting.horizon // WINDOW
        found = part.replay(every, horizon, daily)
        known = {"resource": part.resource, "tasks": part.tasks}
        return [{**known, **row} for row in walk(found, every, horizon, setting.target)]


ADVICE = Advice.declared(walk, name="overcommit_advice")
