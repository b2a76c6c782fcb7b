"""Autopilot's recommender that learns (Rzadca et al., EuroSys'20, §3.2.3): the limit of the least smoothed cost.

A model remembers, for every bucket, how often samples lay above it (overruns) and below it (underruns), each smoothed
by its rate d: o ← (1 − d)·o + d·share.  It takes the bucket of the least w_o·o + w_u·u + w_ΔL·[another than before],
the lowest of several, and adds its margin.  Each model's cost is smoothed likewise, and the model of the least cost
plus penalties for another model or limit is the one that counts (equations 4 to 9).

The paper leaves open, and this declares: buckets (those of VPA), shares of a slot instead of numbers of samples,
which would weigh jobs by their tasks, the models, the weights, and the rate of the models' costs.  A slot without
samples changes nothing.
"""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.histogram import VPA_BUCKETS, Buckets, find, upper
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples

RATE = 1 - 2 ** (-2 / DAY)
"""Half-life of 12 h, that of Autopilot's windows for CPU."""
MODELS = np.array(
    [(rate, margin) for rate in (1 - 2 ** (-12 / DAY), RATE) for margin in (0.0, 0.15)]
)
"""Rate and margin of each model: half-lives of 2 h and 12 h, without a margin and with that of the moving windows."""


@dataclass(frozen=True)
class AutopilotArgmin(Recommender):
    """Autopilot's recommender that learns.

    Attributes
    ----------
    overrun, underrun
        What it costs that all samples of a slot lie above a limit, or below it.
    change, model
        What it costs to change the limit, or the model.
    """

    overrun: float = 10.0
    underrun: float = 1.0
    change: float = 0.1
    model: float = 0.05

    name = "autopilot-argmin"
    about = "Autopilot's learning recommender: the limit of the least cost of over- and underruns"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the limit of the best model after each slot."""
        weights = np.array(
            [
                self.overrun,
                self.underrun,
                self.change,
                self.model,
            ]
        )
        return _limits(
            samples.job, samples.slot, samples.value, weights, MODELS, VPA_BUCKETS[samples.resource]
        )


@compiled()
def _limits(
    job: Index,
    slot: Index,
    value: Numbers,
    weights: Numbers,
    models: Numbers,
    buckets: Buckets,
) -> Numbers:
    n = buckets.n
    edges = np.array([upper(k, buckets) for k in range(n)])
    over = np.zeros((len(models), n))
    under = np.zeros((len(models), n))
    costs = np.zeros(len(models))
    taken = np.zeros(len(models), np.int64)
    limits = np.zeros(len(models))
    share = np.zeros(n)
    out = np.empty(job.size)
    chosen = -1
    limit = 0.0
    begin = 0
    for i in range(job.size):
        if i == 0 or job[i] != job[i - 1]:
            over[:] = 0.0
            under[:] = 0.0
            costs[:] = 0.0
            taken[:] = -1
            chosen = -1
            limit = 0.0
        if i == 0 or job[i] != job[i - 1] or slot[i] != slot[i - 1]:
            share[:] = 0.0
            begin = i
        share[find(value[i], buckets)] += 1.0
        # A slot is learned once all of its samples are here; until then nothing is asked.
        if i + 1 == job.size or job[i + 1] != job[i] or slot[i + 1] != slot[i]:
            upto = np.cumsum(share) / (i + 1 - begin)
            best = 0
            least = np.inf
            for m in range(len(models)):
                over[m] += models[m, 0] * (1.0 - upto - over[m])
                under[m] += models[m, 0] * (upto - share / (i + 1 - begin) - under[m])
                cost = weights[0] * over[m] + weights[1] * under[m]
                moved = cost + weights[2]
                if taken[m] >= 0:
                    moved[taken[m]] -= weights[2]
                before = limits[m] if taken[m] >= 0 else -1.0
                taken[m] = np.argmin(moved)
                limits[m] = edges[taken[m]] * (1.0 + models[m, 1])
                now = cost[find(limits[m], buckets)] + weights[2] * (
                    limits[m] != before and before >= 0
                )
                costs[m] += RATE * (now - costs[m])
                total = costs[m] + weights[3] * (m != chosen) + weights[2] * (limits[m] != limit)
                if total < least:
                    best = m
                    least = total
            chosen = best
            limit = limits[best]
        out[i] = limit
    return out
