"""What koordinator and katalyst compute for a node, as predicted peaks, with every term of their formulas."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.overcommit.block import Block
from borgtrace.overcommit.histogram import MEBIBYTE, Buckets, Shape, unit
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR, Policy, Prediction
from borgtrace.overcommit.pools import Moments

DAY = 24 * SLOTS_PER_HOUR
KOORDINATOR = {
    "cpu": Shape(Buckets.exponential(1024.0, 0.025), DAY / 2, 0.95),
    "memory": Shape(Buckets.exponential(2.0**41, 5 * MEBIBYTE), DAY, 0.98),
}
"""Histograms of its peak predictions; the margin is added to what is read."""


class NodePolicy(Policy):
    """Base of the policies that explain themselves: named terms for each slot, the last of which is the peak."""

    def predict(self, block: Block) -> Prediction:
        """Return the last term."""
        return Prediction(list(self.terms(block).values())[-1], 0)

    @abstractmethod
    def terms(self, block: Block) -> Mapping[str, Numbers]:
        """Return the terms of the formula by name, each float64 (m,); the last is the predicted peak."""


@dataclass(frozen=True)
class KoordinatorBatch(NodePolicy):
    """koordinator's batch resource: what best effort is not given, is kept for high priority.

    batch = max(0, capacity·threshold − Σ of high priority); the trace has no usage of the system.

    Attributes
    ----------
    cpu, memory
        cpuReclaimThresholdPercent and memoryReclaimThresholdPercent ÷ 100.
    calculate
        cpuCalculatePolicy and memoryCalculatePolicy: ``usage``, ``request`` or the larger of each task,
        ``maxUsageRequest``.
    """

    cpu: float = 0.60
    memory: float = 0.65
    calculate: str = "usage"

    name = "koordinator-batch"
    about = "koordinator: capacity − batch resource, by usage, request or maxUsageRequest; of high-priority tasks"
    high_only = True

    def terms(self, block: Block) -> Mapping[str, Numbers]:
        """Return the terms of the batch resource."""
        used = self.used(block)
        threshold = getattr(self, block.resource)
        # Where the capacity is not published nothing can be handed out.
        batch = np.nan_to_num(np.maximum(block.capacity * threshold - used, 0.0))
        kept = np.where(np.isnan(block.capacity), block.limits, block.capacity - batch)
        return {
            "capacity": block.capacity,
            "capacity kept as a margin": block.capacity * (1 - threshold),
            "used by high priority": used,
            "batch": batch,
            "predicted peak": kept,
        }

    def used(self, block: Block) -> Numbers:
        """Return what high priority is taken to use."""
        usage = np.where(block.is_known, block.all.usage, block.all.limit)
        by = {
            "usage": usage,
            "request": block.all.limit,
            "maxUsageRequest": np.maximum(usage, block.all.limit),
        }
        return block.all.sums(by[self.calculate])


@dataclass(frozen=True)
class KoordinatorProd(NodePolicy):
    """koordinator's peak prediction of production: the larger of two predictors, from decaying histograms.

    By task: Σ min(request, margin·percentile), the request where a task is younger than a day.  By class: margin·
    percentile of the histogram of the sum.  CPU: 95th percentile, half-life 12 h, buckets from 25 millicores; memory:
    98th, 24 h, from 5 MiB.

    Attributes
    ----------
    margin
        Safety margin.
    cores, gib
        Cores and GiB of the largest machine: buckets are cores and bytes, the trace has shares of a machine.
    """

    margin: float = 1.1
    cores: float = math.nan
    gib: float = math.nan

    name = "koordinator-prod"
    about = "koordinator: peak prediction from decaying histograms; of high-priority tasks"
    high_only = True

    def terms(self, block: Block) -> Mapping[str, Numbers]:
        """Return both predictors and the request."""
        shape = KOORDINATOR[block.resource]
        size = unit(block.resource, self.cores, self.gib)
        known = block.known

        def peaks(owner: Index, slot: Index, usage: Numbers) -> Numbers:
            return shape.after(owner, slot, usage * size) * self.margin / size

        each = np.minimum(peaks(known.task, known.slot, known.usage), known.limit)
        first = np.searchsorted(known.task, known.task)
        is_old = known.slot - known.slot[first] >= DAY
        by_task = block.spread(known.sums(np.where(is_old, each, 0.0)))
        young = block.spread(known.sums(np.where(is_old, 0.0, known.limit))) + block.unmeasured
        sums = known.sums(known.usage)
        by_class = block.spread(peaks(np.zeros(len(sums), np.int64), known.slots, sums))
        return {
            "requests": block.limits,
            "peaks of tasks older than a day": by_task,
            "requests of younger tasks": young,
            "peak of their sum": by_class,
            "predicted peak": np.minimum(np.maximum(by_task + young, by_class), block.limits),
        }


@dataclass(frozen=True)
class KatalystRealtime(NodePolicy):
    """katalyst's real-time overcommit ratio r = ((A·T − u)/max(min(u/R, 1), ℓ) + R)/A, at least 1; the peak is Σ L/r.

    A is the capacity, u the usage, R the requests.

    Attributes
    ----------
    cpu, memory
        Target share T of the capacity.
    cpu_load, memory_load
        ℓ, the least ratio of usage to request that is believed.
    most
        The static ratio of the node: r is never larger.
    """

    cpu: float = 0.6
    memory: float = 0.8
    cpu_load: float = 0.4
    memory_load: float = 0.8
    most: float = math.inf

    name = "katalyst-realtime"
    about = "katalyst: limits ÷ the real-time overcommit ratio of the node"

    def terms(self, block: Block) -> Mapping[str, Numbers]:
        """Return the terms of the ratio."""
        target = getattr(self, block.resource)
        least = getattr(self, f"{block.resource}_load")
        used = self.used(block)
        requested = block.limits
        load = np.divide(used, requested, out=np.ones_like(used), where=requested > 0)
        load = np.maximum(np.minimum(load, 1.0), least)
        ratio = ((block.capacity * target - used) / load + requested) / block.capacity
        # Where the capacity is not published nothing is overcommitted.
        ratio = np.where(np.isnan(ratio), 1.0, np.clip(ratio, 1.0, self.most))
        return {
            "capacity": block.capacity,
            "used": used,
            "requested": requested,
            "usage ÷ request, bounded": load,
            "overcommit ratio": ratio,
            "predicted peak": requested / ratio,
        }

    def used(self, block: Block) -> Numbers:
        """Return the usage of the machine."""
        return block.all.sums(block.all.usage)


@dataclass(frozen=True)
class KatalystHourly(KatalystRealtime):
    """The same ratio with a predicted usage: the largest sum over tasks for an hour of the day.

    For each task and hour of the day mean + n deviations (ddof 0) of what the largest task of its job used in that hour
    of the seven days before, 0 where there was nothing; its request where the job is younger than a day.  Renewed when
    an hour begins.

    Attributes
    ----------
    n
        Standard deviations.
    """

    n: float = 3.0

    name = "katalyst-hourly"
    about = (
        "katalyst: the same ratio with N-sigma of each job by hour of the day instead of the usage"
    )
    pools = ("jobs",)

    def used(self, block: Block) -> Numbers:
        """Return the largest of the sums of 24 hours."""
        every = block.all
        place = block.identity[every.task]
        hour = (every.slot + 1) // SLOTS_PER_HOUR
        # A task is asked for once an hour, not in every slot.
        asked, again = np.unique(np.stack([place, hour]), axis=1, return_inverse=True)
        found = block.pools["jobs"].last_hours(asked[0], asked[1], 7 * 24)
        days = Moments(*(values.reshape(-1, 7, 24) for values in found))
        count = np.maximum(days.n.sum(axis=1), 1.0)
        mean = (days.n * days.mean).sum(axis=1) / count
        squares = (days.squares + days.n * (days.mean - mean[:, None]) ** 2).sum(axis=1)
        seen = found.n > 0
        span = 7 * 24 - 1 - seen[:, ::-1].argmax(axis=1) - seen.argmax(axis=1)
        is_young = ~seen.any(axis=1) | (span < 24)
        peaks = np.where(is_young[:, None], np.nan, mean + self.n * np.sqrt(squares / count))[
            again
        ].T
        return np.max(
            [every.sums(np.where(np.isnan(row), every.limit, row)) for row in peaks], axis=0
        )
