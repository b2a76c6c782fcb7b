"""A format of own data, declared by a small file: which column is what, in which unit."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Conversion, Dialect
from borgtrace.schema.dialects.units import CPU, CPU_TIME, ISO, MEMORY, TIMES, Units
from borgtrace.schema.enums import TERMINAL_EVENTS
from borgtrace.schema.records import RECORDS
from borgtrace.schema.time import parse_time

KINDS = ("average", "instant", "counter")
"""What a measurement of usage may be: nothing in a file of numbers tells, and the three differ in what they allow."""
_SECTIONS = {"usage": "usage_rows", "tasks": "task_rows", "machines": "machine_rows"}
_NEEDED = {"usage": ("task", "time"), "tasks": ("task",), "machines": ("machine",)}
_TOP = ("name", "title", "clock", "step", "label", "window", *_SECTIONS)
_KEYS = ("column", "unit", "kind", "zone", "missing", "codes")


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
    check_names(where, declaration, _TOP, "unknown entry")
    fields = {
        name: _fields(declaration[name], name, where) for name in _SECTIONS if name in declaration
    }
    if not fields:
        way_out = "write a first draft: borgtrace dialect sniff FILE"
        raise UsageError(
            where, "nothing is declared", expected="[usage], [tasks] or [machines]", way_out=way_out
        )
    tables = {name: _raw_table(name, found) for name, found in fields.items()}
    text = json.dumps(declaration, sort_keys=True, default=str)
    # Its content is part of its name: two formats that differ never pass for one.
    name = f"{_word(declaration, where)}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    status = fields.get("tasks", {}).get("status", {})
    return converted_dialect(
        name,
        title=str(declaration.get("title", "Own trace")),
        tables=tables,
        conversion=_conversion(declaration, fields, where),
        codes={"event_type": {**STEPS, **_codes(status, where)}},
        formats=("csv", "json", "parquet"),
        none=_missing(fields, where),
    )


def _word(declaration: Mapping[str, Any], where: str) -> str:
    name = str(declaration.get("name", "own"))
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name):
        raise UsageError(
            f"{where}: name", "not a name", expected="small letters, digits and -", got=repr(name)
        )
    return name


def _fields(section: Any, name: str, where: str) -> dict[str, dict[str, Any]]:
    """Return what a section says of each of its columns, a lone text being the name of the column in the file."""
    where = f"{where}: {name}"
    if not isinstance(section, Mapping):
        raise UsageError(
            where, "not a section", expected='lines such as task = "pod"', got=repr(section)
        )
    columns = RECORDS[_SECTIONS[name]].names
    known = [each for each in columns if not each.startswith(("average_", "instant_", "counter_"))]
    known += ["cpu", "memory"] if name == "usage" else []
    check_names(where, section, known, "unknown column")
    for needed in _NEEDED[name]:
        if needed not in section:
            raise UsageError(
                where, f"no {needed}", way_out=f'add {needed} = "the name of its column"'
            )
    fields = {
        key: dict(value) if isinstance(value, Mapping) else {"column": value}
        for key, value in section.items()
    }
    for key, value in fields.items():
        check_names(f"{where}.{key}", value, _KEYS, "unknown entry")
        if not isinstance(value.get("column"), str):
            raise UsageError(
                f"{where}.{key}",
                "no column",
                way_out='add column = "the name of the column in the file"',
            )
        if set(value["column"]) & set("'\"\\"):
            raise UsageError(
                f"{where}.{key}", "a column with quotes in its name", got=value["column"]
            )
        value["factor"], value["of"] = _unit(f"{where}.{key}", key, value, name)
        value["fills"] = f"{value['kind']}_{key}" if _has_kind(name, key) else key
    return fields


def _has_kind(section: str, key: str) -> bool:
    return section == "usage" and key in ("cpu", "memory")


def _unit(where: str, key: str, value: Mapping[str, Any], section: str) -> tuple[float, str]:
    if _has_kind(section, key):
        expected = (
            "one of average, instant (a sample of one moment) or counter (a total that grows)"
        )
        if value.get("kind") not in KINDS[: 3 if key == "cpu" else 2]:
            got = value.get("kind", "none")
            raise UsageError(
                where, "what is it", expected=expected, got=str(got), way_out='add kind = "average"'
            )
    column = next(
        (c for c in RECORDS[_SECTIONS[section]].columns if c.name in (key, f"average_{key}")), None
    )
    unit = column.unit if column else ""
    units = CPU_TIME if value.get("kind") == "counter" else _UNITS.get(unit)
    if units is None:
        return 1, ""
    named = value.get("unit", "none")
    if unit == "us" and named == ISO:
        return 1, ""
    if named not in units:
        known = [*units, *([ISO] if unit == "us" else [])]
        way_out = f'add unit = "{known[0]}", or what it is'
        raise UsageError(
            where,
            "no such unit",
            expected=f"one of {', '.join(known)}",
            got=str(named),
            way_out=way_out,
        )
    return units[named]


_UNITS: Mapping[str, Units] = {"us": TIMES, "cores": CPU, "bytes": MEMORY}


def _raw_table(section: str, fields: Mapping[str, dict[str, Any]]) -> RawTable:
    record = RECORDS[_SECTIONS[section]]
    # The end of a window may be the same column as something else; a field is listed once for each that it fills.
    listed = [
        RawField(
            value["column"],
            value["fills"],
            is_mandatory=not record.column(value["fills"]).nullable or key in _NEEDED[section],
            scale=value["factor"],
            zone=value.get("zone", "UTC") if value.get("unit") == ISO else "",
        )
        for key, value in fields.items()
    ]
    return RawTable(section, record.name, tuple(listed))


def _codes(status: Mapping[str, Any], where: str) -> dict[str, str]:
    codes = status.get("codes", {})
    for word, event in codes.items():
        check_names(f"{where}: tasks.status.codes.{word}", [event], TERMINAL_EVENTS, "not an end")
    if status and not codes:
        way_out = 'add codes = { Succeeded = "FINISH", Failed = "FAIL" }'
        raise UsageError(f"{where}: tasks.status", "what do its words mean", way_out=way_out)
    return {str(word): str(event) for word, event in codes.items()}


def _missing(
    fields: Mapping[str, Mapping[str, dict[str, Any]]], where: str
) -> dict[str, tuple[int, ...]]:
    found = {}
    for name, section in fields.items():
        for key, value in section.items():
            numbers: Sequence[Any] = value.get("missing", ())
            if not isinstance(numbers, list | tuple) or not all(
                type(each) is int for each in numbers
            ):
                raise UsageError(
                    f"{where}: {name}.{key}.missing",
                    "not a list of whole numbers",
                    got=repr(numbers),
                )
            if numbers:
                found[value["fills"]] = tuple(numbers)
    return found


def _conversion(
    declaration: Mapping[str, Any], fields: Mapping[str, Any], where: str
) -> Conversion:
    usage, tasks = fields.get("usage", {}), fields.get("tasks", {})
    times = {
        value.get("unit") == ISO
        for section in fields.values()
        for value in section.values()
        if _is_time(value)
    }
    clock = declaration.get("clock", "epoch" if True in times else None)
    if clock not in ("epoch", "relative"):
        way_out = 'add clock = "epoch" where times are since 1970, else clock = "relative"'
        raise UsageError(
            where, "which clock", expected="epoch or relative", got=str(clock), way_out=way_out
        )
    if True in times and clock == "relative":
        raise UsageError(
            f"{where}: clock", "dates are no times since a start", expected="epoch", got="relative"
        )
    step, window = (_time_of(declaration, name, where) for name in ("step", "window"))
    if usage and not step and not {"end", "length"} & set(usage):
        way_out = 'add step = "300s", how long the window of a row is'
        raise UsageError(where, "no end of a window", way_out=way_out)
    label = declaration.get("label", "start")
    check_names(f"{where}: label", [label], ("start", "end"))
    of = {
        name: usage[name]["of"] for name in ("cpu", "memory") if name in usage and usage[name]["of"]
    }
    for name, what in of.items():
        if what == "request" and f"{name}_request" not in tasks:
            way_out = f"add {name}_request to [tasks], or another unit"
            raise UsageError(
                f"{where}: usage.{name}",
                "a share of a request that no column gives",
                way_out=way_out,
            )
    return Conversion(clock=clock, step=step, label=label, window=window, of=of)


def _is_time(value: Mapping[str, Any]) -> bool:
    if value.get("unit") == ISO:
        try:
            ZoneInfo(value.get("zone", "UTC"))
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise UsageError(
                "zone", "no such time zone", got=str(value["zone"]), way_out='try "UTC"'
            ) from error
    return value["fills"] in ("time", "end", "submit", "start")


def _time_of(declaration: Mapping[str, Any], name: str, where: str) -> int | None:
    return parse_time(str(declaration[name]), f"{where}: {name}") if name in declaration else None
