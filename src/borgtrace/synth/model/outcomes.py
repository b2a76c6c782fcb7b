"""Outcomes: how waits and runs end, how long they last, and whether a task comes back."""

import math
import random
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from borgtrace.schema.time import SECOND
from borgtrace.synth.model.draws import Stratified, pick
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.lives import (
    LONGEST_FINISH,
    SHORTEST_FINISH,
    WAIT_OF_KILLED,
    WAITING_WIDTH,
    JobPlan,
)
from borgtrace.synth.model.profile import LENGTHS, Profile

GAP = {"EVICT": 7, "FAIL": 12, "KILL": 3, "LOST": 7}
"""Microseconds from the end of a run to the resubmission (medians of the real trace); lost tasks as evicted ones."""
# 248 of about 800,000 submissions (40,649 an hour) in the first 19.65 hours.
EVICTED_PENDING = 3.1e-4
FIRST_EVICTED = 100
"""This wait (or the next whose task nobody kills before) ends in an eviction, so that small traces have one too."""
UPDATED = 3e-4
"""Share of runs with an update; of waits a hundredth of it."""
SCALED = 0.1
"""The same where requests are fully automated."""
# 8,754 of 47.4 million scheduled runs.
LOST = 1.8e-4
# Ten jobs in crash loops cause half of the failures of the first hours.
LOOPING = 0.985
"""Probability that a task in a crash loop comes back after it failed."""
FASTER = 0.85
"""Share of waits that those of tasks in a crash loop are drawn from: the shortest ones."""
OVERRUN = 0.2
"""Share of runs whose last window goes on for some seconds after the end."""
_ENDS_WITHOUT_MACHINE = {"EVICT": 0.32, "FAIL": 0.46, "KILL": 0.22}
"""How production tasks end when their machine goes."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How a wait ends: ``"SCHEDULE"``, ``"KILL"`` or ``"EVICT"``, after `delay` µs, perhaps updated halfway."""

    ending: str
    delay: int
    is_updated: bool = False


class RunEnd(NamedTuple):
    """After how many seconds a run ends, and how."""

    seconds: float
    kind: str


