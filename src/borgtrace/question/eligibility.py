"""Which machines meet a set of constraints at an instant.

What a machine is at an instant is what its events and attributes said last: at that instant or before.
Each constraint is a series of states per machine, and a set of constraints is met where all of its
series are, and the machine is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question.constraints import Constraint, Sets, meets
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.tables import Tables
from borgtrace.schema.time import AFTER_TRACE

READS = ("instance_constraints", "instance_events", "machine_events", "machine_attributes")
"""What questions about eligible machines read."""
_TIME_BITS = 43
"""A time of 31 days, in µs, has 42; with the place of a machine before it a key fits into 63."""


@dataclass(frozen=True, slots=True)
class Series:
    """States by key (place of the machine, then time), ascending; each machine has one from time 0 on."""

    keys: Index
    states: Flags

    def at(self, keys: Index) -> Flags:
        """Return the states at some keys."""
        return self.states[np.searchsorted(self.keys, keys, side="right") - 1]


@dataclass
class Eligibility:
    """The machines of a cell, asked which of them meet a set of constraints; what was found for a set is kept."""

    tables: Tables
    machines: Index = field(init=False)
    _there: Series = field(init=False)
    _values: dict[str, tuple[Index, list[str | None]]] = field(default_factory=dict)
    _sets: dict[tuple[Constraint, ...], Series] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read when each machine is there.

        Raises
        ------
        NotApplicable
            Where no machine ever is.
        """
        events = self.tables.machine_events
        rows = events.filter(events.time < AFTER_TRACE).order_by(list(SOURCE_ORDER))
        found = self.tables.fetch(rows.select("machine_id", "time", "type"), "machines")
        NotApplicable.unless(found.num_rows, "no machine is there")
        ids = found["machine_id"].to_numpy()
        self.machines = np.unique(ids)
        # An UPDATE does not move a machine: after it the machine is there, as after an ADD.
        there = np.array([type_ != "REMOVE" for type_ in found["type"].to_pylist()], bool)
        self._there = self._series(self._keys(ids, found["time"].to_numpy()), there, before=False)

    def shares(self, constraints: Sequence[Constraint], times: Index) -> Numbers:
        """Return which share of the machines meets all constraints at each time; NaN where no machine is there.

        Parameters
        ----------
        constraints
            What is demanded.
        times
            Times in µs, shape (n,).
        """
        n = self.numbers((), times)
        return np.where(n > 0, self.numbers(constraints, times) / np.maximum(n, 1), np.nan)

    def numbers(self, constraints: Sequence[Constraint], times: Index) -> Index:
        """Return how many machines meet all constraints at each time, shape (n,)."""
        series = self._set(tuple(constraints))
        # A machine counts from where its state becomes true to where it ends: +1 and −1, added up over all machines.
        states = series.states.astype(np.int64)
        is_first = np.diff(series.keys >> _TIME_BITS, prepend=-1) > 0
        steps = states - np.where(is_first, 0, np.roll(states, 1))
        at = series.keys & ((1 << _TIME_BITS) - 1)
        order = np.argsort(at, kind="stable")
        # Every machine has a state from time 0 on: no time lies before all of them.
        return np.cumsum(steps[order])[np.searchsorted(at[order], times, side="right") - 1]

    def allows(self, constraints: Sequence[Constraint], machines: Index, times: Index) -> Flags:
        """Return whether each machine, which the cell must know, meets all constraints at each time, shape (n,)."""
        return self._set(tuple(constraints)).at(self._keys(machines, times))

    def changes(
        self, constraints: Sequence[Constraint], machines: Index
    ) -> tuple[Index, Index, Flags]:
        """Return when machines begin and cease to meet all constraints, whether they are there or not.

        Parameters
        ----------
        constraints
            What is demanded.
        machines
            Ids, ascending, which the cell must know.

        Returns
        -------
        tuple of ndarray
            Time (µs), place in `machines`, and whether they are met from then on; of each machine one is at time 0.
        """
        places = np.searchsorted(self.machines, machines)
        start = self._series(np.empty(0, np.int64), np.empty(0, bool), before=True)
        series = self._all([start, *map(self._constraint, constraints)])
        owner, states = series.keys >> _TIME_BITS, series.states
        is_new = (np.diff(owner, prepend=-1) != 0) | (states != np.roll(states, 1))
        chosen = np.flatnonzero(is_new & np.isin(owner, places))
        times = series.keys[chosen] & ((1 << _TIME_BITS) - 1)
        return times, np.searchsorted(places, owner[chosen]), states[chosen]

    def knows(self, machines: Index) -> Flags:
        """Return which machines the cell has, shape (n,)."""
        return np.isin(machines, self.machines)

    def _keys(self, machines: Index, times: Index) -> Index:
        return (np.searchsorted(self.machines, machines).astype(np.int64) << _TIME_BITS) | times

    def _set(self, constraints: tuple[Constraint, ...]) -> Series:
        if constraints not in self._sets:
            self._sets[constraints] = self._all([self._there, *map(self._constraint, constraints)])
        return self._sets[constraints]

    @staticmethod
    def _all(series: Sequence[Series]) -> Series:
        keys = np.unique(np.concatenate([one.keys for one in series]))
        return Series(keys, np.logical_and.reduce([one.at(keys) for one in series]))

    def _constraint(self, constraint: Constraint) -> Series:
        name, *demand = constraint
        keys, values = self._attribute(name)
        # Thousands of machines share a few values: text is compared once per value.
        met = {value: meets(value, *demand) for value in {None, *values}}
        return self._series(
            keys, np.array([met[value] for value in values], bool), before=met[None]
        )

    def _attribute(self, name: str) -> tuple[Index, list[str | None]]:
        """Read all values of one attribute, None where it is deleted, in the order of the raw files."""
        if name not in self._values:
            a = self.tables.machine_attributes
            rows = a.filter((a.name == name) & (a.time < AFTER_TRACE)).order_by(list(SOURCE_ORDER))
            found = self.tables.fetch(
                rows.select("machine_id", "time", "value", "is_deleted"), "attribute"
            )
            known = self.knows(found["machine_id"].to_numpy())
            found = found.filter(known)
            pairs = zip(found["value"].to_pylist(), found["is_deleted"].to_pylist(), strict=True)
            values = [None if is_deleted else value or "" for value, is_deleted in pairs]
            self._values[name] = (
                self._keys(found["machine_id"].to_numpy(), found["time"].to_numpy()),
                values,
            )
        return self._values[name]

    def _series(self, keys: Index, states: Flags, *, before: bool) -> Series:
        """Sort states that are in the order of the raw files; of those at one instant the last stays."""
        start = np.arange(len(self.machines), dtype=np.int64) << _TIME_BITS
        keys = np.concatenate([start, keys])
        states = np.concatenate([np.full(len(start), before), states])
        order = np.argsort(keys, kind="stable")
        keys, states = keys[order], states[order]
        is_last = np.append(keys[1:] != keys[:-1], True)
        return Series(keys[is_last], states[is_last])


def shares_of(cell: Eligibility, sets: Sets, demands: pa.Table) -> Numbers:
    """Return the share of machines that meet each demand at its instant.

    Parameters
    ----------
    cell
        The machines.
    sets
        What is demanded, by fingerprint.
    demands
        Columns ``time`` (µs) and ``fingerprint``; n rows.

    Returns
    -------
    ndarray
        Shape (n,); NaN where no machine is there.
    """
    shares = np.full(demands.num_rows, np.nan)
    times, codes = demands["time"].to_numpy(), demands["fingerprint"].to_numpy()
    # Sets are few and demands are many: each set is looked up once, at all of its times.
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        shares[places] = cell.shares(sets[int(code)], times[places])
    return shares
