"""Consumption: the class of a job, and how much CPU and memory each of its tasks uses on average."""

from __future__ import annotations

import math
import random
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from borgtrace.synth.classes import CLASSES, LEVEL_LIMIT, SHARES
from borgtrace.synth.jobs import Task
from borgtrace.synth.profiles import Tier

REQUESTS: Final = (
    (0.0006, 0.0027, 0.006, 0.0103, 0.0135, 0.0187, 0.031, 0.05, 0.0625, 0.125, 0.1875, 0.3125, 0.5),
    (0.002, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.875, 0.94, 0.975, 0.992),
)
"""CPU requests of long tasks that do not fail, and the shares of them that ask for no more."""
LIKENESS: Final = 0.75
"""Correlation of what a job asks for and what it uses, in normal scores."""
OVERUSE: Final = 2.0
"""Largest mean CPU as a multiple of the request (a task takes up to twice its request)."""
LIFT: Final = 0.36
"""Shift of these scores: makes up for usage that is cut at twice the request."""
BRIEF: Final = 7200.0
"""Seconds below which a run is short; short tasks use less of what they ask for than long ones."""
IDLE: Final = 0.015
"""What a short task that hardly does anything uses of the CPU that its class uses."""
EASY: Final = 0.12
"""The same of the other short tasks."""
EMPTY: Final = 0.04
"""What a short task that hardly holds anything uses of its job's memory."""

_ORDER: Final = tuple(np.argsort([c.median for c in CLASSES], kind="stable"))
_ORDERED_SHARES: Final = np.cumsum(SHARES[list(_ORDER)])


class Consumption:
    """Draws what the tasks of a job use, given what they ask for.

    Parameters
    ----------
    rng, task_rng
        Where the job's part and the tasks' parts are drawn from.
    """

    def __init__(self, rng: random.Random, task_rng: np.random.Generator) -> None:
        self.random, self.rng = rng, task_rng

    def draw(self, tier: Tier, cpu: float, size: int) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """Draw a class, the mean CPU of every task, and their memory as a share of the request.

        2011: by class (Janus & Rzadca).  2019: as the tier's share of the request.
        """
        z, y = self.random.gauss(0.0, 1.0), self.random.gauss(0.0, 1.0)
        own, other = self.rng.standard_normal(size), self.rng.standard_normal(size)
        if tier.cpu_use:
            kind = len(CLASSES) + self.random.choices(range(len(CLASSES)), SHARES.tolist())[0]
            levels = np.minimum(cpu * tier.cpu_use * np.exp(1.6 * z + 0.1 * own), LEVEL_LIMIT)
            y = 0.9 * z + math.sqrt(0.19) * y
        else:
            kind = self._kind(cpu)
            levels = CLASSES[kind].levels(z * math.sqrt(0.8) + own * math.sqrt(0.2))
        ratio = np.clip(tier.memory_use * np.exp(0.45 * y + 0.1 * other), 0.02, 1.05)
        return kind, np.minimum(levels, OVERUSE * cpu), ratio

    def _kind(self, cpu: float) -> int:
        """Draw a class: tasks that ask for much tend to use much."""
        z = float(special.ndtri(np.interp(math.log(max(cpu, 1e-4)), np.log(REQUESTS[0]), REQUESTS[1])))
        own = math.sqrt(1.0 - LIKENESS**2) * self.random.gauss(0.0, 1.0)
        u = float(special.ndtr(LIKENESS * z + own + LIFT))
        return int(_ORDER[min(int(np.searchsorted(_ORDERED_SHARES, u)), len(_ORDER) - 1)])


def use_little(task: Task, seconds: float) -> None:
    """Lower what a task of 2011 uses if its first run is a short one; tiers of 2019 say how much is used."""
    job = task.job
    if seconds < BRIEF and not job.tier.cpu_use:
        task.cpu_share = IDLE if job.is_idle else EASY
        task.memory_share = EMPTY if job.is_idle and job.is_light else 1.0
