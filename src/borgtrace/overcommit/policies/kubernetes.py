"""What koordinator and katalyst compute for a node, as predicted peaks, with every term of their formulas."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.histogram import MEBIBYTE, Buckets, DecayingHistogram, size_of_unit
from borgtrace.overcommit.moments import SampleMoments
from borgtrace.overcommit.policies.policy import SLOTS_PER_HOUR, PeakPolicy, Prediction
from borgtrace.overcommit.rule import Amount, PositiveShare, UnitSize
from borgtrace.schema.bounds import Bounds

DAY = 24 * SLOTS_PER_HOUR
HOURS_PER_DAY = 24
DAYS_PER_WEEK = 7
KOORDINATOR = {
    "cpu": DecayingHistogram(Buckets.exponential(1024.0, 0.025), DAY / 2, 0.95),
    "memory": DecayingHistogram(
        Buckets.exponential(2.0**41, 5 * MEBIBYTE),
        DAY,
        0.98,
    ),
}
"""Histograms of its peak predictions; the margin is added to what is read."""
LOAD = "usage ÷ request, bounded"
RATIO = "overcommit ratio"
RATIOS = frozenset((LOAD, RATIO))
"""Terms that are ratios; all others are amounts of a resource."""


class NodePolicy(PeakPolicy):
    """Base of the policies that explain themselves: named terms for each slot, the last of which is the peak."""

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the last term."""
        terms = list(self.terms(block).values())
        return Prediction(terms[-1], 0)

    @abstractmethod
    def terms(self, block: MachineBlock) -> Mapping[str, Numbers]:
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

    cpu: PositiveShare = 0.60
    memory: PositiveShare = 0.65
    calculate: Literal["usage", "request", "maxUsageRequest"] = "usage"

    name = "koordinator-batch"
    about = "koordinator: capacity − batch resource, by usage, request or maxUsageRequest; of high-priority tasks"
    high_only = True

    def terms(self, block: MachineBlock) -> Mapping[str, Numbers]:
        """Return the terms of the batch resource."""
        capacity = block.capacity
        used = self.used(block)
        threshold = self.cpu if block.resource == "cpu" else self.memory
        # Where the capacity is not published nothing can be handed out.
        batch = np.nan_to_num(np.maximum(capacity * threshold - used, 0.0))
        peak = np.where(
            np.isnan(capacity),
            block.limits,
            capacity - batch,
        )
        return {
            "capacity": capacity,
            "capacity kept as a margin": capacity * (1 - threshold),
            "used by high priority": used,
            "batch": batch,
            "predicted peak": peak,
        }

    def used(self, block: MachineBlock) -> Numbers:
        """Return what high priority is taken to use."""
        samples = block.all
        usage = block.assumed_usage
        match self.calculate:
            case "usage":
                return samples.sums(usage)
            case "request":
                return samples.sums(samples.limit)
            case _:
                return samples.sums(np.maximum(usage, samples.limit))


@dataclass(frozen=True)
class KoordinatorProd(NodePolicy):
    """koordinator's peak prediction of production: the larger of two predictors, from decaying histograms.

    By task: Σ min(request, margin·percentile), the request where a task is younger than a day, or was not measured.
    By class: margin·percentile of the histogram of the sum, which has a sample of 0 for each slot in which the machine
    is there without such tasks.  CPU: 95th percentile, half-life 12 h, buckets from 25 millicores; memory: 98th, 24 h,
    from 5 MiB.  After koordinator, pkg/koordlet/prediction, without what a trace does not tell: the usage of the
    system.  That no more is reclaimed than the capacity less the peaks is left out: it bounds what is handed out, not
    the peak.

    Attributes
    ----------
    margin
        Safety margin.
    cores, gib
        Cores and GiB of the largest machine: buckets are cores and bytes, the trace has shares of a machine.
    """

    margin: Amount = 1.1
    cores: UnitSize = math.nan
    gib: UnitSize = math.nan

    name = "koordinator-prod"
    about = "koordinator: peak prediction from decaying histograms; of high-priority tasks"
    high_only = True

    def terms(self, block: MachineBlock) -> Mapping[str, Numbers]:
        """Return both predictors and the request."""
        histogram = KOORDINATOR[block.resource]
        size = size_of_unit(block.resource, self.cores, self.gib)
        known = block.known

        def percentiles(
            owner: Index,
            slot: Index,
            usage: Numbers,
        ) -> Numbers:
            return histogram.after(owner, slot, usage * size) * self.margin / size

        of_task = percentiles(known.task, known.slot, known.usage)
        of_task = np.minimum(of_task, known.limit)
        first = np.searchsorted(known.task, known.task)
        is_old = known.slot - known.slot[first] >= DAY
        old_tasks = block.spread(known.sums(np.where(is_old, of_task, 0.0)))
        young_limits = block.spread(known.sums(np.where(is_old, 0.0, known.limit)))
        young_tasks = young_limits + block.unmeasured
        slots, sums = _usage_of_class(block)
        one_owner = np.zeros(len(sums), np.int64)
        of_class = percentiles(one_owner, slots, sums)
        by_class = block.spread(of_class[np.searchsorted(slots, known.slots)])
        peak = np.maximum(old_tasks + young_tasks, by_class)
        return {
            "requests": block.limits,
            "peaks of tasks older than a day": old_tasks,
            "requests of younger tasks": young_tasks,
            "peak of their sum": by_class,
            "predicted peak": np.minimum(peak, block.limits),
        }


