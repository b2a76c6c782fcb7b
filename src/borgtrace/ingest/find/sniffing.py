"""A first draft of the format of own data, guessed from the names and the values of its columns.

Each guess is stated; where two readings would make two different traces, the draft leaves the question open, and is no
format yet.
"""

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from borgtrace.errors import SchemaError, SourceError
from borgtrace.ingest.find.column_amounts import guess_amount, resource_of_units
from borgtrace.ingest.find.column_facts import Facts, facts_beside_usage
from borgtrace.ingest.find.column_roles import RESOURCES, Roles, find_roles, find_workload
from borgtrace.ingest.find.column_shares import ask_about_percentages, ask_about_shares
from borgtrace.ingest.find.column_sizes import MOST_CORES_OF_TASKS, guess_size
from borgtrace.ingest.find.column_times import guess_times, moments
from borgtrace.ingest.find.draft import Draft, DraftedColumn
from borgtrace.ingest.find.sniffed_table import SniffedColumn, SniffedTable, read_first_rows
from borgtrace.ingest.find.tables_without_usage import refuse_table_without_usage
from borgtrace.ingest.read.number_texts import MISSING
from borgtrace.schema.dialects.declaration import WORDS_FOR_NO_LIMIT
from borgtrace.schema.time import write_time

_MOST_SAMPLES = 3
_CLOCK_COLUMNS = ("hour", "hr", "time", "time_of_day", "minute", "uhrzeit")
_UNITS_OF_LENGTH = {
    "s": {"s", "sec", "seconds"},
    "ms": {"ms"},
    "us": {"us"},
    "min": {"min", "minutes"},
    "h": {"h", "hours"},
}
Moments = Sequence[float | None]


def sniff(path: Path) -> Draft:
    """Guess the format of a file of usage.

    Parameters
    ----------
    path
        The file: delimited text, JSON lines, Parquet, or any that `borgtrace.ingest.read.tables` knows.

    Raises
    ------
    SourceError
        It is no table, no column names a task, a time, or CPU or memory, or its times are none that are read.
    SchemaError
        It has no rows.
    """
    return draft_first_usage(read_first_rows(path))


def draft_first_usage(tables: Sequence[SniffedTable]) -> Draft:
    """Guess the format of the first table of usage in a file.

    Parameters
    ----------
    tables
        Its tables, at least one.

    Raises
    ------
    SourceError
        As `sniff`, or several tables may be usage whose columns differ.
    SchemaError
        It has no rows.
    """
    return draft_usage(*_table_of_usage(tables))


def draft_usage(table: SniffedTable, roles: Roles) -> Draft:
    """Guess the format of a table of usage.

    Parameters
    ----------
    table
        Its first rows.
    roles
        What its columns are.

    Raises
    ------
    SourceError
        Its times are none that are read.
    SchemaError
        It has no rows.
    """
    if not any(column.values for column in table.columns):
        raise SchemaError(
            str(table.path),
            "no rows",
            expected="at least one row",
            way_out="name files with rows; nothing was stored",
        )
    draft = Draft({"name": "own"})
    usage: dict[str, Any] = {"task": _task(roles)}
    tasks = _tasks(table, roles)
    times = _guess_times(table, roles, draft, usage)
    _look_for_repeated_rows(table, roles, tasks, times, draft)
    for role in ("instance", "machine"):
        name = getattr(roles, role)
        if name:
            usage[role] = name
    for resource in _measured_resources(table, roles):
        column = table.column(roles.usage[resource])
        usage[resource] = guess_amount(resource, column, tasks, draft, table.separator)
        _look_for_rivals(resource, roles, draft)
        ask_about_shares(resource, table, roles, draft)
    if "cpu" in usage:
        ask_about_percentages(table, roles, usage["cpu"], draft)
    if roles.value:
        _guess_value(table.column(roles.value), tasks, draft, usage)
    guess_facts("usage", table, facts_beside_usage(table, roles), usage, draft)
    draft.declaration["usage"] = usage
    draft.columns = drafted_columns(table, usage, roles.asides)
    return draft


