"""A policy chosen on earlier periods and judged on later ones, which it has not seen.

Periods follow each other from the beginning of the trace; all have the same length, such as a day.  Intervals (95 %)
take machines as what varies, and none ends below 3 ÷ trials (the rule of three: so many may go unseen), where a trial
is one machine for one horizon.  But a period differs from the one before in what all machines have in common: a policy
must also keep the target at the upper end of what the next period is expected to bring (`next_period`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.measured import judged_instants
from borgtrace.overcommit.metrics import is_short
from borgtrace.overcommit.next_period import upper_end_by_chance, upper_end_of_next
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import Limit, PeakPolicy, Prediction
from borgtrace.overcommit.rates import RatioEstimate, ratio
from borgtrace.question.promises import keeps

SUMS = np.dtype(
    [
        ("instants", "f8"),
        ("violations", "f8"),
        ("limit", "f8"),
        ("peak", "f8"),
        ("unseen", "f8"),
    ]
)
"""Of one policy, period and machine: judged instants, violations, Σ limits and Σ predictions; and the instants that are
not judged, since too little was measured in or after them."""
UNKNOWN = RatioEstimate(None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What the periods before a period advise for it, and how that did.

    Attributes
    ----------
    period
        Its number, from 0.
    instants
        Instants of machines that are judged in it.
    policy
        Place of the policy that is advised; None where nothing tested keeps the target.
    learned
        Its violation rate in the periods before.
    judged
        Its sums in the period, of each machine: `SUMS` of shape (machines,); of the limits where nothing is advised.
    """

    period: int
    instants: int
    policy: int | None
    learned: RatioEstimate
    judged: npt.NDArray[np.void]


def limits_first(policies: Sequence[PeakPolicy]) -> list[PeakPolicy]:
    """Return policies with the limits before them: they are what is left where no policy keeps a target."""
    others = [policy for policy in policies if policy != Limit()]
    return [Limit(), *others]


def sum_by_period(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
    *,
    slots_per_period: int,
) -> npt.NDArray[np.void]:
    """Return the sums of each policy and period: `SUMS` of shape (policies, periods).

    Parameters
    ----------
    block, horizon, predictions
        As for :func:`borgtrace.overcommit.metrics.scores`.
    slots_per_period
        Length of a period.
    """
    actual = oracle(block, horizon)
    n = len(actual)
    n_periods = math.ceil(block.n_slots / slots_per_period)
    period_of_all = block.all.slots[:n] // slots_per_period
    is_judged = judged_instants(block, horizon)
    period = period_of_all[is_judged]
    actual = actual[is_judged]
    limits = block.limits[:n][is_judged]
    out = np.empty((len(predictions), n_periods), SUMS)
    out["unseen"] = np.bincount(period_of_all, ~is_judged, minlength=n_periods)
    for sums, prediction in zip(out, predictions, strict=True):
        promised = prediction.peak[:n][is_judged]
        sums["instants"] = np.bincount(period, minlength=n_periods)
        sums["violations"] = np.bincount(period, is_short(actual, promised), minlength=n_periods)
        sums["limit"] = np.bincount(period, limits, minlength=n_periods)
        sums["peak"] = np.bincount(period, promised, minlength=n_periods)
    return out


def walk_forward(
    sums: npt.NDArray[np.void],
    horizon: int,
    target: float,
    *,
    slots_per_period: int,
    least_periods: int = 1,
    by_value: bool = False,
) -> Iterator[Choice]:
    """Yield a choice for each period that has enough periods before it, and instants to judge.

    Parameters
    ----------
    sums
        What :func:`sum_by_period` returns, of each machine: `SUMS` of shape (machines, policies, periods).  The first
        policy is the limits.
    horizon
        In slots: so long before a period the instants end that the choice may know.
    target
        Violation rate that is asked for.
    slots_per_period
        Length of a period.
    least_periods
        As for :func:`best_policy`.
    by_value
        Whether a period keeps the target by the value of its rate, so that its own chance counts: a policy must then
        keep the target at the upper end of that, too.  Else by its interval, which tells chance from more.
    """
    lag = math.ceil(horizon / slots_per_period)
    for period in range(least_periods + lag, sums.shape[2]):
        known = sums[:, :, : period - lag]
        judged = sums[:, :, period]
        n_known = known["instants"][:, 0].sum()
        n_judged = judged["instants"][:, 0].sum()
        if not (n_known > 0 and n_judged > 0):
            continue
        best = best_policy(known, target, horizon, least_periods, by_value=by_value)
        policy, learned = (None, UNKNOWN) if best is None else best
        yield Choice(
            period=period,
            instants=int(n_judged),
            policy=policy,
            learned=learned,
            judged=judged[:, policy or 0],
        )


def add_periods(sums: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return the sums over the periods: `SUMS` of shape (machines, policies)."""
    # All columns at once, so that periods are added one after the other.
    columns = sums.view(np.float64).reshape(*sums.shape, -1)
    return columns.sum(axis=2).view(SUMS)[:, :, 0]


def best_policy(
    periods: npt.NDArray[np.void],
    target: float,
    horizon: int,
    least_periods: int = 1,
    *,
    by_value: bool = False,
) -> tuple[int, RatioEstimate] | None:
    """Return the policy that saves most within the target, and its rate; None where nothing keeps the target.

    Parameters
    ----------
    periods
        Sums of the periods before: `SUMS` of shape (machines, policies, periods).  The first policy is the limits.
    target
        Violation rate that is asked for.
    horizon
        In slots.
    least_periods
        So many periods must have instants before anything but the limits is chosen.
    by_value
        As for :func:`walk_forward`.
    """
    known = add_periods(periods)
    rates = [
        expected_rate(periods[:, k], horizon, by_value=by_value) for k in range(periods.shape[1])
    ]
    promised = known["peak"].sum(axis=0)
    n_periods = int((periods["instants"][:, 0].sum(axis=0) > 0).sum())
    keeping = []
    if n_periods >= least_periods:
        keeping = [k for k, rate in enumerate(rates) if keeps(rate.high, target)]
    # Until the limits are exceeded they need no trials: with them nothing is overcommitted.
    if rates[0].value == 0 and 0 not in keeping:
        keeping.insert(0, 0)
    if not keeping:
        return None
    # Of equal ones the first.
    best = min(keeping, key=lambda k: promised[k])
    return best, rates[best]


def expected_rate(
    periods: npt.NDArray[np.void],
    horizon: int,
    *,
    by_value: bool = False,
) -> RatioEstimate:
    """Return the violation rate of a policy over some periods; its interval also ends above the next one to expect.

    Parameters
    ----------
    periods
        Of each machine and period: `SUMS` of shape (machines, periods).
    horizon
        In slots.
    by_value
        As for :func:`walk_forward`.
    """
    rate = violation_rate(add_periods(periods[:, None, :])[:, 0], horizon)
    violations = periods["violations"].sum(axis=0)
    instants = periods["instants"].sum(axis=0)
    has_instants = instants > 0
    upper_ends = [rate.high, upper_end_of_next(violations[has_instants] / instants[has_instants])]
    if by_value:
        n_trials = instants.sum() / max(horizon, 1)
        upper_ends.append(
            upper_end_by_chance(
                violations.sum() / max(horizon, 1),
                n_trials,
                n_trials / has_instants.sum(),
            )
        )
    return rate._replace(high=min(max(upper_ends), 1.0))


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


def savings(sums: npt.NDArray[np.void]) -> float | None:
    """Return the share of the limits that is not promised; None without limits."""
    limit = sums["limit"].sum()
    if not limit > 0:
        return None
    return float(1 - sums["peak"].sum() / limit)
