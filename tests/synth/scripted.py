"""Jobs made by hand, and random numbers that are prescribed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from borgtrace.synth.model.draws import Stratified
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.model.profile import Profile, Tier
from borgtrace.synth.model.profiles import GOOGLE_2011, GOOGLE_2019
from borgtrace.synth.model.workload import WorkloadModel

FREE, OTHER, PRODUCTION = GOOGLE_2011.tiers
BEB = GOOGLE_2019.tiers[1]


class ScriptedRandom(random.Random):
    """Returns prescribed numbers, whatever is asked for, and keeps the arguments of each call."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(0)
        self.remaining = list(numbers)
        self.calls: list[tuple[float, ...]] = []

    def random(self) -> float:
        return self.remaining.pop(0)

    def _next(self, *arguments: float) -> float:
        self.calls.append(arguments)
        return self.remaining.pop(0)

    gauss = expovariate = lognormvariate = randint = _next  # type: ignore[assignment]


class ScriptedGenerator:
    """Stands for a NumPy generator: every method returns its prescribed array, and keeps its arguments."""

    def __init__(self, **arrays: list[Any]) -> None:
        self.arrays = arrays
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, method: str) -> Any:
        arrays = self.arrays[method]

        def draw(*arguments: Any, **options: Any) -> Any:
            self.calls.append((method, arguments, options))
            return np.array(arrays.pop(0))

        return draw


class Fixed(Stratified):
    """Always the same number."""

    def __init__(self, number: float) -> None:
        super().__init__(random.Random(0))
        self.number = number

    def draw(self) -> float:
        return self.number


def job_of(
    size: int = 1,
    cpu: float = 0.1,
    memory: float = 0.1,
    *,
    tier: Tier = FREE,
    **traits: Any,
) -> Job:
    """A job with its tasks, numbered from 100 × its id on."""
    job = Job(
        tier=tier,
        size=size,
        cpu=cpu,
        memory=memory,
        priority=0,
        scheduling_class=0,
        different=False,
    )
    for name, value in traits.items():
        setattr(job, name, value)
    job.tasks = [task_of(job, index) for index in range(size)]
    job.alive = size
    return job


def task_of(job: Job, index: int) -> Task:
    return Task(
        job=job,
        index=index,
        serial=100 * job.id + index,
        level=0.1,
        memory=0.1,
        kind=0,
        short_kind=0,
        short_cpu=1.0,
        short_memory=1.0,
    )


def workload(
    machines: int = 10,
    seed: int = 1,
    profile: Profile = GOOGLE_2011,
) -> WorkloadModel:
    cell = draw_machines(profile, machines, seed)
    return WorkloadModel(profile, cell, 24.0, seed)
