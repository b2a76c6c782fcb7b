"""GPA from a forecaster's means and deviations of each task, instead of the task's own history."""

from dataclasses import dataclass

import numpy as np

from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.policies.gaussian import predict_warm_tasks, sum_quantiles
from borgtrace.overcommit.policies.policy import PeakPolicy, Prediction
from borgtrace.overcommit.rule import Probability


@dataclass(frozen=True)
class Forecast(PeakPolicy):
    """The largest of the Gaussian quantiles of the slots of the next hour, by forecast means and deviations.

    P = max over the slots of Σμ + Φ⁻¹(1 − ρ)·√Σσ², at most the sum of the limits.  A task without a forecast counts
    its limit.  Nothing is forecast beyond the hour: a longer horizon has more violations.

    Attributes
    ----------
    by
        The forecaster, one of :attr:`borgtrace.overcommit.ReplayQuestion.forecasts`.
    rho
        Tolerated probability of overflow in a slot.
    """

    by: str = "seasonal"
    rho: Probability = 0.01

    name = "forecast"
    about = "largest Gaussian quantile of the next hour's slots, by a forecaster of each task; ρ is per slot"

    @property
    def pools(self) -> tuple[str, ...]:  # type: ignore[override]
        """The forecaster."""
        return (self.by,)

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the prediction of each slot."""
        known = block.known
        forecaster = block.pools[self.by]
        mean, deviation = forecaster(known.task, known.slot, known.usage)
        is_forecast = ~np.isnan(mean[:, 0])
        variance = deviation**2
        quantiles = []
        for ahead in range(mean.shape[1]):
            quantiles.append(
                sum_quantiles(
                    known,
                    is_forecast,
                    mean[:, ahead],
                    variance[:, ahead],
                    self.rho,
                )
            )
        return predict_warm_tasks(block, is_forecast, np.max(quantiles, axis=0))
