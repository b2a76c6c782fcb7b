"""What jobs of 2019 have to do with each other: parents, predecessors, the batch queue, alloc sets."""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Final

from borgtrace.schema.time import SECOND
from borgtrace.synth.job_lifecycle import JobLifecycle
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.workload import Workload

PARENTS: Final = 0.35
"""Jobs with a parent."""
HELD: Final = 0.5
"""Batch jobs that wait in the batch queue (a tenth of all collections of cell a)."""
FOLLOWING: Final = 0.4
"""Of these, jobs that start after another one; the rest is let go after a while."""
SCALING: Final = (("OFF", "CONSTRAINED", "FULLY_AUTOMATED"), (0.55, 0.15, 0.30))
"""Settings of vertical scaling and their shares of collections."""
REMEMBERED: Final = 60
"""Recent jobs among which parents and predecessors are chosen."""


class Relations:
    """Relates new jobs to recent ones.

    Parameters
    ----------
    workload
        Draws the alloc sets.
    lifecycle
        Brings them into the cell and lets held jobs go.
    rng
        Where relations are drawn from, in arrival order.
    """

    def __init__(self, workload: Workload, lifecycle: JobLifecycle, rng: random.Random) -> None:
        self.workload, self.lifecycle, self.random = workload, lifecycle, rng
        self.profile = workload.profile
        self._recent: deque[Job] = deque(maxlen=REMEMBERED)

    def relate(self, job: Job) -> None:
        """Give a new job a parent, a predecessor, a wait in the batch queue, an alloc set."""
        job.scaling = self.random.choices(*SCALING)[0]
        job.is_batch = job.tier.name == "beb" and self.random.random() < 0.5
        # Only jobs that are still alive can end later, and so kill a child or let a follower go.
        others = [other for other in self._recent if other.alive > 0 and not other.is_cancelled]
        if others and self.random.random() < PARENTS:
            job.parent = self.random.choice(others)
            job.parent.children.append(job)
        if job.is_batch and self.random.random() < HELD:
            self._hold(job, others)
        if self._wants_host(job):
            self.lifecycle.arrive(self.workload.alloc_set(job), gap=1)
        self._recent.append(job)

    def _hold(self, job: Job, others: list[Job]) -> None:
        """Keep a job in the batch queue, until another ends or for a while."""
        job.is_held = True
        if others and self.random.random() < FOLLOWING:
            job.after = self.random.choice(others)
            job.after.followers.append(job)
        else:
            hold = self.random.lognormvariate(math.log(120.0), 1.5)
            clock = self.lifecycle.clock
            clock.at(clock.now + round(hold * SECOND), self.lifecycle.release, job)

    def relate_snapshot(self, jobs: list[Job], running: list[Task]) -> None:
        """Put some running jobs into alloc sets; appends those to `jobs` and their tasks to `running`."""
        if self.profile.alloc_jobs == 0.0:
            return
        inside = {task.job.number for task in running}
        # A copy, because alloc sets are appended to the list meanwhile.
        for job in list(jobs):
            if job.number in inside and self._wants_host(job):
                host = self.workload.alloc_set(job)
                jobs.append(host)
                running += host.tasks

    def _wants_host(self, job: Job) -> bool:
        return job.priority >= self.profile.evicting and self.random.random() < self.profile.alloc_jobs
