"""Units of what is no answer of a question: rows of SQL, the load of a machine, the tasks that run on it."""

from __future__ import annotations

import re

from borgtrace.assistants.answers import units_of
from borgtrace.schema import TABLES

SQL_UNITS = (
    "Units of the stored columns that the query names. A column that the query computes has the unit of its "
    "expression, which nobody checks."
)
LOAD_UNITS = {
    "hour": "hours since the start of the trace",
    "n_tasks": "count: tasks with usage in the hour",
    "cpu": "fraction: mean over the hour of what its tasks used; what was not measured counts as 0",
    "memory": "fraction: mean over the hour of what its tasks used; what was not measured counts as 0",
}
RUNNING_UNITS = {
    **units_of(TABLES["tasks"].columns),
    **units_of(TABLES["instance_usage"].columns),
    "task": "name",
    "since": "us: when it was scheduled here",
}
"""Of the tasks that run on a machine; usage is that of the window that covers the time."""


def units_named_in(query: str, columns: list[str]) -> dict[str, str]:
    """Return the units of all stored columns that a query names, or that its answer has."""
    words = {word.lower() for word in re.findall(r"\w+", query)} | set(columns)
    units = {"note": SQL_UNITS}
    for table in TABLES.values():
        for column in table.columns:
            if column.name in words:
                units.setdefault(column.name, column.unit)
    return units
