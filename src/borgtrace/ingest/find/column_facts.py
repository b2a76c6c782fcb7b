"""Columns of own data that describe a task beside its usage: requests, limits, owner, priority."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from borgtrace.ingest.find.column_amounts import NO_UNIT, unit_in_name
from borgtrace.ingest.find.column_roles import RESOURCES, Roles
from borgtrace.ingest.find.sniffed_table import SniffedColumn, SniffedTable

_OWNERS: Mapping[str, Sequence[str]] = {
    "app": (
        r"(label_)?(app|application)(_?(name|id))?|app_kubernetes_io_name",
        r"deployment(_?(name|id))?|owner_?name|created_by_?name",
        r"workload(_?(name|id))?|controller(_?name)?",
        r"owner(_?id)?|stateful_?set(_?name)?|daemon_?set(_?name)?|replica_?set(_?name)?",
        r"service(_?(name|id))?",
    ),
    "owner_kind": (r"(owner|workload|controller|created_by)_?(kind|type)",),
    "user": (r"user(_?(name|id))?|username", r"account(_?(name|id))?|tenant(_?(name|id))?"),
    "priority": (r"priority(_?value)?",),
}
"""Names of columns about a task, as patterns: the first that fits is taken."""
_WHOLE_NUMBER = re.compile(r"\d{1,9}")
_MOST_PRIORITY = 2**31 - 1
_AGGREGATES = r"(^|_)(max|maximum|peak|min|minimum|avg|average|mean|sum|total|p\d+)(_|$)"


@dataclass(frozen=True)
class Facts:
    """Columns about tasks.

    Parameters
    ----------
    amounts
        The column of each request and limit, by its entry in a declaration, such as ``cpu_request``.
    rivals
        Other columns that may be it just as well.
    owners
        The columns of ``app``, ``owner_kind``, ``user`` and ``priority``.
    """

    amounts: Mapping[str, str] = field(default_factory=dict)
    rivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said of tasks that is stored."""
        return not self.amounts and not self.owners


def find_facts(table: SniffedTable, asides: Mapping[str, str], taken: Collection[str]) -> Facts:
    """Return which columns of a table say something of its tasks.

    Parameters
    ----------
    table
        Its first rows.
    asides
        What columns of amounts seem to be, as `Roles` has it.
    taken
        Columns that have a role already.
    """
    amounts = {}
    rivals = {}
    for resource, kind in product(RESOURCES, ("request", "limit")):
        candidates = [
            column
            for column in table.columns
            if asides.get(column.name) == f"{kind} of {resource}" and _is_amount(resource, column)
        ]
        # That of one moment before means and sums of several.
        candidates.sort(key=lambda column: bool(re.search(_AGGREGATES, column.words)))
        if candidates:
            first, *others = candidates
            is_summary = bool(re.search(_AGGREGATES, first.words))
            amounts[f"{resource}_{kind}"] = first.name
            rivals[f"{resource}_{kind}"] = tuple(
                other.name
                for other in others
                if bool(re.search(_AGGREGATES, other.words)) == is_summary
            )
    free = [column for column in table.columns if column.name not in taken]
    owners = {role: _owner(role, free) for role in _OWNERS}
    return Facts(amounts, rivals, {role: name for role, name in owners.items() if name})


def facts_beside_usage(table: SniffedTable, roles: Roles) -> Facts:
    """Return which columns of a table of usage say something of its tasks.

    Parameters
    ----------
    table
        Its first rows.
    roles
        What its other columns are.
    """
    return find_facts(table, roles.asides, roles.taken)


def _is_amount(resource: str, column: SniffedColumn) -> bool:
    """Return whether a column holds amounts, rather than shares of something."""
    is_share = unit_in_name(resource, column.words) == NO_UNIT
    return bool(column.values) and not is_share and not any("%" in text for text in column.values)


def _owner(role: str, columns: Sequence[SniffedColumn]) -> str:
    for pattern in _OWNERS[role]:
        for column in columns:
            if re.fullmatch(pattern, column.words) and _can_be(role, column):
                return column.name
    return ""


def _can_be(role: str, column: SniffedColumn) -> bool:
    if role != "priority":
        return True
    # Names of classes of priority have no order that a number would tell.
    are_numbers = all(_WHOLE_NUMBER.fullmatch(text) for text in column.values)
    return are_numbers and all(int(text) <= _MOST_PRIORITY for text in column.values)
