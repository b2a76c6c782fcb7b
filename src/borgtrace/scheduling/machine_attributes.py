"""Attributes of machines as a scheduler of one's own sees them: a number each, over time.

A value that is a number stays what it is.  Of a word only equality means anything: it becomes a number that no other
word has, which :func:`attribute_number` returns to whoever wants to compare.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Tables
from borgtrace.question.eligibility import Eligibility
from borgtrace.scheduling.changes import CHANGED_SET, make_changes, no_changes
from borgtrace.scheduling.machines import NO_ATTRIBUTES
from borgtrace.schema.time import AFTER_TRACE

OF_EVENTS = ("platform_id", "switch_id")
"""What the events of machines say of them, and not their attributes."""
NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
"""Longer ones are no exact floats, and most likely hashes."""
LOWEST_WORD = 2**52
"""Words are numbers from minus twice this up to minus this: whole ones that floats hold, and that no trace has."""
SHOWN = 5
"""Names in a message."""


def attribute_number(value: str) -> float:
    """Return the number by which a scheduler sees a value of an attribute.

    Parameters
    ----------
    value
        As the store has it.

    Returns
    -------
    float
        The number itself; of a word the same negative number each time, below −2⁵², that stands for it alone.

    Examples
    --------
    >>> attribute_number("16"), attribute_number("haswell") == attribute_number("skylake")
    (16.0, False)
    """
    if NUMBER.fullmatch(value):
        return float(value)
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
    return -float(LOWEST_WORD + int.from_bytes(digest[:8], "big") % LOWEST_WORD)


class ValuesOverTime(NamedTuple):
    """When (µs), of which line of the machines, and the value from then on; None: it has none any more."""

    times: Index
    lines: Index
    values: Sequence[str | None]


@dataclass(frozen=True, eq=False)
class MachineAttributes:
    """Attributes of machines.

    Attributes
    ----------
    names
        Of the attributes.
    first
        float64 (machines, attributes): what each is when the trace begins; NaN: the machine has none.
    changes
        int64 (n, 4), with the columns of :mod:`borgtrace.scheduling.changes`: of an attribute the set is −1 less its
        place, and whether it is there is the place of its new value in `values`.
    values
        float64 (n,).
    """

    names: tuple[str, ...] = ()
    first: Numbers = field(default_factory=lambda: NO_ATTRIBUTES)
    changes: Index = field(default_factory=no_changes)
    values: Numbers = field(default_factory=lambda: np.empty(0))

    def of(self, names: Sequence[str]) -> MachineAttributes:
        """Return some of the attributes, in their order."""
        columns = [self.names.index(name) for name in names]
        place_of_set = {-1 - column: place for place, column in enumerate(columns)}
        changes = self.changes[np.isin(self.changes[:, CHANGED_SET], list(place_of_set))]
        sets = changes[:, CHANGED_SET].tolist()
        changes[:, CHANGED_SET] = [-1 - place_of_set[number] for number in sets]
        return MachineAttributes(tuple(names), self.first[:, columns], changes, self.values)

    def in_order(self, lines: Index) -> Numbers:
        """Return what attributes are when the trace begins, of machines by their lines."""
        return self.first[lines] if self.names else np.empty((len(lines), 0))

    def with_machines(self, number: int) -> MachineAttributes:
        """Return the attributes with so many more machines, which have none."""
        added = np.full((number, len(self.names)), np.nan)
        return MachineAttributes(
            self.names, np.vstack([self.first, added]), self.changes, self.values
        )


def read_attributes(
    tables: Tables, names: Iterable[str], machines: Index, time: int
) -> MachineAttributes:
    """Read what attributes of machines are at a time, and what changes after that.

    Parameters
    ----------
    tables
        Of a store.
    names
        Of the attributes.
    machines
        Ids, ascending.
    time
        In µs.

    Raises
    ------
    UsageError
        No machine has an attribute of such a name.
    """
    asked = tuple(dict.fromkeys(names))
    if not asked:
        return MachineAttributes()
    eligibility = Eligibility(tables)
    first = np.full((len(machines), len(asked)), np.nan)
    changes = [no_changes()]
    values: list[float] = []
    for place, name in enumerate(asked):
        found = (
            values_of_events(tables, name, machines)
            if name in OF_EVENTS
            else ValuesOverTime(*eligibility.values(name, machines))
        )
        check_known(tables, name, found)
        numbers = numbers_of(found.values)
        is_past = found.times <= time
        # By machine and time: of those of one machine the last stays.
        first[found.lines[is_past], place] = numbers[is_past]
        later = np.flatnonzero(~is_past)
        changes.append(
            make_changes(
                found.times[later],
                found.lines[later],
                len(values) + np.arange(len(later)),
                -1 - place,
            )
        )
        values += numbers[later].tolist()
    return MachineAttributes(asked, first, np.concatenate(changes), np.array(values))


def values_of_events(tables: Tables, name: str, machines: Index) -> ValuesOverTime:
    """Read what the events of machines say of them; one that says nothing changes nothing."""
    events = tables.machine_events
    is_said = (events.time < AFTER_TRACE) & events[name].notnull()
    rows = tables.fetch(
        events.filter(is_said)
        .order_by(["machine_id", *SOURCE_ORDER])
        .select("time", "machine_id", value=events[name])
    )
    ids = rows["machine_id"].to_numpy()
    chosen = rows.filter(np.isin(ids, machines))
    return ValuesOverTime(
        chosen["time"].to_numpy(),
        np.searchsorted(machines, chosen["machine_id"].to_numpy()),
        chosen["value"].to_pylist(),
    )


def numbers_of(values: Sequence[str | None]) -> Numbers:
    """Return the number of each value, NaN where there is none."""
    # Thousands of machines share a few values.
    number_of = {
        value: np.nan if value is None else attribute_number(value) for value in set(values)
    }
    return np.array([number_of[value] for value in values], np.float64)


def check_known(tables: Tables, name: str, found: ValuesOverTime) -> None:
    """Refuse the name of an attribute that no machine has: most likely it is misspelt.

    Raises
    ------
    UsageError
        It is one.
    """
    if len(found.times):
        return
    known = []
    if tables.has("machine_attributes"):
        column = tables.machine_attributes.name
        known = sorted(tables.fetch(column.as_table().distinct())["name"].to_pylist())
    names = ", ".join(known[:SHOWN]) + (" …" if len(known) > SHOWN else "")
    raise UsageError(
        "scheduler",
        "no machine has an attribute that it names",
        expected=names or "a store with machine_attributes",
        got=name,
    )