def guess_facts(
    section: str,
    table: SniffedTable,
    facts: Facts,
    entries: dict[str, Any],
    draft: Draft,
) -> None:
    """Declare requests, limits and owners of tasks, and where in a cluster they belong.

    Parameters
    ----------
    section
        The section that gets them.
    table, facts
        The first rows, and which of their columns say what.
    entries
        The section so far.
    draft
        Gets the remarks and what is asked.
    """
    for role, name in facts.amounts.items():
        if role.endswith("_limit"):
            _guess_limit(section, role, facts.rivals[role], table.column(name), entries, draft)
        else:
            _guess_request(section, role, facts.rivals[role], table.column(name), entries, draft)
    entries.update(facts.owners)
    entries.update(find_workload(table.columns))


def _guess_request(
    section: str,
    role: str,
    rivals: Sequence[str],
    column: SniffedColumn,
    entries: dict[str, Any],
    draft: Draft,
) -> None:
    resource = role.partition("_")[0]
    usage = entries.get(resource, {})
    entries[role] = guess_size(
        f"{section}.{role}",
        resource,
        column,
        draft,
        MOST_CORES_OF_TASKS,
        usage_unit=usage.get("unit", ""),
    )
    if rivals:
        draft.ask(
            f"{section}.{role}",
            column.name,
            f"which of {' or '.join((column.name, *rivals))} is the request of {resource}",
            f'{role} = {{ column = "…", unit = "…" }}',
        )


def _guess_limit(
    section: str,
    role: str,
    rivals: Sequence[str],
    column: SniffedColumn,
    entries: dict[str, Any],
    draft: Draft,
) -> None:
    """Declare a limit where nothing about it is open: it is worth no question."""
    resource = role.partition("_")[0]
    usage = entries.get(resource, {})
    own_draft = Draft({})
    amounts = replace(
        column, texts=["" if text in WORDS_FOR_NO_LIMIT else text for text in column.texts]
    )
    entry = guess_size(
        f"{section}.{role}",
        resource,
        amounts,
        own_draft,
        MOST_CORES_OF_TASKS,
        usage_unit=usage.get("unit", ""),
    )
    marks = own_draft.declaration.items()
    if own_draft.questions or rivals or not marks <= draft.declaration.items():
        names = ", ".join((column.name, *rivals))
        columns = "columns" if rivals else "column"
        draft.remarks[f"{section} {role}"] = (
            f"{columns} {names}: limit of {resource}, not read; to read it, add "
            f'{role} = {{ column = "{column.name}", unit = "…" }}'
        )
        return
    draft.remarks |= own_draft.remarks
    entries[role] = entry


def _table_of_usage(tables: Sequence[SniffedTable]) -> tuple[SniffedTable, Roles]:
    """Return the table of a file that holds usage, with what its columns are.

    Raises
    ------
    SourceError
        None does, or several do whose columns differ.
    """
    fitting = []
    faults = []
    for table in tables:
        try:
            refuse_table_without_usage(table)
            fitting.append((table, find_roles(table)))
        except SourceError as fault:
            faults.append(fault)
    if not fitting:
        raise faults[0] if len(tables) == 1 else _no_table_of_usage(tables)
    if len({tuple(sorted(table.names)) for table, _ in fitting}) > 1:
        raise SourceError(
            str(tables[0].path),
            "several tables that may be usage, with different columns",
            got="; ".join(_described(table) for table, _ in fitting),
            way_out="export the one that holds the usage as CSV or Parquet, or write a file with [usage] and task, "
            "time and cpu = its columns, and add --dialect FILE.toml",
        )
    # Equal columns are one table in parts.
    return fitting[0]


