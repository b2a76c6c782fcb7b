"""The rule of Kubernetes' HorizontalPodAutoscaler, for jobs: more or fewer tasks instead of larger or smaller limits.

The table is about limits, so the requests of all replicas are shared by the tasks that ran: replicas · request ÷ tasks.
It is assumed that a job's load could be spread over any number of tasks; a trace does not tell.
"""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.rule import PositiveShare, Share


@dataclass(frozen=True)
class Hpa(Recommender):
    """⌈n·m/m*⌉ replicas, where m is the utilization of what n of them request, unless m/m* is within a tolerance of 1.

    A job begins with the tasks of its first slot.  The window of 300 s, in which the largest wish holds before
    replicas are taken away, is one slot.  Left out is that HPA cuts the utilization to whole percents.

    Attributes
    ----------
    target
        Utilization m* that is wanted.
    tolerance
        How far m/m* may be from 1.
    """

    target: PositiveShare = 0.8
    tolerance: Share = 0.1

    name = "hpa"
    about = (
        "HPA's replicas for a target utilization; their requests are shared by the tasks that ran"
    )

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the limit after each sample, from the slot that ends with it."""
        is_new_job = np.diff(samples.job, prepend=-1) != 0
        is_new_slot = np.diff(samples.slot, prepend=-1) != 0
        first = np.flatnonzero(is_new_job | is_new_slot)
        n_tasks = np.diff(np.append(first, len(samples)))
        load = np.add.reduceat(samples.value, first)
        requested = np.add.reduceat(samples.request, first)
        wanted = replicas(
            samples.job[first],
            n_tasks,
            load,
            requested / n_tasks,
            self.target,
            self.tolerance,
        )
        return np.repeat(wanted * requested / n_tasks**2, n_tasks)


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
        is_first = i == 0 or job[i] != job[i - 1]
        now = float(n[i]) if is_first else out[i - 1]
        ratio = 1.0
        if request[i] > 0:
            ratio = load[i] / (now * request[i]) / target
        if abs(ratio - 1.0) <= tolerance:
            out[i] = now
        else:
            out[i] = max(np.ceil(now * ratio), 1.0)
    return out
