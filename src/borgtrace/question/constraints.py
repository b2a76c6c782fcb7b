"""What tasks demand of machines: their placement constraints.

A *set* is what one event of a task demands: its constraints together.  Sets repeat millions of times,
so they are counted by a fingerprint (the sum of a hash of each constraint, the same on every engine)
and evaluated once.

Semantics (2011 format document; 2019 proto): equality compares text, an absent attribute is ``""``
there; order compares whole numbers strictly (or with equality where the name says so), an absent
attribute is 0 there; PRESENT and NOT_PRESENT ask whether the machine has the attribute.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import ge, gt, le, lt

import ibis
import pyarrow as pa

from borgtrace.question.tables import Tables

Constraint = tuple[str, str, str]
"""(attribute name, relation, value)."""
Sets = Mapping[int, Sequence[Constraint]]
"""What is demanded, by fingerprint."""

_KEY = ("collection_id", "instance_index", "time")
_CONSTRAINT = ("name", "relation", "value")
_ORDER_RELATIONS = {
    "LESS_THAN": lt,
    "GREATER_THAN": gt,
    "LESS_THAN_EQUAL": le,
    "GREATER_THAN_EQUAL": ge,
}
_HASH_BITS = 44
"""Sums of up to 2¹⁹ hashes fit into an int64."""
_WEIGHTS = pa.schema(
    {
        "name": pa.string(),
        "relation": pa.string(),
        "value": pa.string(),
        "weight": pa.int64(),
    }
)


def fingerprints(tables: Tables) -> tuple[ibis.Table, dict[int, tuple[Constraint, ...]]]:
    """Return the constrained events (`_KEY`, ``fingerprint``) and the set behind each fingerprint."""
    constraints = tables.instance_constraints
    # NULL and the empty text are the same value of a constraint.
    value = constraints.value.fill_null("")
    rows = constraints.select(*_KEY, "name", "relation", value=value)

    # Hashes come from here and are joined in: the engines have no hash function in common.
    distinct = tables.fetch(rows.select(*_CONSTRAINT).distinct(), "constraints")
    weighted = [{**row, "weight": _weight(tuple(row.values()))} for row in distinct.to_pylist()]
    weights = ibis.memtable(pa.Table.from_pylist(weighted, schema=_WEIGHTS))

    # A constraint that is written twice demands nothing more, but would change the sum.
    weighed = rows.distinct().inner_join(weights, list(_CONSTRAINT))
    fingerprint = weighed.weight.sum().cast("int64")
    events = weighed.group_by(list(_KEY)).aggregate(fingerprint=fingerprint)
    return events, _sets(tables, rows, events)


def _weight(constraint: tuple[str, ...]) -> int:
    digest = hashlib.sha256("\0".join(constraint).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _HASH_BITS)


def _sets(
    tables: Tables, rows: ibis.Table, events: ibis.Table
) -> dict[int, tuple[Constraint, ...]]:
    """Read the constraints of one event (the first by key) per fingerprint."""
    order = ibis.window(group_by="fingerprint", order_by=list(_KEY))
    # All events with one fingerprint carry the same set, so that one of them tells it.
    numbered = events.mutate(place=ibis.row_number().over(order))
    first_events = numbered.filter(numbered.place == 0).drop("place")
    members = tables.fetch(first_events.inner_join(rows.distinct(), list(_KEY)), "sets")

    sets: defaultdict[int, set[Constraint]] = defaultdict(set)
    for row in members.to_pylist():
        sets[row["fingerprint"]].add((row["name"], row["relation"], row["value"]))
    return {fingerprint: tuple(sorted(members)) for fingerprint, members in sorted(sets.items())}


def meets(attribute: str | None, relation: str, value: str | None) -> bool:
    """Say whether an attribute value (None: absent) meets a relation with a constraint's value.

    Parameters
    ----------
    attribute
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
    match relation:
        case "PRESENT":
            return attribute is not None
        case "NOT_PRESENT":
            return attribute is None
        case "EQUAL":
            return (attribute or "") == (value or "")
        case "NOT_EQUAL":
            return (attribute or "") != (value or "")
    left = number(attribute)
    right = number(value)
    # Text that is no number is neither smaller nor larger than one.
    if left is None or right is None:
        return False
    return bool(_ORDER_RELATIONS[relation](left, right))


def number(text: str | None) -> int | None:
    """Read a value as a whole number; absent or empty is 0, other text none."""
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        return None
