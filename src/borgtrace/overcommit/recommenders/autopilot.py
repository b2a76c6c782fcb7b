"""Autopilot's moving windows (Rzadca et al., EuroSys'20, §3.2.2).

CPU: the weighted average for batch jobs; for serving ones (here: production) the 95th percentile adjusted by load, for
which a sample weighs its value too.  Memory: by how well a job tolerates running out of it.  Then a margin, and the
largest recommendation of the last hour.

What the paper leaves open are parameters: buckets (from 1 millicore or 1 MB, each `growth` times wider), the margin by
size, and N of the maximum (`history`, a whole trace by default).  Its samples are of seconds, these are means of 5
minutes.  Where it weighs a sample by its bucket, and takes a maximum to the end of one, this takes the sample itself.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.histogram import Buckets, DecayingHistogram
from borgtrace.overcommit.moments import decayed_moments
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.rolling import moving_maximum
from borgtrace.overcommit.rule import Amount, PositiveShare, Slots
from borgtrace.schema.bounds import Bounds


@dataclass(frozen=True)
class Autopilot(Recommender):
    """Moving windows: P98 of memory, for jobs that hardly tolerate running out of it.

    Attributes
    ----------
    margin
        What is added to the statistic, as a share of it.
    large
        Share of the largest machine above which a statistic is large; 1 where none is.
    large_margin
        What is added to a large one instead, if it is less; the sum is at least that of the largest small one.
    growth
        How much wider each bucket is than the one before.
    """

    margin: Amount = 0.15
    large: PositiveShare = 1.0
    large_margin: Amount = 0.1
    growth: Annotated[float, Bounds(1.001, 100)] = 1.02

    name = "autopilot"
    about = (
        "moving windows: CPU average (batch) or load-adjusted P95 (serving); memory P98; + a margin"
    )

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the largest recommendation of the hour before, after each sample."""
        statistic = self.cpu(samples) if samples.resource == "cpu" else self.memory(samples)
        small = statistic * (1 + self.margin)
        largest_small = self.large * samples.size * (1 + self.margin)
        large = np.maximum(statistic * (1 + self.large_margin), largest_small)
        recommended = np.minimum(small, large)
        return moving_maximum(
            samples.job,
            samples.slot,
            recommended,
            SLOTS_PER_HOUR,
        )

    def cpu(self, samples: JobSamples) -> Numbers:
        """Return the average for batch jobs, the load-adjusted percentile for serving ones."""
        is_known = np.ones(len(samples), np.bool_)
        moments = decayed_moments(
            samples.job,
            samples.slot,
            samples.value,
            is_known,
            DAY / 2,
        )
        load_adjusted = self.percentile(samples, 0.95, samples.value)
        return np.where(samples.is_serving, load_adjusted, moments.mean)

    def memory(self, samples: JobSamples) -> Numbers:
        """Return the 98th percentile."""
        return self.percentile(samples, 0.98)

    def percentile(
        self,
        samples: JobSamples,
        share: float,
        weight: Numbers | float = 1.0,
    ) -> Numbers:
        """Return a percentile of the decaying histogram after each sample.

        Parameters
        ----------
        samples
            Of jobs.
        share
            Percentile ÷ 100.
        weight
            Of each sample, or of all.
        """
        if samples.resource == "cpu":
            buckets = Buckets.exponential(1000.0, 0.001, self.growth)
            half_life = DAY / 2
        else:
            buckets = Buckets.exponential(1e13, 1e6, self.growth)
            half_life = 2 * DAY
        histogram = DecayingHistogram(buckets, half_life, share)
        return histogram.after(
            samples.job,
            samples.slot,
            samples.value,
            weight,
        )


@dataclass(frozen=True)
class AutopilotMaximum(Autopilot):
    """Moving windows with the maximum of memory, for jobs that must not run out of it.

    Attributes
    ----------
    history
        Slots whose highest sample counts.
    """

    history: Slots = 31 * DAY

    name = "autopilot-max"
    about = "the same with the highest memory of a history"
    resources = ("memory",)

    def memory(self, samples: JobSamples) -> Numbers:
        """Return the highest sample of the history."""
        return moving_maximum(
            samples.job,
            samples.slot,
            samples.value,
            self.history,
        )


class AutopilotIntermediate(AutopilotMaximum):
    """Moving windows with max(P60, half the maximum) of memory, for jobs that tolerate running out of it."""

    name = "autopilot-60"
    about = "the same with the larger of P60 and half the highest memory of a history"

    def memory(self, samples: JobSamples) -> Numbers:
        """Return the larger of both."""
        percentile = self.percentile(samples, 0.6)
        return np.maximum(percentile, 0.5 * super().memory(samples))