def _usage_of_class(block: MachineBlock) -> tuple[Index, Numbers]:
    """Return the slots in which the usage of all tasks of a block is known, and their sums: (k,) each.

    A slot without any task, while the machine is in the cell, has 0.  One with tasks of which none was measured is
    left out, for what they use is not known.
    """
    known = block.known
    last = known.slot.max(initial=-1)
    has_sample = np.ones(last + 1, np.bool_)
    for without_sample in (block.absent_slots, block.all.slots):
        has_sample[without_sample[without_sample <= last]] = False
    has_sample[known.slots] = True
    sums = np.zeros(last + 1)
    sums[known.slots] = known.sums(known.usage)
    slots = np.flatnonzero(has_sample)
    return slots, sums[slots]


@dataclass(frozen=True)
class KatalystRealtime(NodePolicy):
    """katalyst's real-time overcommit ratio r = ((A·T − u)/max(min(u/R, 1), ℓ) + R)/A, at least 1; the peak is Σ L/r.

    A is the capacity, u the usage, R the requests.  After kubewharf/katalyst-core, pkg/agent/sysadvisor/plugin/
    overcommitmentaware/realtime.  One thing differs: where a task was not measured its limit counts as usage, where
    katalyst's agent adds nothing for a pod without metrics.

    Attributes
    ----------
    cpu, memory
        Target share T of the capacity.
    cpu_load, memory_load
        ℓ, the least ratio of usage to request that is believed.
    most
        The static ratio of the node: r is never larger.
    overcommits_idle
        Whether a node that uses nothing is overcommitted.
    """

    overcommits_idle: ClassVar[bool] = True
    cpu: PositiveShare = 0.6
    memory: PositiveShare = 0.8
    cpu_load: PositiveShare = 0.4
    memory_load: PositiveShare = 0.8
    most: Annotated[float, Bounds(1, math.inf)] = math.inf

    name = "katalyst-realtime"
    about = "katalyst: limits ÷ the real-time overcommit ratio of the node"

    def terms(self, block: MachineBlock) -> Mapping[str, Numbers]:
        """Return the terms of the ratio."""
        is_cpu = block.resource == "cpu"
        target = self.cpu if is_cpu else self.memory
        least_load = self.cpu_load if is_cpu else self.memory_load
        capacity = block.capacity
        used = self.used(block)
        requested = block.limits
        load = np.divide(
            used,
            requested,
            out=np.ones_like(used),
            where=requested > 0,
        )
        load = np.maximum(np.minimum(load, 1.0), least_load)
        ratio = ((capacity * target - used) / load + requested) / capacity
        # Where the capacity is not published nothing is overcommitted.
        has_ratio = ~np.isnan(ratio)
        if not self.overcommits_idle:
            has_ratio &= used > 0
        ratio = np.where(
            has_ratio,
            np.clip(ratio, 1.0, self.most),
            1.0,
        )
        return {
            "capacity": capacity,
            "used": used,
            "requested": requested,
            LOAD: load,
            RATIO: ratio,
            "predicted peak": requested / ratio,
        }

    def used(self, block: MachineBlock) -> Numbers:
        """Return the usage of the machine."""
        return block.all.sums(block.assumed_usage)


@dataclass(frozen=True)
class KatalystHourly(KatalystRealtime):
    """The same ratio with a predicted usage: the largest sum over tasks for an hour of the day.

    For each task and hour of the day mean + n deviations (ddof 0) of what the largest task of its job used in that hour
    of the seven days before, 0 where there was nothing; its request where the job is younger than a day.  Renewed when
    an hour begins.  Where all of that is 0 nothing is overcommitted.  After katalyst-core, pkg/controller/overcommit/
    prediction, whose least load of CPU is another than that of the agent.

    Attributes
    ----------
    n
        Standard deviations.
    """

    overcommits_idle = False
    cpu_load: PositiveShare = 0.5
    n: Amount = 3.0

    name = "katalyst-hourly"
    about = (
        "katalyst: the same ratio with N-sigma of each job by hour of the day instead of the usage"
    )
    pools = ("jobs",)

    def used(self, block: MachineBlock) -> Numbers:
        """Return the largest of the sums of 24 hours."""
        samples = block.all
        task = block.identity[samples.task]
        hour = (samples.slot + 1) // SLOTS_PER_HOUR
        # Read the history of a task once an hour, not in every slot.
        task_hours, position = np.unique(np.stack([task, hour]), axis=1, return_inverse=True)
        week = block.pools["jobs"].last_hours(
            task_hours[0],
            task_hours[1],
            DAYS_PER_WEEK * HOURS_PER_DAY,
        )
        peaks = self._peaks_by_hour_of_day(week)
        peaks[_is_young(week.n > 0)] = np.nan
        sums = []
        for of_hour in peaks[position].T:
            sums.append(samples.sums(np.where(np.isnan(of_hour), samples.limit, of_hour)))
        return np.max(sums, axis=0)

    def _peaks_by_hour_of_day(self, week: SampleMoments) -> Numbers:
        """Return mean + n deviations of each hour of the day, from the hours of a week: (n, 24)."""
        shape = (-1, DAYS_PER_WEEK, HOURS_PER_DAY)
        n = week.n.reshape(shape)
        mean_of_day = week.mean.reshape(shape)
        squares_of_day = week.squares.reshape(shape)
        count = np.maximum(n.sum(axis=1), 1.0)
        mean = (n * mean_of_day).sum(axis=1) / count
        squares = (squares_of_day + n * (mean_of_day - mean[:, None]) ** 2).sum(axis=1)
        return mean + self.n * np.sqrt(squares / count)


def _is_young(has_samples: Flags) -> Flags:
    """Return where the hours with samples, first to last, span less than a day: bool (n,)."""
    last = has_samples.shape[1] - 1
    hours_after = has_samples[:, ::-1].argmax(axis=1)
    hours_before = has_samples.argmax(axis=1)
    span = last - hours_after - hours_before
    return ~has_samples.any(axis=1) | (span < HOURS_PER_DAY)
