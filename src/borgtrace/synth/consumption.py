"""Consumption: the class of every task, and how much CPU and memory it uses on average.

A few large jobs own most tasks.  If every job had one class, the classes of a cell would be those of these
jobs, and no cell would have the published shares.  So tasks, not jobs, take places in the order of use, and
the places are spread evenly: the tasks of a job are neighbors, and the larger the job, the wider it spreads.
"""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from borgtrace.schema.time import WINDOW
from borgtrace.synth.classes import LONG
from borgtrace.synth.draws import systematic
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.profiles import Profile

SPAN = 400
"""A new job of so many tasks has tasks of every place; a smaller one of a part of them."""
CYCLES = 97
"""How often what has nothing to do with usage comes round in the order of use: the classes of 2019, half of what
memory of 2011 differs by."""
OVERUSE = 2.0
"""Largest mean CPU as a multiple of the request (a task takes up to twice its request)."""
IDLE = 0.018
"""What a short task that hardly does anything uses of the CPU that its class uses."""
EASY = 0.12
"""The same of the other short tasks."""
EMPTY = 0.04
"""What a short task that hardly holds anything uses of its job's memory."""
IDLE_SHARE = 0.93
"""Share of tasks that hardly use any CPU if they are short (58.7 % of all peak below 5 % of the request)."""
LIGHT_SHARE = 0.46
"""Share of those that hardly use any memory either (46.6 % of all)."""

Places = NDArray[np.float64]


