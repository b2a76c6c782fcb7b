"""Policies that look at the sum of the tasks on a machine: N-sigma and the per-machine percentile."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers, ShortIndex
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.prefetch import prefetch
from borgtrace.overcommit.block import MachineBlock, SampleColumns, Samples
from borgtrace.overcommit.policies.policy import (
    HISTORY,
    WARMUP,
    HistoryPolicy,
    Prediction,
)
from borgtrace.overcommit.rolling import percentile_of
from borgtrace.overcommit.rule import Amount, Percentile, Slots


class Statistic(NamedTuple):
    """A percentile with its share, or mean and standard deviation."""

    is_percentile: bool
    share: float


MOMENTS = Statistic(is_percentile=False, share=0.0)


class MachineStatistics(NamedTuple):
    """What the past of a machine says in each slot that has samples: float64 (m,) each.

    Attributes
    ----------
    center
        A percentile of usage ÷ limit, or their mean; 0 where no task is warm.
    deviation
        Their standard deviation beside a mean; 0 beside a percentile.
    warm_limits, cold_limits
        Sums of the limits of the tasks of which enough is known, and of the others.
    n_cold
        Samples of whose task too little is known.
    """

    center: Numbers
    deviation: Numbers
    warm_limits: Numbers
    cold_limits: Numbers
    n_cold: int


class MachinePolicy(HistoryPolicy):
    """Base of both: min(1, a statistic of x_k) · Σ L of the warm tasks, and Σ L of the cold ones.

    x_k = Σ U(t−k) ÷ Σ L(t−k) over the warm tasks of now, for the slots t−k of the history in which any of them has a
    sample; 0 where their limits are 0.
    """

    literal = MappingProxyType({"warmup": HISTORY})

    def statistics(self, block: MachineBlock, statistic: Statistic) -> MachineStatistics:
        """Return what the past of a machine says, computed once for all policies of the same history and warm-up.

        Parameters
        ----------
        block
            A machine.
        statistic
            What is taken of the ratios.
        """
        key = (statistic, self.history, self.warmup)
        if key not in block.statistics:
            block.statistics[key] = self._statistics_of(block.known, statistic)
        return block.statistics[key]

    def _statistics_of(self, samples: Samples, statistic: Statistic) -> MachineStatistics:
        known = samples.columns
        low = samples.low(self.history)
        state = np.empty(len(low), np.int32)
        write_states(known.slot, known.run_ends, low, self.warmup, state)
        n_slots = len(known.slots)
        found = MachineStatistics(
            center=np.zeros(n_slots),
            deviation=np.zeros(n_slots),
            warm_limits=np.zeros(n_slots),
            cold_limits=np.zeros(n_slots),
            n_cold=int(np.count_nonzero(state == COLD)),
        )
        write_statistics(
            known,
            state,
            self.history,
            statistic,
            make_warm_sums(known.slots.max(initial=-1) + 1),
            found,
        )
        return found

    def peaks_of(self, block: MachineBlock, found: MachineStatistics, ratio: Numbers) -> Prediction:
        """Return the prediction of each slot where warm tasks use so much of their limits, at most all.

        Parameters
        ----------
        block
            A machine.
        found
            What its past says.
        ratio
            Of each slot that has samples: usage ÷ limit that the warm tasks are predicted to reach together.
        """
        peaks = found.cold_limits + np.minimum(1.0, ratio) * found.warm_limits
        return Prediction(block.spread(peaks) + block.unmeasured, found.n_cold)


@dataclass(frozen=True)
class NSigma(MachinePolicy):
    """Mean + n standard deviations (ddof 1) of a machine's usage ÷ limit; the deviation of one value is 0.

    Attributes
    ----------
    n
        Standard deviations.
    history, warmup
        Slots of the past that count, and samples in them that a task needs.
    """

    n: Amount = 5.0
    history: Slots = HISTORY
    warmup: Slots = WARMUP

    name = "nsigma"
    about = (
        "mean + n standard deviations of the machine's usage ÷ limit, at most 1, times the limits"
    )

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the prediction of each slot."""
        found = self.statistics(block, MOMENTS)
        return self.peaks_of(block, found, found.center + self.n * found.deviation)


