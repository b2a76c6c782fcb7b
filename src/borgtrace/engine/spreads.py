"""How the relations of an expression lie on ranges of collections, each of which a task of its own reads.

A relation over tables of a store is *spread* over ranges where the rows that it has for all collections are the rows
that it has for each range, put together.  What concerns single collections is: filters, columns, joins by collection,
windows and groups within a collection.  A table without collections (machines) is *whole*: each task reads all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import ibis.expr.operations as ops

from borgtrace.engine.task_tables import KEY


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


def spreads_of(
    root: ops.Node, tables: Collection[str], *, in_one_task: bool = False
) -> dict[ops.Relation, Spread]:
    """Return how the relations of an expression lie on ranges, without those that tasks cannot compute.

    Parameters
    ----------
    root
        The expression.
    tables, in_one_task
        As for :func:`borgtrace.engine.splitting.parts_of`.
    """
    find_spread = _spread_in_one_task if in_one_task else _spread
    spreads: dict[ops.Relation, Spread] = {}
    # Each relation comes after what it is made of.
    for node in root.find(ops.Relation, ordered=True):
        spread = find_spread(node, spreads, tables)
        if spread is not None:
            spreads[node] = spread
    return spreads


def _spread_in_one_task(
    node: ops.Relation, spreads: Mapping[ops.Relation, Spread], tables: Collection[str]
) -> Spread | None:
    """Return that a relation is whole where a task has all rows that it is made of."""
    if isinstance(node, ops.PhysicalTable):
        return Spread(is_whole=True) if node.name in tables else None
    inputs = node.find_below(ops.Relation)
    is_computable = bool(inputs) and all(one in spreads for one in inputs)
    return Spread(is_whole=True) if is_computable and is_pure(node) else None


def _spread(
    node: ops.Relation, spreads: Mapping[ops.Relation, Spread], tables: Collection[str]
) -> Spread | None:
    """Return how a relation lies on ranges; None where a task cannot compute it."""
    if not is_plain(node):
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


def is_plain(node: ops.Relation) -> bool:
    """Whether a relation is the same wherever it is computed, and reads no table but those that it is made of."""
    has_subquery = any(value.find(ops.Subquery, filter=ops.Value) for value in _values_of(node))
    return is_pure(node) and not has_subquery


def is_pure(node: ops.Relation) -> bool:
    """Whether a relation is the same wherever it is computed."""
    return not any(value.find(ops.Impure, filter=ops.Value) for value in _values_of(node))


def _spread_of_table(table: ops.PhysicalTable) -> Spread:
    if KEY in table.schema:
        return Spread(is_whole=False, keys=frozenset([KEY]))
    return Spread(is_whole=True)


def _spread_of_rows(node: ops.Relation, parent: Spread | None) -> Spread | None:
    """Return how a relation lies that is made of one other."""
    if parent is None or parent.is_whole:
        return parent
    if not all(_is_within_collections(node, window, parent.keys) for window in windows_of(node)):
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
    if first is None or any(windows_of(node)):
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


def _values_of(node: ops.Relation) -> Iterator[ops.Value]:
    """Yield the expressions that a relation is made by."""
    for child in node.__children__:
        if isinstance(child, ops.JoinLink):
            yield from child.predicates
        elif isinstance(child, ops.Value):
            yield child


def windows_of(node: ops.Relation) -> Iterator[ops.WindowFunction]:
    """Yield the windows among the expressions that a relation is made by."""
    for value in _values_of(node):
        yield from value.find(ops.WindowFunction, filter=ops.Value)
