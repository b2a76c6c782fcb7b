"""Moments of samples, updated sample by sample: over a window, with decaying weights, and joined over owners.

Nowhere as a difference of sums, which would lose the variance of steady tasks.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled


class SampleMoments(NamedTuple):
    """Number of samples, their mean and the sum of their squared deviations; float64 of one shape."""

    n: Numbers
    mean: Numbers
    squares: Numbers


class DecayedMoments(NamedTuple):
    """Number of samples, sum of their weights, mean, and weighted sum of squared deviations; float64 (n,)."""

    n: Numbers
    weight: Numbers
    mean: Numbers
    squares: Numbers


@compiled(inline=True)
def _with_sample(
    mean: float,
    squares: float,
    value: float,
    n: float,
) -> tuple[float, float]:
    """Return mean and sum of squared deviations with the n-th sample (West's update)."""
    new_mean = mean + (value - mean) / n
    return new_mean, squares + (value - mean) * (value - new_mean)


@compiled()
def decayed_moments(
    task: Index,
    slot: Index,
    usage: Numbers,
    is_known: Flags,
    half_life: float,
) -> DecayedMoments:
    """Return the moments of each task after each sample, with weights that halve with every half-life.

    Parameters
    ----------
    task, slot, usage, is_known
        Of a block; where a usage is not known, the weights only decay.
    half_life
        In slots.
    """
    n = np.zeros(task.size)
    weight = np.zeros(task.size)
    mean = np.zeros(task.size)
    squares = np.zeros(task.size)
    for i in range(task.size):
        if i > 0 and task[i] == task[i - 1]:
            decay = 2.0 ** ((slot[i - 1] - slot[i]) / half_life)
            n[i] = n[i - 1]
            weight[i] = weight[i - 1] * decay
            mean[i] = mean[i - 1]
            squares[i] = squares[i - 1] * decay
        if is_known[i]:
            n[i] += 1.0
            weight[i] += 1.0
            mean[i], squares[i] = _with_sample(
                mean[i],
                squares[i],
                usage[i],
                weight[i],
            )
    return DecayedMoments(n, weight, mean, squares)


@compiled()
def window_moments(low: Index, usage: Numbers) -> tuple[Numbers, Numbers]:
    """Return mean and variance (ddof 0) of each sample's history, from ``low[i]`` to i.

    A window has two parts: the older one ends with the sample `middle`, and its moments are known from each of its
    samples on; those of the newer one grow.  Both are joined (Chan et al., 1983).

    Parameters
    ----------
    low
        First sample of each history.
    usage
        Shape (n,).
    """
    mean = np.empty(low.size)
    variance = np.empty(low.size)
    older_mean = np.zeros(low.size)
    older_squares = np.zeros(low.size)
    middle = -1
    newer_mean = 0.0
    newer_squares = 0.0
    for i in range(low.size):
        first = low[i]
        if first > middle:
            middle = i - 1
            newer_mean = 0.0
            newer_squares = 0.0
            for k in range(middle, first - 1, -1):
                newer_mean, newer_squares = _with_sample(
                    newer_mean,
                    newer_squares,
                    usage[k],
                    i - k,
                )
                older_mean[k] = newer_mean
                older_squares[k] = newer_squares
            newer_mean = 0.0
            newer_squares = 0.0
        n_newer = i - middle
        newer_mean, newer_squares = _with_sample(
            newer_mean,
            newer_squares,
            usage[i],
            n_newer,
        )
        n = i - first + 1
        n_older = middle - first + 1
        distance = newer_mean - older_mean[first]
        share = n_newer / n
        mean[i] = older_mean[first] + distance * share
        squares = older_squares[first] + newer_squares + distance**2 * share * n_older
        variance[i] = squares / n
    return mean, variance


@compiled()
def accumulate_moments(
    owner: Index,
    n: Numbers,
    mean: Numbers,
    squares: Numbers,
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the moments of all entries of an owner up to each (Chan et al.).

    Parameters
    ----------
    owner
        Of each entry; equal ones are neighbors.
    n, mean, squares
        Moments of each entry.
    """
    n = n.copy()
    mean = mean.copy()
    squares = squares.copy()
    for i in range(1, owner.size):
        if owner[i] == owner[i - 1]:
            total = n[i] + n[i - 1]
            distance = mean[i] - mean[i - 1]
            squares[i] += squares[i - 1] + distance * distance * n[i] * n[i - 1] / total
            mean[i] = mean[i - 1] + distance * n[i] / total
            n[i] = total
    return n, mean, squares
