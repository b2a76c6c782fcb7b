"""The options of experiments: each stands here once, with its default and its range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from borgtrace.errors import UsageError

Instantaneous = Literal["sampled", "histogram"]
"""Where draws of instantaneous usage come from: one sampled second per window, or the window's percentiles."""

LEAST = {"tasks": 1, "realizations": 100, "instances": 1, "size": 1, "samples": 1, "hours": 1}
"""Smallest sizes; with fewer than 100 realizations a target of 1 % is decided by less than one of them."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may set; each experiment takes some of it.

    Parameters
    ----------
    tasks
        Size of the sample of the pool.
    realizations
        R, draws per task.
    instances
        Random instances.
    size
        Tasks per instance.
    samples
        Random samples of each number of tasks.
    hours
        Length of a replay, at most.
    capacity
        Of a machine.
    target
        Tolerated probability of overflow.
    mix
        Kinds of machines, as :func:`borgtrace.colocation.inventory.parse_mix` reads them.
    instantaneous
        Where draws of instantaneous usage come from.
    seed
        Seed of samples and draws.

    Raises
    ------
    UsageError
        Names the option, its value and what is allowed.

    Examples
    --------
    >>> Options(instances=3).size
    1000
    """

    tasks: int = 100_000
    realizations: int = 10_000
    instances: int = 5
    size: int = 1_000
    samples: int = 1_000
    hours: int = 24
    capacity: float = 1.0
    target: float = 0.001
    mix: str = ""
    instantaneous: Instantaneous = "sampled"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, lowest in LEAST.items():
            if getattr(self, name) < lowest:
                raise UsageError(f"--{name}", "too few", expected=f"at least {lowest}", got=str(getattr(self, name)))
        if not 0 < self.capacity < math.inf:
            raise UsageError(
                "--capacity", "not the capacity of a machine", expected="a number above 0", got=f"{self.capacity:g}"
            )
        if not 0 < self.target < 1:
            raise UsageError("target", "not a probability", expected="above 0 and below 1", got=f"{self.target:g}")
