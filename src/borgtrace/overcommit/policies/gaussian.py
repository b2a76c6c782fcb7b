"""GPA as a peak: the quantile of a Gaussian with the summed means and variances of the present tasks."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block
from borgtrace.overcommit.policies.policy import Policy, Prediction, is_warm


def check_target(rho: float) -> None:
    """Refuse what is no probability of overflow.

    Raises
    ------
    UsageError
        Not above 0 and below 1.
    """
    if not 0 < rho < 1:
        raise UsageError("--policy", "rho out of range", expected="above 0 and below 1", got=f"{rho:g}")


@dataclass(frozen=True)
class Gpa(Policy):
    """Gaussian Percentile Approximation (Janus & Rzadca, SoCC'17), solved for the capacity.

    P = Σμ + Φ⁻¹(1 − ρ)·√Σσ² over the warm tasks, at most the sum of their limits, and the limits of the cold ones;
    μ and σ² (ddof 0) over the history.  ρ is the probability that the sum exceeds P in one slot, not in the whole
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

    name = "gpa"
    about = "Gaussian quantile of the summed means and variances; ρ is per slot, not per horizon"

    def __post_init__(self) -> None:
        check_target(self.rho)

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        known = block.known
        warm = is_warm(known, self.history, self.warmup)
        mean, variance = window_moments(known.low(self.history), known.usage)
        mean, variance = (known.sums(np.where(warm, values, 0.0)) for values in (mean, variance))
        most = known.sums(np.where(warm, known.limit, 0.0))
        peaks = np.minimum(mean - ndtri(self.rho) * np.sqrt(variance), most)
        cold = known.sums(np.where(warm, 0.0, known.limit))
        return Prediction(block.spread(peaks + cold) + block.unmeasured, int((~warm).sum()))


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
    mean, variance = np.empty(low.size), np.empty(low.size)
    for i in range(low.size):
        # Twice over the window: a difference of running sums would lose the variance of steady tasks.
        window = usage[low[i] : i + 1]
        mean[i] = sum_of_powers(window, 0.0, 1) / window.size
        variance[i] = sum_of_powers(window, mean[i], 2) / window.size
    return mean, variance


@compiled(makes_arrays=False)
def sum_of_powers(values: Numbers, center: float, power: int) -> float:
    """Return the sum of (x − center)^power over some values, for a power of 1 or 2.

    Four sums: each addition would wait for the one before, and without fastmath the compiler may not split it.
    """
    a, b, c, d, k = 0.0, 0.0, 0.0, 0.0, 0
    if power == 1:
        while k + 3 < values.size:
            a, b = a + values[k] - center, b + values[k + 1] - center
            c, d = c + values[k + 2] - center, d + values[k + 3] - center
            k += 4
    else:
        while k + 3 < values.size:
            a, b = a + (values[k] - center) ** 2, b + (values[k + 1] - center) ** 2
            c, d = c + (values[k + 2] - center) ** 2, d + (values[k + 3] - center) ** 2
            k += 4
    while k < values.size:
        a += (values[k] - center) ** power
        k += 1
    return a + b + c + d
