"""A format of own data, declared by a small TOML file: which column is what, in which unit."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Conversion, Dialect
from borgtrace.schema.dialects.units import CPU, CPU_TIME, ISO, MEMORY, TIMES, RawUnit, Units
from borgtrace.schema.enums import TERMINAL_EVENTS
from borgtrace.schema.records import MACHINE_ROWS, TASK_ROWS, USAGE_ROWS
from borgtrace.schema.time import parse_time
from borgtrace.schema.types import RecordName, Table, Unit

KINDS_OF_CPU = ("average", "instant", "counter")
KINDS_OF_MEMORY = ("average", "instant")
"""What a measurement of usage may be: nothing in a file of numbers tells, and they differ in what they allow."""

_TOP_ENTRIES = ("name", "title", "clock", "step", "label", "window", "usage", "tasks", "machines")
_FIELD_ENTRIES = ("column", "unit", "kind", "zone", "missing", "codes")
_TIMES_OF_ROWS = ("time", "end", "submit", "start")
"""Columns that are instants rather than lengths of time."""
_UNITS_OF_COLUMNS: Mapping[Unit, Units] = {
    "us": TIMES,
    "cores": CPU,
    "bytes": MEMORY,
}
"""Units that a column may be declared in, by the unit that it is stored in."""


@dataclass(frozen=True, slots=True)
class DeclaredSection:
    """A section that a declaration may have: the rows that it describes, and columns that it must name."""

    name: str
    rows: Table
    record: RecordName
    needed: tuple[str, ...]

    @property
    def known_columns(self) -> tuple[str, ...]:
        """Names that may be declared: of measurements without their kind, which is an entry of its own."""
        kinds = tuple(f"{kind}_" for kind in KINDS_OF_CPU)
        names = tuple(name for name in self.rows.names if not name.startswith(kinds))
        return (*names, "cpu", "memory") if self.name == "usage" else names

    def kinds(self, column: str) -> tuple[str, ...]:
        """Return the kinds of which one has to be declared for a column; none for most."""
        if self.name != "usage":
            return ()
        return {"cpu": KINDS_OF_CPU, "memory": KINDS_OF_MEMORY}.get(column, ())

    def stored_unit(self, column: str) -> Unit:
        """Return the unit that a column is stored in."""
        for candidate in self.rows.columns:
            if candidate.name in (column, f"average_{column}"):
                return candidate.unit
        return ""


SECTIONS = (
    DeclaredSection("usage", USAGE_ROWS, "usage_rows", needed=("task", "time")),
    DeclaredSection("tasks", TASK_ROWS, "task_rows", needed=("task",)),
    DeclaredSection("machines", MACHINE_ROWS, "machine_rows", needed=("machine",)),
)


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """What a declaration says of one column.

    Parameters
    ----------
    where
        Its entry, for errors.
    column
        Name of the column in the data.
    fills
        The column of converted rows that it fills.
    unit
        Its unit, with the factor to the unit that is stored.
    is_text_time
        Whether it is a date and time as text.
    entries
        All that is said of it, as it is written.
    """

    where: str
    column: str
    fills: str
    unit: RawUnit
    is_text_time: bool
    entries: Mapping[str, Any]

    @property
    def zone(self) -> str:
        """Time zone of dates and times that do not name one; empty for numbers."""
        return str(self.entries.get("zone", "UTC")) if self.is_text_time else ""


Fields = Mapping[str, DeclaredField]
"""What a section says of its columns, by their names in the declaration."""


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
        tables={section.name: _raw_table(section, fields[section.name]) for section in sections},
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
    return {name: _read_field(section, name, entry, where) for name, entry in entries.items()}


def _read_field(
    section: DeclaredSection,
    name: str,
    entry: Any,
    where: str,
) -> DeclaredField:
    where = f"{where}.{name}"
    # A lone text is the name of the column in the file.
    entries = entry if isinstance(entry, Mapping) else {"column": entry}
    check_names(where, entries, _FIELD_ENTRIES, "unknown entry")
    column = entries.get("column")
    if not isinstance(column, str):
        raise UsageError(
            where,
            "no column",
            way_out='add column = "the name of the column in the file"',
        )
    kind = _kind(section.kinds(name), entries, where)
    return DeclaredField(
        where=where,
        column=column,
        fills=f"{kind}_{name}" if kind else name,
        unit=_unit(section.stored_unit(name), kind, entries, where),
        is_text_time=entries.get("unit") == ISO,
        entries=entries,
    )


def _kind(allowed: tuple[str, ...], entries: Mapping[str, Any], where: str) -> str:
    """Return the kind of a measurement; empty for a column that has none."""
    if not allowed:
        return ""
    kind = entries.get("kind")
    if kind not in allowed:
        raise UsageError(
            where,
            "what is it",
            expected="one of average, instant (a sample of one moment) or counter (a total that grows)",
            got=str(entries.get("kind", "none")),
            way_out='add kind = "average"',
        )
    return str(kind)


def _unit(
    stored: Unit,
    kind: str,
    entries: Mapping[str, Any],
    where: str,
) -> RawUnit:
    units = CPU_TIME if kind == "counter" else _UNITS_OF_COLUMNS.get(stored)
    if units is None:
        return RawUnit(1)
    name = entries.get("unit", "none")
    may_be_text = stored == "us"
    if may_be_text and name == ISO:
        return RawUnit(1)
    if name not in units:
        known = [*units, ISO] if may_be_text else [*units]
        raise UsageError(
            where,
            "no such unit",
            expected=f"one of {', '.join(known)}",
            got=str(name),
            way_out=f'add unit = "{known[0]}", or what it is',
        )
    return units[name]


def _raw_table(section: DeclaredSection, fields: Fields) -> RawTable:
    # One column of the data may fill several columns: it is then listed once for each.
    raw_fields = [
        RawField(
            field.column,
            field.fills,
            is_mandatory=name in section.needed or not section.rows.column(field.fills).nullable,
            scale=field.unit.factor,
            zone=field.zone,
            is_whole=True,
        )
        for name, field in fields.items()
    ]
    return RawTable(section.name, section.record, tuple(raw_fields))


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
    )


def _clock(declaration: Mapping[str, Any], sections: Mapping[str, Fields], where: str) -> Any:
    """Return which clock times are on: dates as text can only be since 1970."""
    text_times = [field for field in _all_fields(sections) if field.is_text_time]
    for field in text_times:
        _check_zone(field.zone)
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


def _check_zone(zone: str) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise UsageError("zone", "no such time zone", got=zone, way_out='try "UTC"') from error


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
        if field.unit.share_of == "request" and f"{name}_request" not in tasks:
            raise UsageError(
                field.where,
                "a share of a request that no column gives",
                way_out=f"add {name}_request to [tasks], or another unit",
            )
        shares[name] = field.unit.share_of
    return shares


def _all_fields(sections: Mapping[str, Fields]) -> Iterable[DeclaredField]:
    return (field for fields in sections.values() for field in fields.values())
