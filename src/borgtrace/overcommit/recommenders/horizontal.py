"""The rule of Kubernetes' HorizontalPodAutoscaler, for jobs: more or fewer tasks instead of larger or smaller limits.

The table knows limits.  So what the replicas request together is shared by the tasks that ran: replicas · request ÷
tasks.  That a job's load could be spread over any number of tasks is assumed; nothing in a trace says so.
"""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples


@dataclass(frozen=True)
class Hpa(Recommender):
    """⌈n·m/m*⌉ replicas, where m is the utilization of what n of them request, unless m/m* is within a tolerance of 1.

    A job begins with the tasks of its first slot.  The window of 300 s, in which the largest wish holds before
    replicas are taken away, is one slot.

    Attributes
    ----------
    target
        Utilization m* that is wanted.
    tolerance
        How far m/m* may be from 1.
    """

    target: float = 0.8
    tolerance: float = 0.1

    name = "hpa"
    about = (
        "HPA's replicas for a target utilization; their requests are shared by the tasks that ran"
    )

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the limit after each sample, from the slot that ends with it."""
        first = np.flatnonzero(
            (np.diff(samples.job, prepend=-1) != 0) | (np.diff(samples.slot, prepend=-1) != 0)
        )
        n = np.diff(np.append(first, len(samples)))
        load, asked = (
            np.add.reduceat(values, first) for values in (samples.value, samples.request)
        )
        wanted = replicas(samples.job[first], n, load, asked / n, self.target, self.tolerance)
        return np.repeat(wanted * asked / n**2, n)


@compiled()
def replicas(
    job: Index,
    n: Index,
    load: Numbers,
    request: Numbers,
    target: float,
    tolerance: float,
) -> Numbers:
    """Return the replicas that are wanted after each slot of each job: float64 (slots,), whole and at least 1.

    Parameters
    ----------
    job, n, load, request
        Of each slot that has samples: job, tasks, what they use together, and what one of them requests.
    target, tolerance
        As for :class:`Hpa`.
    """
    out = np.empty(job.size)
    for i in range(job.size):
        now = float(n[i]) if i == 0 or job[i] != job[i - 1] else out[i - 1]
        ratio = load[i] / (now * request[i]) / target if request[i] > 0 else 1.0
        out[i] = now if abs(ratio - 1.0) <= tolerance else max(np.ceil(now * ratio), 1.0)
    return out
