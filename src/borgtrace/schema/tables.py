"""The canonical tables, declared once (``tables.columns``): readers, checks, docs and strategies derive from them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from borgtrace.schema.checks import parse_check
from borgtrace.schema.data_files import read_paragraphs
from borgtrace.schema.types import Column, ColumnType, Table

STATISTICS_COLUMNS = ("average_cpu", "sampled_cpu", "average_memory")
"""Usage columns whose mean, deviation, maximum and time-weighted mean each task carries."""

LAST_KNOWN_COLUMNS = (
    "priority",
    "scheduling_class",
    "cpu_request",
    "memory_request",
    "disk_request",
    "gpu_request",
)
"""Columns of which each task carries what its last SCHEDULE says, else the last event that says anything."""


def read_declarations(file: Path, known: Iterable[Table] = ()) -> dict[str, Table]:
    """Read the tables that a file declares, in its order; ``tables.columns`` says how it is written.

    Parameters
    ----------
    file
        The declarations.
    known
        Other tables: a line ``table.column`` takes a column of theirs.
    """
    groups = {
        f"{table.name}.{column.name}": [column] for table in known for column in table.columns
    }
    tables: dict[str, Table] = {}
    for head, *declared in read_paragraphs(file):
        columns = [
            one for line in declared for one in groups.get(line) or [_column(*line.split("|"))]
        ]
        if head.startswith("@"):
            groups[head] = columns
        else:
            table, grain, key = head.split("|")
            tables[table] = Table(table, grain, tuple(key.split()), tuple(columns))
    return tables


def _column(name: str, kind: str, unit: str, doc: str, checks: str = "") -> Column:
    type_, _, more = kind.removesuffix("!").partition(":")
    enum, length = (more, None) if type_ == "enum" else (None, int(more) if more else None)
    rules = tuple(map(parse_check, checks.split()))
    return Column(
        name, cast(ColumnType, type_), unit, doc, not kind.endswith("!"), enum, length, rules
    )


def _depth(table: Table) -> int:
    """Return 0 for a table about machines, 1 about collections, 2 about instances: the order in which people read."""
    return ("collection_id" in table.names) + ("instance_index" in table.names)


_DECLARED = read_declarations(Path(__file__).with_name("tables.columns"))
TRACE_TABLES: dict[str, Table] = {
    # A stable sort: tables of one depth stay in the order of their declaration.
    table.name: table
    for table in sorted(_DECLARED.values(), key=_depth)
    if "source_row" in table.names
}
"""Tables that are read from raw files, whose rows say where they are from."""

TABLES: dict[str, Table] = TRACE_TABLES | {
    name: table for name, table in _DECLARED.items() if name not in TRACE_TABLES
}
"""All tables of a store: the trace's own and the derived ``tasks``."""

DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "cpu_usage_distribution": tuple(f"p{percent}" for percent in range(0, 101, 10)),
    "tail_cpu_usage_distribution": tuple(f"p{percent}" for percent in range(91, 100)),
}
"""Columns that hold the percentiles of a window's seconds, with the names of the series that their elements are."""
PERCENTILES = {
    name: (column, at) for column, names in DISTRIBUTIONS.items() for at, name in enumerate(names)
}
"""Each such series: its column and its place there."""


def with_percentiles(names: Iterable[str]) -> tuple[str, ...]:
    """Put the names of its percentiles in the place of each distribution.

    Examples
    --------
    >>> with_percentiles(["average_cpu", "tail_cpu_usage_distribution"])[:3]
    ('average_cpu', 'p91', 'p92')
    """
    return tuple(series for name in names for series in DISTRIBUTIONS.get(name, (name,)))
