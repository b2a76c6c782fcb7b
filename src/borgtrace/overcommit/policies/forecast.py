"""GPA by what a forecaster tells of each task, whose own history is then not asked."""

from dataclasses import dataclass

import numpy as np

from borgtrace.overcommit.block import Block
from borgtrace.overcommit.policies.gaussian import gaussian, predicted_by_warm
from borgtrace.overcommit.policies.policy import Policy, Prediction


@dataclass(frozen=True)
class Forecast(Policy):
    """The largest of the Gaussian quantiles of the slots of the next hour, by forecast means and deviations.

    P = max over the slots of Σμ + Φ⁻¹(1 − ρ)·√Σσ², at most the sum of the limits.  A task that nothing is told of
    counts its limit.  Beyond the hour nothing is told: a longer horizon has more violations.

    Attributes
    ----------
    by
        The forecaster, of those that were handed over (:attr:`borgtrace.overcommit.Replay.forecasts`).
    rho
        Tolerated probability of overflow in a slot.
    """

    by: str = "seasonal"
    rho: float = 0.01

    name = "forecast"
    about = "largest Gaussian quantile of the next hour's slots, by a forecaster of each task; ρ is per slot"

    @property
    def pools(self) -> tuple[str, ...]:  # type: ignore[override]
        """The forecaster."""
        return (self.by,)

    def predict(self, block: Block) -> Prediction:
        """Return the prediction of each slot."""
        known = block.known
        mean, deviation = block.pools[self.by](known.task, known.slot, known.usage)
        warm = ~np.isnan(mean[:, 0])
        slots = [
            gaussian(known, warm, *moments, self.rho)
            for moments in zip(mean.T, deviation.T**2, strict=True)
        ]
        return predicted_by_warm(block, warm, np.max(slots, axis=0))
