"""When jobs arrive inside the trace, in which tier, and with how many tasks."""

import math
import random

import numpy as np

from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.synth.model.draws import Stratified, pick
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.profile import Profile, Tier

SIZE_ATOMS = {
    2: 8,
    11: 6,
    50: 5,
    15: 4,
    9: 3,
    110: 3,
    100: 3,
    14: 2,
}
"""Frequent sizes of jobs with several tasks, in the order of their frequency in the real trace, and their weights."""
TAIL = 0.585
"""Pareto exponent of tasks per job from 10 on."""


class JobArrivals:
    """Draws the times, tiers and sizes of the jobs that arrive inside the trace.

    Parameters
    ----------
    profile
        Rates and tiers.
    machines
        Number of machines; arrivals and the largest job grow with it.
    hours
        Length of the trace.
    seed
        Decides how busy each hour is.
    rng
        Where all other random numbers come from, in arrival order.

    Attributes
    ----------
    hourly
        How busy each hour is, apart from the time of day and week: factors with a mean of about 1.
    largest
        Tasks of the largest job.
    """

    def __init__(
        self,
        profile: Profile,
        machines: int,
        hours: float,
        seed: int,
        rng: random.Random,
    ) -> None:
        self.profile = profile
        self.machines = machines
        self.random = rng
        # The tail below has no finite mean: cut at a size that grows with the cell (the largest real job: 90,050).
        self.largest = max(10, 10 * machines)
        self._tiers = Stratified(rng)
        # Mean 1, deviation .29: with the day and the week about as much as between the real hours (340 of 960 jobs).
        self.hourly = generator(seed, "hours").gamma(12.0, 1.0 / 12.0, size=int(hours) + 2)
        self._sizes = {tier.name: Stratified(rng) for tier in profile.tiers}
        if profile.is_even:
            self.hourly /= np.mean([self.season(hour) for hour in np.arange(hours) + 0.5])

    def after(self, now: int) -> int:
        """Return the time (µs) of the arrival after `now`: a burst or an exponential gap."""
        if self.random.random() < self.profile.burst:
            # Median 2.5 ms: 39.1 % of the real gaps are below 10 ms, and their first quartile is 2.9 ms.
            burst_gap = self.random.lognormvariate(math.log(2500.0), 1.0)
            return now + 1 + int(burst_gap)
        hour = (now - TRACE_START) / HOUR
        mean_rate = self.profile.jobs_per_hour * self.machines
        rate = mean_rate * self.season(hour)
        # A burst takes no time, so the other gaps are longer by its share: the mean rate stays the published one.
        gap = self.random.expovariate(rate * (1.0 - self.profile.burst))
        return now + 1 + int(gap * HOUR)

    def season(self, hour: float) -> float:
        """Return how busy the cell is at an hour of the trace, relative to its mean rate."""
        # Most jobs arrive in the hour after midnight EDT (1,292 of a mean of 960), five hours after the trace begins;
        # the wave is weak, and the strongest period of all is 174 hours.
        day_phase = 2 * math.pi * (hour - 5.0) / 24.0
        week_phase = 2 * math.pi * (hour - 60.0) / 174.0
        day = 1.0 + 0.15 * math.cos(day_phase)
        week = 1.0 + 0.10 * math.cos(week_phase)
        # Clamped: the next job may be drawn from before the first hour or beyond the last.
        whole_hour = int(max(hour, 0.0))
        place = min(whole_hour, len(self.hourly) - 1)
        return day * week * float(self.hourly[place])

    def tier(self) -> Tier:
        """Draw the tier of a new job."""
        shares = {tier: tier.jobs for tier in self.profile.tiers}
        return pick(shares, self._tiers.draw())

    def size(self, tier: Tier) -> int:
        """Draw the number of tasks of a new job."""
        # Stratified where the distribution is a store's: its few largest jobs have most of the tasks.
        draw = self._sizes[tier.name].draw if tier.sizes else self.random.random
        u = draw()
        if u < tier.single:
            return 1
        u = (u - tier.single) / (1.0 - tier.single)
        largest = min(self.largest, tier.largest)
        if tier.sizes:
            return min(round(tier.sizes.at(u)), largest)
        if u < 0.20:
            return min(pick(SIZE_ATOMS, self.random.random()), largest)
        if u < 0.45:
            return min(self.random.randint(2, 10), largest)
        return self._size_in_tail(largest)

    def _size_in_tail(self, largest: int) -> int:
        """Draw from the Pareto distribution cut at `largest`, by inversion."""
        # Uncut it has a mean near 156 tasks, where the real one is 37.8, and the mean of a sample swings from 82 to 236
        # between seeds.
        low = 10.0**-TAIL
        high = (largest + 1.0) ** -TAIL
        probability = low - self.random.random() * (low - high)
        return min(largest, int(probability ** (-1.0 / TAIL)))
