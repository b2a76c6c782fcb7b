"""Histograms of the vertical recommenders: fixed buckets, weights that decay, percentiles at upper edges.

After kubernetes/autoscaler, vertical-pod-autoscaler/pkg/recommender/util (histogram.go, decaying_histogram.go), whose
own cases are in the tests: no interpolation within a bucket, weights grow instead of decaying and are scaled back
beyond 2^100, the reference of time is a multiple of the half-life.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled

MEBIBYTE = 2.0**20
EPSILON = 1e-4
"""VPA's, koordinator's and katalyst's: a thousandth of the least weight of a CPU sample."""
FOREVER = math.inf
"""The half-life of a histogram that does not decay."""
MOST_HALF_LIVES = 100.0
"""A sample so much later than the reference of time moves the reference, before weights overflow."""
TOTAL, REFERENCE, FIRST, LAST = range(4)
N_STATE = 4
"""The state of a histogram beside its weights: their sum, the reference of time, first and last bucket in use."""
_NEVER = -1e18


class Buckets(NamedTuple):
    """Bounds of buckets: the first is `first` wide, each next `ratio` times wider.

    Attributes
    ----------
    first, ratio
        Width of the first bucket, and growth; 1 for equal widths.
    n
        Number of buckets; the last one has no upper bound.
    epsilon
        A bucket that weighs less is empty.
    """

    first: float
    ratio: float
    n: int
    epsilon: float = EPSILON

    @classmethod
    def exponential(
        cls,
        highest: float,
        first: float,
        ratio: float = 1.05,
    ) -> Buckets:
        """Return as many buckets as reach `highest`, in the unit of the values."""
        growth = highest * (ratio - 1) / first + 1
        n = math.ceil(math.log(growth) / math.log(ratio)) + 1
        return cls(first, ratio, n)

    @classmethod
    def linear(
        cls,
        highest: float,
        width: float,
        epsilon: float = EPSILON,
    ) -> Buckets:
        """Return equal buckets that reach `highest`."""
        n = math.ceil(highest / width) + 1
        return cls(width, 1.0, n, epsilon)


VPA_BUCKETS = {
    "cpu": Buckets.exponential(1000.0, 0.01),
    "memory": Buckets.exponential(1e12, 1e7),
}
"""VPA's buckets by resource, which others adopted: from .01 core and 10 MB, each 5 % wider."""


@compiled(inline=True)
def find_bucket(value: float, buckets: Buckets) -> int:
    """Return the bucket of a value."""
    first = buckets.first
    ratio = buckets.ratio
    last = buckets.n - 1
    if ratio == 1.0:
        return min(max(int(value / first), 0), last)
    if value < first:
        return 0
    growth = value * (ratio - 1) / first + 1
    return min(int(math.log(growth) / math.log(ratio)), last)


@compiled(inline=True)
def upper_edge(bucket: int, buckets: Buckets) -> float:
    """Return the upper edge of a bucket; the last one has none, and its lower edge is returned."""
    first = buckets.first
    ratio = buckets.ratio
    edge = min(bucket + 1, buckets.n - 1)
    if ratio == 1.0:
        return edge * first
    return first * (ratio**edge - 1) / (ratio - 1)


@compiled()
def clear(weights: Numbers, state: Numbers) -> None:
    """Empty a histogram."""
    weights[:] = 0.0
    state[TOTAL] = 0.0
    state[REFERENCE] = _NEVER
    state[FIRST] = weights.size - 1
    state[LAST] = 0


@compiled()
def shift(
    weights: Numbers,
    state: Numbers,
    time: float,
    half_life: float,
    buckets: Buckets,
) -> None:
    """Move the reference of time to the multiple of the half-life that is nearest to `time`."""
    reference = math.floor(time / half_life + 0.5) * half_life
    factor = 2.0 ** math.floor((state[REFERENCE] - reference) / half_life + 0.5)
    weights *= factor
    state[TOTAL] *= factor
    state[REFERENCE] = reference
    _find_used_buckets(weights, state, buckets.epsilon)


@compiled()
def _find_used_buckets(
    weights: Numbers,
    state: Numbers,
    epsilon: float,
) -> None:
    """Find the first and the last bucket in use after weights have fallen."""
    last = weights.size - 1
    while weights[int(state[FIRST])] < epsilon and state[FIRST] < last:
        state[FIRST] += 1
    while weights[int(state[LAST])] < epsilon and state[LAST] > 0:
        state[LAST] -= 1


@compiled()
def subtract(
    weights: Numbers,
    state: Numbers,
    bucket: int,
    weight: float,
    time: float,
    half_life: float,
    buckets: Buckets,
) -> None:
    """Remove a sample that was added with the same arguments; a tiny remainder is removed with it."""
    weight *= 2.0 ** ((time - state[REFERENCE]) / half_life)
    if weight > weights[bucket] - buckets.epsilon:
        weight = weights[bucket]
    weights[bucket] -= weight
    state[TOTAL] -= weight
    _find_used_buckets(weights, state, buckets.epsilon)


