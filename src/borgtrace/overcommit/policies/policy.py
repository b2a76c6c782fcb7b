"""What a policy is: a rule that predicts, at the end of each slot, the peak of the tasks on a machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.overcommit.block import Block, Samples
from borgtrace.schema.time import HOUR, WINDOW, parse_time, write_time

KINDS: dict[str, type[Policy]] = {}
"""Policies by name, as far as their modules have been imported."""
TIMES = ("history", "warmup", "half_life")
"""Parameters that are spans, in slots; written as times."""
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
class Policy(ABC):
    """Predicts peaks from what was seen up to and including a slot.

    A subclass is a dataclass of its parameters and says in class attributes its name, family and what it does.
    Times are in slots of 300 s.

    Attributes
    ----------
    name, about
        What users call it, and what it predicts, in a sentence.
    high_only
        Whether it speaks of high-priority tasks alone, and is judged on them.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    high_only: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """List every class with a name of its own."""
        if "name" in cls.__dict__:
            KINDS[cls.name] = cls

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

    @property
    def label(self) -> str:
        """Name and parameters, as tables show them and ``--policy`` reads them: ``nsigma:n=5,history=2h``."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return (
            self.name + ":" * bool(values) + ",".join(f"{name}={_text(name, value)}" for name, value in values.items())
        )

    @classmethod
    def parse(cls, parameters: Mapping[str, str], given: str) -> Self:
        """Make the policy from parameters as text."""
        known = {item.name: item for item in fields(cls)}
        values = {}
        for name, text in parameters.items():
            if name not in known:
                expected = "one of " + ", ".join(known) if known else "none"
                raise UsageError("--policy", f"{cls.name} has no such parameter", expected=expected, got=given)
            values[name] = _value(name, text, given)
        return cls(**values)


def _text(name: str, value: float) -> str:
    return write_time(int(value) * WINDOW) if name in TIMES else f"{value:g}"


def _value(name: str, text: str, given: str) -> float:
    if name in TIMES:
        slots = parse_time(text, f"--policy {given}") // WINDOW
        if slots < 1:
            raise UsageError("--policy", f"{name} is shorter than a slot", expected="5m or more", got=given)
        return slots
    try:
        return float(text)
    except ValueError:
        raise UsageError("--policy", f"{name} is not a number", got=given) from None


def is_warm(samples: Samples, history: int, warmup: int) -> Flags:
    """Return which samples have at least `warmup` samples within `history` slots, their own included: bool (n,)."""
    return np.arange(1, len(samples) + 1) - samples.low(history) >= warmup
