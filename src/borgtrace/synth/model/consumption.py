"""Consumption: the class of every task, and how much CPU and memory it uses on average.

What was followed where publications contradict each other, for 2011:

* Levels and variation of long tasks are those of Janus & Rzadca (SoCC'17), who drop tasks that fail.  With a mean usage
  of .0274 for all tasks that run, production could not take more than 80 % of the CPU used (Zhu et al., Fig. 9), nor
  could half of the usage rows lie below .0027 (20 parts of the real trace).  So tasks that fail use little, and of two
  tasks that ask for the same the one of production uses more.
* The series of a job over a day vary by .126 of their mean (median of 1,600), and for 60 % of the tasks, by duration,
  CPU changes by less than 15 % from hour to hour (Reiss et al., SoCC'12); long tasks deviate by .31 of their mean and
  .010 (Janus & Rzadca).  So tasks that fail are steady, and of those that last for a day and end well a fifth: with
  two fifths, two windows of three hours differ for 43 % of the long tasks (30 % in Janus & Rzadca).
* Peaks of tasks are those of the histograms over 20 million tasks that stay within their requests; 3.36 % exceed their
  memory request.
* Tasks take up to twice their CPU request (Zhu et al.).  The spikes of long tasks that end well do not fit into that:
  without them their deviation would be a fifth too small.  So those alone, about one task in a hundred, use more.

A few large jobs own most tasks.  If every job had one class, the classes of a cell would be those of these
jobs, and no cell would have the published shares.  So tasks, not jobs, have places in the order of use, and
the places are spread evenly: the tasks of a job are neighbors, and the larger the job, the wider it spreads.
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.normal import normal_probability, normal_score
from borgtrace.schema.time import WINDOW
from borgtrace.synth.model.classes import LONG
from borgtrace.synth.model.draws import systematic
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.profile import Profile

SPAN = 400
"""A new job with this many tasks has tasks of every place; a smaller one covers a part of them."""
CYCLES = 97
"""How often what is unrelated to usage cycles through the order of use: the classes of 2019, and half of the variation
of memory in 2011."""
MOST_MEMORY = 0.98
"""Largest mean memory as a share of the request, of a task that stays within it."""
OVER_MEMORY = 0.0336
"""Share of tasks that exceed their memory request (3.36 % of the tasks of 2011)."""
OVERUSE = 1.95
"""Largest mean CPU as a multiple of the request: a task takes up to twice its request, both as they are printed."""
DAY = 288
"""Windows of a day: from then on tasks that end well may be steady."""

Places = NDArray[np.float64]
"""Places of tasks in the order of use, from 0 to 1."""


class ShortUse(NamedTuple):
    """What tasks use if they are short: their class, and the shares of their CPU and memory."""

    kinds: NDArray[np.int64]
    cpu: Places
    memory: Places


class TaskUse(NamedTuple):
    """What the tasks of a job use, one entry per task.

    Attributes
    ----------
    level, memory
        Mean CPU and memory.
    kind
        Class.
    short_kind, short_cpu, short_memory
        If the task is short: its class, and the shares of `level` and `memory` that it uses.
    """

    level: list[float]
    memory: list[float]
    kind: list[int]
    short_kind: list[int]
    short_cpu: list[float]
    short_memory: list[float]


class Consumption:
    """Draws what the tasks of a job use, given what they ask for.

    Parameters
    ----------
    profile
        What the cell is like.
    rng, task_rng
        Where the random numbers for whole jobs and for single tasks come from.
    """

    def __init__(
        self,
        profile: Profile,
        rng: random.Random,
        task_rng: np.random.Generator,
    ) -> None:
        self.profile = profile
        self.random = rng
        self.rng = task_rng

    def place_new(self, job: Job) -> Places:
        """Draw the places of the tasks of a job that arrives: shape (size,), evenly spread over [0, 1]."""
        # Reflected at 0 and 1, a width of 2 covers everything.
        width = 2.0 * min(1.0, job.size / SPAN)
        places = self._spread(self.random.random(), width, job.size)
        # In such a tier usage is a share of the request, so the place must not depend on the request as well.
        if job.tier.cpu_use:
            return places
        mean, deviation = self.profile.request
        request_score = (math.log(job.cpu) - mean) / deviation
        return normal_probability(self.mixed_scores(request_score, places))

    def place_alive(
        self,
        jobs: Sequence[Job],
        weights: Sequence[float],
    ) -> list[Places]:
        """Draw the places of tasks alive at the start, so that tasks with these weights fill [0, 1] evenly.

        Parameters
        ----------
        jobs, weights
            The jobs, and what each of their tasks counts.

        Returns
        -------
        list of arrays of shape (size,), one per job
        """
        masses = [job.size * weight for job, weight in zip(jobs, weights, strict=True)]
        total = sum(masses)
        middles = systematic(masses, [self.random.random() for _ in jobs])
        places = [
            self._spread(middle, mass / total, job.size)
            for job, middle, mass in zip(jobs, middles, masses, strict=True)
        ]
        if jobs[0].tier.cpu_use:
            return places
        # Requests come in a few round numbers; the small random part only orders jobs with equal requests.
        keys = [self._request_key(job) for job in jobs]
        request_ranks = systematic(masses, keys)
        scores = [
            self.mixed_scores(float(normal_score(rank)), own)
            for rank, own in zip(request_ranks, places, strict=True)
        ]
        sizes = [job.size for job in jobs]
        # Ranks again, because a mixture of two even spreads is no longer even.
        weight_of_task = np.repeat(weights, sizes)
        ranks = _ranks(np.concatenate(scores), weight_of_task)
        ends = np.cumsum(sizes)
        return np.split(ranks, ends[:-1])

    def _request_key(self, job: Job) -> float:
        jitter = 1e-6 * self.random.random()
        return math.log(job.cpu * job.tier.need) + jitter

    def mixed_scores(self, request_score: float, places: Places) -> Places:
        """Mix the normal score of a request into those of places: tasks that ask for much tend to use much."""
        likeness = self.profile.likeness
        own_scores = normal_score(places)
        return np.asarray(likeness * request_score + math.sqrt(1.0 - likeness**2) * own_scores)

    def _spread(
        self,
        middle: float,
        width: float,
        size: int,
    ) -> Places:
        """Return places around the middle, not ordered by index; what lies outside [0, 1] is reflected."""
        # Shuffled: otherwise the first tasks of every job would be the ones that use least.
        steps = np.array([0.5])
        if size > 1:
            steps = (self.rng.permutation(size) + 0.5) / size
        unfolded = np.abs(middle + width * (steps - 0.5))
        places = np.minimum(unfolded, 2.0 - unfolded)
        # Strictly inside: the normal score of 0 or 1 is infinite.
        return np.asarray(np.clip(places, 1e-9, 1.0 - 1e-9))

    def draw(self, job: Job, places: Places) -> TaskUse:
        """Draw the use of every task of a job.

        2011: by class (Janus & Rzadca).  2019: as the tier's share of the request.
        """
        profile = self.profile
        job_score = self.random.gauss(0.0, 1.0)
        cpu_noise = self.rng.standard_normal(job.size)
        memory_noise = self.rng.standard_normal(job.size)
        if job.tier.cpu_use:
            scores = normal_score(places)
            kinds = profile.classes.at(CYCLES * places % 1.0).kinds
            deviation = profile.cpu_spread * scores + 0.1 * cpu_noise
            levels = job.cpu * job.tier.cpu_use * np.exp(deviation)
            levels = np.minimum(levels, profile.classes.limit)
            memory_scores = 0.9 * scores + math.sqrt(0.19) * job_score
        else:
            kinds, inside = profile.classes.at(places)
            # Here and below, the squares of the weights add up to 1, so that the mixture stays standard normal.
            class_scores = normal_score(inside)
            z = class_scores * math.sqrt(0.8) + cpu_noise * math.sqrt(0.2)
            levels = job.tier.gain * profile.classes.levels(kinds, z)
            cycled = np.clip(CYCLES * inside % 1.0, 1e-6, 1.0 - 1e-6)
            own_scores = normal_score(cycled)
            memory_scores = (job_score + own_scores) * math.sqrt(0.5)
        deviation = profile.memory_spread * memory_scores + 0.1 * memory_noise
        ratio = job.tier.memory_use * np.exp(deviation)
        memory_ratio = np.clip(ratio, 0.02, MOST_MEMORY)
        over = self.rng.random(job.size)
        # Spread over the excesses, so that a quarter of the request is the most that a task is above it.
        memory_ratio = np.where(over < OVER_MEMORY, 1.02 + 0.23 * over / OVER_MEMORY, memory_ratio)
        levels = np.minimum(levels, OVERUSE * job.cpu)
        short = self._draw_short_use(kinds, levels / job.cpu, memory_ratio)
        return TaskUse(
            level=levels.tolist(),
            memory=(memory_ratio * job.memory).tolist(),
            kind=kinds.tolist(),
            short_kind=short.kinds.tolist(),
            short_cpu=short.cpu.tolist(),
            short_memory=short.memory.tolist(),
        )

    def _draw_short_use(
        self,
        kinds: NDArray[np.int64],
        cpu: Places,
        memory: Places,
    ) -> ShortUse:
        """Draw what tasks use if they are short, given what they otherwise use of their requests."""
        cpu_curve, memory_curve = self.profile.short_use
        classes = self.profile.classes.rows
        # A class without any long task is the one of short tasks; where there is none, they keep theirs.
        has_own_class = classes[-1].share == 0.0
        return ShortUse(
            kinds=np.full(len(kinds), len(classes) - 1) if has_own_class else kinds,
            cpu=cpu_curve.all_at(self.rng.random(len(kinds))) / cpu,
            memory=memory_curve.all_at(self.rng.random(len(kinds))) / memory,
        )


def _ranks(scores: Places, weights: Places) -> Places:
    """Return the share of the weights that lies below the middle of each score."""
    order = np.argsort(scores, kind="stable")
    ordered = weights[order]
    ranks = np.empty(len(scores))
    middles = np.cumsum(ordered) - 0.5 * ordered
    ranks[order] = middles / weights.sum()
    return ranks


def settle_use(
    task: Task,
    start: int,
    end: int,
    *,
    fails: bool,
    was_running: bool,
) -> None:
    """Decide what a task of 2011 uses by its first run; for 2019 the tiers determine the use.

    A run is short if it has fewer windows than a long task needs, not if it lasts less: a run of 1 h 56 min may have
    as many windows as one of 2 h, and is then a long task to every reader.

    Parameters
    ----------
    task
        The task.
    start, end
        Its first run, µs.
    fails
        Whether the run ends inside the trace, and not with a FINISH.
    was_running
        Whether the run began before the trace; it is then a long one, however soon it ends.
    """
    tier = task.job.tier
    if tier.cpu_use:
        return
    first_window = start // WINDOW
    last_window = (end - 1) // WINDOW
    windows = last_window - first_window + 1
    is_short = windows < LONG and not was_running
    if is_short or (fails and tier.failing_use_little):
        task.kind = task.short_kind
        task.cpu_share = task.short_cpu
        task.memory_share = task.short_memory
    if is_short or fails:
        task.steadiness = 1.0 if tier.steady else 0.0
        task.overuse = tier.overuse
    elif windows >= DAY:
        task.steadiness = tier.steady
