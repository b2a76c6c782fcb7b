"""One declaration for several files of own data: parts of one table, and usage beside tasks and machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.find.column_amounts import read_amounts
from borgtrace.ingest.find.column_roles import RESOURCES, resource_amounts
from borgtrace.ingest.find.draft import Draft, OpenQuestion
from borgtrace.ingest.find.section_guesses import (
    Section,
    TableOfSection,
    draft_section,
    has_lives,
    section_of,
    task_entry,
)
from borgtrace.ingest.find.sniffed_table import (
    MOST_ROWS,
    SniffedColumn,
    SniffedTable,
    read_first_rows,
)
from borgtrace.ingest.find.sniffing import draft_first_usage
from borgtrace.ingest.find.tables_without_usage import refuse_table_without_usage
from borgtrace.ingest.find.usage_in_parts import join_usage, refuse_equal_names

_ORDER: tuple[Section, ...] = ("usage", "tasks", "machines")
_WIDER_LEVELS = ("cluster", "namespace", "job")
_MOST_NAMES = 3


@dataclass
class JointDraft:
    """A declaration for several files.

    Parameters
    ----------
    draft
        The declaration, with what was guessed and what is asked.
    faults
        Why files are for none of its sections, by their path.
    """

    draft: Draft
    faults: dict[Path, SourceError] = field(default_factory=dict)


def sniff_all(paths: Sequence[Path]) -> JointDraft:
    """Guess one declaration for several files.

    Parameters
    ----------
    paths
        The files, at least one.

    Raises
    ------
    SourceError
        No file is usage, or tells lives of tasks; or two of them contradict each other.
    """
    faults: dict[Path, SourceError] = {}
    tables = []
    for path in paths:
        try:
            tables += read_first_rows(path)
        except SourceError as fault:
            faults[path] = fault
    if not tables:
        raise next(iter(faults.values()))
    refuse_equal_names(tables)
    of_sections = []
    for table in _put_parts_together(tables):
        try:
            refuse_table_without_usage(table)
            of_sections.append(section_of(table))
        except SourceError as fault:
            faults[table.path] = fault
    joined = _join_usage(of_sections)
    is_usage_alone = all(each.section == "usage" for each in of_sections)
    if len(paths) == 1 and is_usage_alone and joined == of_sections:
        return JointDraft(draft_first_usage(tables))
    of_sections = joined
    # Tables of one file that are for no section stand beside those that are.
    for each in of_sections:
        faults.pop(each.table.path, None)
    _require_something(of_sections, tables, faults)
    of_section = _one_of_each_section(of_sections)
    _reconcile_identities(of_section)
    drafts = {name: draft_section(of_section[name]) for name in _ORDER if name in of_section}
    _require_one_spelling(of_section, drafts)
    joint = _join(of_section, drafts)
    if "usage" in of_section and "tasks" in of_section:
        _settle_tasks(of_section, joint)
    return JointDraft(joint, faults)


def _put_parts_together(tables: Sequence[SniffedTable]) -> list[SniffedTable]:
    """Make one table of those with the same columns: a file of each day may hold one moment of each task."""
    parts_of_names: dict[tuple[str, ...], list[SniffedTable]] = {}
    for table in tables:
        parts_of_names.setdefault(tuple(sorted(table.names)), []).append(table)
    whole = []
    for parts in parts_of_names.values():
        columns = []
        for name in parts[0].names:
            texts = [text for part in parts for text in part.column(name).texts]
            columns.append(SniffedColumn(name, texts[:MOST_ROWS]))
        whole.append(SniffedTable(parts[0].path, tuple(columns), parts[0].name))
    return whole


def _join_usage(of_sections: Sequence[TableOfSection]) -> list[TableOfSection]:
    """Make one table of those of usage, where one has the CPU of the tasks and the other their memory."""
    usage = [each for each in of_sections if each.section == "usage"]
    joined = join_usage([each.table for each in usage]) if len(usage) > 1 else None
    if joined is None:
        return list(of_sections)
    others = [each for each in of_sections if each.section != "usage"]
    return [usage[0]._replace(table=joined), *others]


def _require_something(
    of_sections: Sequence[TableOfSection],
    tables: Sequence[SniffedTable],
    faults: Mapping[Path, SourceError],
) -> None:
    """Refuse files of which no store can be made: without usage, and without lives of tasks."""
    for each in of_sections:
        if each.section == "usage" or (each.section == "tasks" and has_lives(each.table)):
            return
    if faults:
        raise next(iter(faults.values()))
    names = ", ".join(table.path.name for table in tables[:_MOST_NAMES])
    raise SourceError(
        names,
        "no usage of tasks, and no times of their lives",
        expected="a file with a task, a time, and CPU or memory",
        got=", ".join(f"{each.table.path.name}: {each.section}" for each in of_sections),
        way_out="name the file of usage too",
    )


def _one_of_each_section(of_sections: Sequence[TableOfSection]) -> dict[Section, TableOfSection]:
    """Return the table of each section; refuse two of one section whose columns differ."""
    of_section: dict[Section, TableOfSection] = {}
    for each in of_sections:
        other = of_section.setdefault(each.section, each)
        if other is not each:
            raise SourceError(
                str(each.table.path),
                f"a second table of {each.section} with other columns",
                expected=f"the columns of {other.table.path.name}: {', '.join(other.table.names)}",
                got=", ".join(each.table.names),
                way_out="join the two by their task and time, rename its columns, or leave one out",
            )
    return of_section


def _reconcile_identities(of_section: dict[Section, TableOfSection]) -> None:
    """Leave out wider levels of the names of tasks that only one of two tables has, where names stay unique."""
    if not {"usage", "tasks"} <= of_section.keys():
        return
    usage, tasks = of_section["usage"], of_section["tasks"]
    for level in _WIDER_LEVELS:
        if level in usage.identity and level not in tasks.identity:
            usage = _without_level(usage, level, tasks)
        elif level in tasks.identity and level not in usage.identity:
            tasks = _without_level(tasks, level, usage)
    if (
        usage.identity.keys() - tasks.identity.keys()
        and tasks.identity.keys() - usage.identity.keys()
    ):
        raise UsageError(
            str(tasks.table.path),
            "its tasks cannot be found in the usage",
            expected=f"columns such as {', '.join(usage.identity.values())}, as in {usage.table.path.name}",
            got=", ".join(tasks.identity.values()),
            way_out="add a column to one of the two, so that one names all that the other does",
        )
    of_section["usage"] = usage
    of_section["tasks"] = tasks


def _without_level(mine: TableOfSection, level: str, theirs: TableOfSection) -> TableOfSection:
    column = mine.identity[level]
    rest = {key: name for key, name in mine.identity.items() if key != level}
    if not rest:
        return mine
    wider_of_name: dict[tuple[str, ...], set[str]] = {}
    names = zip(*(mine.table.column(name).texts for name in rest.values()), strict=True)
    for name, wider in zip(names, mine.table.column(column).texts, strict=True):
        wider_of_name.setdefault(name, set()).add(wider)
    doubled = next((name for name, wider in wider_of_name.items() if len(wider) > 1), None)
    if doubled is not None:
        raise UsageError(
            str(theirs.table.path),
            f"has no {column}, by which {mine.table.path.name} tells tasks apart",
            expected=f"a column {column}",
            got=f"{'/'.join(doubled)} in {len(wider_of_name[doubled])} of them",
            way_out=f"add {column} to it",
        )
    return mine._replace(identity=rest)


def _require_one_spelling(
    of_section: Mapping[Section, TableOfSection],
    drafts: Mapping[Section, Draft],
) -> None:
    """Refuse files whose numbers or times cannot be read by one declaration."""
    spellings = {}
    clocks = {}
    for name, draft in drafts.items():
        table = of_section[name].table
        marks = [
            f'{key} = "{draft.declaration[key]}"'
            for key in ("decimal", "thousands")
            if key in draft.declaration
        ]
        if marks or _has_points(table):
            spellings[table.path] = ", ".join(marks) or 'decimal = "."'
        if "clock" in draft.declaration:
            clocks[table.path] = f'clock = "{draft.declaration["clock"]}"'
    _require_equal(spellings, "numbers are written in two ways")
    _require_equal(clocks, "times count from two starts")


def _has_points(table: SniffedTable) -> bool:
    """Return whether any amount has a fraction that begins with a point."""
    usage, asides = resource_amounts(table.columns)
    names = {*usage.values(), *asides}
    amounts = [read_amounts(column) for column in table.columns if column.name in names]
    return any(number is not None and number % 1 for each in amounts for number in each.numbers)


def _require_equal(texts: Mapping[Path, str], what: str) -> None:
    for path, text in texts.items():
        first = next(iter(texts))
        if text != texts[first]:
            raise UsageError(
                str(path),
                what,
                expected=f"as in {first.name}: {texts[first]}",
                got=text,
                way_out="write both in one way",
            )


def _of_file(draft: Draft, path: Path) -> list[OpenQuestion]:
    """Return what is asked about the columns of one of several files."""
    return [
        question._replace(about=f"{question.about} of {path.name}") for question in draft.questions
    ]


def _join(of_section: Mapping[Section, TableOfSection], drafts: Mapping[Section, Draft]) -> Draft:
    """Put the drafts of all sections into one."""
    joint = Draft()
    sections: dict[str, Any] = {}
    for section, draft in drafts.items():
        path = of_section[section].table.path
        for name, value in draft.declaration.items():
            if name in _ORDER:
                sections[name] = value
            else:
                joint.declaration.setdefault(name, value)
        joint.remarks |= draft.remarks
        joint.questions += draft.questions if len(drafts) == 1 else _of_file(draft, path)
        joint.columns += [column._replace(section=section) for column in draft.columns]
    joint.declaration |= sections
    return joint


def _settle_tasks(of_section: Mapping[Section, TableOfSection], draft: Draft) -> None:
    """Name tasks in both sections alike, and say what becomes of what is said of pods or of containers."""
    usage, tasks = of_section["usage"], of_section["tasks"]
    for name, each in (("usage", usage), ("tasks", tasks)):
        draft.declaration[name]["task"] = task_entry(each.identity)
    narrower = [column for level, column in usage.identity.items() if level not in tasks.identity]
    wider = [column for level, column in tasks.identity.items() if level not in usage.identity]
    file_of_tasks, file_of_usage = tasks.table.path.name, usage.table.path.name
    if narrower:
        draft.remarks["tasks.task"] = (
            f"{file_of_tasks} has no {narrower[0]}: what it says of a task goes to each of those in {file_of_usage}, "
            "its request only where there is one"
        )
    elif wider:
        draft.remarks["tasks.task"] = (
            f"{file_of_usage} has no {wider[0]}: requests of those in {file_of_tasks} are added up"
        )
    _drop_doubled_requests(draft)


def _drop_doubled_requests(draft: Draft) -> None:
    """Leave out of [tasks] what rows of usage say as well: they say it of their time."""
    for resource, kind in product(RESOURCES, ("request", "limit")):
        role = f"{resource}_{kind}"
        if role in draft.declaration["usage"] and role in draft.declaration["tasks"]:
            entry = draft.declaration["tasks"].pop(role)
            draft.remarks.pop(f"tasks.{role}", None)
            draft.remarks[f"tasks {role}"] = (
                f"column {entry['column']}: not read, as rows of usage say the {kind}"
            )
