"""Which machines may run a task: its constraints against the attributes of machines.

A *set* is what one event of a task demands: its constraints together.  Sets repeat millions of times,
so they are counted by a fingerprint (the sum of a hash of each constraint, the same on every engine)
and evaluated once.

Semantics (2011 format document; 2019 proto): equality compares text, an absent attribute is ``""``
there; order compares whole numbers strictly (or with equality where the name says so), an absent
attribute is 0 there; PRESENT and NOT_PRESENT ask whether the machine has the attribute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses._attempts import TASK
from borgtrace.analyses._histograms import period
from borgtrace.analyses._joins import last_of
from borgtrace.recipe import Tables
from borgtrace.schema.time import AFTER_TRACE, DAY, TRACE_START

Constraint = tuple[str, str, str]
"""(attribute name, relation, value)."""
Sets = Mapping[int, Sequence[Constraint]]
"""What is demanded, by fingerprint."""
Flags = npt.NDArray[np.bool_]

_KEY = (*TASK, "time")
_HASH_BITS = 44
"""Sums of up to 2¹⁹ hashes fit into an int64."""


def fingerprints(tables: Tables) -> tuple[ir.Table, dict[int, tuple[Constraint, ...]]]:
    """Return the constrained events (`_KEY`, ``fingerprint``) and the set behind each fingerprint."""
    # NULL and the empty text are the same value of a constraint.
    value = tables.instance_constraints.value.fill_null("")
    rows = tables.instance_constraints.select(*_KEY, "name", "relation", value=value)
    # Hashes come from here and are joined in: the engines have no hash function in common.
    distinct = tables.fetch(rows.select("name", "relation", "value").distinct(), "constraints")
    weighted = [{**row, "weight": _weight(tuple(row.values()))} for row in distinct.to_pylist()]
    texts = {name: pa.string() for name in ("name", "relation", "value")}
    weights = ibis.memtable(pa.Table.from_pylist(weighted, schema=pa.schema({**texts, "weight": pa.int64()})))
    # A constraint that is written twice demands nothing more, but would change the sum.
    weighed = rows.distinct().inner_join(weights, ["name", "relation", "value"])
    events = weighed.group_by(list(_KEY)).aggregate(fingerprint=weighed.weight.sum().cast("int64"))
    return events, _sets(tables, rows, events)


def _weight(constraint: tuple[str, ...]) -> int:
    digest = hashlib.sha256("\0".join(constraint).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _HASH_BITS)


def _sets(tables: Tables, rows: ir.Table, events: ir.Table) -> dict[int, tuple[Constraint, ...]]:
    """Read the constraints of one event (the first by key) per fingerprint."""
    order = ibis.window(group_by="fingerprint", order_by=list(_KEY))
    # All events with one fingerprint carry the same set, so that one of them tells it.
    first = events.mutate(place=ibis.row_number().over(order))
    first = first.filter(first.place == 0).drop("place")
    found = tables.fetch(first.inner_join(rows.distinct(), list(_KEY)), "sets")
    sets: dict[int, set[Constraint]] = {}
    for row in found.to_pylist():
        sets.setdefault(row["fingerprint"], set()).add((row["name"], row["relation"], row["value"]))
    return {fingerprint: tuple(sorted(members)) for fingerprint, members in sorted(sets.items())}


@dataclass(frozen=True, slots=True)
class Machines:
    """Machines at one instant, and the values of one attribute after the other."""

    ids: Sequence[int]
    values: Mapping[str, Mapping[int, str]]

    def eligible(self, constraints: Sequence[Constraint]) -> dict[Constraint, Flags]:
        """Say for each constraint which machines meet it; each distinct value is looked at once."""
        flags = {}
        # One attribute after the other: a table of all attributes of all machines is never made.
        for name, group in groupby(sorted(constraints), key=lambda constraint: constraint[0]):
            found = self.values.get(name, {})
            places: dict[str | None, int] = {}
            codes = np.array([places.setdefault(found.get(i), len(places)) for i in self.ids], np.int64)
            for constraint in group:
                # Thousands of machines share a few values: text is compared once per value, the rest is a look-up by
                # code.
                met = np.array([meets(value, *constraint[1:]) for value in places], bool)
                flags[constraint] = met[codes]
        return flags


def meets(found: str | None, relation: str, value: str | None) -> bool:
    """Say whether an attribute value (None: absent) meets a relation with a constraint's value.

    Parameters
    ----------
    found
        Value of the machine's attribute; None where it has none.
    relation
        Name of the relation, of either trace.
    value
        Value of the constraint; None where it is empty.

    Examples
    --------
    >>> meets(None, "NOT_EQUAL", "x"), meets(None, "LESS_THAN", "1"), meets("3", "GREATER_THAN", "3")
    (True, True, False)
    >>> meets("", "PRESENT", None), meets(None, "EQUAL", "")
    (True, True)
    """
    if relation in ("PRESENT", "NOT_PRESENT"):
        return (found is not None) == (relation == "PRESENT")
    if relation in ("EQUAL", "NOT_EQUAL"):
        return ((found or "") == (value or "")) == (relation == "EQUAL")
    left, right = number(found), number(value)
    # Text that is no number is neither smaller nor larger than one.
    if left is None or right is None:
        return False
    return {
        "LESS_THAN": left < right,
        "GREATER_THAN": left > right,
        "LESS_THAN_EQUAL": left <= right,
        "GREATER_THAN_EQUAL": left >= right,
    }[relation]


def number(text: str | None) -> int | None:
    """Read a value as a whole number; absent or empty is 0, other text none."""
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Day:
    """How many machines there are at the end of a day, and the share of them that meets each set."""

    n_machines: int
    share: Mapping[int, float]


def shares_by_day(tables: Tables, sets: Sets) -> dict[int, Day]:
    """Return the share of eligible machines for each set at the end of each day of the trace.

    Day −1 is the state at the start of the trace; days after the last change of a machine are left out.

    Parameters
    ----------
    tables
        The store's tables.
    sets
        What is demanded, by fingerprint.
    """
    names = sorted({name for constraints in sets.values() for name, _, _ in constraints})
    changes = _daily(tables, names)
    presence = _presence(tables)
    there: set[int] = set()
    values: dict[str, dict[int, str]] = {name: {} for name in names}
    moves, turns = by_day(presence), by_day(changes)
    days = {}
    # Days without a change are listed too: the submissions of such a day look up its state.
    for day in range(-1, max([*moves, *turns], default=-2) + 1):
        for row in moves.get(day, []):
            # An UPDATE does not move a machine: after it the machine is there, as after an ADD.
            (there.discard if row["type"] == "REMOVE" else there.add)(row["machine_id"])
        for row in turns.get(day, []):
            if row["is_deleted"]:
                values[row["name"]].pop(row["machine_id"], None)
            else:
                values[row["name"]][row["machine_id"]] = row["value"] or ""
        days[day] = Day(len(there), _shares(sets, Machines(sorted(there), values)))
    return days


def on_day(days: Mapping[int, Day], day: int) -> Day:
    """Return the state at the end of a day; after the last change of a machine every day is like the last one."""
    return days[min(day, max(days))]


def by_day(rows: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """Gather rows by their column ``day``."""
    days: dict[int, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        days.setdefault(row["day"], []).append(row)
    return days


def _last_of_day(rows: ir.Table, key: list[str]) -> ir.Table:
    """Keep the last row per key and day; day −1 is what is before the trace."""
    dated = rows.filter(rows.time < AFTER_TRACE).mutate(day=day_of(rows.time))
    # The end of the day stands for all of it: 10.7 million attribute changes of 2011 shrink to one a day and machine.
    return last_of(dated, [*key, "day"])


def day_of(time: ir.IntegerColumn) -> ir.IntegerColumn:
    """Return the day of the trace, from 0; −1 is before it."""
    return (time < TRACE_START).ifelse(ibis.literal(-1, "int64"), period(time, DAY, TRACE_START))


def _daily(tables: Tables, names: Sequence[str]) -> pa.Table:
    attributes = tables.machine_attributes
    wanted = attributes.filter(attributes.name.isin(list(names) or [""]))
    last = _last_of_day(wanted, ["machine_id", "name"])
    return tables.fetch(last.select("day", "machine_id", "name", "value", "is_deleted"), "attributes")


def _presence(tables: Tables) -> pa.Table:
    last = _last_of_day(tables.machine_events, ["machine_id"])
    return tables.fetch(last.select("day", "machine_id", "type"), "machines")


def _shares(sets: Sets, machines: Machines) -> dict[int, float]:
    """Return the share of the machines that meet all constraints of each set."""
    # Without machines there is no share, which is not the same as a share of 0.
    if not machines.ids:
        return {}
    flags = machines.eligible([*{constraint for constraints in sets.values() for constraint in constraints}])
    return {
        fingerprint: float(np.logical_and.reduce([flags[constraint] for constraint in constraints]).mean())
        for fingerprint, constraints in sets.items()
    }