@compiled()
def add(
    weights: Numbers,
    state: Numbers,
    bucket: int,
    weight: float,
    time: float,
    half_life: float,
    buckets: Buckets,
) -> None:
    """Add a sample.

    Parameters
    ----------
    weights, state
        The histogram.
    bucket, weight, time
        Of the sample; time in the unit of the half-life.
    half_life
        Time after which a weight counts half; infinite where none decays.
    buckets
        Its buckets.
    """
    if half_life < FOREVER:
        if time > state[REFERENCE] + MOST_HALF_LIVES * half_life:
            shift(weights, state, time, half_life, buckets)
        weight *= 2.0 ** ((time - state[REFERENCE]) / half_life)
    weights[bucket] += weight
    state[TOTAL] += weight
    if weights[bucket] >= buckets.epsilon:
        state[FIRST] = min(state[FIRST], bucket)
        state[LAST] = max(state[LAST], bucket)


@compiled()
def percentile(
    weights: Numbers,
    state: Numbers,
    share: float,
    buckets: Buckets,
) -> float:
    """Return the upper edge of the bucket that a percentile falls into; 0 for an empty histogram.

    Parameters
    ----------
    weights, state
        The histogram.
    share
        Percentile ÷ 100.
    buckets
        Its buckets.
    """
    bucket = int(state[FIRST])
    last = int(state[LAST])
    if weights[bucket] < buckets.epsilon:
        return 0.0
    threshold = share * state[TOTAL]
    total = 0.0
    while bucket < last:
        total += weights[bucket]
        if total >= threshold:
            break
        bucket += 1
    return upper_edge(bucket, buckets)


@compiled(inline=True)
def _clear_unused(weights: Numbers, samples_in_bucket: Index, bucket: int) -> None:
    """Clear a bucket without samples: weights in bytes leave a rounding error that is far above epsilon."""
    if samples_in_bucket[bucket] == 0:
        weights[bucket] = 0.0


@compiled()
def rolling_percentiles(
    owner: Index,
    time: Index,
    value: Numbers,
    weight: Numbers,
    half_life: float,
    share: float,
    buckets: Buckets,
    history: float,
) -> Numbers:
    """Return the percentile of each owner's histogram after each of its samples: float64 (n,).

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
    share
        Percentile ÷ 100.
    buckets
        Of all histograms.
    history
        Slots after which a sample is removed; infinite where none is.
    """
    weights = np.zeros(buckets.n)
    samples_in_bucket = np.zeros(buckets.n, np.int64)
    state = np.zeros(N_STATE)
    oldest = 0
    out = np.empty(owner.size)
    for i in range(owner.size):
        if i == 0 or owner[i] != owner[i - 1]:
            clear(weights, state)
            samples_in_bucket[:] = 0
            oldest = i
        while time[oldest] <= time[i] - history:
            # The exact weight, unlike `subtract`: what stays must equal a history without the sample.
            bucket = find_bucket(value[oldest], buckets)
            add(weights, state, bucket, -weight[oldest], time[oldest], half_life, buckets)
            samples_in_bucket[bucket] -= 1
            _clear_unused(weights, samples_in_bucket, bucket)
            _find_used_buckets(weights, state, buckets.epsilon)
            oldest += 1
        bucket = find_bucket(value[i], buckets)
        add(weights, state, bucket, weight[i], time[i], half_life, buckets)
        samples_in_bucket[bucket] += 1
        out[i] = percentile(weights, state, share, buckets)
    return out


@dataclass(frozen=True)
class DecayingHistogram:
    """A decaying histogram of each owner, and the percentile that is read from it.

    Attributes
    ----------
    buckets
        In cores or bytes.
    half_life
        In slots; infinite where nothing decays.
    share
        Percentile ÷ 100.
    margin
        What the percentile is multiplied by.
    history
        Slots after which a sample is forgotten.
    """

    buckets: Buckets
    half_life: float
    share: float
    margin: float = 1.0
    history: float = FOREVER

    def after(
        self,
        owner: Index,
        time: Index,
        value: Numbers,
        weight: Numbers | float = 1.0,
    ) -> Numbers:
        """Return the percentile with its margin after each sample: float64 (n,).

        Parameters
        ----------
        owner, time, value
            Of each sample, as for :func:`rolling_percentiles`.
        weight
            Of each sample, or of all.
        """
        percentiles = rolling_percentiles(
            owner,
            time,
            value,
            np.full(len(owner), weight),
            float(self.half_life),
            self.share,
            self.buckets,
            float(self.history),
        )
        return percentiles * self.margin


def size_of_unit(
    resource: str,
    cores: float,
    gib: float,
) -> float:
    """Return the cores, or bytes, of the largest machine.

    Parameters
    ----------
    resource
        ``"cpu"`` or ``"memory"``.
    cores, gib
        Its cores and GiB, as the user states them.

    Raises
    ------
    UsageError
        Where they are not stated: the trace has shares of a machine, and buckets of a histogram are cores or bytes.
    """
    if resource == "cpu":
        _require_size("--cores-per-unit", cores)
        return cores
    _require_size("--gib-per-unit", gib)
    return gib * 1024 * MEBIBYTE


def _require_size(option: str, size: float) -> None:
    if not size > 0:
        raise UsageError(
            option,
            "the size of the largest machine is not known",
            expected="a number above 0",
            got=f"{size:g}" if size < 0 else "none",
            # Both, since who states one is asked for the other next.
            way_out="histograms have buckets of cores and bytes, so state both sizes, for example "
            "--cores-per-unit 64 --gib-per-unit 256",
        )
