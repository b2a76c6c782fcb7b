"""Outcomes: how waits and runs end, how long they last, and whether a task comes back."""

import math
import random
from bisect import bisect_right
from dataclasses import dataclass

from borgtrace.schema.time import SECOND
from borgtrace.synth.draws import Stratified, pick
from borgtrace.synth.jobs import Job
from borgtrace.synth.profiles import LENGTHS, Profile

GAP = {"EVICT": 7, "FAIL": 12, "KILL": 3}
"""Microseconds from the end of a run to the resubmission (medians of the real trace)."""
# 248 of about 800,000 submissions (40,649 an hour) in the first 19.65 hours.
EVICTED_PENDING = 3.1e-4
FIRST_EVICTED = 100
"""This wait (or the next whose task nobody kills before) ends in an eviction, so that small traces have one too."""
UPDATED = 3e-4
"""Runs (and waits, a hundredth as often) with an update."""
SCALED = 0.1
"""The same where requests are fully automated."""
# 8,754 of 47.4 million scheduled runs.
LOST = 1.8e-4
# Ten jobs in crash loops make half of the failures of the first hours.
LOOPING = 0.985
"""Chance that a task in a crash loop comes back after it failed."""
OVERRUN = 0.2
"""Runs whose last window goes on for some seconds after the end."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How a wait ends: ``"SCHEDULE"``, ``"KILL"`` or ``"EVICT"``, after `delay` µs, perhaps updated halfway."""

    ending: str
    delay: int
    is_updated: bool = False


class Outcomes:
    """Draws what happens to tasks.

    Parameters
    ----------
    profile
        Chances of the cell.
    rng
        Where they are drawn from, in the order of events.
    """

    def __init__(self, profile: Profile, rng: random.Random) -> None:
        self.profile, self.random = profile, rng
        self.owes_eviction = False
        self._waits = 0
        # Stratified by tier: a small cell sees few long runs, and they make most of its usage.
        self._lengths = {tier.name: Stratified(rng, block=64) for tier in profile.tiers}

    def wait(self, job: Job) -> Wait:
        """Draw how a wait ends."""
        self._waits += 1
        self.owes_eviction |= self._waits == FIRST_EVICTED
        u = self.random.random()
        delay = round(job.tier.delay.at(self.random.random()) * SECOND)
        # An alloc set holds places for others; nobody kills it while it waits.
        if job.is_alloc_set:
            return Wait("SCHEDULE", delay)
        if self.owes_eviction:
            self.owes_eviction = False
            return Wait("EVICT", delay)
        killed = self.profile.killed_pending
        if u < killed:
            return Wait("KILL", round(math.exp(8.9 + 1.2 * self.random.gauss(0.0, 1.0)) * SECOND))
        if u < killed + EVICTED_PENDING:
            return Wait("EVICT", delay)
        return Wait("SCHEDULE", delay, is_updated=u > 1.0 - UPDATED / 100)

    def retry(self, tries: int) -> int:
        """Draw the pause (µs) before a machine is looked for again."""
        # Longer with each try, so that tasks that fit nowhere cost little.
        return round((30 + 90 * self.random.random()) * min(1 + tries, 10) * SECOND)

    def run(self, job: Job, residual: bool) -> tuple[float, str]:
        """Draw how long a run lasts (s) and how it ends."""
        tier = job.tier
        u, v = self._lengths[tier.name].draw(), self.random.random()
        if job.is_alloc_set:
            return tier.residual.at(0.05 + 0.95 * u), "KILL"
        if job.is_looping and not residual:
            return 30.0 + 300.0 * u, "FAIL"
        seconds = (tier.residual if residual else tier.duration).at(u)
        if v < LOST:
            return seconds, "LOST"
        length = bisect_right(LENGTHS, seconds)
        shares = {kind: by_length[length] for kind, by_length in tier.outcomes.items()}
        return seconds, pick(tier.residual_outcomes if residual else shares, self.random.random())

    def is_updated(self, job: Job) -> bool:
        """Draw whether a run has an update."""
        return self.random.random() < (SCALED if job.scaling == "FULLY_AUTOMATED" else UPDATED)

    def scale(self) -> float:
        """Draw the factor of an update on the requests."""
        return 0.7 + 0.6 * self.random.random()

    def overrun(self) -> int:
        """Draw how long (µs) the last window goes on after the end of a run."""
        late = round(self.random.expovariate(1 / 25.0)) if self.random.random() < OVERRUN else 0
        return late * SECOND

    def names_machine(self, kind: str) -> bool:
        """Draw whether the end of a run says where it ran; one kill in five does not."""
        # With those of waiting tasks, which never ran, 61.9 % of the real KILL rows name a machine.
        return kind != "KILL" or self.random.random() >= 0.2

    def comes_back(self, job: Job, kind: str) -> bool:
        """Draw whether a task is resubmitted."""
        chance = LOOPING if job.is_looping and kind == "FAIL" else self.profile.resubmitted[kind]
        return self.random.random() < chance and not job.is_cancelled

    def pause(self, kind: str) -> int:
        """Draw the time (µs) from an end to the resubmission."""
        if kind == "FINISH":
            # Median 54.6 s and 90th percentile 608 s, as measured.
            return round(self.random.lognormvariate(math.log(54.6e6), 1.88))
        # At least a microsecond, so that the SUBMIT never shares its time with the end before it.
        return max(1, round(self.random.lognormvariate(math.log(GAP[kind]), 0.8)))

    def without_machine(self, job: Job) -> str:
        """Draw how a task ends when its machine goes: production is rarely said to be evicted."""
        if job.priority < self.profile.evicting:
            return "EVICT"
        return self.random.choices(("EVICT", "FAIL", "KILL"), (0.32, 0.46, 0.22))[0]
