"""The life of a task: submitted, queued, waiting, placed, running, over, resubmitted."""

from __future__ import annotations

from collections.abc import Callable

from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.clock import Clock
from borgtrace.synth.consumption import use_little
from borgtrace.synth.fates import Fates
from borgtrace.synth.jobs import Job, Task
from borgtrace.synth.journal import Journal
from borgtrace.synth.placement import Placement
from borgtrace.synth.profiles import Profile


class TaskLives:
    """Leads tasks from event to event.

    An action that was planned for an attempt does nothing when that attempt is over.

    Parameters
    ----------
    profile, clock, journal, placement, fates
        The generation, the time, what is written down, where tasks go, what happens to them.
    bury
        Told of every task that does not come back: its job, and how it ended.
    """

    def __init__(
        self,
        profile: Profile,
        clock: Clock,
        journal: Journal,
        placement: Placement,
        fates: Fates,
        bury: Callable[[Job, str], None],
    ) -> None:
        self.profile, self.clock, self.journal = profile, clock, journal
        self.placement, self.fates, self.bury = placement, fates, bury

    def submit(self, task: Task) -> None:
        """Submit a task, for the first time or again."""
        if task.job.is_cancelled:
            self.bury(task.job, "KILL")
            return
        self.journal.task("SUBMIT", task)
        self.queue(task, self.clock.now)

    def queue(self, task: Task, since: int) -> None:
        """Begin a wait: in 2019 eligible at once or held back, else just pending."""
        task.attempt += 1
        if self.profile.has_queue:
            self.journal.task("QUEUE" if task.job.is_held else "ENABLE", task)
            if task.job.is_held:
                return
        self.wait(task, since)

    def wait(self, task: Task, since: int) -> None:
        """Decide how a wait ends: scheduled, killed, evicted."""
        wait = self.fates.wait(task.job)
        if wait.is_updated:
            middle = since + wait.delay // 2
            self.clock.at(middle, self._update, task, task.attempt, "UPDATE_PENDING")
        if wait.ending == "SCHEDULE":
            self.clock.at(since + wait.delay, self._try, task, task.attempt, 0)
        else:
            self.clock.at(since + wait.delay, self._leave, task, task.attempt, wait.ending)

    def _leave(self, task: Task, attempt: int, kind: str) -> None:
        if task.attempt == attempt and task.machine < 0:
            self.end(task, kind, -1)
        elif kind == "EVICT":
            self.fates.owes_eviction = True

    def _update(self, task: Task, attempt: int, kind: str) -> None:
        is_running = task.machine >= 0
        if task.attempt == attempt and is_running == (kind == "UPDATE_RUNNING"):
            task.scale = self.fates.scale()
            self.journal.task(kind, task, task.machine)

    def _try(self, task: Task, attempt: int, tries: int) -> None:
        """Place a task, if need be by evicting others of lower priority; else wait and try again."""
        if task.attempt != attempt or task.machine >= 0:
            return
        machine = self.placement.choose(task)
        if machine < 0 and task.job.host is None and task.job.priority >= self.profile.evicting:
            machine = self._evict_for(task)
        if machine < 0:
            self.clock.at(self.clock.now + self.fates.retry(tries), self._try, task, attempt, tries + 1)
            return
        task.machine = machine
        self.placement.add(task)
        self.begin(task)

    def _evict_for(self, task: Task) -> int:
        """Make room for a task; return on which machine, −1 where none can be made."""
        machine = self.placement.choose_victim(task)
        if machine >= 0:
            for victim in self.placement.victims(task, machine):
                self.finish(victim, victim.attempt, "EVICT")
        return machine

    def begin(self, task: Task, residual: bool = False) -> None:
        """Begin a run on the task's machine; a `residual` one began before the trace."""
        job = task.job
        if not job.is_scheduled:
            job.is_scheduled = True
            self.journal.job("SCHEDULE", job)
        self.journal.task("SCHEDULE", task, task.machine)
        self.journal.begin_run(task)
        seconds, kind = self.fates.run(job, residual)
        since = TRACE_START if residual else self.clock.now
        until = since + round(seconds * SECOND)
        self.clock.at(until, self.finish, task, task.attempt, kind)
        if task.attempt <= 1 and not residual:
            use_little(task, since, until)
        if self.fates.is_updated(job):
            middle = since + round(seconds * SECOND / 2)
            self.clock.at(middle, self._update, task, task.attempt, "UPDATE_RUNNING")

    def finish(self, task: Task, attempt: int, kind: str) -> None:
        """End a run, unless it was ended by something else before."""
        if task.attempt != attempt or task.machine < 0:
            return
        machine = task.machine
        if task.job.is_alloc_set and task.job.guest is not None:
            inside = task.job.guest.tasks[task.index]
            self.finish(inside, inside.attempt, kind)
        self.placement.remove(task)
        self.journal.end_run(task, min(self.clock.now + self.fates.overrun(), self.clock.end))
        task.machine = -1
        self.end(task, kind, machine if self.fates.names_machine(kind) else -1)

    def end(self, task: Task, kind: str, machine: int) -> None:
        """Write the end of a run or a wait, and resubmit or bury the task."""
        self.journal.task(kind, task, machine)
        task.attempt += 1
        if self.fates.comes_back(task.job, kind):
            self.clock.at(self.clock.now + self.fates.pause(kind), self.submit, task)
        else:
            self.bury(task.job, kind)
