"""What a user may set of an experiment, and the sizes of the published experiments."""

from __future__ import annotations

from dataclasses import dataclass

from borgtrace.colocation.tasks.pool import Instantaneous
from borgtrace.colocation.tasks.preparation import INCLUDED
from borgtrace.errors import UsageError, check_names
from borgtrace.placement import require_capacity
from borgtrace.schema.ranges import parse_words

PAPER_SCALE = {
    "tasks": 100_000,
    "realizations": 10_000,
    "instances": 50,
    "size": 1_000,
    "samples": 10_000,
}
"""Sizes of the experiments of Janus & Rzadca (§3.1, §3.6, §5.1)."""
LEAST = {
    "tasks": 1,
    "realizations": 100,
    "instances": 1,
    "size": 1,
    "samples": 1,
    "hours": 1,
}
"""Smallest sizes; with fewer than 100 realizations, less than one of them would decide a target of 1 %."""


@dataclass(frozen=True, kw_only=True)
class ColocationOptions:
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
    promises
        What each tier is promised, as :func:`borgtrace.colocation.packing.service_classes.parse_promises` reads it.
    mix
        Kinds of machines, as :func:`borgtrace.colocation.packing.machine_kinds.parse_mix` reads them.
    instantaneous
        Where draws of instantaneous usage come from.
    include
        Tasks that stay though the paper drops them, of :data:`borgtrace.colocation.tasks.preparation.INCLUDED`.
    seed
        Seed of samples and draws.

    Raises
    ------
    UsageError
        Names the option, its value and what is allowed.

    Examples
    --------
    >>> ColocationOptions(instances=3).size
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
    promises: str = "production=0.999,free=0.95"
    mix: str = ""
    instantaneous: Instantaneous = "sampled"
    include: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        check_names("--include", parse_words(self.include), INCLUDED)
        for name, lowest in LEAST.items():
            value = getattr(self, name)
            if value < lowest:
                raise UsageError(
                    f"--{name}",
                    "too few",
                    expected=f"at least {lowest}",
                    got=str(value),
                )
        require_capacity("--capacity", self.capacity)
        if not 0 < self.target < 1:
            raise UsageError(
                "target",
                "not a probability",
                expected="above 0 and below 1",
                got=f"{self.target:g}",
            )
