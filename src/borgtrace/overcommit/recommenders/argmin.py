"""Autopilot's recommender that learns (Rzadca et al., EuroSys'20, §3.2.3): the limit of the least smoothed cost.

A model remembers, for every bucket, how often samples lay above it (overruns) and below it (underruns), each smoothed
by its rate d: o ← (1 − d)·o + d·share.  It takes the bucket of the least w_o·o + w_u·u + w_ΔL·[another than before],
the lowest of several, and adds its margin.  Each model's cost is smoothed likewise, and the model of the least cost
plus penalties for another model or limit is the one that counts (equations 4 to 9).

The paper leaves open, and this chooses: buckets (those of VPA), shares of a slot instead of numbers of samples, which
would weigh jobs by their tasks, the models, the weights, and the rate of the models' costs.  A slot without samples
changes nothing.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.histogram import VPA_BUCKETS, Buckets, find_bucket, upper_edge
from borgtrace.overcommit.policies.kubernetes import DAY
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.rule import Cost

RATE = 1 - 2 ** (-2 / DAY)
"""Half-life of 12 h, that of Autopilot's windows for CPU."""
_RATE_OF_2_HOURS = 1 - 2 ** (-12 / DAY)


class Models(NamedTuple):
    """Rate and margin of each model."""

    rate: Numbers
    margin: Numbers


MODELS = Models(
    rate=np.array([_RATE_OF_2_HOURS, _RATE_OF_2_HOURS, RATE, RATE]),
    margin=np.array([0.0, 0.15, 0.0, 0.15]),
)
"""Half-lives of 2 h and 12 h, without a margin and with that of the moving windows."""


class CostWeights(NamedTuple):
    """What overruns, underruns, another limit and another model cost."""

    overrun: float
    underrun: float
    change: float
    model: float


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

    overrun: Cost = 10.0
    underrun: Cost = 1.0
    change: Cost = 0.1
    model: Cost = 0.05

    name = "autopilot-argmin"
    about = "Autopilot's learning recommender: the limit of the least cost of over- and underruns"

    def recommend(self, samples: JobSamples) -> Numbers:
        """Return the limit of the best model after each slot."""
        weights = CostWeights(
            self.overrun,
            self.underrun,
            self.change,
            self.model,
        )
        buckets = VPA_BUCKETS[samples.resource]
        return _learn_limits(
            samples.job,
            samples.slot,
            samples.value,
            weights,
            MODELS,
            buckets,
        )


class _Learned(NamedTuple):
    """What the models have learned of a job.

    Attributes
    ----------
    over, under
        Smoothed overruns and underruns by bucket: (models, buckets).
    cost
        Smoothed cost of each model.
    bucket, limit
        What each model took last; bucket −1 before it took any.
    """

    over: Numbers
    under: Numbers
    cost: Numbers
    bucket: Index
    limit: Numbers


@compiled()
def _learn_limits(
    job: Index,
    slot: Index,
    value: Numbers,
    weights: CostWeights,
    models: Models,
    buckets: Buckets,
) -> Numbers:
    n_models = models.rate.size
    edges = np.array([upper_edge(k, buckets) for k in range(buckets.n)])
    learned = _Learned(
        np.zeros((n_models, buckets.n)),
        np.zeros((n_models, buckets.n)),
        np.zeros(n_models),
        np.zeros(n_models, np.int64),
        np.zeros(n_models),
    )
    counts = np.zeros(buckets.n)
    out = np.empty(job.size)
    chosen = -1
    limit = 0.0
    begin = 0
    for i in range(job.size):
        is_new_job = i == 0 or job[i] != job[i - 1]
        if is_new_job:
            _forget(learned)
            chosen = -1
            limit = 0.0
        if is_new_job or slot[i] != slot[i - 1]:
            counts[:] = 0.0
            begin = i
        counts[find_bucket(value[i], buckets)] += 1.0
        # A slot is learned once all of its samples are here; until then the limit stays.
        is_last_of_slot = i + 1 == job.size or job[i + 1] != job[i]
        if is_last_of_slot or slot[i + 1] != slot[i]:
            share = counts / (i + 1 - begin)
            share_up_to = np.cumsum(counts) / (i + 1 - begin)
            best = 0
            least = np.inf
            for m in range(n_models):
                _learn_slot(
                    learned,
                    m,
                    share,
                    share_up_to,
                    weights,
                    models,
                    edges,
                    buckets,
                )
                total = learned.cost[m]
                total += weights.model * (m != chosen)
                total += weights.change * (learned.limit[m] != limit)
                if total < least:
                    best = m
                    least = total
            chosen = best
            limit = learned.limit[best]
        out[i] = limit
    return out


@compiled()
def _forget(learned: _Learned) -> None:
    """Begin a new job."""
    learned.over[:] = 0.0
    learned.under[:] = 0.0
    learned.cost[:] = 0.0
    learned.bucket[:] = -1


@compiled()
def _learn_slot(
    learned: _Learned,
    m: int,
    share: Numbers,
    share_up_to: Numbers,
    weights: CostWeights,
    models: Models,
    edges: Numbers,
    buckets: Buckets,
) -> None:
    """Update one model with the shares of a slot's samples in each bucket, and in all up to it."""
    over = learned.over[m]
    under = learned.under[m]
    over += models.rate[m] * (1.0 - share_up_to - over)
    under += models.rate[m] * (share_up_to - share - under)
    cost = weights.overrun * over + weights.underrun * under
    cost_with_change = cost + weights.change
    before = -1.0
    if learned.bucket[m] >= 0:
        cost_with_change[learned.bucket[m]] -= weights.change
        before = learned.limit[m]
    bucket = np.argmin(cost_with_change)
    limit = edges[bucket] * (1.0 + models.margin[m])
    learned.bucket[m] = bucket
    learned.limit[m] = limit
    has_changed = limit != before and before >= 0
    cost_now = cost[find_bucket(limit, buckets)] + weights.change * has_changed
    learned.cost[m] += RATE * (cost_now - learned.cost[m])
