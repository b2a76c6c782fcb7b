"""When the jobs of a trace arrive, and in which tier."""

import math
import random

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.incomplete import gamma_quantile
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.synth.model.draws import Stratified, pick
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.job_sizes import JobSizes
from borgtrace.synth.model.profile import Profile, Tier


class JobArrivals:
    """Draws the times and tiers of the jobs that arrive inside the trace.

    Parameters
    ----------
    profile
        Rates and tiers.
    machines
        Number of machines; arrivals grow with it.
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
    sizes
        Draws how many tasks jobs have.
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
        self._tiers = Stratified(rng)
        self.sizes = JobSizes(profile, machines, seed, rng)
        self.hourly = hourly_factors(generator(seed, "hours"), int(hours) + 2)
        if profile.is_even:
            self.hourly /= np.mean([self.season(hour) for hour in np.arange(hours) + 0.5])

    @property
    def tasks_per_hour(self) -> float:
        """How many new tasks are expected in an hour."""
        jobs_per_hour = self.profile.jobs_per_hour * self.machines
        return jobs_per_hour * self.sizes.mean(self.sizes.exponent)

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


def hourly_factors(rng: np.random.Generator, n_hours: int) -> Numbers:
    """Draw how busy hours are: gamma distributed, with a mean of 1 and a deviation of .29.

    With the day and the week that is about as much as between the real hours (340 of 960 jobs).  Each day has hours of
    all kinds, so that days are alike: the curve of submissions is nearly a line (Zhu et al., Observation 1).
    """
    quantiles = gamma_quantile(12.0, (np.arange(24) + 0.5) / 24.0)
    quantiles /= quantiles.mean()
    n_days = -(-n_hours // 24)
    days = [rng.permutation(quantiles) for _ in range(n_days)]
    return np.asarray(np.concatenate(days)[:n_hours])
