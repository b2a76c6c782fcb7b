"""GPA as a peak: the quantile of a Gaussian with the summed means and variances of the present tasks."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.kernels.gaussian import gaussian_quantile
from borgtrace.overcommit.block import MachineBlock, Samples
from borgtrace.overcommit.moments import decayed_moments, window_moments
from borgtrace.overcommit.policies.policy import (
    SLOTS_PER_HOUR,
    WARMUP,
    HistoryPolicy,
    PeakPolicy,
    Prediction,
)
from borgtrace.overcommit.rule import Amount, Probability, Slots


@dataclass(frozen=True)
class QuantilePolicy(HistoryPolicy):
    """Base of the policies that predict what independent tasks exceed together with probability ρ in one slot.

    At most the sum of the warm tasks' limits, and the limits of the cold ones.  ρ is of one slot, not of the whole
    horizon: over H slots more than ρ of the instants are violations.

    Attributes
    ----------
    rho
        Tolerated probability of overflow in a slot.
    history, warmup
        Slots of the past that count, and samples in them that a task needs.
    """

    rho: Probability = 0.01
    history: Slots = 288
    warmup: Slots = WARMUP

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the prediction of each slot."""
        known = block.known
        warm = self.is_warm(known)
        return predict_warm_tasks(block, warm, self.quantiles(known, warm))

    @abstractmethod
    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return what the warm tasks of each slot exceed with probability ρ: float64 (m,)."""


@dataclass(frozen=True)
class GpaPolicy(QuantilePolicy):
    """Gaussian Percentile Approximation (Janus & Rzadca, SoCC'17), solved for the capacity.

    P = Σμ + Φ⁻¹(1 − ρ)·√Σσ²; μ and σ² (ddof 0) over the history.  Sums of tasks with Pareto tails exceed it up to 25
    times as often as ρ = .001 says (:class:`borgtrace.placement.estimators.gpa.Gpa`).
    """

    name = "gpa"
    about = "Gaussian quantile of the summed means and variances; ρ is per slot, not per horizon"

    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return the Gaussian quantile of each slot."""
        mean, variance = window_moments(known.low(self.history), known.usage)
        return sum_quantiles(
            known,
            warm,
            mean,
            variance,
            self.rho,
        )


@dataclass(frozen=True)
class OnlineGpa(PeakPolicy):
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

    rho: Probability = 0.01
    half_life: Slots = 144
    prior: Amount = 12.0
    warmup: Slots = 24

    name = "online-gpa"
    about = "GPA with a history that decays, and a prior of the tasks of the same user and name"
    pools = ("names",)

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the prediction of each slot."""
        samples = block.all
        own = decayed_moments(
            samples.task,
            samples.slot,
            samples.usage,
            block.is_known,
            self.half_life,
        )
        tasks = block.identity[samples.task]
        hours = (samples.slot + 1) // SLOTS_PER_HOUR
        prior = block.pools["names"].earlier(tasks, hours)
        prior_weight = self.prior * (prior.n > 0)
        has_history = block.is_known & (own.n >= self.warmup)
        warm = (prior_weight > 0) | has_history
        # Where there is neither a sample nor a prior, any weight but 0 will do.
        total = own.weight + prior_weight
        weight = np.where(total > 0, total, 1.0)
        mean = (own.weight * own.mean + prior_weight * prior.mean) / weight
        squares_within = own.squares + prior_weight * prior.squares / np.maximum(prior.n, 1.0)
        squares_of_own_mean = own.weight * (own.mean - mean) ** 2
        squares_of_prior_mean = prior_weight * (prior.mean - mean) ** 2
        variance = (squares_within + squares_of_own_mean + squares_of_prior_mean) / weight
        quantiles = sum_quantiles(
            samples,
            warm,
            mean,
            variance,
            self.rho,
        )
        n_cold = int((block.is_known & ~warm).sum())
        return Prediction(with_limits(samples, warm, quantiles), n_cold)


def predict_warm_tasks(
    block: MachineBlock,
    warm: Flags,
    peaks: Numbers,
) -> Prediction:
    """Return a prediction from the peaks of the warm tasks; the others count their limits.

    Parameters
    ----------
    block
        A machine.
    warm
        Which of its measured samples are of warm tasks.
    peaks
        Predicted peak of the warm tasks of each slot with measured samples.
    """
    of_measured = with_limits(block.known, warm, peaks)
    return Prediction(block.spread(of_measured) + block.unmeasured, int((~warm).sum()))


def with_limits(
    samples: Samples,
    warm: Flags,
    peaks: Numbers,
) -> Numbers:
    """Return peaks of the warm tasks of each slot, at most their limits, and the limits of the cold ones: (m,)."""
    warm_limits = samples.sums(np.where(warm, samples.limit, 0.0))
    cold_limits = samples.sums(np.where(warm, 0.0, samples.limit))
    return np.minimum(peaks, warm_limits) + cold_limits


def sum_quantiles(
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
    mean_of_sum = samples.sums(np.where(warm, mean, 0.0))
    variance_of_sum = samples.sums(np.where(warm, variance, 0.0))
    return gaussian_quantile(mean_of_sum, variance_of_sum, rho)
