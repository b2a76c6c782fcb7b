"""Which machines meet a set of constraints at a given time.

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
class StateSeries:
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
    _there: StateSeries = field(init=False)
    _values: dict[str, tuple[Index, list[str | None]]] = field(default_factory=dict)
    _sets: dict[tuple[Constraint, ...], StateSeries] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read when each machine is there.

        Raises
        ------
        NotApplicable
            Where no machine ever is.
        """
        events = self.tables.machine_events
        rows = events.filter(events.time < AFTER_TRACE).order_by(list(SOURCE_ORDER))
        fetched = self.tables.fetch(rows.select("machine_id", "time", "type"), "machines")
        if not fetched.num_rows:
            raise NotApplicable("no machine is there")
        ids = fetched["machine_id"].to_numpy()
        times = fetched["time"].to_numpy()
        self.machines = np.unique(ids)
        # An UPDATE does not move a machine: after it the machine is there, as after an ADD.
        is_there = np.array([type_ != "REMOVE" for type_ in fetched["type"].to_pylist()], bool)
        self._there = self._series(self._keys(ids, times), is_there, before=False)

    def shares(self, constraints: Sequence[Constraint], times: Index) -> Numbers:
        """Return which share of the machines meets all constraints at each time; NaN where no machine is there.

        Parameters
        ----------
        constraints
            What is demanded.
        times
            Times in µs, shape (n,).
        """
        n_machines = self.numbers((), times)
        n_eligible = self.numbers(constraints, times)
        return np.where(n_machines > 0, n_eligible / np.maximum(n_machines, 1), np.nan)

    def numbers(self, constraints: Sequence[Constraint], times: Index) -> Index:
        """Return how many machines meet all constraints at each time, shape (n,)."""
        series = self._set(tuple(constraints))
        # A machine counts from where its state becomes true to where it ends: +1 and −1, added up over all machines.
        states = series.states.astype(np.int64)
        is_first = np.diff(series.keys >> _TIME_BITS, prepend=-1) > 0
        steps = states - np.where(is_first, 0, np.roll(states, 1))
        step_times = series.keys & ((1 << _TIME_BITS) - 1)
        order = np.argsort(step_times, kind="stable")
        levels = np.cumsum(steps[order])
        # Every machine has a state from time 0 on: no time lies before all of them.
        return levels[np.searchsorted(step_times[order], times, side="right") - 1]

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
        owner = series.keys >> _TIME_BITS
        states = series.states
        is_other_machine = np.diff(owner, prepend=-1) != 0
        is_other_state = states != np.roll(states, 1)
        is_asked = np.isin(owner, places)
        chosen = np.flatnonzero((is_other_machine | is_other_state) & is_asked)
        times = series.keys[chosen] & ((1 << _TIME_BITS) - 1)
        return times, np.searchsorted(places, owner[chosen]), states[chosen]

    def values(self, name: str, machines: Index) -> tuple[Index, Index, list[str | None]]:
        """Return what an attribute of machines is, and when that changes.

        Parameters
        ----------
        name
            Of the attribute.
        machines
            Ids, ascending, which the cell must know.

        Returns
        -------
        tuple
            Time (µs), place in `machines`, and the value from then on, None where it is deleted: by machine and time,
            and in the order of the raw files where these are equal.
        """
        keys, values = self._attribute(name)
        places = np.searchsorted(self.machines, machines)
        order = np.argsort(keys, kind="stable")
        order = order[np.isin(keys[order] >> _TIME_BITS, places)]
        times = keys[order] & ((1 << _TIME_BITS) - 1)
        lines = np.searchsorted(places, keys[order] >> _TIME_BITS)
        return times, lines, [values[place] for place in order.tolist()]

    def knows(self, machines: Index) -> Flags:
        """Return which machines the cell has, shape (n,)."""
        return np.isin(machines, self.machines)

    def _keys(self, machines: Index, times: Index) -> Index:
        return (np.searchsorted(self.machines, machines).astype(np.int64) << _TIME_BITS) | times

    def _set(self, constraints: tuple[Constraint, ...]) -> StateSeries:
        if constraints not in self._sets:
            self._sets[constraints] = self._all([self._there, *map(self._constraint, constraints)])
        return self._sets[constraints]

    @staticmethod
    def _all(series: Sequence[StateSeries]) -> StateSeries:
        keys = np.unique(np.concatenate([condition.keys for condition in series]))
        states = [condition.at(keys) for condition in series]
        return StateSeries(keys, np.logical_and.reduce(states))

    def _constraint(self, constraint: Constraint) -> StateSeries:
        name, *demand = constraint
        keys, values = self._attribute(name)
        # Thousands of machines share a few values: text is compared once per value.
        is_met_by = {value: meets(value, *demand) for value in {None, *values}}
        is_met = np.array([is_met_by[value] for value in values], bool)
        return self._series(keys, is_met, before=is_met_by[None])

    def _attribute(self, name: str) -> tuple[Index, list[str | None]]:
        """Read all values of one attribute, None where it is deleted, in the order of the raw files."""
        if name in self._values:
            return self._values[name]
        attributes = self.tables.machine_attributes
        is_asked = (attributes.name == name) & (attributes.time < AFTER_TRACE)
        rows = attributes.filter(is_asked).order_by(list(SOURCE_ORDER))
        fetched = self.tables.fetch(
            rows.select("machine_id", "time", "value", "is_deleted"), "attribute"
        )
        fetched = fetched.filter(self.knows(fetched["machine_id"].to_numpy()))
        values: list[str | None] = []
        for value, is_deleted in zip(
            fetched["value"].to_pylist(), fetched["is_deleted"].to_pylist(), strict=True
        ):
            values.append(None if is_deleted else value or "")
        keys = self._keys(fetched["machine_id"].to_numpy(), fetched["time"].to_numpy())
        self._values[name] = (keys, values)
        return self._values[name]

    def _series(self, keys: Index, states: Flags, *, before: bool) -> StateSeries:
        """Sort states that are in the order of the raw files; of those at one instant the last stays."""
        start = np.arange(len(self.machines), dtype=np.int64) << _TIME_BITS
        keys = np.concatenate([start, keys])
        states = np.concatenate([np.full(len(start), before), states])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        states = states[order]
        is_last = np.append(keys[1:] != keys[:-1], True)
        return StateSeries(keys[is_last], states[is_last])


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
    times = demands["time"].to_numpy()
    codes = demands["fingerprint"].to_numpy()
    # Sets are few and demands are many: each set is looked up once, at all of its times.
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        shares[places] = cell.shares(sets[int(code)], times[places])
    return shares
