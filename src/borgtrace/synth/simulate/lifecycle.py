"""The lives of jobs and their tasks, from event to event.

A job is announced, held back, released, canceled, and over with its last task.  A task is submitted, queued, waiting,
placed, running, over, resubmitted.
"""

import math
import random
from collections.abc import Callable

from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.model.consumption import settle_use
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.machines import CellMachines
from borgtrace.synth.model.outcomes import Outcomes
from borgtrace.synth.model.profile import Profile
from borgtrace.synth.simulate.clock import Clock
from borgtrace.synth.simulate.event_log import EventLog
from borgtrace.synth.simulate.scheduler import SyntheticScheduler

_ENDS = ("FINISH", "EVICT", "LOST", "FAIL", "KILL")
"""From good to bad: a job ends like the worst of its tasks."""
_WAITING = ("SUBMIT", "QUEUE", "ENABLE", "UPDATE_PENDING")
"""States of a task that waits."""


class Lifecycle:
    """Leads jobs and tasks from event to event.

    An action that was planned for an attempt does nothing when that attempt is over.

    Parameters
    ----------
    profile, machines
        What happens how often, and where tasks run.
    bounds
        Limits of the parts, µs.
    rng
        Where all random numbers come from, in the order of events.

    Attributes
    ----------
    clock, log, scheduler, outcomes
        Plan what comes, record what happened, choose machines, and draw how waits and runs end.
    """

    def __init__(
        self,
        profile: Profile,
        machines: CellMachines,
        bounds: list[int],
        rng: random.Random,
    ) -> None:
        self.profile = profile
        self.clock = Clock(bounds[-1])
        self.log = EventLog(self.clock, bounds)
        self.scheduler = SyntheticScheduler(machines, rng)
        self.outcomes = Outcomes(profile, rng)
        self.succeed: Callable[[Job], None] | None = None
        self.n_new = 0
        self.n_again = 0
        self.n_at_start = 0

    # Jobs

    def arrive(self, job: Job) -> None:
        """Announce a job and submit its tasks, one every :attr:`~borgtrace.synth.model.jobs.Job.gap` µs."""
        self.announce(job)
        for number, task in enumerate(job.tasks):
            time = self.clock.now + job.gap * number
            self.clock.at(time, self.submit, task)

    def announce(self, job: Job) -> None:
        """Log the first events of a job: SUBMIT, and in 2019 QUEUE or ENABLE."""
        self.log.job("SUBMIT", job)
        if self.profile.has_queue:
            self.log.job("QUEUE" if job.is_held else "ENABLE", job)

    def release(self, job: Job) -> None:
        """Let a job out of the batch queue."""
        # Planned when the job was held; since then its parent may have killed it, or another release may have come.
        if job.is_cancelled or not job.is_held:
            return
        job.is_held = False
        self.log.job("ENABLE", job)
        for task in job.tasks:
            if task.state == "QUEUE":
                self.log.task("ENABLE", task)
                self.wait(task, self.clock.now)

    def cancel(self, job: Job) -> None:
        """Kill what is left of a job."""
        job.is_cancelled = True
        # A task between two attempts is in neither state: its next submission finds the job canceled.
        for task in job.tasks:
            if task.machine >= 0:
                self.finish(task, task.attempt, "KILL")
            elif task.state in _WAITING:
                self.end(task, "KILL", -1)

    def count_out(self, job: Job, kind: str) -> None:
        """Note that a task of a job does not come back; with the last of them the job is over."""
        job.alive -= 1
        job.worst = max(job.worst, _ENDS.index(kind))
        if job.alive == 0:
            self.log.job(_ENDS[job.worst], job)
            self._start_followers_and_kill_children(job)
            if self.succeed is not None and job.plan is not None and job.plan.is_service:
                self.succeed(job)

    def kill(self, job: Job) -> None:
        """Kill what is left of a job, unless it is over."""
        if job.alive > 0 and not job.is_cancelled:
            self.cancel(job)

    def _start_followers_and_kill_children(self, job: Job) -> None:
        for follower in job.followers:
            self.release(follower)
        for child in job.children:
            if child.alive > 0:
                self.cancel(child)
        # Forget jobs that are over: otherwise every job would keep all of its descendants in memory.
        job.followers = []
        job.children = []

    # Tasks that wait

    def submit(self, task: Task) -> None:
        """Submit a task, for the first time or again."""
        if task.job.is_cancelled:
            self.count_out(task.job, "KILL")
            return
        if task.state:
            self.n_again += 1
        else:
            self.n_new += 1
        self.log.task("SUBMIT", task)
        self.queue(task, self.clock.now)

    def queue(self, task: Task, since: int) -> None:
        """Begin a wait: in 2019 eligible at once or held back, else just pending."""
        # Every wait has its own number: an action planned for an earlier one finds another number and does nothing,
        # which saves a search through the heap.
        task.attempt += 1
        if self.profile.has_queue:
            self.log.task("QUEUE" if task.job.is_held else "ENABLE", task)
            if task.job.is_held:
                return
        self.wait(task, since)

    def wait(self, task: Task, since: int) -> None:
        """Plan how a wait ends: scheduled, killed, evicted."""
        wait = self.outcomes.wait(task.job)
        if wait.is_updated:
            middle = since + wait.delay // 2
            self.clock.at(middle, self.update, task, task.attempt, "UPDATE_PENDING")
        end = since + wait.delay
        if wait.ending == "SCHEDULE":
            self.clock.at(end, self.try_to_schedule, task, task.attempt, 0)
        else:
            self.clock.at(end, self.end_wait, task, task.attempt, wait.ending)

    def end_wait(
        self,
        task: Task,
        attempt: int,
        kind: str,
    ) -> None:
        """End a wait without a run, unless it was ended by something else before."""
        if task.attempt == attempt and task.machine < 0:
            # Every EVICT of the real trace names a machine, also one of a task that waits.
            machine = self.scheduler.choose(task, insist=True) if kind == "EVICT" else -1
            self.end(task, kind, machine)
        # The task was killed before: the eviction that small traces need is owed to the next one.
        elif kind == "EVICT":
            self.outcomes.owes_eviction = True

    def update(
        self,
        task: Task,
        attempt: int,
        kind: str,
    ) -> None:
        """Change what a task requests, if it still waits or runs as planned."""
        is_running = task.machine >= 0
        if task.attempt == attempt and is_running == (kind == "UPDATE_RUNNING"):
            task.scale = self.outcomes.scale()
            self.log.task(kind, task, task.machine)

    def try_to_schedule(
        self,
        task: Task,
        attempt: int,
        tries: int,
    ) -> None:
        """Place a task, if need be by evicting others of lower priority; else wait and try again."""
        if task.attempt != attempt or task.machine >= 0:
            return
        machine = self.scheduler.choose(task)
        if machine < 0 and self._may_evict(task):
            machine = self.make_room(task)
        if machine < 0:
            # Nothing is logged: the trace does not show attempts to place a task.
            later = self.clock.now + self.outcomes.retry(tries)
            self.clock.at(later, self.try_to_schedule, task, attempt, tries + 1)
            return
        task.machine = machine
        self.scheduler.add(task)
        self.begin(task)

    def _may_evict(self, task: Task) -> bool:
        # A task inside an alloc set has its place there.
        has_own_place = task.job.host is not None
        return not has_own_place and task.job.priority >= self.profile.evicting

    def make_room(self, task: Task) -> int:
        """Evict tasks to make room for one; return on which machine, −1 where none has room."""
        machine = self.scheduler.choose_victim(task)
        if machine >= 0:
            for victim in self.scheduler.victims(task, machine):
                self.finish(victim, victim.attempt, "EVICT")
        return machine

    # Tasks that run

    def begin(self, task: Task, residual: bool = False) -> None:
        """Begin a run on the task's machine; a `residual` one began before the trace."""
        job = task.job
        # Residual lives were measured from the start of the trace on.
        since = TRACE_START if residual else self.clock.now
        # A job's SCHEDULE is the first of any of its tasks (format document of 2011).
        if not job.is_scheduled:
            job.is_scheduled = True
            self.log.job("SCHEDULE", job)
            self._plan_kill(job, since)
        self.log.task("SCHEDULE", task, task.machine)
        self.log.begin_execution(task)
        seconds, kind = self.outcomes.run(job, residual)
        until = job.killed_at
        if seconds * SECOND < until - since:
            until = since + round(seconds * SECOND)
            self.clock.at(until, self.finish, task, task.attempt, kind)
        # Decided once, so that a task does not change its usage from run to run.
        if task.attempt <= 1:
            ends_badly = kind != "FINISH" or until == job.killed_at
            fails = ends_badly and until < self.clock.end
            settle_use(task, since, until, fails=fails, was_running=residual)
        if self.outcomes.is_updated(job):
            middle = since + (until - since) // 2
            self.clock.at(middle, self.update, task, task.attempt, "UPDATE_RUNNING")

    def _plan_kill(self, job: Job, since: int) -> None:
        """Plan the KILL of a whole job whose first task runs from `since` (µs) on."""
        if job.plan is not None and math.isfinite(job.plan.lifetime):
            job.killed_at = since + round(job.plan.lifetime * SECOND)
            self.clock.at(job.killed_at, self.kill, job)

    def finish(
        self,
        task: Task,
        attempt: int,
        kind: str,
    ) -> None:
        """End a run, unless it was ended by something else before."""
        if task.attempt != attempt or task.machine < 0:
            return
        machine = task.machine
        # What runs inside an alloc instance ends first, while its place is still there.
        if task.job.is_alloc_set and task.job.guest is not None:
            inside = task.job.guest.tasks[task.index]
            self.finish(inside, inside.attempt, kind)
        self.scheduler.remove(task)
        # After a kill the last window may run on for some seconds (format document of 2011).
        usage_end = self.clock.now + self.outcomes.overrun()
        self.log.end_execution(task, min(usage_end, self.clock.end))
        task.machine = -1
        is_named = self.outcomes.names_machine(kind)
        self.end(task, kind, machine if is_named else -1)

    def end(
        self,
        task: Task,
        kind: str,
        machine: int,
    ) -> None:
        """Log the end of a run or a wait, and resubmit the task or report that it is over."""
        self.log.task(kind, task, machine)
        task.attempt += 1
        if self.outcomes.comes_back(task.job, kind):
            time = self.clock.now + self.outcomes.pause(kind)
            self.clock.at(time, self.submit, task)
        else:
            self.count_out(task.job, kind)
