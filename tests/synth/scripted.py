"""Jobs made by hand, and random numbers that are none."""

from __future__ import annotations

import random
from typing import Any

from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.model.profiles import PROFILES
from borgtrace.synth.model.workload import WorkloadModel

GOOGLE_2011, GOOGLE_2019 = PROFILES.values()
FREE, OTHER, PRODUCTION = GOOGLE_2011.tiers
BEB = GOOGLE_2019.tiers[1]


class Scripted(random.Random):
    """Gives the numbers that it was given, whatever is asked for, and keeps the arguments."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(0)
        self.numbers, self.asked = list(numbers), []

    def random(self) -> float:
        return self.numbers.pop(0)

    def _given(self, *arguments: float) -> float:
        self.asked.append(arguments)
        return self.numbers.pop(0)

    gauss = expovariate = lognormvariate = randint = _given  # type: ignore[assignment]


def job_of(
    size: int = 1, cpu: float = 0.1, memory: float = 0.1, *, tier: Any = FREE, **traits: Any
) -> Job:
    """A job with its tasks, numbered from 100 × its id on."""
    job = Job(
        tier,
        size,
        cpu,
        memory,
        0,
        0,
        False,
    )
    for name, value in traits.items():
        setattr(job, name, value)
    job.tasks = [
        Task(
            job,
            i,
            100 * job.id + i,
            0.1,
            0.1,
            0,
            0,
            1.0,
            1.0,
        )
        for i in range(size)
    ]
    job.alive = size
    return job


def workload(
    machines: int = 10,
    seed: int = 1,
    profile: Any = GOOGLE_2011,
) -> WorkloadModel:
    return WorkloadModel(
        profile,
        draw_machines(profile, machines, seed),
        24.0,
        seed,
    )
