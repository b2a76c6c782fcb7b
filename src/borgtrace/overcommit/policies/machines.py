"""Policies that look at the sum of the tasks on a machine: N-sigma and the per-machine percentile."""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block, Columns
from borgtrace.overcommit.policies.policy import Policy, Prediction, is_warm
from borgtrace.overcommit.policies.tasks import percentile_of

_SIGMA, _PERCENTILE = 0, 1


class _MachinePolicy(Policy):
    """Base of both: min(1, a statistic of x_k) · Σ L of the warm tasks, and Σ L of the cold ones.

    x_k = Σ U(t−k) ÷ Σ L(t−k) over the warm tasks of now, for the slots t−k of the history in which any of them has a
    sample; 0 where their limits are 0.
    """

    history: int
    warmup: int

    def _predict(self, block: Block, kind: int, parameter: float) -> Prediction:
        known = block.known
        warm = is_warm(known, self.history, self.warmup)
        peaks = machine_peaks(known.columns, known.low(self.history), warm, self.history, kind, parameter)
        return Prediction(block.spread(peaks) + block.unmeasured, int((~warm).sum()))


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
    about = "mean + n standard deviations of the machine's usage ÷ limit, at most 1, times the limits"

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        return self._predict(block, _SIGMA, self.n)


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
        return self._predict(block, _PERCENTILE, self.q / 100)


@compiled()
def machine_peaks(known: Columns, low: Index, warm: Flags, history: int, kind: int, parameter: float) -> Numbers:
    """Return the predicted peak of each slot: (m,).

    Parameters
    ----------
    known
        The samples.
    low, warm
        First sample of each history, and whether the history is long enough.
    history
        Slots that are looked back on.
    kind, parameter
        N-sigma with n, or percentile with its share.
    """
    slot, usage, limit = known.slot, known.usage, known.limit
    order, offsets, ends = known.order, known.offsets, known.run_ends
    peaks = np.empty(offsets.size - 1)
    used, limits, seen = np.empty(history), np.empty(history), np.empty(history)
    for j in range(peaks.size):
        used[:], limits[:], seen[:] = 0.0, 0.0, 0.0
        now, cold = 0.0, 0.0
        for i in order[offsets[j] : offsets[j + 1]]:
            if not warm[i]:
                cold += limit[i]
                continue
            now += limit[i]
            first = low[i]
            while first <= i:
                last = min(ends[first], i)
                at = history - 1 - (slot[i] - slot[first])
                add_run(usage[first : last + 1], used[at:])
                add_run(limit[first : last + 1], limits[at:])
                seen[at : at + last + 1 - first] = 1.0
                first = last + 1
        n = 0
        for k in range(history):
            if seen[k] > 0:
                used[n] = used[k] / limits[k] if limits[k] > 0 else 0.0
                n += 1
        peaks[j] = cold + (min(1.0, _statistic(used[:n], kind, parameter)) * now if n else 0.0)
    return peaks


@compiled(makes_arrays=False)
def add_run(values: Numbers, sums: Numbers) -> None:
    """Add values to the first of some sums.

    A function of its own, and over slices: only then does the compiler make vectors of it.
    """
    for k in range(values.size):
        sums[k] += values[k]


@compiled(inline=True)
def _statistic(x: Numbers, kind: int, parameter: float) -> float:
    if kind == _PERCENTILE:
        return percentile_of(np.sort(x), x.size, parameter)
    mean = x.sum() / x.size
    squares = 0.0
    for value in x:
        squares += (value - mean) ** 2
    return mean + parameter * np.sqrt(squares / max(x.size - 1, 1))
