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
from borgtrace.synth.classes import CLASSES, LEVEL_LIMIT, LONG, SHARES, levels_of
from borgtrace.synth.draws import systematic
from borgtrace.synth.jobs import Job, Task

REQUEST = (-4.03, 1.01)
"""Logarithm of the CPU request of new jobs: mean and deviation (log-normal, first 19.65 h of 2011)."""
LIKENESS = 0.94
"""Correlation of what a task asks for and what it uses, in normal scores."""
SPAN = 400
"""A new job of so many tasks has tasks of every place; a smaller one of a part of them."""
CYCLES = 97
"""How often what has nothing to do with usage comes round in the order of use: the classes of 2019, half of what
memory of 2011 differs by."""
USE_SPREAD = 1.45
"""2019: deviation of the logarithm of CPU used ÷ requested."""
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

_ORDER = np.argsort([c.median for c in CLASSES], kind="stable")
_ORDERED_SHARES = np.cumsum(SHARES[_ORDER])
Places = NDArray[np.float64]


class Consumption:
    """Draws what the tasks of a job use, given what they ask for.

    Parameters
    ----------
    rng, task_rng
        Where the job's part and the tasks' parts are drawn from.
    """

    def __init__(self, rng: random.Random, task_rng: np.random.Generator) -> None:
        self.random, self.rng = rng, task_rng

    def place_new(self, asked: Job) -> Places:
        """Draw the places of the tasks of a job that arrives: shape (size,), evenly spread over [0, 1]."""
        width = 2.0 * min(1.0, asked.size / SPAN)  # reflected at 0 and 1, a width of 2 covers everything
        own = self._spread(self.random.random(), width, asked.size)
        # Of such a tier usage is a share of the request, so the place must not depend on the request as well.
        if asked.tier.cpu_use:
            return own
        z = (math.log(asked.cpu) - REQUEST[0]) / REQUEST[1]
        return np.asarray(special.ndtr(_score(z, own)))

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
            self._spread(middle, mass / sum(masses), a.size) for middle, mass, a in zip(own, masses, asked, strict=True)
        ]
        if asked[0].tier.cpu_use:
            return spread
        # Requests come in a few round numbers; the small random part only orders jobs that ask for the same.
        keys = [math.log(a.cpu) + 1e-6 * self.random.random() for a in asked]
        scores = [
            _score(float(special.ndtri(u)), mine) for u, mine in zip(systematic(masses, keys), spread, strict=True)
        ]
        sizes = [a.size for a in asked]
        # Ranks again, because a mixture of two even spreads is no longer even.
        return np.split(_ranks(np.concatenate(scores), np.repeat(weights, sizes)), np.cumsum(sizes)[:-1])

    def _spread(self, middle: float, width: float, size: int) -> Places:
        """Return places around the middle, in no order of index; what lies outside [0, 1] is reflected."""
        # Shuffled: else the first tasks of every job would be the ones that use least.
        steps = (self.rng.permutation(size) + 0.5) / size if size > 1 else np.array([0.5])
        places = np.abs(middle + width * (steps - 0.5))
        # Strictly inside: the normal score of 0 or 1 is infinite.
        return np.asarray(np.clip(np.minimum(places, 2.0 - places), 1e-9, 1.0 - 1e-9))

    def draw(self, asked: Job, places: Places) -> tuple[list[Any], ...]:
        """Draw mean CPU, memory, class, and whether it is idle and light while it is short, for every task.

        2011: by class (Janus & Rzadca).  2019: as the tier's share of the request.
        """
        tier, size = asked.tier, asked.size
        y = self.random.gauss(0.0, 1.0)
        own, other = self.rng.standard_normal(size), self.rng.standard_normal(size)
        if tier.cpu_use:
            z = special.ndtri(places)
            # Classes of 2019 are the second half of EVERY_CLASS.
            kinds = len(CLASSES) + _classes(CYCLES * places % 1.0)[0]
            levels = np.minimum(asked.cpu * tier.cpu_use * np.exp(USE_SPREAD * z + 0.1 * own), LEVEL_LIMIT)
            memory = 0.9 * z + math.sqrt(0.19) * y
        else:
            kinds, inside = _classes(places)
            # Here and below, the squares of the weights add up to 1, so that what they mix stays standard normal.
            levels = levels_of(kinds, special.ndtri(inside) * math.sqrt(0.8) + own * math.sqrt(0.2))
            memory = (y + special.ndtri(np.clip(CYCLES * inside % 1.0, 1e-6, 1.0 - 1e-6))) * math.sqrt(0.5)
        ratio = np.clip(tier.memory_use * np.exp(0.45 * memory + 0.1 * other), 0.02, 1.05)
        is_idle = self.rng.random(size) < IDLE_SHARE
        is_light = is_idle & (self.rng.random(size) < LIGHT_SHARE)
        columns = (np.minimum(levels, OVERUSE * asked.cpu), ratio * asked.memory, kinds, is_idle, is_light)
        return tuple(column.tolist() for column in columns)


def _score(z: float, own: Places) -> Places:
    """Mix the normal score of a request with places of the tasks' own: tasks that ask for much tend to use much."""
    return np.asarray(LIKENESS * z + math.sqrt(1.0 - LIKENESS**2) * special.ndtri(own))


def _ranks(scores: Places, weights: Places) -> Places:
    """Return the share of the weights that lies below the middle of each score."""
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(weights[order]) - 0.5 * weights[order]) / weights.sum()
    return ranks


def _classes(places: Places) -> tuple[NDArray[np.int64], Places]:
    """Return the class at each place in the order of use, and the place among the tasks of that class."""
    # The last cumulated share may round to just below 1, and a place beyond it has no class.
    number = np.minimum(np.searchsorted(_ORDERED_SHARES, places), len(_ORDER) - 1)
    share = SHARES[_ORDER][number]
    inside = 1.0 - (_ORDERED_SHARES[number] - places) / share
    return _ORDER[number], np.clip(inside, 1e-6, 1.0 - 1e-6)


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
        task.cpu_share = IDLE if task.is_idle else EASY
        task.memory_share = EMPTY if task.is_light else 1.0