class Outcomes:
    """Draws what happens to tasks.

    Parameters
    ----------
    profile
        Probabilities of the cell.
    rng
        Where random numbers come from, in the order of events.

    Attributes
    ----------
    owes_eviction
        Whether the next wait ends in an eviction.
    lengths
        By tier, where in their distribution run times are drawn.
    """

    def __init__(self, profile: Profile, rng: random.Random) -> None:
        self.profile = profile
        self.random = rng
        self.owes_eviction = False
        self._waits = 0
        # Stratified by tier: a small cell sees few long runs, and they make up most of its usage.
        self.lengths = {tier.name: Stratified(rng, block=64) for tier in profile.tiers}

    def wait(self, job: Job) -> Wait:
        """Draw how a wait ends."""
        self._waits += 1
        self.owes_eviction |= self._waits == FIRST_EVICTED
        u = self.random.random()
        place = self.random.random()
        # What crashes at once is placed at once: its machine has all that it needs.
        if job.plan is not None and job.plan.waiting is not None:
            place = (job.plan.waiting + WAITING_WIDTH * place) % 1.0
        delay_seconds = job.tier.delay.at(FASTER * place if job.is_looping else place)
        delay = round(delay_seconds * SECOND)
        # An alloc set reserves places for others; nobody kills it while it waits.
        if job.is_alloc_set:
            return Wait("SCHEDULE", delay)
        if self.owes_eviction:
            self.owes_eviction = False
            return Wait("EVICT", delay)
        killed = self.profile.killed_pending if job.plan is None else job.plan.killed_waiting
        if u < killed:
            mean, deviation = (8.9, 1.2) if job.plan is None else WAIT_OF_KILLED
            seconds = math.exp(mean + deviation * self.random.gauss(0.0, 1.0))
            return Wait("KILL", round(seconds * SECOND))
        if u < killed + EVICTED_PENDING:
            return Wait("EVICT", delay)
        is_updated = u > 1.0 - UPDATED / 100
        return Wait("SCHEDULE", delay, is_updated)

    def retry(self, tries: int) -> int:
        """Draw the pause (µs) before a machine is looked for again."""
        # Longer with each try, so that tasks that fit nowhere cost little.
        seconds = 30 + 90 * self.random.random()
        return round(seconds * min(1 + tries, 10) * SECOND)

    def run(self, job: Job, residual: bool) -> RunEnd:
        """Draw how a run ends; a `residual` one began before the trace."""
        tier = job.tier
        u = self.lengths[tier.name].draw()
        lost = self.random.random()
        if job.is_alloc_set:
            seconds = tier.residual.at(0.05 + 0.95 * u)
            return RunEnd(seconds, "KILL")
        if job.plan is not None and not residual:
            return self._planned_run(job.plan, u, lost)
        if job.is_looping and not residual:
            return RunEnd(30.0 + 300.0 * u, "FAIL")
        run_times = tier.residual if residual else tier.duration
        seconds = run_times.at(u)
        if lost < LOST:
            return RunEnd(seconds, "LOST")
        if residual:
            shares = tier.residual_outcomes
        else:
            length = bisect_right(LENGTHS, seconds)
            shares = {kind: by_length[length] for kind, by_length in tier.outcomes.items()}
        kind = pick(shares, self.random.random())
        if job.plan is not None and kind == "FINISH":
            seconds = min(seconds, LONGEST_FINISH)
        return RunEnd(seconds, kind)

    def _planned_run(self, plan: JobPlan, u: float, lost: float) -> RunEnd:
        """Draw how a run of a job with a plan ends."""
        seconds = plan.seconds(u)
        if lost < LOST:
            return RunEnd(seconds, "LOST")
        length = bisect_right(LENGTHS, seconds)
        shares = {kind: by_length[length] for kind, by_length in plan.ends.items()}
        kind = pick(shares, self.random.random())
        if kind == "FINISH":
            if plan.outlasts:
                return RunEnd(math.inf, kind)
            # Mirrored there, not moved to it: no two of them run equally long.
            seconds = max(seconds, 2.0 * SHORTEST_FINISH - seconds)
            seconds = min(seconds, LONGEST_FINISH)
        return RunEnd(seconds, kind)

    def is_updated(self, job: Job) -> bool:
        """Draw whether a run has an update."""
        lives = job.tier.lives
        usual = UPDATED if lives is None else lives.updated
        share = SCALED if job.scaling == "FULLY_AUTOMATED" else usual
        return self.random.random() < share

    def scale(self) -> float:
        """Draw the factor of an update on the requests."""
        return 0.7 + 0.6 * self.random.random()

    def overrun(self) -> int:
        """Draw how long (µs) the last window goes on after the end of a run."""
        if self.random.random() >= OVERRUN:
            return 0
        return round(self.random.expovariate(1 / 25.0)) * SECOND

    def names_machine(self, kind: str) -> bool:
        """Draw whether the end of a run says where it ran; three kills in ten do not."""
        # With those of waiting tasks, which never ran, 61.9 % of the real KILL rows name a machine.
        return kind != "KILL" or self.random.random() >= 0.3

    def comes_back(self, job: Job, kind: str) -> bool:
        """Draw whether a task is resubmitted."""
        if job.plan is not None:
            probability = self._return_of_planned(job.plan, kind)
            return self.random.random() < probability and not job.is_cancelled
        is_loop = job.is_looping and kind == "FAIL"
        probability = LOOPING if is_loop else self.profile.resubmitted[kind]
        return self.random.random() < probability and not job.is_cancelled

    def _return_of_planned(self, plan: JobPlan, kind: str) -> float:
        """Return the probability that a task of a job with a plan is resubmitted."""
        is_loop = plan.outlasts and kind == "FAIL"
        if plan.is_service or is_loop:
            return 1.0
        return plan.back_after_kill if kind == "KILL" else self.profile.resubmitted[kind]

    def pause(self, kind: str) -> int:
        """Draw the time (µs) from an end to the resubmission."""
        if kind == "FINISH":
            # Median 54.6 s and 90th percentile 608 s, as measured.
            return round(self.random.lognormvariate(math.log(54.6e6), 1.88))
        # At least a microsecond, so that the SUBMIT never shares its time with the end before it.
        microseconds = self.random.lognormvariate(math.log(GAP[kind]), 0.8)
        return max(1, round(microseconds))

    def without_machine(self, job: Job) -> str:
        """Draw how a task ends when its machine goes: production is rarely said to be evicted."""
        if job.priority < self.profile.evicting:
            return "EVICT"
        kinds = tuple(_ENDS_WITHOUT_MACHINE)
        weights = tuple(_ENDS_WITHOUT_MACHINE.values())
        return self.random.choices(kinds, weights)[0]
