"""Autopilot's moving windows (Rzadca et al., EuroSys'20, §3.2.2).

CPU: the weighted average for batch jobs; for serving ones (here: production) the 95th percentile adjusted by load, for
which a sample weighs its value too.  Memory by how well a job stands running out of it.  Then a margin, and the largest
recommendation of the last hour.

The paper leaves open, and this declares: buckets (from 1 millicore or 1 MB, each 2 % wider), the margin (a parameter,
15 % whatever the size), N of the maximum (all samples so far).  Its samples are seconds, these the means of 5 minutes.
"""

from dataclasses import dataclass, replace

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.histogram import Buckets, Shape
from borgtrace.overcommit.policies.gaussian import decayed_moments
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR
from borgtrace.overcommit.policies.tasks import running_maximum
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples

_CPU = Shape(Buckets.exponential(1000.0, 0.001, 1.02), DAY / 2, 0.95)
_MEMORY = Shape(Buckets.exponential(1e13, 1e6, 1.02), 2 * DAY, 0.98)


@dataclass(frozen=True)
class Autopilot(Recommender):
    """Moving windows: P98 of memory, for jobs that stand running out of it badly.

    Attributes
    ----------
    margin
        What is added to the statistic, as a share of it.
    """

    margin: float = 0.15

    name = "autopilot"
    about = "moving windows: CPU average (batch) or load-adjusted P95 (serving); memory P98; + a margin"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the largest recommendation of the hour before, after each sample."""
        statistic = self.cpu(samples) if samples.resource == "cpu" else self.memory(samples)
        return hourly_maximum(samples.job, samples.slot, statistic * (1 + self.margin), SLOTS_PER_HOUR)

    def cpu(self, samples: JobSamples) -> Numbers:
        """Return the average for batch jobs, the load-adjusted percentile for serving ones."""
        given = samples.job, samples.slot, samples.value
        average = decayed_moments(*given, np.ones(len(samples), np.bool_), DAY / 2)[2]
        return np.where(samples.is_serving, _CPU.after(*given, samples.value), average)

    def memory(self, samples: JobSamples) -> Numbers:
        """Return the 98th percentile."""
        return _MEMORY.after(samples.job, samples.slot, samples.value)


class AutopilotMaximum(Autopilot):
    """Moving windows with the maximum of memory, for jobs that must not run out of it."""

    name = "autopilot-max"
    about = "the same with the highest memory so far"
    resources = ("memory",)

    def memory(self, samples: JobSamples) -> Numbers:
        """Return the highest sample so far."""
        return running_maximum(samples.job, samples.value)


class AutopilotIntermediate(Autopilot):
    """Moving windows with max(P60, half the maximum) of memory, for jobs that stand it well."""

    name = "autopilot-60"
    about = "the same with the larger of P60 and half the highest memory"
    resources = ("memory",)

    def memory(self, samples: JobSamples) -> Numbers:
        """Return the larger of both."""
        median = replace(_MEMORY, share=0.6).after(samples.job, samples.slot, samples.value)
        return np.maximum(median, 0.5 * running_maximum(samples.job, samples.value))


@compiled()
def hourly_maximum(job: Index, slot: Index, value: Numbers, length: int) -> Numbers:
    """Return the largest value of each job's last `length` slots, that of the sample included."""
    out = np.empty(job.size)
    # Candidates, oldest first, each larger than all after it: a sample enters and leaves once.
    kept, first, last = np.empty(job.size, np.int64), 0, 0
    for i in range(job.size):
        if i == 0 or job[i] != job[i - 1]:
            first = last
        while last > first and value[kept[last - 1]] <= value[i]:
            last -= 1
        kept[last] = i
        last += 1
        while slot[kept[first]] <= slot[i] - length:
            first += 1
        out[i] = value[kept[first]]
    return out
