"""Crash loops: jobs whose tasks fail and come back until somebody kills the job.

Resubmissions of 2011 come in two sizes.  On most hours there are .66 for each new task (Tirmazi et al.); over the
month .903 (Zhu et al.), because they concentrate in two periods (their Observation 3; failures peak on days 1 and 9).
Here a few jobs fail again and again in two episodes, at the same parts of a trace of any length, and make about half
of all failures, as ten jobs do in the first hours.  Besides, as many small jobs are in a loop as are missing to the
resubmissions of usual hours.
"""

import random
from typing import NamedTuple

from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.lives import looping_plan
from borgtrace.synth.model.plans import MOST_SENSITIVE
from borgtrace.synth.model.profile import Resubmitting
from borgtrace.synth.model.workload import WorkloadModel
from borgtrace.synth.simulate.lifecycle import Lifecycle

EPISODES = (1.0 / 29.0, 9.0 / 29.0)
"""Where episodes begin, as parts of the trace: days 1 and 9 of 29."""
EPISODE = 1.0 / 29.0
"""How long an episode is, as a part of the trace."""
JOBS_OF_EPISODE = 5
"""Jobs that fail again and again in an episode: of both together, the ten that fail most."""
CYCLE = 200.0
"""Seconds from one submission of a looping task to the next, about."""
FAST_CYCLE = 175.0
"""The same in an episode, where tasks are placed at once."""
PRODUCTION = 0.8
"""Share of small production jobs that may get into a loop."""
LARGEST = 0.5
"""Largest job that gets into a loop on a usual hour, tasks per machine."""


class ActiveLoop(NamedTuple):
    """A looping job, and when its loop ends about (µs)."""

    job: Job
    end: int


class CrashLoops:
    """Decides which jobs loop.

    Parameters
    ----------
    workload, lifecycle
        Draw jobs, and lead them through the cell.
    resubmitting
        Resubmissions per new task that the loops bring about.
    end
        End of the trace, µs.
    rng
        Where random numbers come from.
    """

    def __init__(
        self,
        workload: WorkloadModel,
        lifecycle: Lifecycle,
        resubmitting: Resubmitting,
        end: int,
        rng: random.Random,
    ) -> None:
        self.workload = workload
        self.lifecycle = lifecycle
        self.resubmitting = resubmitting
        self.start = TRACE_START
        self.end = end
        self.random = rng
        self.active: list[ActiveLoop] = []

    def plan_episodes(self) -> None:
        """Plan the two episodes."""
        for share in EPISODES:
            begin = self.start + round(share * (self.end - self.start))
            self.lifecycle.clock.at(begin, self.begin_episode)

    def begin_episode(self) -> None:
        """Let a few large jobs arrive that fail until the episode is over."""
        seconds = EPISODE * (self.end - self.start) / SECOND
        wanted = self._surplus() / len(EPISODES)
        runs_per_task = max(seconds / FAST_CYCLE, 1.0)
        size = max(1, round(wanted / runs_per_task / JOBS_OF_EPISODE))
        lowest_tier = self.workload.profile.tiers[0]
        for _ in range(JOBS_OF_EPISODE):
            job = self.workload.new_job(lowest_tier, size)
            job.priority = min(lowest_tier.priorities)
            job.plan = looping_plan(seconds)
            job.is_looping = True
            self.lifecycle.arrive(job)

    def _surplus(self) -> float:
        """Return how many resubmissions the trace has beyond those of usual hours."""
        usual, overall = self.resubmitting
        return (overall - usual) * self._expected_tasks(self.end - self.start)

    def _expected_tasks(self, span: int) -> float:
        """Return how many new tasks are expected in a span (µs)."""
        return self.workload.arrivals.tasks_per_hour * span / HOUR

    def consider(self, job: Job) -> None:
        """Put a job that arrives into a loop, if too few tasks come back."""
        is_small = 1 < job.size <= max(10.0, LARGEST * len(self.workload.machines))
        # Eleven million of the month's failures are those of priority 0, and 1.3 million of priority 9.
        is_production = job.priority >= self.workload.profile.evicting
        is_candidate = job.priority == 0 or (is_production and self.random.random() < PRODUCTION)
        # Those most sensitive to latency usually run long.
        is_candidate = is_candidate and job.scheduling_class < MOST_SENSITIVE
        if not is_small or not is_candidate or job.plan is None:
            return
        now = self.lifecycle.clock.now
        self.active = [loop for loop in self.active if loop.end > now]
        ahead = sum(loop.job.size * (loop.end - now) for loop in self.active) / SECOND / CYCLE
        if self.lifecycle.n_again + ahead < self._wanted_until(now):
            seconds = min(self.random.lognormvariate(7.8, 0.5), 20_000.0)
            job.plan = looping_plan(seconds)
            job.is_looping = True
            self.active.append(ActiveLoop(job, now + round(seconds * SECOND)))

    def _wanted_until(self, now: int) -> float:
        """Return how many resubmissions there should have been until now."""
        usual, overall = self.resubmitting
        lifecycle = self.lifecycle
        begin, length = self.start, self.end - self.start
        done = sum(
            min(max((now - begin - share * length) / (EPISODE * length), 0.0), 1.0)
            for share in EPISODES
        ) / len(EPISODES)
        # The episodes bring what they bring, so that after them the rest makes up for it.
        surplus = (overall - usual) * self._expected_tasks(length) * done
        if done < 1.0:
            return usual * lifecycle.n_new + surplus
        # After the last episode, steadily toward the number of the whole trace.
        begin_of_rest = max(EPISODES) + EPISODE
        progress = ((now - begin) / length - begin_of_rest) / (1.0 - begin_of_rest)
        at_steady = usual * lifecycle.n_new + surplus
        at_end = overall * lifecycle.n_new + overall * lifecycle.n_at_start
        return at_steady + progress * (at_end - at_steady)
