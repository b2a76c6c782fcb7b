"""Policies by what users write: ``nsigma:n=3,history=10h``, or ``A+B`` for the larger of two."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

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

    @property
    def pools(self) -> tuple[str, ...]:  # type: ignore[override]
        """What they know of the whole cell."""
        return tuple(name for policy in self.policies for name in policy.pools)

    def predict(self, block: Block) -> Prediction:
        """Return the element-wise maximum; a sample is cold where it is for the policy that needs most history."""
        found = [policy.predicted(block) for policy in self.policies]
        return Prediction(np.max([each.peak for each in found], axis=0), max(each.n_cold for each in found))


def parse_policy(text: str, units: Mapping[str, float] = MappingProxyType({})) -> Policy:
    """Return the policy that a text such as ``nsigma:n=3,history=10h`` names; ``+`` takes the maximum of several.

    Parameters
    ----------
    text
        What the user wrote.
    units
        ``cores`` and ``gib`` of the largest machine, for the policies that need them and do not name them.

    Raises
    ------
    UsageError
        For an unknown policy or parameter, or a value out of range.
    """
    policies: tuple[Policy, ...] = tuple(Policy.parsed(part, units) for part in text.split("+"))
    return policies[0] if len(policies) == 1 else Maximum(policies)
