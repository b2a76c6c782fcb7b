"""One machine and one resource, as the policies see it: samples of tasks in the order of tasks, and of slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled


class Columns(NamedTuple):
    """Samples as compiled functions take them; see :class:`Samples`."""

    task: Index
    slot: Index
    usage: Numbers
    limit: Numbers
    order: Index
    slots: Index
    offsets: Index
    run_ends: Index


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
    _lows: dict[int, Index] = field(init=False, default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.task)

    def take(self, chosen: Flags) -> Samples:
        """Return some of the samples; the numbers of tasks stay."""
        return Samples(self.task[chosen], self.slot[chosen], self.usage[chosen], self.limit[chosen])

    @cached_property
    def columns(self) -> Columns:
        """The samples for a compiled function, and how they lie.

        `order` has their positions by slot, then task, (n,); `slots` the slots that have samples, ascending, (m,);
        `offsets` where those of each slot begin in `order`, and n, (m + 1,); and `run_ends` for each sample the last
        one of its task before a gap, (n,).
        """
        counts = np.bincount(self.slot)
        slots = np.flatnonzero(counts)
        # In one or two bytes they are counted, which is faster than comparing them.
        order = np.argsort(self.slot.astype(np.min_scalar_type(len(counts))), kind="stable")
        offsets = np.append(0, np.cumsum(counts[slots]))
        ends = np.flatnonzero(
            (np.diff(self.task, append=-1) != 0) | (np.diff(self.slot, append=-1) != 1)
        )
        run_ends = np.repeat(ends, np.diff(ends, prepend=-1))
        return Columns(
            self.task, self.slot, self.usage, self.limit, order, slots, offsets, run_ends
        )

    @property
    def slots(self) -> Index:
        """Slots that have samples, ascending: (m,)."""
        return self.columns.slots

    def low(self, history: int) -> Index:
        """Return for each sample the first one of its task within the last `history` slots, its own included: (n,)."""
        if history not in self._lows:
            self._lows[history] = _low(self.task, self.slot, history)
        return self._lows[history]

    def sums(self, values: Numbers) -> Numbers:
        """Return the sums of some values of the samples by slot, added in the order of the tasks: (m,)."""
        return np.bincount(self.slot, values)[self.slots].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Block:
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
        What policies know beyond the machine's past, by name: a :class:`Pool`, or a forecaster.
    """

    all: Samples
    is_known: Flags
    priority: Index
    identity: Index
    n_slots: int
    capacity: Numbers
    resource: str = "cpu"
    pools: Mapping[str, Any] = field(default_factory=dict)
    predictions: dict[Any, Any] = field(init=False, default_factory=dict, repr=False)
    """What policies have predicted, by policy: some are parts of others."""

    @cached_property
    def known(self) -> Samples:
        """The samples with a measured usage: what policies may learn from."""
        return self.all if self.is_known.all() else self.all.take(self.is_known)

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
        found = np.zeros(len(self.all.slots))
        found[np.searchsorted(self.all.slots, self.known.slots)] = values
        return found

    def take(self, chosen: Flags) -> Block:
        """Return the block of some of its samples: of a tier, say.  Slots without any of them are left out."""
        if chosen.all():
            return self
        part = self.all.take(chosen)
        capacity = self.capacity[np.searchsorted(self.all.slots, part.slots)]
        known = self.is_known[chosen]
        priority = self.priority[chosen]
        return replace(
            self,
            all=part,
            is_known=known,
            priority=priority,
            capacity=capacity,
        )

    def of_priorities(self, lowest: int, highest: int) -> Block:
        """Return the block of the tasks within two priorities, both included."""
        return self.take((self.priority >= lowest) & (self.priority <= highest))

    def capped(self) -> Block:
        """Return the block with usage that never exceeds the limit of its slot."""
        return self._with(usage=np.minimum(self.all.usage, self.all.limit))

    def without_gaps(self) -> Block:
        """Return the block with its slots renumbered without the gaps of the whole machine, as Google's simulator."""
        slots, slot = np.unique(self.all.slot, return_inverse=True)
        return replace(self._with(slot=slot.astype(np.int64)), n_slots=len(slots))

    def forgetful(self) -> Block:
        """Return the block with a task that misses a slot as a new one, whose history is lost."""
        new = np.ones(len(self.all), np.bool_)
        new[1:] = (np.diff(self.all.task) != 0) | (np.diff(self.all.slot) != 1)
        return replace(
            self._with(task=np.cumsum(new) - 1), identity=self.identity[self.all.task[new]]
        )

    def _with(self, **columns: Any) -> Block:
        return replace(self, all=replace(self.all, **columns))


@compiled()
def _low(task: Index, slot: Index, history: int) -> Index:
    low = np.empty(task.size, np.int64)
    first = 0
    for i in range(task.size):
        while task[first] != task[i] or slot[first] <= slot[i] - history:
            first += 1
        low[i] = first
    return low


@compiled(makes_arrays=False)
def add_run(values: Numbers, most: float, factor: float, sums: Numbers) -> None:
    """Add values, each at most `most`, times a factor to the first of some sums.

    A function of its own, and over slices: only then does the compiler make vectors of it (seven times faster).
    """
    for k in range(values.size):
        sums[k] += factor * min(values[k], most)