def _no_table_of_usage(tables: Sequence[SniffedTable]) -> SourceError:
    return SourceError(
        str(tables[0].path),
        "none of its tables has columns called like a task, a time, and CPU or memory",
        got="; ".join(_described(table) for table in tables),
        way_out="write a file with [usage] and task, time and cpu = the columns of one, and add --dialect FILE.toml",
    )


def _described(table: SniffedTable) -> str:
    return f"{table.name} ({', '.join(table.names)})"


def _task(roles: Roles) -> str | list[str]:
    (*wider, narrowest) = roles.identity
    return [*wider, narrowest] if wider else narrowest


def _tasks(table: SniffedTable, roles: Roles) -> list[str]:
    """Return the task of each row."""
    names = [*roles.identity, roles.instance] if roles.instance else [*roles.identity]
    columns = [table.column(name).texts for name in names]
    return ["/".join(parts) for parts in zip(*columns, strict=True)]


def _guess_times(table: SniffedTable, roles: Roles, draft: Draft, usage: dict[str, Any]) -> Moments:
    """Guess how times are written, their clock, and how long a window is; return those of all rows, in µs."""
    column = table.column(roles.time)
    guess = guess_times(column, str(table.path))
    usage["time"] = {"column": column.name, **guess.entry}
    draft.declaration["clock"] = guess.clock
    draft.remarks["usage.time"] = f"column {column.name}: {guess.remark}"
    if guess.other:
        draft.ask("usage.time", column.name, guess.remark, guess.other)
    times = moments(column, guess.entry)
    if roles.end:
        usage["end"] = {**usage["time"], "column": roles.end}
        return times
    if roles.length:
        _guess_length(table.column(roles.length), draft, usage)
        return times
    step = _usual_step(_tasks(table, roles), times)
    if step:
        _guess_step(draft, step)
    return times


def _guess_length(column: SniffedColumn, draft: Draft, usage: dict[str, Any]) -> None:
    """Guess in which unit the lengths of windows are, or ask."""
    words = column.words.split("_")
    unit = next(
        (unit for unit, names in _UNITS_OF_LENGTH.items() if not names.isdisjoint(words)), ""
    )
    usage["length"] = {"column": column.name, **({"unit": unit} if unit else {})}
    if not unit:
        line = f'length = {{ column = "{column.name}", unit = "s" }}, or what it is'
        draft.ask("usage.length", column.name, "in which unit is this length of time", line)


def _measured_resources(table: SniffedTable, roles: Roles) -> list[str]:
    """Return the resources whose column of usage holds anything.

    Raises
    ------
    SourceError
        None of them does.
    """
    measured = []
    for resource in RESOURCES:
        if resource in roles.usage and set(table.column(roles.usage[resource]).values) - {*MISSING}:
            measured.append(resource)
    if not measured and roles.usage:
        raise SourceError(
            str(table.path),
            f"column {' and column '.join(roles.usage.values())}: no amounts",
            expected="numbers",
            way_out="check the export",
        )
    return measured


def _usual_step(tasks: Sequence[str], times: Moments) -> int:
    """Return the most common time between two rows of a task, in µs; 0 where there is none."""
    times_of_task: dict[str, list[float]] = {}
    for task, time in zip(tasks, times, strict=True):
        if time is not None:
            times_of_task.setdefault(task, []).append(time)
    steps: Counter[int] = Counter()
    for moments_of_task in times_of_task.values():
        ordered = sorted(moments_of_task)
        for before, after in itertools.pairwise(ordered):
            if after > before:
                steps[round(after - before)] += 1
    if not steps:
        return 0
    # Of those that are equally common the shortest.
    return min(steps, key=lambda step: (-steps[step], step))


def _guess_step(draft: Draft, step: int) -> None:
    written = write_time(step)
    draft.declaration["step"] = written
    draft.remarks["step"] = (
        f"step {written}: guessed, the most common time between two rows of a task"
    )
    draft.declaration["label"] = "start"
    draft.remarks["label"] = "label start: guessed, a row is about the step that begins at its time"


