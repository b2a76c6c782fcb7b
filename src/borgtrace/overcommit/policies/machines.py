"""Policies that look at the sum of the tasks on a machine: N-sigma and the per-machine percentile."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.runs import add_run
from borgtrace.overcommit.block import MachineBlock, SampleColumns
from borgtrace.overcommit.policies.policy import (
    HISTORY,
    WARMUP,
    HistoryPolicy,
    Prediction,
)
from borgtrace.overcommit.rolling import percentile_of
from borgtrace.overcommit.rule import Amount, Percentile, Slots


class Statistic(NamedTuple):
    """A percentile with its share, or mean + n standard deviations with n."""

    is_percentile: bool
    level: float


class MachinePolicy(HistoryPolicy):
    """Base of both: min(1, a statistic of x_k) · Σ L of the warm tasks, and Σ L of the cold ones.

    x_k = Σ U(t−k) ÷ Σ L(t−k) over the warm tasks of now, for the slots t−k of the history in which any of them has a
    sample; 0 where their limits are 0.
    """

    literal = MappingProxyType({"warmup": HISTORY})

    def predict_by_statistic(self, block: MachineBlock, statistic: Statistic) -> Prediction:
        """Return the prediction of each slot by a statistic of the ratios.

        Parameters
        ----------
        block
            A machine.
        statistic
            What is taken of the ratios.
        """
        known = block.known.columns
        low = block.known.low(self.history)
        warm = self.is_warm(block.known)
        was_present = known.run_ends[:-1] > np.arange(len(warm) - 1)
        was_warm = np.zeros(len(warm), np.bool_)
        was_warm[1:] = warm[1:] & warm[:-1] & was_present
        sums = make_warm_sums(known.slots.max(initial=-1) + 1)
        peaks = np.zeros(len(known.slots))
        machine_peaks(
            known,
            low,
            warm,
            was_warm,
            self.history,
            statistic,
            sums,
            peaks,
        )
        return Prediction(block.spread(peaks) + block.unmeasured, int((~warm).sum()))


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
        return self.predict_by_statistic(block, Statistic(False, self.n))


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
        return self.predict_by_statistic(block, Statistic(True, self.q / 100))


class WarmSums(NamedTuple):
    """Usage and limits of the warm tasks of now by slot of the trace, where there are any, and room for their ratios.

    They hold from slot to slot until one of these tasks is gone: then all is added up anew, for a difference of sums
    would not be exact.
    """

    usage: Numbers
    limit: Numbers
    has_any: Numbers
    ratio: Numbers


def make_warm_sums(n_slots: int) -> WarmSums:
    """Return sums of nothing over the slots of a trace."""
    return WarmSums(
        usage=np.zeros(n_slots),
        limit=np.zeros(n_slots),
        has_any=np.zeros(n_slots),
        ratio=np.zeros(n_slots),
    )


@compiled(makes_arrays=False)
def machine_peaks(
    known: SampleColumns,
    low: Index,
    warm: Flags,
    was_warm: Flags,
    history: int,
    statistic: Statistic,
    sums: WarmSums,
    peaks: Numbers,
) -> None:
    """Write the predicted peak of each slot that has samples.

    Parameters
    ----------
    known
        The samples.
    low, warm, was_warm
        First sample of each history, whether the history is long enough, and whether that was so in the slot before.
    history
        Slots of the past that count.
    statistic
        What is taken of the ratios.
    sums
        Zeros, changed in place.
    peaks
        Written to: (m,).
    """
    n_warm = 0
    for j in range(known.slots.size):
        present = known.order[known.offsets[j] : known.offsets[j + 1]]
        end = known.slots[j] + 1
        begin = max(end - history, 0)
        n_still_warm = 0
        for i in present:
            n_still_warm += was_warm[i]
        is_anew = n_still_warm < n_warm
        if is_anew:
            _clear(sums, begin, end)
        warm_limits = 0.0
        cold_limits = 0.0
        n_warm = 0
        for i in present:
            if not warm[i]:
                cold_limits += known.limit[i]
                continue
            warm_limits += known.limit[i]
            n_warm += 1
            if was_warm[i] and not is_anew:
                sums.usage[end - 1] += known.usage[i]
                sums.limit[end - 1] += known.limit[i]
                sums.has_any[end - 1] = 1.0
            else:
                _add_history(known, low[i], i, sums)
        n = _write_ratios(sums, begin, end) if n_warm else 0
        peaks[j] = cold_limits
        if n:
            peaks[j] += min(1.0, _evaluate(statistic, sums.ratio[:n])) * warm_limits


@compiled(makes_arrays=False)
def _clear(
    sums: WarmSums,
    begin: int,
    end: int,
) -> None:
    """Set the sums of some slots to zero."""
    sums.usage[begin:end] = 0.0
    sums.limit[begin:end] = 0.0
    sums.has_any[begin:end] = 0.0


@compiled(makes_arrays=False)
def _add_history(
    known: SampleColumns,
    first: int,
    last: int,
    sums: WarmSums,
) -> None:
    """Add the samples of a task, run by run."""
    k = first
    while k <= last:
        end = min(known.run_ends[k], last) + 1
        slot = known.slot[k]
        add_run(
            known.usage[k:end],
            np.inf,
            1.0,
            sums.usage[slot:],
        )
        add_run(
            known.limit[k:end],
            np.inf,
            1.0,
            sums.limit[slot:],
        )
        sums.has_any[slot : slot + end - k] = 1.0
        k = end


@compiled(makes_arrays=False)
def _write_ratios(
    sums: WarmSums,
    begin: int,
    end: int,
) -> int:
    """Write usage ÷ limit of the slots in which any of the warm tasks has a sample; return how many there are."""
    n = 0
    for slot in range(begin, end):
        if sums.has_any[slot] > 0:
            limit = sums.limit[slot]
            sums.ratio[n] = sums.usage[slot] / limit if limit > 0 else 0.0
            n += 1
    return n


@compiled()
def _evaluate(statistic: Statistic, ratios: Numbers) -> float:
    if statistic.is_percentile:
        return percentile_of(ratios, statistic.level)
    mean = ratios.sum() / ratios.size
    squares = 0.0
    for ratio in ratios:
        squares += (ratio - mean) ** 2
    return mean + statistic.level * np.sqrt(squares / max(ratios.size - 1, 1))
