"""Policies that look at the sum of the tasks on a machine: N-sigma and the per-machine percentile."""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block, Columns, add_run
from borgtrace.overcommit.policies.policy import Policy, Prediction, is_warm
from borgtrace.overcommit.policies.tasks import percentile_of


class _MachinePolicy(Policy):
    """Base of both: min(1, a statistic of x_k) · Σ L of the warm tasks, and Σ L of the cold ones.

    x_k = Σ U(t−k) ÷ Σ L(t−k) over the warm tasks of now, for the slots t−k of the history in which any of them has a
    sample; 0 where their limits are 0.
    """

    history: int
    warmup: int

    def _predict(self, block: Block, is_percentile: bool, level: float) -> Prediction:
        known = block.known.columns
        low = block.known.low(self.history)
        warm = is_warm(block.known, self.history, self.warmup)
        kept = np.zeros(len(warm), np.bool_)
        kept[1:] = warm[1:] & warm[:-1] & (known.run_ends[:-1] > np.arange(len(warm) - 1))
        room = np.zeros((5, known.slots.max(initial=-1) + 1))
        machine_peaks(known, low, warm, kept, self.history, is_percentile, level, room)
        return Prediction(
            block.spread(room[-1, : len(known.slots)]) + block.unmeasured, int((~warm).sum())
        )


@dataclass(frozen=True)
class NSigma(_MachinePolicy):
    """Mean + n standard deviations (ddof 1) of a machine's usage ÷ limit; the deviation of one value is 0.

    Attributes
    ----------
    n
        Standard deviations.
    history, warmup
        Slots that are looked back on, and samples in them that a task needs.
    """

    n: float = 5.0
    history: int = 24
    warmup: int = 24

    name = "nsigma"
    about = (
        "mean + n standard deviations of the machine's usage ÷ limit, at most 1, times the limits"
    )

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        return self._predict(block, False, self.n)


@dataclass(frozen=True)
class MachinePercentile(_MachinePolicy):
    """A percentile of a machine's usage ÷ limit.

    Attributes
    ----------
    q
        Percentile, linear between values.
    history, warmup
        Slots that are looked back on, and samples in them that a task needs.
    """

    q: float = 99.0
    history: int = 24
    warmup: int = 24

    name = "machine-percentile"
    about = "a percentile of the machine's usage ÷ limit, at most 1, times the limits"

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        return self._predict(block, True, self.q / 100)


@compiled(makes_arrays=False)
def machine_peaks(
    known: Columns,
    low: Index,
    warm: Flags,
    kept: Flags,
    history: int,
    is_percentile: bool,
    level: float,
    room: Numbers,
) -> None:
    """Write the predicted peak of each slot that has samples.

    Parameters
    ----------
    known
        The samples.
    low, warm, kept
        First sample of each history, whether the history is long enough, and whether that was so in the slot before.
    history
        Slots that are looked back on.
    is_percentile, level
        Percentile with its share, or N-sigma with n.
    room
        Zeros, (5, slots of the trace): usage and limits of the warm tasks of now, where there are any, their ratios,
        and the peaks.  The first three hold from slot to slot until one of these tasks is gone: then all is added up
        anew, for a difference of sums would not be exact.
    """
    offsets = known.offsets
    ends = known.run_ends
    n_warm = 0
    used = room[0]
    limits = room[1]
    seen = room[2]
    x = room[3]
    peaks = room[4]
    for j in range(known.slots.size):
        present = known.order[offsets[j] : offsets[j + 1]]
        end = known.slots[j] + 1
        n_kept = 0
        begin = max(end - history, 0)
        for i in present:
            n_kept += kept[i]
        is_anew = n_kept < n_warm
        if is_anew:
            room[:3, begin:end] = 0.0
        now = 0.0
        cold = 0.0
        n_warm = 0
        for i in present:
            if not warm[i]:
                cold += known.limit[i]
                continue
            now += known.limit[i]
            n_warm += 1
            if kept[i] and not is_anew:
                used[end - 1] += known.usage[i]
                limits[end - 1] += known.limit[i]
                seen[end - 1] = 1.0
                continue
            k = low[i]
            while k <= i:
                last = min(ends[k], i)
                at = known.slot[k]
                add_run(known.usage[k : last + 1], np.inf, 1.0, used[at:])
                add_run(known.limit[k : last + 1], np.inf, 1.0, limits[at:])
                seen[at : at + last + 1 - k] = 1.0
                k = last + 1
        n = 0
        for k in range(begin, end if n_warm else begin):
            if seen[k] > 0:
                x[n] = used[k] / limits[k] if limits[k] > 0 else 0.0
                n += 1
        peaks[j] = cold + (min(1.0, _statistic(x[:n], is_percentile, level)) * now if n else 0.0)


@compiled()
def _statistic(x: Numbers, is_percentile: bool, level: float) -> float:
    if is_percentile:
        return percentile_of(x, level)
    mean = x.sum() / x.size
    squares = 0.0
    for value in x:
        squares += (value - mean) ** 2
    return mean + level * np.sqrt(squares / max(x.size - 1, 1))
