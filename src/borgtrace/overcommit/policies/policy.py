"""The base class of policies: a rule that predicts, at the end of each slot, the peak of the tasks on a machine.

With it the simplest ones, which look at limits alone, and the largest of several, which users write ``A+B``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.extensions import quiet_output
from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.overcommit.block import MachineBlock, Samples
from borgtrace.overcommit.rule import NamedRule, PositiveShare
from borgtrace.question.study_times import LONGEST_WARMUP
from borgtrace.schema.time import HOUR, WINDOW, write_time

SLOTS_PER_HOUR = HOUR // WINDOW
HISTORY = 2 * SLOTS_PER_HOUR
"""Slots that policies of recent usage look back on by default: two hours, as Bashir et al. (EuroSys'21) do."""
WARMUP = LONGEST_WARMUP // WINDOW
"""Samples of them that a task needs: with all 24, one missing window would leave it cold for two hours."""


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
class PeakPolicy(NamedRule):
    """Predicts peaks from what was seen up to and including a slot.  Times are in slots of 300 s.

    A subclass is a frozen dataclass of its parameters with `name`, `about` and :meth:`predict`.  Users can name it
    once its file follows ``--from``, its package has an entry point of the group ``borgtrace.policies``, or, one of
    ours, :mod:`borgtrace.overcommit.policies.registry` lists it.

    Attributes
    ----------
    high_only
        Whether it predicts high-priority tasks alone, and is judged on them.
    literal
        Defaults of Google's simulator, where they are others.
    pools
        What it knows beyond a machine's past: ``jobs``, ``names`` (:mod:`borgtrace.overcommit.pools`), or a forecaster.
    """

    option = "--policy"
    high_only: ClassVar[bool] = False
    literal: ClassVar[Mapping[str, int]] = MappingProxyType({})
    pools: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def predict(self, block: MachineBlock) -> Prediction | Numbers:
        """Return the predicted peak of each slot.

        Parameters
        ----------
        block
            A machine.  What it does after a slot has no influence on the prediction for it.

        Returns
        -------
        Prediction or float64 (m,)
            Of each slot of ``block.slots``.
        """

    def predicted(self, block: MachineBlock) -> Prediction:
        """Return the prediction of each slot, computed once for a block.

        Raises
        ------
        UsageError
            The policy predicts another number of slots, or what is no number.
        """
        if self not in block.predictions:
            with quiet_output():
                prediction = self.predict(block)
            block.predictions[self] = self.checked(prediction, len(block.slots))
        return block.predictions[self]

    def checked(self, prediction: Prediction | Numbers, n_slots: int) -> Prediction:
        """Return what :meth:`predict` returned as a prediction, once it is sure that it is one.

        Raises
        ------
        UsageError
            It has another number of slots, or holds what is no number.
        """
        if not isinstance(prediction, Prediction):
            prediction = Prediction(np.asarray(prediction), 0)
        peak = np.asarray(prediction.peak)
        if peak.dtype.kind not in "fiu" or peak.shape != (n_slots,):
            raise UsageError(
                f"policy {self.name}",
                "what predict returns",
                expected=f"numbers of shape ({n_slots},), one for each slot",
                got=f"{peak.dtype} of shape {peak.shape}",
            )
        # Of a plain sum, which takes no memory: of infinite or missing numbers none is finite.
        if n_slots and not np.isfinite(peak.sum()):
            n_missing = int((~np.isfinite(peak)).sum())
            raise UsageError(
                f"policy {self.name}",
                "what predict returns",
                expected="finite numbers",
                got=f"{n_missing:,} of {n_slots:,} that are NaN or infinite",
                way_out="predict block.limits where too little is known",
            )
        return prediction


def is_warm(
    samples: Samples,
    history: int,
    warmup: int,
) -> Flags:
    """Return which samples have at least `warmup` samples within `history` slots, their own included: bool (n,)."""
    number = np.arange(1, len(samples) + 1)
    return number - samples.low(history) >= warmup


class HistoryPolicy(PeakPolicy):
    """Base of the policies that look back on a history of limited length.

    Attributes
    ----------
    history, warmup
        Slots of the past that count, and samples in them that a task needs.
    """

    history: int
    warmup: int

    def __post_init__(self) -> None:
        """Refuse a warm-up that no history is long enough for: every task would count its limit for ever."""
        super().__post_init__()
        if self.warmup > self.history:
            raise UsageError(
                self.option,
                "warmup is longer than history, so that every task stays cold",
                expected=f"at most {write_time(self.history * WINDOW)}",
                got=self.label,
                way_out="name a shorter warmup, or a longer history",
            )

    def is_warm(self, samples: Samples) -> Flags:
        """Return for each sample whether enough is known of its task: bool (n,)."""
        return is_warm(samples, self.history, self.warmup)


@dataclass(frozen=True)
class Limit(PeakPolicy):
    """Σ L: no overcommit."""

    name = "limit"
    about = "the sum of the limits"

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the sum of the limits of the present tasks."""
        return Prediction(block.limits, 0)


@dataclass(frozen=True)
class BorgDefault(PeakPolicy):
    """φ·Σ L, Borg's default at the time of Bashir et al. (EuroSys'21)."""

    phi: PositiveShare = 0.9

    name = "borg"
    about = "φ times the sum of the limits"

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the share of the sum of the limits."""
        return Prediction(self.phi * block.limits, 0)


@dataclass(frozen=True)
class Maximum(PeakPolicy):
    """The largest of what several policies predict, slot by slot, in whatever order they are named.

    Attributes
    ----------
    policies
        Two or more.
    """

    policies: tuple[PeakPolicy, ...]

    about = "the largest of what several policies predict"

    @property
    def label(self) -> str:
        """The policies, joined by ``+``."""
        return "+".join(policy.label for policy in self.policies)

    @property
    def high_only(self) -> bool:  # type: ignore[override]
        """Whether one of them predicts high-priority tasks alone."""
        return any(policy.high_only for policy in self.policies)

    @property
    def pools(self) -> tuple[str, ...]:  # type: ignore[override]
        """What they know of the whole cell."""
        names: list[str] = []
        for policy in self.policies:
            names += policy.pools
        return tuple(names)

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the element-wise maximum; a sample is cold where it is for the policy that needs most history."""
        predictions = [policy.predicted(block) for policy in self.policies]
        peak = np.max([prediction.peak for prediction in predictions], axis=0)
        n_cold = max(prediction.n_cold for prediction in predictions)
        return Prediction(peak, n_cold)
