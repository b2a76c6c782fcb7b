"""A format of own data, declared by a small TOML file: which column is what, in which unit."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.dialects.declared_field import (
    DeclaredField,
    DeclaredSection,
    Fields,
    read_field,
)
from borgtrace.schema.dialects.raw import NumberSpelling, RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Conversion, Dialect
from borgtrace.schema.enums import TERMINAL_EVENTS
from borgtrace.schema.records import MACHINE_ROWS, TASK_ROWS, USAGE_ROWS
from borgtrace.schema.time import check_time_zone, parse_time
from borgtrace.schema.types import Column

_TOP_ENTRIES = (
    "name",
    "title",
    "clock",
    "step",
    "label",
    "window",
    "decimal",
    "thousands",
    "usage",
    "tasks",
    "machines",
)
_DECIMAL_MARKS = (".", ",")
_THOUSANDS_MARKS = ("", ",", ".", " ", "'", "_", "\u00a0", "\u202f")
_TIMES_OF_ROWS = ("time", "end", "submit", "start", "at")
"""Columns that are instants rather than lengths of time."""
_LIMITS = ("cpu_limit", "memory_limit")
_MEASURED = ("_cpu", "_memory")
"""Ends of the names of columns of which a file of usage has one."""


WORDS_FOR_NO_LIMIT = ("unlimited", "Unlimited", "max", "infinity", "inf", "no limit")
"""Words that stand where a limit would be if there were one."""
_NO_LIMIT = tuple((word, 0.0) for word in WORDS_FOR_NO_LIMIT)
SECTIONS = (
    DeclaredSection("usage", USAGE_ROWS, "usage_rows", needed=("task", "time")),
    DeclaredSection("tasks", TASK_ROWS, "task_rows", needed=("task",)),
    DeclaredSection("machines", MACHINE_ROWS, "machine_rows", needed=("machine",)),
)


def declared_dialect(declaration: Mapping[str, Any], where: str) -> Dialect:
    """Make a trace format of what a file declares.

    Parameters
    ----------
    declaration
        Sections ``usage``, ``tasks`` and ``machines``, and what is said of all of them.
    where
        The file, for errors.

    Raises
    ------
    UsageError
        It names the entry, what is allowed there, and what to add.
    """
    check_names(where, declaration, _TOP_ENTRIES, "unknown entry")
    sections = [section for section in SECTIONS if section.name in declaration]
    fields = {
        section.name: _read_section(section, declaration[section.name], f"{where}: {section.name}")
        for section in sections
    }
    if not sections:
        raise UsageError(
            where,
            "nothing is declared",
            expected="[usage], [tasks] or [machines]",
            way_out="write a first draft: borgtrace dialect sniff FILE",
        )
    name = _unique_name(declaration, where)
    conversion = _conversion(declaration, fields, where)
    status = fields.get("tasks", {}).get("status")
    return Dialect(
        name=name,
        title=str(declaration.get("title", "Own trace")),
        tables={
            section.name: _raw_table(section, fields[section.name], _marks(declaration, where))
            for section in sections
        },
        formats=("csv", "json", "parquet"),
        codes={"event_type": {**EVENTS_FROM_TIMES, **_end_codes(status, where)}},
        none=_missing_numbers(fields),
        conversion=conversion,
    )


def _unique_name(declaration: Mapping[str, Any], where: str) -> str:
    """Return the declared name with a digest of the content: two formats that differ never pass for one."""
    name = str(declaration.get("name", "own"))
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name):
        raise UsageError(
            f"{where}: name",
            "not a name",
            expected="small letters, digits and -",
            got=repr(name),
        )
    content = json.dumps(declaration, sort_keys=True, default=str)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f"{name}-{digest[:6]}"


def _read_section(section: DeclaredSection, entries: Any, where: str) -> Fields:
    """Return what a section says of each of its columns."""
    if not isinstance(entries, Mapping):
        raise UsageError(
            where,
            "not a section",
            expected='lines such as task = "pod"',
            got=repr(entries),
        )
    check_names(where, entries, section.known_columns, "unknown column")
    for needed in section.needed:
        if needed not in entries:
            raise UsageError(
                where,
                f"no {needed}",
                way_out=f'add {needed} = "the name of its column"',
            )
    return {name: read_field(section, name, entry, where) for name, entry in entries.items()}


def _marks(declaration: Mapping[str, Any], where: str) -> NumberSpelling:
    """Return the marks inside of numbers."""
    decimal = declaration.get("decimal", ".")
    thousands = declaration.get("thousands", "")
    check_names(f"{where}: decimal", [decimal], _DECIMAL_MARKS, "not a decimal mark")
    check_names(f"{where}: thousands", [thousands], _THOUSANDS_MARKS, "not a mark of thousands")
    if decimal == thousands:
        raise UsageError(
            f"{where}: thousands",
            "the same as the decimal mark",
            got=repr(thousands),
            way_out="remove it, or correct one of the two",
        )
    return NumberSpelling(str(decimal), str(thousands))


def _raw_table(section: DeclaredSection, fields: Fields, marks: NumberSpelling) -> RawTable:
    # One column of the data may fill several columns: it is then listed once for each.
    raw_fields = []
    for name, field in fields.items():
        column, *joined = field.columns
        raw_fields.append(
            RawField(
                column,
                field.fills,
                is_mandatory=name in section.needed
                or not section.rows.column(field.fills).nullable,
                scale=field.unit.factor,
                zone=field.zone,
                date_form=field.date_form if field.is_text_time else "",
                spelling=_spelling(section.rows.column(field.fills), field, marks),
                joined=tuple(joined),
                is_whole=True,
                words=_NO_LIMIT if field.fills in _LIMITS else (),
            )
        )
    listed = {raw_field.name for raw_field in raw_fields}
    for field in fields.values():
        for column in field.columns:
            # Without these columns a file is none of this format.
            if column not in listed:
                raw_fields.append(RawField(column, is_mandatory=True, is_whole=True))
                listed.add(column)
    measured = tuple(
        raw_field.name for raw_field in raw_fields if raw_field.column.endswith(_MEASURED)
    )
    is_usage = section.name == "usage"
    return RawTable(
        section.name,
        section.record,
        tuple(raw_fields),
        marks=measured if is_usage else (),
    )


def _spelling(column: Column, field: DeclaredField, marks: NumberSpelling) -> NumberSpelling | None:
    """Return how the numbers of a column are written; None where as programs do."""
    if column.type in ("string", "enum") or field.is_text_time:
        return None
    spelling = replace(
        marks,
        suffixes=field.suffixes or marks.suffixes,
        has_limit=field.has_limit,
    )
    return spelling if spelling != NumberSpelling() else None


def _end_codes(status: DeclaredField | None, where: str) -> dict[str, str]:
    """Return which event each word of a column about the ends of tasks means."""
    if status is None:
        return {}
    codes = status.entries.get("codes", {})
    if not codes or not isinstance(codes, Mapping):
        raise UsageError(
            f"{where}: tasks.status",
            "what do its words mean",
            way_out='add codes = { Succeeded = "FINISH", Failed = "FAIL" }',
        )
    for word, event in codes.items():
        check_names(f"{where}: tasks.status.codes.{word}", [event], TERMINAL_EVENTS, "not an end")
    return {str(word): str(event) for word, event in codes.items()}


def _missing_numbers(sections: Mapping[str, Fields]) -> dict[str, tuple[int, ...]]:
    """Return the numbers that stand for "none", by the column that they would fill."""
    missing = {}
    for field in _all_fields(sections):
        numbers = field.entries.get("missing", ())
        is_list = isinstance(numbers, list | tuple)
        # By type: True is an int for isinstance.
        if not is_list or any(type(number) is not int for number in numbers):
            raise UsageError(
                f"{field.where}.missing",
                "not a list of whole numbers",
                got=repr(numbers),
            )
        if numbers:
            missing[field.fills] = tuple(numbers)
    return missing


def _conversion(
    declaration: Mapping[str, Any], sections: Mapping[str, Fields], where: str
) -> Conversion:
    clock = _clock(declaration, sections, where)
    usage = sections.get("usage", {})
    step = _optional_time(declaration, "step", where)
    window = _optional_time(declaration, "window", where)
    if usage and not step and "end" not in usage and "length" not in usage:
        raise UsageError(
            where,
            "no end of a window",
            way_out='add step = "300s", how long the window of a row is',
        )
    label = declaration.get("label", "start")
    check_names(f"{where}: label", [label], ("start", "end"))
    share_of = _shares(usage, sections.get("tasks", {}))
    return Conversion(
        clock=clock,
        step=step,
        label=label,
        window=window,
        share_of=share_of,
        is_mixed=True,
        n_narrower=_n_narrower(usage, sections.get("tasks", {})),
    )


def _n_narrower(usage: Fields, tasks: Fields) -> int:
    """Return by how many parts names of tasks in usage are longer than in rows about tasks."""
    if not usage or not tasks:
        return 0
    return len(usage["task"].columns) - len(tasks["task"].columns)


def _clock(declaration: Mapping[str, Any], sections: Mapping[str, Fields], where: str) -> Any:
    """Return which clock times are on: dates as text can only be since 1970."""
    text_times = [field for field in _all_fields(sections) if field.is_text_time]
    for field in text_times:
        check_time_zone("zone", field.zone)
    has_dates = any(field.fills in _TIMES_OF_ROWS for field in text_times)
    clock = declaration.get("clock", "epoch" if has_dates else None)
    if clock not in ("epoch", "relative"):
        raise UsageError(
            where,
            "which clock",
            expected="epoch or relative",
            got=str(clock),
            way_out='add clock = "epoch" where times are since 1970, else clock = "relative"',
        )
    if has_dates and clock == "relative":
        raise UsageError(
            f"{where}: clock",
            "dates are no times since a start",
            expected="epoch",
            got="relative",
        )
    return clock


def _optional_time(declaration: Mapping[str, Any], name: str, where: str) -> int | None:
    if name not in declaration:
        return None
    return parse_time(str(declaration[name]), f"{where}: {name}")


def _shares(usage: Fields, tasks: Fields) -> dict[str, str]:
    """Return what usage of CPU and memory is a share of, for those of which it is one."""
    shares = {}
    for name in ("cpu", "memory"):
        field = usage.get(name)
        if field is None or not field.unit.share_of:
            continue
        is_request_known = any(f"{name}_request" in fields for fields in (usage, tasks))
        if field.unit.share_of == "request" and not is_request_known:
            raise UsageError(
                field.where,
                "a share of a request that no column gives",
                way_out=f"add {name}_request to [usage] or [tasks], or another unit",
            )
        shares[name] = field.unit.share_of
    return shares


def _all_fields(sections: Mapping[str, Fields]) -> Iterable[DeclaredField]:
    return (field for fields in sections.values() for field in fields.values())
