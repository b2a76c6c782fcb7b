"""Histograms of the vertical recommenders: fixed buckets, weights that decay, percentiles at upper edges.

After kubernetes/autoscaler, vertical-pod-autoscaler/pkg/recommender/util (histogram.go, decaying_histogram.go), whose
own cases the tests hold: no interpolation within a bucket, weights grow instead of decaying and are scaled back beyond
2^100, the reference of time is a multiple of the half-life.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled

EPSILON = 1e-4
"""A bucket that weighs less is empty: a thousandth of the least weight of a CPU sample."""
FOREVER = math.inf
"""The half-life of a histogram that does not decay."""
_LONGEST = 100.0
_TOTAL, _REFERENCE, _FIRST, _LAST = range(4)
"""The state of a histogram beside its weights: their sum, the reference of time, first and last bucket in use."""
_NEVER = -1e18


@dataclass(frozen=True, slots=True)
class Buckets:
    """Bounds of buckets: the first is `first` wide, each next `ratio` times wider.

    Attributes
    ----------
    first, ratio
        Width of the first bucket, and growth; 1 for equal widths.
    n
        Number of buckets; the last one has no upper bound.
    """

    first: float
    ratio: float
    n: int

    @classmethod
    def exponential(cls, highest: float, first: float, ratio: float = 1.05) -> Buckets:
        """Return as many buckets as reach `highest`, in the unit of the values."""
        return cls(first, ratio, math.ceil(math.log(highest * (ratio - 1) / first + 1) / math.log(ratio)) + 1)

    @classmethod
    def linear(cls, highest: float, width: float) -> Buckets:
        """Return equal buckets that reach `highest`."""
        return cls(width, 1.0, math.ceil(highest / width) + 1)


@compiled(inline=True)
def find(value: float, first: float, ratio: float, n: int) -> int:
    """Return the bucket of a value."""
    if ratio == 1.0:
        return min(max(int(value / first), 0), n - 1)
    if value < first:
        return 0
    return min(int(math.log(value * (ratio - 1) / first + 1) / math.log(ratio)), n - 1)


@compiled(inline=True)
def start(bucket: int, first: float, ratio: float) -> float:
    """Return the lower edge of a bucket."""
    if ratio == 1.0:
        return bucket * first
    return first * (ratio**bucket - 1) / (ratio - 1)


@compiled()
def clear(weights: Numbers, state: Numbers) -> None:
    """Empty a histogram."""
    weights[:] = 0.0
    state[_TOTAL], state[_REFERENCE], state[_FIRST], state[_LAST] = 0.0, _NEVER, weights.size - 1, 0


@compiled()
def shift(weights: Numbers, state: Numbers, time: float, half_life: float) -> None:
    """Move the reference of time to the multiple of the half-life that is nearest to `time`."""
    reference = math.floor(time / half_life + 0.5) * half_life
    factor = 2.0 ** math.floor((state[_REFERENCE] - reference) / half_life + 0.5)
    weights *= factor
    state[_TOTAL] *= factor
    state[_REFERENCE] = reference
    _narrow(weights, state)


@compiled()
def _narrow(weights: Numbers, state: Numbers) -> None:
    """Find the first and the last bucket in use after weights have fallen."""
    while weights[int(state[_FIRST])] < EPSILON and state[_FIRST] < weights.size - 1:
        state[_FIRST] += 1
    while weights[int(state[_LAST])] < EPSILON and state[_LAST] > 0:
        state[_LAST] -= 1


@compiled()
def subtract(weights: Numbers, state: Numbers, bucket: int, weight: float, time: float, half_life: float) -> None:
    """Take a sample back that was added with the same arguments; a rest that is nearly nothing goes with it."""
    weight *= 2.0 ** ((time - state[_REFERENCE]) / half_life)
    if weight > weights[bucket] - EPSILON:
        weight = weights[bucket]
    weights[bucket] -= weight
    state[_TOTAL] -= weight
    _narrow(weights, state)


@compiled()
def add(weights: Numbers, state: Numbers, bucket: int, weight: float, time: float, half_life: float) -> None:
    """Add a sample.

    Parameters
    ----------
    weights, state
        The histogram.
    bucket, weight, time
        Of the sample; time in the unit of the half-life.
    half_life
        Time after which a weight counts half; infinite where none decays.
    """
    if half_life < FOREVER:
        if time > state[_REFERENCE] + _LONGEST * half_life:
            shift(weights, state, time, half_life)
        weight *= 2.0 ** ((time - state[_REFERENCE]) / half_life)
    weights[bucket] += weight
    state[_TOTAL] += weight
    if weights[bucket] >= EPSILON:
        state[_FIRST], state[_LAST] = min(state[_FIRST], bucket), max(state[_LAST], bucket)


@compiled()
def percentile(weights: Numbers, state: Numbers, share: float, first: float, ratio: float) -> float:
    """Return the upper edge of the bucket that a percentile falls into; 0 for an empty histogram.

    Parameters
    ----------
    weights, state
        The histogram.
    share
        Percentile ÷ 100.
    first, ratio
        Of its buckets.
    """
    bucket, last = int(state[_FIRST]), int(state[_LAST])
    if weights[bucket] < EPSILON:
        return 0.0
    threshold, total = share * state[_TOTAL], 0.0
    while bucket < last:
        total += weights[bucket]
        if total >= threshold:
            break
        bucket += 1
    # The last bucket has no upper edge.
    return start(min(bucket + 1, weights.size - 1), first, ratio)


@compiled()
def rolling(
    owner: Index, time: Index, value: Numbers, weight: Numbers, half_life: float, shares: Numbers, buckets: Numbers
) -> Numbers:
    """Return the percentiles of each owner's histogram after each of its samples: float64 (n, shares).

    Parameters
    ----------
    owner
        Of each sample, ascending; a histogram begins with each new one.
    time
        Of each sample, in slots.
    value, weight
        Of each sample.
    half_life
        In slots.
    shares
        Percentiles ÷ 100.
    buckets
        Width of the first bucket, ratio, and number of buckets.
    """
    first, ratio, n = buckets[0], buckets[1], int(buckets[2])
    weights, state = np.zeros(n), np.zeros(4)
    out = np.empty((owner.size, shares.size))
    for i in range(owner.size):
        if i == 0 or owner[i] != owner[i - 1]:
            clear(weights, state)
        add(weights, state, find(value[i], first, ratio, n), weight[i], time[i], half_life)
        for k in range(shares.size):
            out[i, k] = percentile(weights, state, shares[k], first, ratio)
    return out


@dataclass
class Histogram:
    """One histogram, as the original has it; the recommenders use :func:`rolling`.

    Attributes
    ----------
    buckets
        Its buckets.
    half_life
        In any unit of time; infinite where nothing decays.
    """

    buckets: Buckets
    half_life: float = FOREVER
    weights: Numbers = field(init=False)
    state: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.weights, self.state = np.zeros(self.buckets.n), np.zeros(4)
        clear(self.weights, self.state)

    def add(self, value: float, weight: float = 1.0, time: float = 0.0) -> None:
        """Add a sample.

        Parameters
        ----------
        value, weight, time
            Of the sample.
        """
        bucket = find(value, self.buckets.first, self.buckets.ratio, self.buckets.n)
        add(self.weights, self.state, bucket, weight, time, self.half_life)

    def percentile(self, share: float) -> float:
        """Return the upper edge of the bucket that a percentile ÷ 100 falls into; 0 where there is no sample."""
        return float(percentile(self.weights, self.state, share, self.buckets.first, self.buckets.ratio))

    def merge(self, other: Histogram) -> None:
        """Add all samples of another histogram of the same buckets and half-life.

        The older reference of time is moved to the younger one, which scales weights by a whole power of two.
        """
        if self.half_life < FOREVER:
            younger = max(self.state[_REFERENCE], other.state[_REFERENCE])
            for each in (self, other):
                if each.state[_REFERENCE] < younger:
                    shift(each.weights, each.state, younger, self.half_life)
        self.weights += other.weights
        self.state[_TOTAL] += other.state[_TOTAL]
        self.state[_FIRST] = min(self.state[_FIRST], other.state[_FIRST])
        self.state[_LAST] = max(self.state[_LAST], other.state[_LAST])
