"""The input of a policy: the samples of one machine and one resource, in the order of tasks and slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled


class SampleColumns(NamedTuple):
    """Samples as compiled functions take them, and how they lie.

    Attributes
    ----------
    task, slot, usage, limit
        Of :class:`Samples`: (n,).
    order
        Positions of the samples by slot, then task: (n,).
    slots
        The slots that have samples, ascending: (m,).
    offsets
        Where the samples of each slot begin in `order`, and n: (m + 1,).
    run_ends
        For each sample the last one of its task before a gap: (n,).
    """

    task: Index
    slot: Index
    usage: Numbers
    limit: Numbers
    order: Index
    slots: Index
    offsets: Index
    run_ends: Index


class Histories(NamedTuple):
    """The samples of a machine, and for each one where its history begins and whether its task is warm."""

    known: SampleColumns
    low: Index
    warm: Flags


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of the tasks of one machine, sorted by task and slot.

    Attributes
    ----------
    task
        int64 (n,): number of the task on this machine, from 0, ascending.
    slot
        int64 (n,): slot of 300 s from the beginning of the trace, ascending within a task.
    usage, limit
        float64 (n,): fractions of the largest machine; the limit is that in force at the end of the slot.
    """

    task: Index
    slot: Index
    usage: Numbers
    limit: Numbers
    _lows: dict[int, Index] = field(
        init=False,
        default_factory=dict,
        repr=False,
    )

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.task)

    def take(self, chosen: Flags) -> Samples:
        """Return some of the samples; the numbers of tasks stay."""
        return Samples(
            self.task[chosen],
            self.slot[chosen],
            self.usage[chosen],
            self.limit[chosen],
        )

    @cached_property
    def columns(self) -> SampleColumns:
        """The samples for a compiled function."""
        counts = np.bincount(self.slot)
        slots = np.flatnonzero(counts)
        # Numbers of one or two bytes are sorted by counting, which is faster than comparing.
        narrow_slot = self.slot.astype(np.min_scalar_type(len(counts)))
        task_changes = np.diff(self.task, append=-1) != 0
        is_gap = np.diff(self.slot, append=-1) != 1
        ends = np.flatnonzero(task_changes | is_gap)
        return SampleColumns(
            task=self.task,
            slot=self.slot,
            usage=self.usage,
            limit=self.limit,
            order=np.argsort(narrow_slot, kind="stable"),
            slots=slots,
            offsets=np.append(0, np.cumsum(counts[slots])),
            run_ends=np.repeat(ends, np.diff(ends, prepend=-1)),
        )

    @property
    def slots(self) -> Index:
        """Slots that have samples, ascending: (m,)."""
        return self.columns.slots

    def low(self, history: int) -> Index:
        """Return for each sample the first one of its task within the last `history` slots, its own included: (n,)."""
        if history not in self._lows:
            self._lows[history] = _first_of_history(self.task, self.slot, history)
        return self._lows[history]

    def sums(self, values: Numbers) -> Numbers:
        """Return the sums of some values of the samples by slot, added in the order of the tasks: (m,)."""
        by_slot = np.bincount(self.slot, values)
        return by_slot[self.slots].astype(np.float64)


