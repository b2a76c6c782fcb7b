"""Which parts of an expression can be computed from ranges of collections, each range by a task of its own.

Tasks compute what is whole or spread (see :mod:`borgtrace.engine.spreads`).  Sums, counts and extremes of spread rows
are computed in parts, which the engine merges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import ibis
import ibis.expr.operations as ops

from borgtrace.engine.spreads import Spread, is_plain, spreads_of, windows_of

_MERGED_BY = {
    ops.Sum: ops.Sum,
    ops.Count: ops.Sum,
    ops.CountStar: ops.Sum,
    ops.Min: ops.Min,
    ops.Max: ops.Max,
}
"""How the values that ranges have of a reduction become one."""


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


def parts_of(expr: ibis.Table, tables: Collection[str], *, in_one_task: bool = False) -> list[Part]:
    """Return the largest parts of an expression that tasks can compute.

    Parameters
    ----------
    expr
        An expression.
    tables
        Names of the tables that tasks can read.
    in_one_task
        Whether a task reads all rows of each table; otherwise, of those that have collections, the rows of a range.

    Examples
    --------
    >>> usage = ibis.table({"collection_id": "int64", "cpu": "float64", "slot": "int64"}, name="usage")
    >>> (part,) = parts_of(usage.group_by("slot").aggregate(n=usage.count()).order_by("slot"), {"usage"})
    >>> part.rows.schema.names, merge(part, part.rows).to_expr().columns
    (('slot', 'part_0'), ('slot', 'n'))
    """
    root = expr.op()
    spreads = spreads_of(root, tables, in_one_task=in_one_task)

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


def _is_mergeable(node: ops.Relation, spreads: Mapping[ops.Relation, Spread]) -> bool:
    """Whether parts that ranges compute of a relation can be merged."""
    if not isinstance(node, (ops.Aggregate, ops.Distinct)) or node.parent not in spreads:
        return False
    if isinstance(node, ops.Distinct):
        return True
    if not is_plain(node) or any(windows_of(node)):
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
