"""A trial of ways of packing: tasks are packed by some of their hours, and the packing is judged on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.distinct_bins import DistinctBins
from borgtrace.colocation.packing.instances import Instance, Instances, Room
from borgtrace.colocation.packing.intervals import (
    ConfidenceInterval,
    SeriesBlocks,
    over_instances,
    share_over_instances,
)
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.simultaneous import BusySpan, series
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Estimator, Packing, pack


@dataclass(frozen=True, eq=False)
class JudgedPacking:
    """One way of packing one instance, with the overflows of each machine in use.

    Attributes
    ----------
    machines
        Machines in use, with one of its own for every unplaceable task.
    n_unplaceable
        Tasks that fit no machine alone.
    draws
        int64 (m,): draws in which each machine overflows.
    raw
        int64 (m, blocks): slots of each block of the simultaneous series in which it does; no blocks without a clock.
    """

    machines: int
    n_unplaceable: int
    draws: Index
    raw: Index

    @classmethod
    def of(cls, packing: Packing, draws: Index, raw: Index) -> JudgedPacking:
        """Keep the overflows of the machines that a packing uses.

        Parameters
        ----------
        packing
            Where the tasks are.
        draws, raw
            Overflows of all bins; rebalancing may have emptied a bin, which is then no machine.
        """
        used_bins = np.unique(packing.bins[packing.bins >= 0])
        n_unplaceable = len(packing.unplaceable)
        return cls(
            machines=len(used_bins) + n_unplaceable,
            n_unplaceable=n_unplaceable,
            draws=draws[used_bins],
            raw=raw[used_bins],
        )


@dataclass(frozen=True, eq=False)
class PackingTrial:
    """Tasks as some hours show them, and what they do in others.

    Attributes
    ----------
    instances
        Draws from the hours that are learned from; those that judge are from the hours judged.
    learned
        float32 (n, T) or None: simultaneous window averages of the hours learned from.
    judged
        float32 (n, T) or None: simultaneous usage of the hours judged.
    """

    instances: Instances
    learned: Values | None = None
    judged: Values | None = None

    @property
    def slots(self) -> int:
        """Slots of the simultaneous series; 0 without them."""
        return 0 if self.judged is None else self.judged.shape[1]

    def run(
        self,
        tried: Sequence[Estimator],
        capacity: float,
        lengths: Index,
    ) -> list[list[JudgedPacking]]:
        """Pack and judge all instances in every way.

        Parameters
        ----------
        tried
            Ways of packing.
        capacity
            Of every machine.
        lengths
            int64 (blocks,): slots of each block of the simultaneous series.

        Returns
        -------
        list of lists
            For each way, one for each instance.
        """
        judge = partial(
            self._judge_instance,
            tried=tried,
            capacity=capacity,
            edges=np.concatenate(([0], np.cumsum(lengths))),
        )
        ways_of_instances = list(self.instances.map(judge))
        # Nobody asks for these draws again, and they are the largest thing in memory.
        self.instances.kept.clear()
        if self.instances.shared is not None:
            self.instances.shared.clear()
        return [list(instances_of_way) for instances_of_way in zip(*ways_of_instances, strict=True)]

    def _judge_instance(
        self,
        instance: Instance,
        tried: Sequence[Estimator],
        capacity: float,
        edges: Index,
    ) -> list[JudgedPacking]:
        seen = instance.seen
        if self.learned is not None:
            seen = seen.with_more(series=self.learned[instance.tasks])
        packings = [pack(estimator, seen, capacity=capacity) for estimator in tried]
        # Found once for both: what judges differs, the bins do not.
        bins = DistinctBins.of(packings)
        draws = bins.overflows(instance.fresh, np.array([0, instance.fresh.shape[1]]))[:, :, 0]
        raw = np.empty((*draws.shape, 0), np.int64)
        if self.judged is not None:
            raw = bins.overflows(self.judged[instance.tasks], edges)
        return [
            JudgedPacking.of(packing, draws_of_packing, raw_of_packing)
            for packing, draws_of_packing, raw_of_packing in zip(packings, draws, raw, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class RunningTasks:
    """Tasks that run through a span, with their simultaneous series, laid on the clock once for all trials.

    Attributes
    ----------
    tasks
        The tasks.
    first
        First slot of the span.
    inst, avg
        float32 (n, T): usage in single seconds, and averages of the windows.
    """

    tasks: TaskPool
    first: int
    inst: Values
    avg: Values

    @classmethod
    def during(cls, pool: TaskPool, span: BusySpan) -> RunningTasks:
        """Take the tasks of a span.

        Parameters
        ----------
        pool
            Tasks with time stamps.
        span
            Which of them, and when.
        """
        return cls(
            tasks=pool.take(span.tasks),
            first=span.first,
            inst=series(pool, span),
            avg=series(pool, span, "avg"),
        )

    def trial(
        self,
        learned: slice,
        judged: slice,
        options: ColocationOptions,
        seed: int,
    ) -> PackingTrial:
        """Learn from some slots and judge on others.

        Parameters
        ----------
        learned, judged
            Slots since the first one.
        options
            Size, realizations and number of instances.
        seed
            Seed of instances and draws.
        """
        instances = Instances(
            self._during_slots(learned),
            size=options.size,
            realizations=options.realizations,
            count=options.instances,
            seed=seed,
            judging=self._during_slots(judged),
            # Each is packed once: nobody asks for its draws again.
            room=Room(0),
        )
        return PackingTrial(instances, self.avg[:, learned], self.inst[:, judged])

    def _during_slots(self, slots: slice) -> TaskPool:
        return self.tasks.during(self.first + slots.start, slots.stop - slots.start)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What one or several trials say of one way of packing.

    Attributes
    ----------
    trials
        Per trial, one for each instance.
    blocks
        Of the simultaneous series of all trials; None where there are none.
    realizations, target
        Draws of each instance; tolerated probability of overflow.
    distinct
        Share of the tasks of all instances that are not one task twice.
    """

    trials: Sequence[Sequence[JudgedPacking]]
    blocks: SeriesBlocks | None
    realizations: int
    target: float
    distinct: float = 1.0

    @property
    def machines(self) -> Numbers:
        """Machines of each instance, the mean of all trials: float64 (instances,)."""
        machines = [[packing.machines for packing in trial] for trial in self.trials]
        return np.mean(machines, axis=0, dtype=np.float64)

    @cached_property
    def on_draws(self) -> ConfidenceInterval:
        """Overflow on draws that no estimator has seen."""
        overflows = []
        n_draws = []
        for packings in zip(*self.trials, strict=True):
            overflows.append(sum(int(packing.draws.sum()) for packing in packings))
            n_machines = sum(len(packing.draws) for packing in packings)
            n_draws.append(n_machines * self.realizations)
        return share_over_instances(overflows, n_draws, self.target)

    @cached_property
    def on_series(self) -> ConfidenceInterval | None:
        """Overflow on the simultaneous series; None where there are none."""
        if self.blocks is None:
            return None
        overflows = []
        machine_slots = []
        for trial, lengths in zip(self.trials, self.blocks.lengths, strict=True):
            overflows.append(sum(packing.raw.sum(axis=0) for packing in trial))
            n_machines = sum(len(packing.raw) for packing in trial)
            machine_slots.append(n_machines * lengths)
        return self.blocks.share(
            np.concatenate(overflows),
            np.concatenate(machine_slots),
            self.target,
            self.distinct,
        )

    @property
    def stricter(self) -> ConfidenceInterval:
        """Of the overflows on series and on draws, the one whose upper end is higher, or unknown."""
        known = [interval for interval in (self.on_series, self.on_draws) if interval is not None]
        return max(known, key=_strictness)

    @property
    def keeps(self) -> bool:
        """Whether the stricter of both keeps the target."""
        return self.stricter.keeps(self.target)

    def per_machine(self) -> tuple[ConfidenceInterval, ConfidenceInterval]:
        """Return the share of the machines above the target, and the overflow of the worst machine.

        On the simultaneous series of the first trial; without them on the draws, over instances.
        """
        if self.blocks is None:
            return self._per_machine_on_draws()
        counts = np.concatenate([packing.raw for packing in self.trials[0]])
        if not len(counts):
            return ConfidenceInterval(0.0), ConfidenceInterval(0.0)
        lengths = self.blocks.lengths[0]
        shares = counts.sum(axis=1) / lengths.sum()
        resampled_lengths = self.blocks.times @ lengths
        # Most machines never overflow, nor do they in any resample.
        overflowing = counts[counts.any(axis=1)]
        if not len(overflowing):
            overflowing = counts[:1]
        resampled_shares = (self.blocks.times @ overflowing.T) / resampled_lengths[:, None]
        above = self.blocks.interval(
            float((shares > self.target).mean()),
            (resampled_shares > self.target).sum(axis=1) / len(counts),
        )
        worst = self.blocks.interval(float(shares.max()), resampled_shares.max(axis=1))
        return above, worst

    def _per_machine_on_draws(self) -> tuple[ConfidenceInterval, ConfidenceInterval]:
        above = []
        worst = []
        for packing in self.trials[0]:
            if len(packing.draws):
                shares = packing.draws / self.realizations
                above.append(float((shares > self.target).mean()))
                worst.append(float(shares.max()))
        if not above:
            # No instance has a machine.
            return over_instances([0.0], least=0.0), over_instances([0.0], least=0.0)
        return over_instances(above, least=0.0), over_instances(worst, least=0.0)


def _strictness(interval: ConfidenceInterval) -> tuple[bool, float, float]:
    return interval.high is None, interval.high or 0.0, interval.value