def _look_for_repeated_rows(
    table: SniffedTable,
    roles: Roles,
    tasks: Sequence[str],
    times: Moments,
    draft: Draft,
) -> None:
    """Ask for a further column of the task where rows would be those of one task at one time."""
    n_repeated = _n_repeated(zip(tasks, times, strict=True))
    if not n_repeated:
        return
    _refuse_split_times(table, roles)
    for column in table.columns:
        is_taken = column.name in roles.taken - {roles.machine}
        is_free = not is_taken and column.name not in roles.asides
        if is_free and not _n_repeated(zip(tasks, times, column.texts, strict=True)):
            together = ", ".join(f'"{name}"' for name in (*roles.identity, column.name))
            draft.ask(
                "usage.task",
                ", ".join(roles.identity),
                f"{n_repeated:,} rows have the task and the time of another; column {column.name} tells them apart",
                f"task = [{together}]",
            )
            return
    draft.remarks["usage.task"] = (
        f"{n_repeated:,} of the first {len(tasks):,} rows have the task and the time of another row: "
        "each is stored as a window of its own"
    )


def _refuse_split_times(table: SniffedTable, roles: Roles) -> None:
    """Refuse dates whose time of day stands in another column."""
    time = table.column(roles.time)
    for column in table.columns:
        is_clock = column.words in _CLOCK_COLUMNS and column.name not in roles.taken
        if is_clock and not any(":" in text for text in time.values):
            raise SourceError(
                str(table.path),
                "the date and the time of day in two columns",
                expected="one column, such as 2026-11-01 00:05:00",
                got=f"{time.name} and {column.name}",
                way_out="join them",
            )


def _n_repeated(keys: Any) -> int:
    """Return how many keys repeat an earlier one."""
    counts = Counter(keys)
    return sum(counts.values()) - len(counts)


def _look_for_rivals(resource: str, roles: Roles, draft: Draft) -> None:
    """Ask which of several columns is the usage of a resource."""
    rivals = roles.rivals.get(resource, ())
    if rivals:
        names = " or ".join((roles.usage[resource], *rivals))
        draft.ask(
            f"usage.{resource}",
            roles.usage[resource],
            f"which of {names} is the usage of {resource}",
            f'{resource} = {{ column = "…", unit = "…", kind = "average" }}',
        )


def _guess_value(
    column: SniffedColumn,
    tasks: Sequence[str],
    draft: Draft,
    usage: dict[str, Any],
) -> None:
    """Guess of which resource values are whose column does not say it, by their units; else ask."""
    resource = resource_of_units(column)
    if resource:
        usage[resource] = guess_amount(resource, column, tasks, draft)
        return
    name = json.dumps(column.name)
    draft.ask(
        "usage.cpu",
        column.name,
        "of which quantity are its values",
        f'cpu = {{ column = {name}, unit = "cores", kind = "average" }} or '
        f'memory = {{ column = {name}, unit = "bytes", kind = "average" }}',
    )


def drafted_columns(
    table: SniffedTable,
    entries: Mapping[str, Any],
    asides: Mapping[str, str],
) -> list[DraftedColumn]:
    """Return what each column was taken for.

    Parameters
    ----------
    table
        The first rows.
    entries
        The section that declares them.
    asides
        What other columns seem to be.
    """
    drafted = []
    for column in table.columns:
        role, entry = _declared_as(column.name, entries)
        drafted.append(
            DraftedColumn(
                column.name,
                role or f"({asides.get(column.name, 'not read')})",
                unit=str(entry.get("unit", entry.get("format", ""))),
                kind=str(entry.get("kind", "")),
                samples=tuple((text, "") for text in column.values[:_MOST_SAMPLES]),
            )
        )
    return drafted


def _declared_as(name: str, entries: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the entry that names a column, with what it says; empty where none does."""
    for role, entry in entries.items():
        if isinstance(entry, Mapping):
            if entry["column"] == name:
                return role, entry
        elif name == entry or (isinstance(entry, list) and name in entry):
            return role, {}
    return "", {}
