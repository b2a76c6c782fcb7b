"""What a policy is: a rule that predicts, at the end of each slot, the peak of the tasks on a machine."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
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
        found: Prediction = block.predictions[self]
        return found


def is_warm(samples: Samples, history: int, warmup: int) -> Flags:
    """Return which samples have at least `warmup` samples within `history` slots, their own included: bool (n,)."""
    return np.arange(1, len(samples) + 1) - samples.low(history) >= warmup
