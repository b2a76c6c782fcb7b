"""A peak policy with a loop over samples, which Numba compiles: N-sigma of the machine's total."""

from dataclasses import dataclass

import numpy as np

from borgtrace import PeakPolicy, compiled


@compiled()
def add_samples(place, usage, limit, is_warm, totals, cold_limits):
    """Add what each warm task uses, and what each other one may use, to its slot."""
    for i in range(len(place)):
        if is_warm[i]:
            totals[place[i]] += usage[i]
        else:
            cold_limits[place[i]] += limit[i]


@compiled()
def write_peaks(totals, history, n, peaks):
    """Write mean and n deviations of the last totals up to each slot."""
    for j in range(len(totals)):
        past = totals[max(0, j + 1 - history) : j + 1]
        peaks[j] = past.mean() + n * past.std()


@dataclass(frozen=True)
class CompiledNSigma(PeakPolicy):
    """Mean and n deviations of the totals of the last slots, with the limits of tasks that are new."""

    n: float = 5.0
    history: int = 24
    warmup: int = 12

    name = "compiled-n-sigma"
    about = "mean and n deviations of the last totals, compiled"

    def predict(self, block):
        known = block.known
        n_seen = np.arange(len(known)) - known.low(self.history) + 1
        totals, cold_limits, peaks = np.zeros((3, len(block.slots)))
        place = np.searchsorted(block.slots, known.slot)
        add_samples(place, known.usage, known.limit, n_seen >= self.warmup, totals, cold_limits)
        write_peaks(totals, self.history, self.n, peaks)
        return np.minimum(peaks + cold_limits + block.unmeasured, block.limits)
