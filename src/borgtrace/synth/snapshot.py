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
    # All that was before the trace has time 0; the clock starts after it.
    lifecycle.clock.now = BEFORE_TRACE
    jobs, running, waiting = _draw(workload)
    relations.relate_snapshot(jobs, running)
    for job in jobs:
        lifecycle.announce(job)
    _place(running, scheduler)
    for task in running:
        # 60.2 % of the SUBMIT rows at time 0 name a machine, no later one does.
        hint = task.machine if rng.random() < HINTED else -1
        lifecycle.log.task("SUBMIT", task, hint)
        if workload.profile.has_queue:
            lifecycle.log.task("ENABLE", task)
    for task in waiting:
        lifecycle.log.task("SUBMIT", task)
    # Alloc instances first: a task must not be running before the place that it runs in.
    for task in sorted(running, key=lambda t: (t.job.host is not None, t.serial)):
        # Counts as queued: updates and ends planned from here on belong to the first attempt.
        task.attempt = 1
        lifecycle.tasks.begin(task, residual=True)
    for task in waiting:
        # They wait from the start of the trace on; from time 0 some would be over before it begins.
        lifecycle.tasks.queue(task, TRACE_START)


def _draw(workload: Workload) -> tuple[list[Job], list[Task], list[Task]]:
    """Return the jobs, their running tasks and their waiting ones."""
    count, tiers = len(workload.machines), workload.profile.tiers
    running = workload.alive_jobs({tier: max(1, round(tier.running * count)) for tier in tiers})
    waiting = workload.alive_jobs({tier: max(1, round(tier.pending * count)) for tier in tiers}, is_waiting=True)
    return (running + waiting, [t for job in running for t in job.tasks], [t for job in waiting for t in job.tasks])


def _place(running: list[Task], scheduler: Scheduler) -> None:
    """Give every task a machine: the largest first, those inside alloc sets last."""
    # The large ones would find no room after the small ones, and then overfill a machine.
    for task in sorted(running, key=lambda t: (t.job.host is not None, -t.job.cpu, t.serial)):
        task.machine = scheduler.choose(task, insist=True)
        scheduler.add(task)
