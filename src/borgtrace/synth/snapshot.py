"""The state at the start: tasks that run when the trace begins, and tasks that wait."""

from __future__ import annotations

import random
from typing import Final

from borgtrace.schema.time import BEFORE_TRACE, TRACE_START
from borgtrace.synth.job_lives import JobLives
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.placement import Placement
from borgtrace.synth.relations import Relations
from borgtrace.synth.workload import Workload

HINTED: Final = 0.602
"""Running tasks whose submission already names their machine."""


def begin_snapshot(
    workload: Workload, lives: JobLives, relations: Relations, placement: Placement, rng: random.Random
) -> None:
    """Place the tasks that run when the trace begins, and queue those that wait.

    Parameters
    ----------
    workload, relations, placement
        Which jobs there are, what they have to do with each other, where their tasks go.
    lives
        Where the tasks go on from there.
    rng
        Decides which submissions name a machine.
    """
    lives.clock.now = BEFORE_TRACE
    jobs, running, waiting = _draw(workload)
    relations.relate_snapshot(jobs, running)
    for job in jobs:
        lives.announce(job)
    _place(running, placement)
    for task in running:
        hint = task.machine if rng.random() < HINTED else -1
        lives.journal.task("SUBMIT", task, hint)
        if workload.profile.has_queue:
            lives.journal.task("ENABLE", task)
    for task in waiting:
        lives.journal.task("SUBMIT", task)
    for task in sorted(running, key=lambda t: (t.job.host is not None, t.serial)):
        task.attempt = 1
        lives.tasks.begin(task, residual=True)
    for task in waiting:
        lives.tasks.queue(task, TRACE_START)


def _draw(workload: Workload) -> tuple[list[Job], list[Task], list[Task]]:
    """Return the jobs, their running tasks and their waiting ones."""
    count, tiers = len(workload.machines), workload.profile.tiers
    running = workload.alive_jobs({tier: max(1, round(tier.running * count)) for tier in tiers})
    waiting = workload.alive_jobs({tier: max(1, round(tier.pending * count)) for tier in tiers}, is_waiting=True)
    return (running + waiting, [t for job in running for t in job.tasks], [t for job in waiting for t in job.tasks])


def _place(running: list[Task], placement: Placement) -> None:
    """Give every task a machine: the largest first, those inside alloc sets last."""
    for task in sorted(running, key=lambda t: (t.job.host is not None, -t.job.cpu, t.serial)):
        task.machine = placement.choose(task, insist=True)
        placement.add(task)
