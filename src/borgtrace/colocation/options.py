"""The options of an experiment, and the sizes of the published experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from borgtrace.colocation.tasks.pool import Instantaneous
from borgtrace.colocation.tasks.preparation import INCLUDED
from borgtrace.errors import UsageError, check_names
from borgtrace.schema.bounds import (
    CAPACITY,
    INSTANCE_SIZE,
    INSTANCES,
    PROBABILITY,
    REALIZATIONS,
    REPLAYED_HOURS,
    SAMPLE_SIZE,
    SEED,
    SUM_SAMPLES,
    check_fields,
)
from borgtrace.schema.ranges import parse_words

PAPER_SCALE = {
    "tasks": 100_000,
    "realizations": 10_000,
    "instances": 50,
    "size": 1_000,
    "samples": 10_000,
}
"""Sizes of the experiments of Janus & Rzadca (§3.1, §3.6, §5.1)."""
MOST_DRAWS = 10**9
"""Draws of one instance, which are held at once: 8 GB."""


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

    tasks: Annotated[int, SAMPLE_SIZE] = 100_000
    realizations: Annotated[int, REALIZATIONS] = 10_000
    instances: Annotated[int, INSTANCES] = 5
    size: Annotated[int, INSTANCE_SIZE] = 1_000
    samples: Annotated[int, SUM_SAMPLES] = 1_000
    hours: Annotated[int, REPLAYED_HOURS] = 24
    capacity: Annotated[float, CAPACITY] = 1.0
    target: Annotated[float, PROBABILITY] = 0.001
    promises: str = "production=0.999,free=0.95"
    mix: str = ""
    instantaneous: Instantaneous = "sampled"
    include: str = ""
    seed: Annotated[int, SEED] = 0

    def __post_init__(self) -> None:
        check_names("--include", parse_words(self.include), INCLUDED)
        # No option sets the target: it is one less the share of --slo.
        check_fields(self, {"target": "target"})
        draws = self.size * self.realizations
        if draws > MOST_DRAWS:
            raise UsageError(
                "--size",
                "too many draws at once",
                expected=f"--size times --realizations of at most {MOST_DRAWS:,}",
                got=f"{draws:,}",
            )