@dataclass(frozen=True)
class MachinePercentile(MachinePolicy):
    """A percentile of a machine's usage ÷ limit.

    Attributes
    ----------
    q
        Percentile, linear between values.
    history, warmup
        Slots of the past that count, and samples in them that a task needs.
    """

    q: Percentile = 99.0
    history: Slots = HISTORY
    warmup: Slots = WARMUP

    name = "machine-percentile"
    about = "a percentile of the machine's usage ÷ limit, at most 1, times the limits"

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the prediction of each slot."""
        found = self.statistics(block, Statistic(is_percentile=True, share=self.q / 100))
        return self.peaks_of(block, found, found.center)


COLD = 0
"""The state of a sample of whose task too little is known; else it is the sum of these:"""
WAS_WARM = 1
"""That its task was warm in the slot before, too."""
IS_ONE_RUN = 2
"""That its history has no gap."""
N_PAST = 4
"""What the number of earlier samples of its history is multiplied by."""
AHEAD = 16
"""Samples of a task that are loaded before they are needed: of so many tasks the processor foresees none."""
NOTHING = -0.0
"""Where a sum of limits begins: adding any limit, even 0, makes the sign positive, and changes no sum."""


class WarmSums(NamedTuple):
    """Usage and limits of the warm tasks of now by slot of the trace, and room for their ratios.

    They hold from slot to slot until one of these tasks is gone: then all is added up anew, for a difference of sums
    would not be exact.

    Attributes
    ----------
    usage, limit
        The sums; `NOTHING` is the limit of a slot in which none of these tasks has a sample.
    limit_bits
        The limits again, as integers: below 0 where there is no sample.
    ratio
        Room for usage ÷ limit.
    """

    usage: Numbers
    limit: Numbers
    limit_bits: Index
    ratio: Numbers


def make_warm_sums(n_slots: int) -> WarmSums:
    """Return sums of nothing over the slots of a trace."""
    limit = np.full(n_slots, NOTHING)
    return WarmSums(
        usage=np.zeros(n_slots),
        limit=limit,
        limit_bits=limit.view(np.int64),
        ratio=np.zeros(n_slots),
    )


@compiled(makes_arrays=False)
def write_states(
    slot: Index,
    run_ends: Index,
    low: Index,
    warmup: int,
    state: ShortIndex,
) -> None:
    """Write the state of each sample: `COLD`, or the sum of what else is known of its history.

    Parameters
    ----------
    slot, run_ends
        Of the samples, and the last one of each one's task before a gap.
    low
        First sample of each history.
    warmup
        Samples that a history needs.
    state
        Written to: (n,).
    """
    for i in range(low.size):
        n_past = i - low[i]
        state[i] = COLD
        if n_past + 1 >= warmup:
            is_one_run = slot[i] - slot[low[i]] == n_past
            was_warm = i > 0 and state[i - 1] != COLD and run_ends[i - 1] >= i
            state[i] = N_PAST * n_past + IS_ONE_RUN * is_one_run + WAS_WARM * was_warm


@compiled(makes_arrays=False)
def write_statistics(
    known: SampleColumns,
    state: ShortIndex,
    history: int,
    statistic: Statistic,
    sums: WarmSums,
    found: MachineStatistics,
) -> None:
    """Write what the past says in each slot that has samples.

    Parameters
    ----------
    known
        The samples.
    state
        From :func:`write_states`.
    history
        Slots of the past that count.
    statistic
        What is taken of the ratios.
    sums
        From :func:`make_warm_sums`, changed in place.
    found
        Its arrays are written to.
    """
    n_warm = 0
    for j in range(known.slots.size):
        present = known.order[known.offsets[j] : known.offsets[j + 1]]
        end = known.slots[j] + 1
        begin = max(end - history, 0)
        n_still_warm = 0
        for i in present:
            n_still_warm += state[i] & WAS_WARM
            prefetch(known.usage, i + AHEAD)
            prefetch(known.limit, i + AHEAD)
            prefetch(state, i + AHEAD)
        is_anew = n_still_warm < n_warm
        if is_anew:
            sums.usage[begin:end] = 0.0
            sums.limit[begin:end] = NOTHING
        warm_limits = 0.0
        cold_limits = 0.0
        n_warm = 0
        # Of this slot, which every warm task adds to: in registers.
        usage_now = sums.usage[end - 1]
        limit_now = sums.limit[end - 1]
        for i in present:
            if state[i] == COLD:
                cold_limits += known.limit[i]
                continue
            n_warm += 1
            warm_limits += known.limit[i]
            usage_now += known.usage[i]
            limit_now += known.limit[i]
            if is_anew or not state[i] & WAS_WARM:
                _add_past(known, state[i], i, end - 1, sums)
        sums.usage[end - 1] = usage_now
        sums.limit[end - 1] = limit_now
        found.cold_limits[j] = cold_limits
        found.warm_limits[j] = warm_limits
        if n_warm:
            n = _write_ratios(sums, begin, end)
            center, deviation = _evaluate(statistic, sums.ratio[:n])
            found.center[j] = center
            found.deviation[j] = deviation


@compiled(makes_arrays=False)
def _add_past(
    known: SampleColumns,
    state: int,
    now: int,
    slot_now: int,
    sums: WarmSums,
) -> None:
    """Add the samples of a history before that of now, run by run."""
    n_past = state // N_PAST
    k = now - n_past
    if state & IS_ONE_RUN:
        # Most are: neither their slots nor the ends of runs need be loaded.
        _add(known.usage[k:now], sums.usage[slot_now - n_past :])
        _add(known.limit[k:now], sums.limit[slot_now - n_past :])
        return
    while k < now:
        end = min(known.run_ends[k], now - 1) + 1
        slot = known.slot[k]
        _add(known.usage[k:end], sums.usage[slot:])
        _add(known.limit[k:end], sums.limit[slot:])
        k = end


@compiled(makes_arrays=False)
def _add(values: Numbers, sums: Numbers) -> None:
    """Add values to the first of some sums; over slices, which the compiler vectorizes."""
    for k in range(values.size):
        sums[k] += values[k]


@compiled(makes_arrays=False)
def _write_ratios(
    sums: WarmSums,
    begin: int,
    end: int,
) -> int:
    """Write usage ÷ limit of the slots in which any of the warm tasks has a sample; return how many there are."""
    ratio = sums.ratio[: end - begin]
    n = _divide(
        sums.usage[begin:end],
        sums.limit[begin:end],
        sums.limit_bits[begin:end],
        ratio,
    )
    if n == ratio.size:
        return n
    n = 0
    for slot in range(begin, end):
        if sums.limit_bits[slot] >= 0:
            ratio[n] = ratio[slot - begin]
            n += 1
    return n


@compiled(makes_arrays=False)
def _divide(usage: Numbers, limit: Numbers, limit_bits: Index, ratio: Numbers) -> int:
    """Write usage ÷ limit, 0 where the limit is 0; return in how many slots there is a sample."""
    n = 0
    for k in range(ratio.size):
        ratio[k] = usage[k] / limit[k] if limit[k] > 0 else 0.0
    for k in range(ratio.size):
        n += limit_bits[k] >= 0
    return n


@compiled()
def _evaluate(statistic: Statistic, ratios: Numbers) -> tuple[float, float]:
    """Return a percentile and 0, or mean and standard deviation."""
    if statistic.is_percentile:
        return percentile_of(ratios, statistic.share), 0.0
    mean = ratios.sum() / ratios.size
    squares = 0.0
    for ratio in ratios:
        squares += (ratio - mean) ** 2
    return mean, np.sqrt(squares / max(ratios.size - 1, 1))
