"""One entry of a declaration: the column of the data that it names, in which unit and written how."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.dialects.units import (
    CPU,
    CPU_SUFFIXES,
    CPU_TIME,
    DATES,
    ISO,
    MEMORY,
    MEMORY_SUFFIXES,
    PERCENT_SUFFIXES,
    QUANTITIES,
    QUANTITY_OF_LIMIT,
    TIMES,
    RawUnit,
    Suffixes,
    Units,
)
from borgtrace.schema.types import RecordName, Table, Unit

KINDS_OF_CPU = ("average", "instant", "counter")
KINDS_OF_MEMORY = ("average", "instant")
"""What a measurement of usage may be: nothing in a file of numbers tells, and they differ in what they allow."""

_FIELD_ENTRIES = ("column", "columns", "unit", "format", "kind", "zone", "missing", "codes")
_NAMES = ("task", "machine", "app", "job", "user")
"""Columns that are names: those that several columns of the data may make up together."""
_OF_PUBLISHED_TRACES: Mapping[str, tuple[str, ...]] = {
    "usage": ("job", "instance_name", "cpu_clock", "cpu_p", "assigned_memory", "sample_rate"),
    "tasks": ("kind", "n_restarts"),
}
"""Beginnings of columns, by section, that tables of published traces alone have."""
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
        not_declared = (*kinds, *_OF_PUBLISHED_TRACES.get(self.name, ()))
        names = tuple(name for name in self.rows.names if not name.startswith(not_declared))
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


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """What a declaration says of one column.

    Parameters
    ----------
    where
        Its entry, for errors.
    columns
        Name of the column in the data; of a name that several make up together, of each of them.
    fills
        The column of converted rows that it fills.
    unit
        Its unit, with the factor to the unit that is stored.
    is_text_time
        Whether it is a date and time, rather than a number since some start.
    suffixes
        What may stand behind its numbers.
    entries
        All that is said of it, as it is written.
    """

    where: str
    columns: tuple[str, ...]
    fills: str
    unit: RawUnit
    is_text_time: bool
    suffixes: Suffixes
    entries: Mapping[str, Any]

    @property
    def has_limit(self) -> bool:
        """Whether its amounts are followed by their limits."""
        return self.entries.get("unit") == QUANTITY_OF_LIMIT

    @property
    def zone(self) -> str:
        """Time zone of dates and times that do not name one; empty for numbers."""
        return str(self.entries.get("zone", "UTC")) if self.is_text_time else ""

    @property
    def date_form(self) -> str:
        """How its dates are written, as `RawField` has it."""
        unit = self.entries.get("unit")
        return str(self.entries.get("format", "" if unit == ISO else unit))


Fields = Mapping[str, DeclaredField]
"""What a section says of its columns, by their names in the declaration."""


def read_field(
    section: DeclaredSection,
    name: str,
    entry: Any,
    where: str,
) -> DeclaredField:
    """Read what a declaration says of one column.

    Parameters
    ----------
    section, name
        The section, and the column's name there.
    entry
        What is said: a name of the data, a list of names, or entries such as ``unit``.
    where
        The section, for errors.

    Raises
    ------
    UsageError
        It names the entry, and what is allowed there.
    """
    where = f"{where}.{name}"
    entries = _entries(entry)
    check_names(where, entries, _FIELD_ENTRIES, "unknown entry")
    kind = _kind(section.kinds(name), entries, where)
    stored = section.stored_unit(name)
    is_time = stored == "us"
    return DeclaredField(
        where=where,
        columns=_columns(name, entries, where),
        fills=f"{kind}_{name}" if kind else name,
        unit=_unit(stored, kind, entries, where),
        is_text_time=is_time and (entries.get("unit") in DATES or "format" in entries),
        suffixes=_suffixes(stored, entries),
        entries=entries,
    )


def _entries(entry: Any) -> Mapping[str, Any]:
    if isinstance(entry, Mapping):
        return entry
    # A lone text is the name of the column in the file, and a list those of several.
    return {"columns": entry} if isinstance(entry, list) else {"column": entry}


def _columns(name: str, entries: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the columns of the data that an entry names."""
    column = entries.get("column")
    if isinstance(column, str) and "columns" not in entries:
        return (column,)
    columns = entries.get("columns")
    if not isinstance(columns, list | tuple) or not columns or column is not None:
        raise UsageError(
            where,
            "no column",
            way_out='add column = "the name of the column in the file"',
        )
    if name not in _NAMES or not all(isinstance(each, str) for each in columns):
        raise UsageError(
            f"{where}.columns",
            "not several columns of a name",
            expected=f"names of columns, for one of {', '.join(_NAMES)}",
            got=repr(columns),
        )
    return tuple(columns)


def _suffixes(stored: Unit, entries: Mapping[str, Any]) -> Suffixes:
    """Return what may stand behind the numbers of a column."""
    unit = str(entries.get("unit", ""))
    if unit in QUANTITIES:
        return CPU_SUFFIXES if stored == "cores" else MEMORY_SUFFIXES
    return PERCENT_SUFFIXES if unit.startswith("percent_") else ()


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
    further = _further_units(stored, kind)
    if name in further or (stored == "us" and "format" in entries and "unit" not in entries):
        return RawUnit(1)
    if name not in units:
        known = [*units, *further]
        raise UsageError(
            where,
            "no such unit",
            expected=f"one of {', '.join(known)}",
            got=str(name),
            way_out=f'add unit = "{known[0]}", or what it is',
        )
    return units[name]


def _further_units(stored: Unit, kind: str) -> tuple[str, ...]:
    """Return the units of a column that are no factor: dates, and amounts that name their unit themselves."""
    if stored == "us":
        return DATES
    return QUANTITIES if stored in ("cores", "bytes") and kind != "counter" else ()