class Consumption:
    """Draws what the tasks of a job use, given what they ask for.

    Parameters
    ----------
    profile
        What the cell is like.
    rng, task_rng
        Where the job's part and the tasks' parts are drawn from.
    """

    def __init__(self, profile: Profile, rng: random.Random, task_rng: np.random.Generator) -> None:
        self.profile, self.random, self.rng = profile, rng, task_rng

    def place_new(self, asked: Job) -> Places:
        """Draw the places of the tasks of a job that arrives: shape (size,), evenly spread over [0, 1]."""
        width = 2.0 * min(
            1.0, asked.size / SPAN
        )  # reflected at 0 and 1, a width of 2 covers everything
        own = self._spread(self.random.random(), width, asked.size)
        # Of such a tier usage is a share of the request, so the place must not depend on the request as well.
        if asked.tier.cpu_use:
            return own
        mean, deviation = self.profile.request
        return np.asarray(special.ndtr(self._score((math.log(asked.cpu) - mean) / deviation, own)))

    def place_alive(self, asked: Sequence[Job], weights: Sequence[float]) -> list[Places]:
        """Draw the places of tasks alive at the start, so that tasks with these weights fill [0, 1] evenly.

        Parameters
        ----------
        asked, weights
            The jobs, and what each of their tasks counts.

        Returns
        -------
        list of arrays of shape (size,), one per job
        """
        masses = [a.size * w for a, w in zip(asked, weights, strict=True)]
        own = systematic(masses, [self.random.random() for _ in asked])
        spread = [
            self._spread(middle, mass / sum(masses), a.size)
            for middle, mass, a in zip(own, masses, asked, strict=True)
        ]
        if asked[0].tier.cpu_use:
            return spread
        # Requests come in a few round numbers; the small random part only orders jobs that ask for the same.
        keys = [math.log(a.cpu) + 1e-6 * self.random.random() for a in asked]
        scores = [
            self._score(float(special.ndtri(u)), mine)
            for u, mine in zip(systematic(masses, keys), spread, strict=True)
        ]
        sizes = [a.size for a in asked]
        # Ranks again, because a mixture of two even spreads is no longer even.
        return np.split(
            _ranks(np.concatenate(scores), np.repeat(weights, sizes)), np.cumsum(sizes)[:-1]
        )

    def _score(self, z: float, own: Places) -> Places:
        """Mix the normal score of a request with places of the tasks' own: tasks that ask for much tend to use much."""
        like = self.profile.likeness
        return np.asarray(like * z + math.sqrt(1.0 - like**2) * special.ndtri(own))

    def _spread(self, middle: float, width: float, size: int) -> Places:
        """Return places around the middle, in no order of index; what lies outside [0, 1] is reflected."""
        # Shuffled: else the first tasks of every job would be the ones that use least.
        steps = (self.rng.permutation(size) + 0.5) / size if size > 1 else np.array([0.5])
        places = np.abs(middle + width * (steps - 0.5))
        # Strictly inside: the normal score of 0 or 1 is infinite.
        return np.asarray(np.clip(np.minimum(places, 2.0 - places), 1e-9, 1.0 - 1e-9))

    def draw(self, asked: Job, places: Places) -> tuple[list[Any], ...]:
        """Draw mean CPU, memory, class, and the class and shares of both if it is short, for every task.

        2011: by class (Janus & Rzadca).  2019: as the tier's share of the request.
        """
        tier, size, profile = asked.tier, asked.size, self.profile
        y = self.random.gauss(0.0, 1.0)
        own, other = self.rng.standard_normal(size), self.rng.standard_normal(size)
        if tier.cpu_use:
            z = special.ndtri(places)
            kinds = profile.classes.at(CYCLES * places % 1.0)[0]
            levels = asked.cpu * tier.cpu_use * np.exp(profile.cpu_spread * z + 0.1 * own)
            levels = np.minimum(levels, profile.classes.limit)
            memory = 0.9 * z + math.sqrt(0.19) * y
        else:
            kinds, inside = profile.classes.at(places)
            # Here and below, the squares of the weights add up to 1, so that what they mix stays standard normal.
            levels = profile.classes.levels(
                kinds, special.ndtri(inside) * math.sqrt(0.8) + own * math.sqrt(0.2)
            )
            memory = (
                y + special.ndtri(np.clip(CYCLES * inside % 1.0, 1e-6, 1.0 - 1e-6))
            ) * math.sqrt(0.5)
        ratio = np.clip(
            tier.memory_use * np.exp(profile.memory_spread * memory + 0.1 * other), 0.02, 1.05
        )
        levels = np.minimum(levels, OVERUSE * asked.cpu)
        columns = (
            levels,
            ratio * asked.memory,
            kinds,
            *self._short(kinds, levels / asked.cpu, ratio),
        )
        return tuple(column.tolist() for column in columns)

    def _short(
        self, kinds: NDArray[np.int64], cpu: Places, memory: Places
    ) -> tuple[NDArray[Any], ...]:
        """Draw class and shares of what tasks use if they are short, given what they else use of their requests."""
        idle, light = self.rng.random(len(kinds)), self.rng.random(len(kinds))
        if self.profile.short_use:
            of_cpu, of_memory = self.profile.short_use
            last = np.full(len(kinds), len(self.profile.classes.rows) - 1)
            return last, of_cpu.all_at(idle) / cpu, of_memory.all_at(light) / memory
        is_idle = idle < IDLE_SHARE
        return (
            kinds,
            np.where(is_idle, IDLE, EASY),
            np.where(is_idle & (light < LIGHT_SHARE), EMPTY, 1.0),
        )


def _ranks(scores: Places, weights: Places) -> Places:
    """Return the share of the weights that lies below the middle of each score."""
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(weights[order]) - 0.5 * weights[order]) / weights.sum()
    return ranks


def use_little(task: Task, start: int, end: int) -> None:
    """Lower what a task of 2011 uses if its first run is a short one; tiers of 2019 say how much is used.

    Short is what has fewer windows than a long task needs, not what lasts less: a run of 1 h 56 min may have
    as many windows as one of 2 h, and is then a long task to every reader.

    Parameters
    ----------
    task
        The task.
    start, end
        Its first run, µs.
    """
    if (end - 1) // WINDOW - start // WINDOW + 1 < LONG and not task.job.tier.cpu_use:
        task.kind, task.cpu_share, task.memory_share = (
            task.short_kind,
            task.short_cpu,
            task.short_memory,
        )
