"""Guess which section of a declaration a table of own data fills: usage, tasks or machines."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.find.column_facts import Facts, find_facts
from borgtrace.ingest.find.column_roles import (
    RESOURCES,
    find_identity,
    find_machine,
    find_roles,
    find_time,
    is_called_usage,
    resource_amounts,
)
from borgtrace.ingest.find.column_sizes import MOST_CORES_OF_MACHINES, guess_size
from borgtrace.ingest.find.column_times import guess_times
from borgtrace.ingest.find.draft import Draft
from borgtrace.ingest.find.sniffed_table import SniffedColumn, SniffedTable
from borgtrace.ingest.find.sniffing import draft_usage, drafted_columns, guess_facts

Section = Literal["usage", "tasks", "machines"]
_WHEN = r"(_?(time|ts|at|date|time_?stamp))?"
_LIVES = {
    "submit": rf"(submit(ted)?|submission|creat(ed|ion)|queued|arrival){_WHEN}",
    "start": rf"(status_)?(start(ed)?|begin|launch(ed)?|scheduled){_WHEN}",
    "end": rf"(end(ed)?|finish(ed)?|stop(ped)?|complet(ed|ion)|delet(ed|ion)|terminat(ed|ion)){_WHEN}",
}
"""Names of columns of times in the life of a task."""
_STATUS = r"(pod_)?(status|phase|state|result|outcome)"
_ENDS = {
    "FINISH": "succeeded|success|successful|completed?|finished|done|ok",
    "FAIL": "failed|failure|error|oom_?killed|crashed",
    "EVICT": "evicted|preempted",
    "KILL": "killed|cancell?ed|terminated|deleted|aborted|stopped",
}
"""Words for ends of tasks."""
_CALLED_MACHINES = r"node|machine|host|server"
_SIZE_NAMES = (
    r"(^|_)(capacity|allocatable|total|size|num|count|installed|max)(_|$)|"
    r"^(n_?)?(cpus?|cores|v_?cpus?|mem(ory)?|ram)"
)
_NAMES_OF_MACHINES = r"(name|id|uid)"
_PLATFORMS = r"platform(_?id)?|instance_?type|machine_?type|node_?type|cpu_?model|arch(itecture)?"


class TableOfSection(NamedTuple):
    """A table, and the section that it is for."""

    table: SniffedTable
    section: Section
    identity: dict[str, str]
    """Columns that identify its tasks, by level."""


def section_of(table: SniffedTable) -> TableOfSection:
    """Return which section a table is for: usage needs a time and an amount of it, machines their sizes and no task.

    Parameters
    ----------
    table
        Its first rows.

    Raises
    ------
    SourceError
        It is for none: what it lacks as a table of usage.
    """
    if _machine_columns(table):
        return TableOfSection(table, "machines", {})
    identity = find_identity(table.columns)
    try:
        find_roles(table)
    except SourceError:
        if not identity or not _says_something_of_tasks(table, identity):
            raise
        return TableOfSection(table, "tasks", identity)
    return TableOfSection(table, "usage", identity)


def draft_section(of_section: TableOfSection) -> Draft:
    """Guess the format of a table of one section.

    Parameters
    ----------
    of_section
        The table, and its section.

    Raises
    ------
    SourceError
        Its times are none that are read.
    """
    drafters: dict[Section, Callable[[TableOfSection], Draft]] = {
        "usage": lambda each: draft_usage(each.table, find_roles(each.table)),
        "tasks": _draft_tasks,
        "machines": _draft_machines,
    }
    return drafters[of_section.section](of_section)


def has_lives(table: SniffedTable) -> bool:
    """Return whether a table says when tasks started or were submitted."""
    return bool(_lives(table).keys() & {"start", "submit"})


def _lives(table: SniffedTable) -> dict[str, SniffedColumn]:
    lives = {}
    for role, pattern in _LIVES.items():
        column = _first(table.columns, pattern)
        if column is not None and column.values:
            lives[role] = column
    return lives


def _first(columns: Sequence[SniffedColumn], pattern: str) -> SniffedColumn | None:
    return next((each for each in columns if re.fullmatch(pattern, each.words)), None)


def _facts(table: SniffedTable, identity: dict[str, str]) -> Facts:
    _, asides = resource_amounts(table.columns)
    taken = {*identity.values(), *(column.name for column in _lives(table).values())}
    return find_facts(table, asides, taken)


def _says_something_of_tasks(table: SniffedTable, identity: dict[str, str]) -> bool:
    usage, _ = resource_amounts(table.columns)
    facts = _facts(table, identity)
    # Amounts that are not called requests may be usage without a time.
    return not usage and (has_lives(table) or not facts.is_empty)


def _draft_tasks(of_section: TableOfSection) -> Draft:
    table, _, identity = of_section
    draft = Draft({"name": "own"})
    entries: dict[str, Any] = {"task": task_entry(identity)}
    for role, column in _lives(table).items():
        guess = guess_times(column, str(table.path))
        entries[role] = {"column": column.name, **guess.entry}
        draft.declaration["clock"] = guess.clock
        draft.remarks[f"tasks.{role}"] = f"column {column.name}: {guess.remark}"
        if guess.other:
            draft.ask(f"tasks.{role}", column.name, guess.remark, guess.other)
    if not _lives(table):
        _guess_moment(table, identity, entries, draft)
    _guess_status(table, entries, draft)
    machine = find_machine(table.columns)
    if machine and machine not in identity.values():
        entries["machine"] = machine
    guess_facts("tasks", table, _facts(table, identity), entries, draft)
    draft.declaration["tasks"] = entries
    _, asides = resource_amounts(table.columns)
    draft.columns = drafted_columns(table, entries, asides)
    return draft


def _guess_moment(
    table: SniffedTable,
    identity: dict[str, str],
    entries: dict[str, Any],
    draft: Draft,
) -> None:
    """Declare when each row was true, where a table says it again and again."""
    free = [column for column in table.columns if column.name not in identity.values()]
    name = find_time(free)
    if not name:
        return
    guess = guess_times(table.column(name), str(table.path))
    entries["at"] = {"column": name, **guess.entry}
    draft.declaration["clock"] = guess.clock
    draft.remarks["tasks.at"] = f"column {name}: {guess.remark}"
    if guess.other:
        draft.ask("tasks.at", name, guess.remark, guess.other)


def task_entry(identity: dict[str, str]) -> str | list[str]:
    """Return how a declaration names the columns that identify tasks together."""
    columns = list(identity.values())
    return columns if len(columns) > 1 else columns[0]


def _guess_status(table: SniffedTable, entries: dict[str, Any], draft: Draft) -> None:
    """Declare how tasks ended, where each word for it is known."""
    column = _first(table.columns, _STATUS)
    if column is None or "end" not in entries:
        return
    codes = {}
    for word in column.values:
        for event, pattern in _ENDS.items():
            if re.fullmatch(pattern, re.sub(r"[^a-z]+", "_", word.lower())):
                codes[word] = event
    if codes and len(codes) == len(column.values):
        entries["status"] = {"column": column.name, "codes": codes}
        draft.remarks["tasks.status"] = f"column {column.name}: guessed how tasks ended"
        return
    unknown = next((word for word in column.values if word not in codes), "")
    draft.remarks["tasks status"] = (
        f"column {column.name}: not read, as {unknown!r} is no end that is known; each end is taken for FINISH"
    )


def _machine_columns(table: SniffedTable) -> dict[str, str]:
    """Return the columns of a table of machines, by their entry; none where it is not one."""
    machine = find_machine(table.columns)
    if not machine and re.search(_CALLED_MACHINES, table.path.name.lower()):
        named = _first(table.columns, _NAMES_OF_MACHINES)
        machine = named.name if named else ""
    others = [column for column in table.columns if column.name != machine]
    has_tasks = bool(find_identity(others)) and not _is_of_machines_alone(others)
    has_time = any(re.search(r"time|date|(^|_)ts$", column.words) for column in others)
    if not machine or has_tasks or has_time:
        return {}
    sizes = _sizes(others)
    return {"machine": machine, **sizes} if sizes else {}


def _is_of_machines_alone(columns: Sequence[SniffedColumn]) -> bool:
    """Return whether what may identify tasks is but a cluster or a name that machines have as well."""
    identity = find_identity(columns)
    generic = r"(name|id|uid|uuid|key|label|cluster.*|instance(_?(id|name|type))?)"
    by_name = {column.name: column for column in columns}
    return all(re.fullmatch(generic, by_name[name].words) for name in identity.values())


def _sizes(columns: Sequence[SniffedColumn]) -> dict[str, str]:
    usage, asides = resource_amounts(columns)
    sizes = {}
    for resource in RESOURCES:
        names = [name for name, aside in asides.items() if aside == f"capacity of {resource}"]
        # What a machine has before what is left of it for tasks.
        names.sort(key=lambda name: "alloc" in name.lower())
        if resource in usage:
            words = next(each.words for each in columns if each.name == usage[resource])
            is_size = re.search(_SIZE_NAMES, words) and not is_called_usage(words)
            if not names and is_size:
                names.append(usage[resource])
        if names:
            sizes[resource] = names[0]
    return sizes


def _draft_machines(of_section: TableOfSection) -> Draft:
    table = of_section.table
    columns = _machine_columns(table)
    draft = Draft({"name": "own"})
    entries: dict[str, Any] = {"machine": columns["machine"]}
    for resource in RESOURCES:
        if resource in columns:
            entries[resource] = guess_size(
                f"machines.{resource}",
                resource,
                table.column(columns[resource]),
                draft,
                MOST_CORES_OF_MACHINES,
            )
    platform = _first(table.columns, _PLATFORMS)
    if platform is not None:
        entries["platform"] = platform.name
    draft.declaration["machines"] = entries
    _, asides = resource_amounts(table.columns)
    draft.columns = drafted_columns(table, entries, asides)
    return draft
