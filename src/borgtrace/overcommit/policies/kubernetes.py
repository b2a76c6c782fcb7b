"""What koordinator and katalyst compute for a node, as predicted peaks, with every term of their formulas."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.overcommit.block import Block
from borgtrace.overcommit.histogram import Buckets, rolling
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR, Policy, Prediction

MEBIBYTE = 2.0**20
_DAY = 24 * SLOTS_PER_HOUR


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
    """koordinator's batch resource by usage: what best effort is not given, is kept for high priority.

    batch = max(0, capacity·threshold − Σ usage of high priority); the trace has no usage of the system.

    Attributes
    ----------
    cpu, memory
        cpuReclaimThresholdPercent and memoryReclaimThresholdPercent ÷ 100.
    """

    cpu: float = 0.60
    memory: float = 0.65

    name = "koordinator-batch"
    about = "koordinator: capacity − batch resource, by usage; of high-priority tasks"
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
        return block.all.sums(np.where(block.is_known, block.all.usage, block.all.limit))


@dataclass(frozen=True)
class KoordinatorBatchRequest(KoordinatorBatch):
    """The same by requests (calculatePolicy request)."""

    name = "koordinator-batch-request"
    about = "koordinator: capacity − batch resource, by requests; of high-priority tasks"

    def used(self, block: Block) -> Numbers:
        """Return the sum of the requests."""
        return block.limits


@dataclass(frozen=True)
class KoordinatorBatchMaximum(KoordinatorBatch):
    """The same by the larger of usage and request of each task (calculatePolicy maxUsageRequest)."""

    name = "koordinator-batch-maximum"
    about = "koordinator: capacity − batch resource, by the larger of usage and request; of high-priority tasks"

    def used(self, block: Block) -> Numbers:
        """Return the sum of the larger ones."""
        return block.all.sums(np.maximum(block.all.usage, block.all.limit))


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
        is_cpu = block.resource == "cpu"
        unit = in_cores(self, self.cores) if is_cpu else in_bytes(self, self.gib)
        buckets = Buckets.exponential(1024.0, 0.025) if is_cpu else Buckets.exponential(2**41, 5 * MEBIBYTE)
        half_life, share = (_DAY / 2, 0.95) if is_cpu else (float(_DAY), 0.98)
        known = block.known

        def peaks(owner: Index, slot: Index, usage: Numbers) -> Numbers:
            shape = np.array([buckets.first, buckets.ratio, buckets.n])
            of = rolling(owner, slot, usage * unit, np.ones(len(owner)), half_life, np.array([share]), shape)
            return of[:, 0] * self.margin / unit

        each = np.minimum(peaks(known.task, known.slot, known.usage), known.limit)
        first = np.searchsorted(known.task, known.task)
        is_old = known.slot - known.slot[first] >= _DAY
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
        target, least = getattr(self, block.resource), getattr(self, f"{block.resource}_load")
        used = block.all.sums(block.all.usage)
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


def in_cores(policy: Policy, cores: float) -> float:
    """Return the cores of the largest machine.

    Raises
    ------
    UsageError
        Where they are not stated: buckets of a histogram mean cores.
    """
    if not cores > 0:
        raise _not_stated(policy, "cores", "--cores-per-unit 64")
    return cores


def in_bytes(policy: Policy, gib: float) -> float:
    """Return the bytes of the largest machine.

    Raises
    ------
    UsageError
        Where they are not stated: buckets of a histogram mean bytes.
    """
    if not gib > 0:
        raise _not_stated(policy, "GiB of memory", "--gib-per-unit 256")
    return gib * 1024 * MEBIBYTE


def _not_stated(policy: Policy, what: str, option: str) -> UsageError:
    return UsageError(
        f"--policy {policy.name}",
        f"the {what} of the largest machine are not known",
        way_out=f"state them, for example {option}; the trace has shares of a machine only",
    )
