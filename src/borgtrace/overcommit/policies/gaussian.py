"""GPA as a peak: the quantile of a Gaussian with the summed means and variances of the present tasks."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block, Samples
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR, Policy, Prediction, is_warm


@dataclass(frozen=True)
class QuantilePolicy(Policy):
    """Base of the policies that say what independent tasks exceed together with probability ρ in one slot.

    At most the sum of the warm tasks' limits, and the limits of the cold ones.  ρ is of one slot, not of the whole
    horizon: over H slots more than ρ of the instants are violations.

    Attributes
    ----------
    rho
        Tolerated probability of overflow in a slot.
    history, warmup
        Slots that are looked back on, and samples in them that a task needs.
    """

    rho: float = 0.01
    history: int = 288
    warmup: int = 24

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        known = block.known
        warm = is_warm(known, self.history, self.warmup)
        return predicted_by_warm(block, warm, self.quantiles(known, warm))

    @abstractmethod
    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return what the warm tasks of each slot exceed with probability ρ: float64 (m,)."""


@dataclass(frozen=True)
class Gpa(QuantilePolicy):
    """Gaussian Percentile Approximation (Janus & Rzadca, SoCC'17), solved for the capacity.

    P = Σμ + Φ⁻¹(1 − ρ)·√Σσ²; μ and σ² (ddof 0) over the history.
    """

    name = "gpa"
    about = "Gaussian quantile of the summed means and variances; ρ is per slot, not per horizon"

    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return the Gaussian quantile of each slot."""
        return gaussian(
            known, warm, *window_moments(known.low(self.history), known.usage), self.rho
        )


@dataclass(frozen=True)
class OnlineGpa(Policy):
    """GPA whose moments are kept online: a history that decays, and a prior of the same user and name.

    The prior is what all tasks of the user and logical name used in the hours that have ended, as though the task had
    had so many samples of it.  A task that was never measured has its prior alone; one without a prior counts its limit
    until it is warm.

    Attributes
    ----------
    rho
        Tolerated probability of overflow in a slot.
    half_life
        Slots in which the weight of a sample halves.
    prior
        Samples that the prior counts as; 0 for none.
    warmup
        Samples that a task without a prior needs.
    """

    rho: float = 0.01
    half_life: int = 144
    prior: float = 12.0
    warmup: int = 24

    name = "online-gpa"
    about = "GPA with a history that decays, and a prior of the tasks of the same user and name"
    pools = ("names",)

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        every = block.all
        seen, own, mean, squares = decayed_moments(
            every.task, every.slot, every.usage, block.is_known, self.half_life
        )
        given = block.pools["names"].earlier(
            block.identity[every.task], (every.slot + 1) // SLOTS_PER_HOUR
        )
        prior = self.prior * (given.n > 0)
        warm = (prior > 0) | (block.is_known & (seen >= self.warmup))
        weight = np.where(own + prior > 0, own + prior, 1.0)
        both = (own * mean + prior * given.mean) / weight
        within = squares + prior * given.squares / np.maximum(given.n, 1.0)
        variance = (within + own * (mean - both) ** 2 + prior * (given.mean - both) ** 2) / weight
        peaks = with_limits(every, warm, gaussian(every, warm, both, variance, self.rho))
        return Prediction(peaks, int((block.is_known & ~warm).sum()))


def predicted_by_warm(block: Block, warm: Flags, peaks: Numbers) -> Prediction:
    """Return a prediction from peaks of the warm tasks: those of the measured samples of `block` that `warm` says."""
    known = with_limits(block.known, warm, peaks)
    return Prediction(block.spread(known) + block.unmeasured, int((~warm).sum()))


def with_limits(samples: Samples, warm: Flags, peaks: Numbers) -> Numbers:
    """Return peaks of the warm tasks of each slot, at most their limits, and the limits of the cold ones: (m,)."""
    most = samples.sums(np.where(warm, samples.limit, 0.0))
    return np.minimum(peaks, most) + samples.sums(np.where(warm, 0.0, samples.limit))


def gaussian(
    samples: Samples,
    warm: Flags,
    mean: Numbers,
    variance: Numbers,
    rho: float,
) -> Numbers:
    """Return what a Gaussian with the summed moments of the warm tasks exceeds with probability ρ: (m,).

    Parameters
    ----------
    samples, warm
        The tasks.
    mean, variance
        Of each sample's task: (n,).
    rho
        The probability.
    """
    mean, variance = (samples.sums(np.where(warm, values, 0.0)) for values in (mean, variance))
    return mean - ndtri(rho) * np.sqrt(variance)


@compiled()
def decayed_moments(
    task: Index,
    slot: Index,
    usage: Numbers,
    is_known: Flags,
    half_life: float,
) -> Numbers:
    """Return what is known of each task after each sample, with weights that halve with every half-life.

    Parameters
    ----------
    task, slot, usage, is_known
        Of a block; what is not known only lets the rest decay.
    half_life
        In slots.

    Returns
    -------
    ndarray
        Number of samples, sum of their weights, mean, and weighted sum of squared deviations: float64 (4, n).
    """
    out = np.zeros((4, task.size))
    for i in range(task.size):
        if i > 0 and task[i] == task[i - 1]:
            kept = 2.0 ** ((slot[i - 1] - slot[i]) / half_life)
            out[:, i] = out[:, i - 1]
            out[1, i] *= kept
            out[3, i] *= kept
        if is_known[i]:
            # West's update: no difference of sums, which would lose the variance of steady tasks.
            out[0, i] += 1.0
            out[1, i] += 1.0
            out[2, i], out[3, i] = _with_sample(out[2, i], out[3, i], usage[i], out[1, i])
    return out


@compiled()
def window_moments(low: Index, usage: Numbers) -> tuple[Numbers, Numbers]:
    """Return mean and variance (ddof 0) of each sample's history, from ``low[i]`` to i.

    Parameters
    ----------
    low
        First sample of each history.
    usage
        Shape (n,).
    """
    mean = np.empty(low.size)
    variance = np.empty(low.size)
    # A window has two parts, `middle` is the last sample of the older one, whose moments are known from each sample on;
    # both are joined (Chan et al., 1983), for a difference of running sums would lose the variance of steady tasks.
    older = np.zeros(low.size)
    older_squares = np.zeros(low.size)
    middle = -1
    newer = 0.0
    squares = 0.0
    for i in range(low.size):
        first = low[i]
        if first > middle:
            newer = 0.0
            squares = 0.0
            middle = i - 1
            for k in range(middle, first - 1, -1):
                newer, squares = _with_sample(newer, squares, usage[k], i - k)
                older[k] = newer
                older_squares[k] = squares
            newer = 0.0
            squares = 0.0
        newer, squares = _with_sample(newer, squares, usage[i], i - middle)
        apart = newer - older[first]
        share = (i - middle) / (i - first + 1)
        mean[i] = older[first] + apart * share
        variance[i] = (older_squares[first] + squares + apart**2 * share * (middle - first + 1)) / (
            i - first + 1
        )
    return mean, variance


@compiled(inline=True)
def _with_sample(mean: float, squares: float, value: float, n: int) -> tuple[float, float]:
    """Return mean and sum of squared deviations with the n-th sample (West's update)."""
    moved = mean + (value - mean) / n
    return moved, squares + (value - mean) * (value - moved)
