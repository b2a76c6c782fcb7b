"""The life of a job: announced, held back, let go, cancelled, over with its last task."""

from __future__ import annotations

from typing import Final

from borgtrace.synth.clock import Clock
from borgtrace.synth.event_log import EventLog
from borgtrace.synth.jobs import Job
from borgtrace.synth.outcomes import Outcomes
from borgtrace.synth.profiles import Profile
from borgtrace.synth.scheduler import Scheduler
from borgtrace.synth.task_lifecycle import TaskLifecycle

_RANK: Final = {"FINISH": 0, "EVICT": 1, "LOST": 2, "FAIL": 3, "KILL": 4}
"""A job ends like the worst of its tasks."""


class JobLifecycle:
    """Leads jobs, and through :class:`TaskLifecycle` their tasks, from event to event.

    Parameters
    ----------
    profile, clock, log, scheduler, outcomes
        The generation, the time, what is written down, where tasks go, what happens to them.
    """

    def __init__(self, profile: Profile, clock: Clock, log: EventLog, scheduler: Scheduler, outcomes: Outcomes) -> None:
        self.profile, self.clock, self.log = profile, clock, log
        self.tasks = TaskLifecycle(profile, clock, log, scheduler, outcomes, self._end_task)

    def arrive(self, job: Job, gap: int) -> None:
        """Announce a job and submit its tasks, one every `gap` µs."""
        self.announce(job)
        for i, task in enumerate(job.tasks):
            self.clock.at(self.clock.now + gap * i, self.tasks.submit, task)

    def announce(self, job: Job) -> None:
        """Write the first events of a job: SUBMIT, and in 2019 QUEUE or ENABLE."""
        self.log.job("SUBMIT", job)
        if self.profile.has_queue:
            self.log.job("QUEUE" if job.is_held else "ENABLE", job)

    def release(self, job: Job) -> None:
        """Let a job out of the batch queue."""
        # Planned when the job was held; since then its parent may have killed it, or another release have come.
        if job.is_cancelled or not job.is_held:
            return
        job.is_held = False
        self.log.job("ENABLE", job)
        for task in job.tasks:
            if task.state == "QUEUE":
                self.log.task("ENABLE", task)
                self.tasks.wait(task, self.clock.now)

    def _end_task(self, job: Job, kind: str) -> None:
        job.alive -= 1
        job.worst = max(job.worst, _RANK[kind])
        if job.alive == 0:
            ending = next(name for name, rank in _RANK.items() if rank == job.worst)
            self.log.job(ending, job)
            self._after(job)

    def _after(self, job: Job) -> None:
        """What the end of a job of 2019 brings: followers start, children are killed."""
        for follower in job.followers:
            self.release(follower)
        for child in job.children:
            if child.alive > 0:
                self._cancel(child)
        # Those who are done are forgotten: else every job would keep all of its descendants in memory.
        job.followers, job.children = [], []

    def _cancel(self, job: Job) -> None:
        """Kill what is left of a job."""
        job.is_cancelled = True
        # A task between two attempts is in neither state: its next submission finds the job cancelled.
        for task in job.tasks:
            if task.machine >= 0:
                self.tasks.finish(task, task.attempt, "KILL")
            elif task.state in ("SUBMIT", "QUEUE", "ENABLE", "UPDATE_PENDING"):
                self.tasks.end(task, "KILL", -1)
