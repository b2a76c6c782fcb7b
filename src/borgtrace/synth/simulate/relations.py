"""How jobs of 2019 relate to each other: parents, predecessors, the batch queue, alloc sets."""

import math
import random
from collections import deque

from borgtrace.schema.time import SECOND
from borgtrace.synth.model.draws import pick
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.workload import WorkloadModel
from borgtrace.synth.simulate.lifecycle import Lifecycle

PARENTS = 0.35
"""Share of jobs with a parent."""
BATCH = 0.5
"""Share of best-effort jobs that the batch scheduler handles."""
HELD = 0.5
"""Share of batch jobs that wait in the batch queue (a tenth of all collections of cell a)."""
FOLLOWING = 0.4
"""Share of these that start after another job; the rest is released after a while."""
SCALING = {"OFF": 0.55, "CONSTRAINED": 0.15, "FULLY_AUTOMATED": 0.30}
"""Settings of vertical scaling and their shares of collections."""
REMEMBERED = 60
"""Number of recent jobs among which parents and predecessors are chosen."""


class Relations:
    """Relates new jobs to recent ones.

    Parameters
    ----------
    workload
        Draws the alloc sets.
    lifecycle
        Brings them into the cell and releases held jobs.
    rng
        Where random numbers come from, in arrival order.

    Attributes
    ----------
    recent
        The last jobs.
    """

    def __init__(
        self,
        workload: WorkloadModel,
        lifecycle: Lifecycle,
        rng: random.Random,
    ) -> None:
        self.workload = workload
        self.lifecycle = lifecycle
        self.random = rng
        self.profile = workload.profile
        self.recent: deque[Job] = deque(maxlen=REMEMBERED)

    def relate(self, job: Job) -> None:
        """Give a new job a parent, a predecessor, a wait in the batch queue, an alloc set."""
        job.scaling = pick(SCALING, self.random.random())
        is_best_effort = job.tier.name == "beb"
        job.is_batch = is_best_effort and self.random.random() < BATCH
        # Only jobs that are still alive can end later, and so kill a child or release a follower.
        others = [other for other in self.recent if other.alive > 0 and not other.is_cancelled]
        if others and self.random.random() < PARENTS:
            job.parent = self.random.choice(others)
            job.parent.children.append(job)
        if job.is_batch and self.random.random() < HELD:
            self.hold(job, others)
        if self._wants_host(job):
            self.lifecycle.arrive(self.workload.alloc_set(job))
        self.recent.append(job)

    def hold(self, job: Job, others: list[Job]) -> None:
        """Keep a job in the batch queue until one of the others ends, or for a while."""
        job.is_held = True
        if others and self.random.random() < FOLLOWING:
            job.after = self.random.choice(others)
            job.after.followers.append(job)
        else:
            seconds = self.random.lognormvariate(math.log(120.0), 1.5)
            clock = self.lifecycle.clock
            time = clock.now + round(seconds * SECOND)
            clock.at(time, self.lifecycle.release, job)

    def hosts(self, jobs: list[Job]) -> list[Job]:
        """Put some running jobs into alloc sets, and return those."""
        return [self.workload.alloc_set(job) for job in jobs if self._wants_host(job)]

    def _wants_host(self, job: Job) -> bool:
        share = self.profile.alloc_jobs
        if share == 0.0 or job.priority < self.profile.evicting:
            return False
        return self.random.random() < share
