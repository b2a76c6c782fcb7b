"""Which parts of an expression can be computed from ranges of collections, each range by a task of its own.

A relation over tables of a store is *spread* over ranges where the rows that it has for all collections are the rows
that it has for each range, put together.  What concerns single collections is: filters, columns, joins by collection,
windows and groups within a collection.  A table without collections (machines) is *whole*: each task reads all of it.
Sums, counts and extremes of spread rows are computed in parts, which the engine merges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import ibis
import ibis.expr.operations as ops

from borgtrace.engine.bucket_ranges import KEY

_MERGED_BY = {
    ops.Sum: ops.Sum,
    ops.Count: ops.Sum,
    ops.CountStar: ops.Sum,
    ops.Min: ops.Min,
    ops.Max: ops.Max,
}
"""How the values that ranges have of a reduction become one."""


class Spread(NamedTuple):
    """How a relation lies on ranges of collections.

    Attributes
    ----------
    is_whole
        Whether each range has all of its rows, instead of its own ones.
    keys
        Columns that are the collection of a row.
    """

    is_whole: bool
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Part:
    """A part of an expression that tasks compute.

    Attributes
    ----------
    node
        The part.
    rows
        What a task computes of it.
    is_whole
        Whether one task computes all of it.
    is_merged
        Whether what ranges compute is no more than a beginning, which the engine merges.
    """

    node: ops.Relation
    rows: ops.Relation
    is_whole: bool = False
    is_merged: bool = False


def parts_of(expr: ibis.Table, tables: Collection[str]) -> list[Part]:
    """Return the largest parts of an expression that tasks can compute.

    Parameters
    ----------
    expr
        An expression.
    tables
        Names of the tables that tasks can read; those with a column `KEY` in ranges.

    Examples
    --------
    >>> usage = ibis.table({"collection_id": "int64", "cpu": "float64", "slot": "int64"}, name="usage")
    >>> (part,) = parts_of(usage.group_by("slot").aggregate(n=usage.count()).order_by("slot"), {"usage"})
    >>> part.rows.schema.names, merge(part, part.rows).to_expr().columns
    (('slot', 'part_0'), ('slot', 'n'))
    """
    root = expr.op()
    spreads = spreads_of(root, tables)

    def is_part(node: ops.Node) -> bool:
        # A reference is nothing without the join that it is in.
        if not isinstance(node, ops.Relation) or isinstance(node, ops.Reference):
            return False
        return node in spreads or _is_mergeable(node, spreads)

    parts = []
    for node in root.find_topmost(is_part):
        if node in spreads:
            parts.append(Part(node, node, is_whole=spreads[node].is_whole))
        else:
            parts.append(Part(node, _computed_in_ranges(node), is_merged=True))
    return parts


def merge(part: Part, rows: ops.Relation) -> ops.Relation:
    """Return a part of an expression, made of the rows that all tasks have computed of it.

    Parameters
    ----------
    part
        From :func:`parts_of`.
    rows
        With the columns of its ``rows``.
    """
    node = part.node
    if not part.is_merged:
        return rows
    if isinstance(node, ops.Distinct):
        return ops.Distinct(rows)
    merged = {}
    for number, reduction in enumerate(_reductions(node)):
        partial = ops.Field(rows, _name_of_part(number))
        merged[reduction] = _MERGED_BY[type(reduction)](partial)
    groups = {name: ops.Field(rows, name) for name in node.groups}
    metrics = {name: metric.replace(merged) for name, metric in node.metrics.items()}
    return ops.Aggregate(rows, groups, metrics)


def spreads_of(root: ops.Node, tables: Collection[str]) -> dict[ops.Relation, Spread]:
    """Return how the relations of an expression lie on ranges, without those that tasks cannot compute.

    Parameters
    ----------
    root
        The expression.
    tables
        As for :func:`parts_of`.
    """
    spreads: dict[ops.Relation, Spread] = {}
    # Each relation comes after what it is made of.
    for node in root.find(ops.Relation, ordered=True):
        spread = _spread(node, spreads, tables)
        if spread is not None:
            spreads[node] = spread
    return spreads


def _spread(
    node: ops.Relation, spreads: Mapping[ops.Relation, Spread], tables: Collection[str]
) -> Spread | None:
    """Return how a relation lies on ranges; None where a task cannot compute it."""
    if not _is_plain(node):
        return None
    match node:
        case ops.PhysicalTable() if node.name in tables:
            return _spread_of_table(node)
        case ops.JoinChain():
            return _spread_of_join(node, spreads)
        case ops.Union():
            return _spread_of_union(node, spreads)
        case (
            ops.Project()
            | ops.Filter()
            | ops.DropColumns()
            | ops.Aggregate()
            | ops.Distinct()
            | ops.Reference()
        ):
            return _spread_of_rows(node, spreads.get(node.parent))
        case _:
            return None


def _is_plain(node: ops.Relation) -> bool:
    """Whether a relation is the same wherever it is computed, and reads no table but those that it is made of."""
    return not any(
        value.find((ops.Subquery, ops.Impure), filter=ops.Value) for value in _values(node)
    )


def _spread_of_table(table: ops.PhysicalTable) -> Spread:
    if KEY in table.schema:
        return Spread(is_whole=False, keys=frozenset([KEY]))
    return Spread(is_whole=True)


def _spread_of_rows(node: ops.Relation, parent: Spread | None) -> Spread | None:
    """Return how a relation lies that is made of one other."""
    if parent is None or parent.is_whole:
        return parent
    if not all(_is_within_collections(node, window, parent.keys) for window in _windows(node)):
        return None
    keys = _keys_of(node, parent.keys)
    # Rows of several ranges may be one.
    if isinstance(node, (ops.Aggregate, ops.Distinct)) and not keys:
        return None
    return Spread(is_whole=False, keys=keys)


def _keys_of(node: ops.Relation, keys: frozenset[str]) -> frozenset[str]:
    """Return the columns of a relation that are keys of its parent."""
    if isinstance(node, (ops.Filter, ops.Reference, ops.Distinct)):
        return keys
    if isinstance(node, ops.DropColumns):
        return keys - node.columns_to_drop
    values = node.groups if isinstance(node, ops.Aggregate) else node.values
    return frozenset(name for name, value in values.items() if _is_key(value, node.parent, keys))


def _is_key(value: ops.Value, parent: ops.Relation, keys: Collection[str]) -> bool:
    return isinstance(value, ops.Field) and value.rel == parent and value.name in keys


def _is_within_collections(
    node: ops.Relation, window: ops.WindowFunction, keys: Collection[str]
) -> bool:
    return any(_is_key(value, node.parent, keys) for value in window.group_by)


def _spread_of_union(node: ops.Union, spreads: Mapping[ops.Relation, Spread]) -> Spread | None:
    left, right = spreads.get(node.left), spreads.get(node.right)
    # Each range would have all rows of a whole table, and they would be there several times.
    if left is None or right is None or left.is_whole != right.is_whole:
        return None
    keys = left.keys & right.keys
    if node.distinct and not keys and not left.is_whole:
        return None
    return Spread(left.is_whole, keys)


def _spread_of_join(node: ops.JoinChain, spreads: Mapping[ops.Relation, Spread]) -> Spread | None:
    first = spreads.get(node.first)
    if first is None or any(_windows(node)):
        return None
    is_whole = first.is_whole
    keys = {ops.Field(node.first, name) for name in first.keys}
    for link in node.rest:
        right = spreads.get(link.table)
        if right is None or link.how not in ("inner", "left", "semi", "anti"):
            return None
        if right.is_whole:
            continue
        right_keys = {ops.Field(link.table, name) for name in right.keys}
        if is_whole:
            # Of a whole left side each range would have the rows without a partner.
            if link.how != "inner":
                return None
            is_whole = False
            keys = right_keys
            continue
        if not any(_joins(predicate, keys, right_keys) for predicate in link.predicates):
            return None
        # After a left join the keys of its right side may be NULL.
        if link.how == "inner":
            keys |= right_keys
    if is_whole:
        return Spread(is_whole=True)
    names = frozenset(name for name, value in node.values.items() if value in keys)
    return Spread(is_whole=False, keys=names)


def _joins(
    predicate: ops.Value, keys: Collection[ops.Field], right_keys: Collection[ops.Field]
) -> bool:
    """Whether a predicate says that both sides are of one collection."""
    if not isinstance(predicate, ops.Equals):
        return False
    sides = (predicate.left, predicate.right)
    return any(left in keys and right in right_keys for left, right in (sides, sides[::-1]))


def _values(node: ops.Relation) -> Iterator[ops.Value]:
    """Yield the expressions that a relation is made by."""
    for child in node.__children__:
        if isinstance(child, ops.JoinLink):
            yield from child.predicates
        elif isinstance(child, ops.Value):
            yield child


def _windows(node: ops.Relation) -> Iterator[ops.WindowFunction]:
    for value in _values(node):
        yield from value.find(ops.WindowFunction, filter=ops.Value)


def _is_mergeable(node: ops.Relation, spreads: Mapping[ops.Relation, Spread]) -> bool:
    """Whether parts that ranges compute of a relation can be merged."""
    if not isinstance(node, (ops.Aggregate, ops.Distinct)) or node.parent not in spreads:
        return False
    if isinstance(node, ops.Distinct):
        return True
    if not _is_plain(node) or any(_windows(node)):
        return False
    return all(type(reduction) in _MERGED_BY for reduction in _reductions(node))


def _computed_in_ranges(node: ops.Relation) -> ops.Relation:
    """Return what a task computes of a relation whose parts are merged."""
    if isinstance(node, ops.Distinct):
        return node
    metrics = {_name_of_part(number): value for number, value in enumerate(_reductions(node))}
    return ops.Aggregate(node.parent, node.groups, metrics)


def _reductions(node: ops.Aggregate) -> list[ops.Reduction]:
    found: dict[ops.Reduction, None] = {}
    for metric in node.metrics.values():
        found |= dict.fromkeys(metric.find(ops.Reduction, filter=ops.Value))
    return list(found)


def _name_of_part(number: int) -> str:
    return f"part_{number}"
