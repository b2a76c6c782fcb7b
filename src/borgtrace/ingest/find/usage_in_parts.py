"""Own usage with CPU in one table and memory in another, of the same tasks and times."""

from collections.abc import Sequence

from borgtrace.errors import SourceError
from borgtrace.ingest.find.column_roles import RESOURCES, Roles, find_roles
from borgtrace.ingest.find.sniffed_table import MOST_ROWS, SniffedColumn, SniffedTable


def join_usage(tables: Sequence[SniffedTable]) -> SniffedTable | None:
    """Put tables of usage of one resource each into one, by the names of their tasks and times.

    Parameters
    ----------
    tables
        Tables of usage with different columns.

    Returns
    -------
    :
        One table with the columns of both; None where they are not usage of one resource each, with the same names of
        columns for the rest.

    Raises
    ------
    SourceError
        They have no task and time in common.
    """
    first, *others = tables
    joined = first
    roles = find_roles(first)
    for table in others:
        if not _can_be_joined(roles, find_roles(table)):
            return None
        joined = _joined(joined, table, roles)
        roles = find_roles(joined)
    return joined


def refuse_equal_names(tables: Sequence[SniffedTable]) -> None:
    """Refuse tables with one name for amounts that are of CPU in one of them and of memory in another.

    Parameters
    ----------
    tables
        The first rows of all tables.

    Raises
    ------
    SourceError
        The names of their files say that they are.
    """
    file_of_resource: dict[str, SniffedTable] = {}
    for table in tables:
        resource = _resource_of_name(table)
        if resource and not _is_named(table):
            file_of_resource[resource] = table
    if len(file_of_resource) < len(RESOURCES):
        return
    cpu, memory = (file_of_resource[resource] for resource in RESOURCES)
    if sorted(cpu.names) == sorted(memory.names):
        column = find_roles(cpu).value
        raise SourceError(
            _called(memory),
            f"column {column} is memory, and in {_called(cpu)} it is CPU",
            expected="a name of its own for each",
            got=column,
            way_out=f"rename it to memory_bytes (or memory_mib) here, and to cpu_cores in {_called(cpu)}",
        )


def _is_named(table: SniffedTable) -> bool:
    """Return whether a column of a table is called like a resource, or it is no table of usage."""
    try:
        return not find_roles(table).value
    except SourceError:
        return True


def _resource_of_name(table: SniffedTable) -> str:
    """Return the only resource that the name of a file or table says; empty where it says none, or both."""
    called = _called(table).lower()
    named = [resource for resource in RESOURCES if resource[:3] in called]
    return named[0] if len(named) == 1 else ""


def _called(table: SniffedTable) -> str:
    return table.name or table.path.name


def _can_be_joined(first: Roles, second: Roles) -> bool:
    """Return whether usage of two tables is of different resources, and all else of them is called alike."""
    is_disjoint = set(first.usage).isdisjoint(second.usage)
    return is_disjoint and bool(second.usage) and _keys(first) == _keys(second)


def _keys(roles: Roles) -> tuple[object, ...]:
    return (roles.identity, roles.instance, roles.time, roles.end, roles.length)


def _joined(first: SniffedTable, second: SniffedTable, roles: Roles) -> SniffedTable:
    """Return the rows of both tables, one for each task and time, in the order of the first."""
    names = [*roles.identity, *([roles.instance] if roles.instance else []), roles.time]
    place_of_key = {key: place for place, key in enumerate(_rows(second, names))}
    keys = _rows(first, names)
    n_common = sum(key in place_of_key for key in keys)
    are_whole = max(len(keys), len(place_of_key)) < MOST_ROWS
    if not n_common and are_whole:
        raise SourceError(
            _called(second),
            f"no row has the task and the time of a row of {_called(first)}",
            expected=f"tasks and times such as {' '.join(keys[0])}",
            got=" ".join(next(iter(place_of_key))),
            way_out="export both with the same tasks, start and step, or name one of the two files",
        )
    columns = list(first.columns)
    for column in second.columns:
        if column.name not in first.names:
            texts = [column.texts[place_of_key[key]] if key in place_of_key else "" for key in keys]
            # Where the first rows of both are about other moments, those of the second one are as good.
            columns.append(SniffedColumn(column.name, texts if n_common else column.texts))
    return SniffedTable(first.path, tuple(columns), first.name, first.separator)


def _rows(table: SniffedTable, names: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(table.column(name).texts for name in names), strict=True))