@dataclass(frozen=True, eq=False)
class MachineBlock:
    """One resource of one machine over time.

    Attributes
    ----------
    all
        Every task in every slot that it was on the machine, with usage 0 where nothing was measured.
    is_known
        bool (n,): whether there is a measured usage.
    priority
        int64 (n,): priority in force, −1 where none is known.
    identity
        int64 (tasks,): the position in the store's index of each task.
    n_slots
        Slots of the trace: later ones were not measured.
    capacity
        float64 (m,): capacity of the machine in each slot of ``all.slots``, NaN where it is not known.
    resource
        ``"cpu"`` or ``"memory"``.
    pools
        What policies know beyond the machine's past, by name: a :class:`~borgtrace.overcommit.pools.HourlyUsage`, or a
        forecaster.
    absent_slots
        int64, ascending: slots in which the machine is not in the cell.
    is_literal
        Whether the oracle looks ahead as that of Google's simulator.
    """

    all: Samples
    is_known: Flags
    priority: Index
    identity: Index
    n_slots: int
    capacity: Numbers
    resource: str = "cpu"
    pools: Mapping[str, Any] = field(default_factory=dict)
    absent_slots: Index = field(default_factory=lambda: np.empty(0, np.int64))
    is_literal: bool = False
    predictions: dict[Any, Any] = field(
        init=False,
        default_factory=dict,
        repr=False,
    )
    """Predictions by policy, each computed once: some policies are parts of others."""
    statistics: dict[Any, Any] = field(
        init=False,
        default_factory=dict,
        repr=False,
    )
    """What policies with the same history have in common, each computed once: a sweep names six N-sigmas for each."""

    @property
    def slots(self) -> Index:
        """Slots in which a task is on the machine, ascending: (m,).  A policy predicts a peak for each."""
        return self.all.slots

    @cached_property
    def total_usage(self) -> Numbers:
        """Sum of the measured usage of the present tasks in each slot: (m,)."""
        return self.all.sums(self.all.usage)

    @cached_property
    def known(self) -> Samples:
        """The samples with a measured usage: what policies may learn from."""
        if self.is_known.all():
            return self.all
        return self.all.take(self.is_known)

    @cached_property
    def assumed_usage(self) -> Numbers:
        """The usage of each sample; the limit where nothing was measured, for a task may use all of it: (n,)."""
        return np.where(self.is_known, self.all.usage, self.all.limit)

    @cached_property
    def limits(self) -> Numbers:
        """Sum of the limits of the present tasks in each slot: (m,)."""
        return self.all.sums(self.all.limit)

    @cached_property
    def unmeasured(self) -> Numbers:
        """Sum of the limits of the tasks that are present without a measured usage: (m,)."""
        return self.all.sums(np.where(self.is_known, 0.0, self.all.limit))

    def spread(self, values: Numbers) -> Numbers:
        """Return values of the slots that have known samples at every slot, 0 elsewhere: (m,)."""
        if self.known is self.all:
            return values
        of_all_slots = np.zeros(len(self.all.slots))
        of_all_slots[np.searchsorted(self.all.slots, self.known.slots)] = values
        return of_all_slots

    def take(self, chosen: Flags) -> MachineBlock:
        """Return the block of some of its samples: of a tier, say.  Slots without any of them are left out."""
        if chosen.all():
            return self
        samples = self.all.take(chosen)
        slots = np.searchsorted(self.all.slots, samples.slots)
        return replace(
            self,
            all=samples,
            is_known=self.is_known[chosen],
            priority=self.priority[chosen],
            capacity=self.capacity[slots],
        )

    def of_priorities(self, lowest: int, highest: int) -> MachineBlock:
        """Return the block of the tasks within two priorities, both included."""
        return self.take((self.priority >= lowest) & (self.priority <= highest))

    def capped(self) -> MachineBlock:
        """Return the block with usage that never exceeds the limit of its slot."""
        return self._with(usage=np.minimum(self.all.usage, self.all.limit))

    def without_gaps(self) -> MachineBlock:
        """Return the block with its slots renumbered without the machine's gaps, as Google's simulator has it."""
        slots, slot = np.unique(self.all.slot, return_inverse=True)
        renumbered = self._with(slot=slot.astype(np.int64))
        no_slots = np.empty(0, np.int64)
        return replace(renumbered, n_slots=len(slots), absent_slots=no_slots)

    def forgetful(self) -> MachineBlock:
        """Return the block with a task that misses a slot as a new one, whose history is lost."""
        is_new = np.ones(len(self.all), np.bool_)
        is_new[1:] = (np.diff(self.all.task) != 0) | (np.diff(self.all.slot) != 1)
        renumbered = self._with(task=np.cumsum(is_new) - 1)
        return replace(renumbered, identity=self.identity[self.all.task[is_new]])

    def _with(self, **columns: Any) -> MachineBlock:
        return replace(self, all=replace(self.all, **columns))


@compiled(inline=True)
def continues_run(task: Index, slot: Index, i: int) -> bool:
    """Whether a sample follows one of the same task in the slot before; samples are sorted by task and slot."""
    return i > 0 and task[i] == task[i - 1] and slot[i] == slot[i - 1] + 1


@compiled()
def _first_of_history(
    task: Index,
    slot: Index,
    history: int,
) -> Index:
    low = np.empty(task.size, np.int64)
    first = 0
    for i in range(task.size):
        while task[first] != task[i] or slot[first] <= slot[i] - history:
            first += 1
        low[i] = first
    return low
