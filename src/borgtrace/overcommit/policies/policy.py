"""What a policy is: a rule that predicts, at the end of each slot, the peak of the tasks on a machine.

With it the plainest ones, which look at limits alone, and the largest of several, which users write ``A+B``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.overcommit.block import Block, Samples
from borgtrace.overcommit.rule import Rule
from borgtrace.schema.time import HOUR, WINDOW

KINDS: dict[str, type[Policy]] = {}
"""Policies by name, as far as their modules have been imported."""
SLOTS_PER_HOUR = HOUR // WINDOW


@dataclass(frozen=True)
class Prediction:
    """What a policy predicts for a machine.

    Attributes
    ----------
    peak
        float64 (m,): predicted peak of the tasks present in each slot, as a fraction of the largest machine.
    n_cold
        Samples of tasks that counted their limit, because too little was known of them.
    """

    peak: Numbers
    n_cold: int


@dataclass(frozen=True)
class Policy(Rule):
    """Predicts peaks from what was seen up to and including a slot.  Times are in slots of 300 s.

    Attributes
    ----------
    high_only
        Whether it speaks of high-priority tasks alone, and is judged on them.
    pools
        What it knows beyond a machine's past: ``jobs``, ``names`` (:mod:`borgtrace.overcommit.pools`), or a forecaster.
    """

    option = "--policy"
    kinds = KINDS
    high_only: ClassVar[bool] = False
    pools: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def predict(self, block: Block) -> Prediction:
        """Return the predicted peak of each slot.

        Parameters
        ----------
        block
            A machine.  What it does after a slot has no influence on the prediction for it.
        """

    def predicted(self, block: Block) -> Prediction:
        """Return the prediction of each slot, computed once for a block."""
        if self not in block.predictions:
            block.predictions[self] = self.predict(block)
        return block.predictions[self]


def is_warm(samples: Samples, history: int, warmup: int) -> Flags:
    """Return which samples have at least `warmup` samples within `history` slots, their own included: bool (n,)."""
    return np.arange(1, len(samples) + 1) - samples.low(history) >= warmup


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
        return Prediction(
            np.max([each.peak for each in found], axis=0), max(each.n_cold for each in found)
        )


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
