"""A trial of ways of packing: packed by what some hours show of the tasks, judged on other hours of the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from borgtrace.colocation.instances import Instance, Instances
from borgtrace.colocation.intervals import Blocks, Interval, over_instances, share_over_instances
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.quality import machine_overflows
from borgtrace.colocation.raw_series import Span, series
from borgtrace.colocation.study import Options
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Estimator, Packing, pack


@dataclass(frozen=True, eq=False)
class Judged:
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


@dataclass(frozen=True, eq=False)
class Trial:
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
    ) -> list[list[Judged]]:
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
            self._judge,
            tried=tried,
            capacity=capacity,
            edges=np.cumsum(lengths)[:-1],
        )
        found = [list(way) for way in zip(*self.instances.map(judge), strict=True)]
        # Nobody asks for these draws again, and they are the largest thing there is.
        self.instances.kept.clear()
        return found

    def _judge(
        self,
        instance: Instance,
        tried: Sequence[Estimator],
        capacity: float,
        edges: Index,
    ) -> list[Judged]:
        seen = instance.seen
        if self.learned is not None:
            seen = seen.with_more(series=self.learned[instance.tasks])
        packings = [pack(estimator, seen, capacity=capacity) for estimator in tried]
        draws = machine_overflows(instance.fresh, packings)
        raw = np.empty((*draws.shape, 0), np.int64)
        if self.judged is not None:
            pieces = np.split(self.judged[instance.tasks], edges, axis=1)
            raw = np.stack(
                [machine_overflows(np.ascontiguousarray(p), packings) for p in pieces], axis=-1
            )
        return [_judged(packing, draws[k], raw[k]) for k, packing in enumerate(packings)]


def _judged(packing: Packing, draws: Index, raw: Index) -> Judged:
    # Rebalancing may have emptied a bin, which is then no machine.
    used = np.unique(packing.bins[packing.bins >= 0])
    alone = len(packing.unplaceable)
    return Judged(len(used) + alone, alone, draws[used], raw[used])


@dataclass(frozen=True, eq=False)
class Running:
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

    tasks: Pool
    first: int
    inst: Values
    avg: Values

    @classmethod
    def during(cls, pool: Pool, span: Span) -> Running:
        """Take the tasks of a span.

        Parameters
        ----------
        pool
            Tasks with time stamps.
        span
            Which of them, and when.
        """
        return cls(
            pool.take(span.tasks),
            span.first,
            series(pool, span),
            series(pool, span, "avg"),
        )

    def trial(
        self,
        learned: slice,
        judged: slice,
        options: Options,
        seed: int,
    ) -> Trial:
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
        seen, later = (
            self.tasks.during(self.first + part.start, part.stop - part.start)
            for part in (learned, judged)
        )
        instances = Instances(
            seen, options.size, options.realizations, options.instances, seed, later
        )
        return Trial(instances, self.avg[:, learned], self.inst[:, judged])


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

    trials: Sequence[Sequence[Judged]]
    blocks: Blocks | None
    realizations: int
    target: float
    distinct: float = 1.0

    @property
    def machines(self) -> Numbers:
        """Machines of each instance, the mean of all trials: float64 (instances,)."""
        return np.mean(
            [[one.machines for one in trial] for trial in self.trials], axis=0, dtype=np.float64
        )

    @cached_property
    def on_draws(self) -> Interval:
        """Overflow on draws that no estimator has seen."""
        same = list(zip(*self.trials, strict=True))
        overflows = [sum(int(one.draws.sum()) for one in instance) for instance in same]
        trials = [sum(len(one.draws) for one in instance) * self.realizations for instance in same]
        return share_over_instances(overflows, trials, self.target)

    @cached_property
    def on_series(self) -> Interval | None:
        """Overflow on the simultaneous series; None where there are none."""
        if self.blocks is None:
            return None
        overflows = np.concatenate(
            [sum(one.raw.sum(axis=0) for one in trial) for trial in self.trials]
        )
        machines = [sum(len(one.raw) for one in trial) for trial in self.trials]
        trials = np.concatenate(
            [m * cut for m, cut in zip(machines, self.blocks.lengths, strict=True)]
        )
        return self.blocks.share(overflows, trials, self.target, self.distinct)

    @property
    def stricter(self) -> Interval:
        """The one of both whose upper end is higher, or unknown."""
        both = [found for found in (self.on_series, self.on_draws) if found is not None]
        return max(both, key=lambda found: (found.high is None, found.high or 0.0, found.value))

    @property
    def keeps(self) -> bool:
        """Whether the stricter of both keeps the target."""
        return self.stricter.keeps(self.target)

    def per_machine(self) -> tuple[Interval, Interval]:
        """Share of the machines above the target, and overflow of the worst machine.

        On the simultaneous series of the first trial; without them on the draws, over instances.
        """
        if self.blocks is None:
            shares = [
                one.draws / self.realizations for one in self.trials[0] if len(one.draws)
            ] or [np.zeros(1)]
            above = over_instances([float((q > self.target).mean()) for q in shares], least=0.0)
            return above, over_instances([float(q.max()) for q in shares], least=0.0)
        counts = np.concatenate([one.raw for one in self.trials[0]])
        if not len(counts):
            return Interval(0.0), Interval(0.0)
        slots = self.blocks.lengths[0]
        shares = counts.sum(axis=1) / slots.sum()
        again = (self.blocks.times @ counts.T) / (self.blocks.times @ slots)[:, None]
        above = self.blocks.interval(
            float((shares > self.target).mean()), (again > self.target).mean(axis=1)
        )
        return above, self.blocks.interval(float(shares.max()), again.max(axis=1))
