"""The state at the start: tasks that run when the trace begins, and tasks that wait."""

from __future__ import annotations

import random
from typing import Final

from borgtrace.schema.time import BEFORE_TRACE, TRACE_START
from borgtrace.synth.job_lifecycle import JobLifecycle
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.relations import Relations
from borgtrace.synth.scheduler import Scheduler
from borgtrace.synth.workload import Workload

HINTED: Final = 0.602
"""Running tasks whose submission already names their machine."""


def begin_snapshot(
    workload: Workload, lifecycle: JobLifecycle, relations: Relations, scheduler: Scheduler, rng: random.Random
) -> None:
    """Place the tasks that run when the trace begins, and queue those that wait.

    Parameters
    ----------
    workload, relations, scheduler
        Which jobs there are, what they have to do with each other, where their tasks go.
    lifecycle
        Where the tasks go on from there.
    rng
        Decides which submissions name a machine.
    """
    lifecycle.clock.now = BEFORE_TRACE
    jobs, running, waiting = _draw(workload)
    relations.relate_snapshot(jobs, running)
    for job in jobs:
        lifecycle.announce(job)
    _place(running, scheduler)
    for task in running:
        hint = task.machine if rng.random() < HINTED else -1
        lifecycle.log.task("SUBMIT", task, hint)
        if workload.profile.has_queue:
            lifecycle.log.task("ENABLE", task)
    for task in waiting:
        lifecycle.log.task("SUBMIT", task)
    for task in sorted(running, key=lambda t: (t.job.host is not None, t.serial)):
        task.attempt = 1
        lifecycle.tasks.begin(task, residual=True)
    for task in waiting:
        lifecycle.tasks.queue(task, TRACE_START)


def _draw(workload: Workload) -> tuple[list[Job], list[Task], list[Task]]:
    """Return the jobs, their running tasks and their waiting ones."""
    count, tiers = len(workload.machines), workload.profile.tiers
    running = workload.alive_jobs({tier: max(1, round(tier.running * count)) for tier in tiers})
    waiting = workload.alive_jobs({tier: max(1, round(tier.pending * count)) for tier in tiers}, is_waiting=True)
    return (running + waiting, [t for job in running for t in job.tasks], [t for job in waiting for t in job.tasks])


def _place(running: list[Task], scheduler: Scheduler) -> None:
    """Give every task a machine: the largest first, those inside alloc sets last."""
    for task in sorted(running, key=lambda t: (t.job.host is not None, -t.job.cpu, t.serial)):
        task.machine = scheduler.choose(task, insist=True)
        scheduler.add(task)
