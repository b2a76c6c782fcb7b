"""Policies that look at limits alone."""

from dataclasses import dataclass

from borgtrace.overcommit.block import Block
from borgtrace.overcommit.policies.policy import Policy, Prediction


@dataclass(frozen=True)
class Limit(Policy):
    """Σ L: no overcommit."""

    name = "limit"
    about = "the sum of the limits"

    def predict(self, block: Block) -> Prediction:
        """Return the sum of the limits of the present tasks."""
        return Prediction(block.limits, 0)


@dataclass(frozen=True)
class BorgDefault(Policy):
    """φ·Σ L, Borg's default at the time of Bashir et al. (EuroSys'21)."""

    phi: float = 0.9

    name = "borg"
    about = "φ times the sum of the limits"

    def predict(self, block: Block) -> Prediction:
        """Return the share of the sum of the limits."""
        return Prediction(self.phi * block.limits, 0)
