"""The larger of several predictions."""

from dataclasses import dataclass

import numpy as np

from borgtrace.overcommit.block import Block
from borgtrace.overcommit.policies.policy import Policy, Prediction


@dataclass(frozen=True)
class Maximum(Policy):
    """The largest of what several policies predict, slot by slot; the order of them does not matter.

    Attributes
    ----------
    policies
        Two or more.
    """

    policies: tuple[Policy, ...]

    about = "the largest of what several policies predict"

    @property
    def label(self) -> str:
        """The policies, joined by ``+``."""
        return "+".join(policy.label for policy in self.policies)

    @property
    def high_only(self) -> bool:  # type: ignore[override]
        """Whether one of them speaks of high-priority tasks alone."""
        return any(policy.high_only for policy in self.policies)

    def predict(self, block: Block) -> Prediction:
        """Return the element-wise maximum; a sample is cold where it is for the policy that needs most history."""
        found = [policy.predicted(block) for policy in self.policies]
        return Prediction(np.max([each.peak for each in found], axis=0), max(each.n_cold for each in found))
