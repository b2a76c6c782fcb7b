"""What a raw table is: its fields, and the canonical column that each of them fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from borgtrace.schema.data_files import read_paragraphs
from borgtrace.schema.dialects.units import CPU, MEMORY, TIMES


@dataclass(frozen=True, slots=True)
class Absent:
    """A column that a dialect does not publish, and why."""

    reason: str


Source = str | Absent
"""``"task_usage.6"`` (raw table and 1-based field) or ``"instance_usage.average_usage.cpus"`` (raw table and path),
or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class RawField:
    """One field of a raw table.

    Parameters
    ----------
    name
        Its published name; a path such as ``average_usage.cpus`` for a field of a nested record.
    column
        The canonical column it fills; ``""`` where none does.
    is_mandatory
        Whether a row without it is refused.
    format
        The publisher's own word for its type, where files of the trace say it.
    keeps_empty
        Whether empty text is a value of its own rather than NULL.
    pattern
        Regular expression of its text, where the number of fields alone does not tell the table.
    scale, offset
        What a raw number is multiplied by, and what is added then, to have the canonical unit: seconds from 0 become µs
        from `TRACE_START` with 1_000_000 and 600_000_000.
    words
        Words that stand for numbers, each with its number: the last of several buckets is such a word.
    zone
        For dates and times as text: the time zone of those that do not say theirs; ``""`` where the field is a number.
    """

    name: str
    column: str
    is_mandatory: bool = False
    format: str = ""
    keeps_empty: bool = False
    pattern: str = ""
    scale: float = 1
    offset: int = 0
    zone: str = ""
    words: tuple[tuple[str, float], ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """Names from the record's root to the value."""
        return tuple(self.name.split("."))


@dataclass(frozen=True, eq=False)
class RawTable:
    """One raw table and the canonical table its rows go to.

    Parameters
    ----------
    name
        Name of its files or folder.
    table
        The canonical table.
    fields
        In published order.
    is_positional
        Whether fields are known by their place (delimited text without a header) or by name.
    optional
        How many of the last fields older versions lack.
    parts
        How many files are published, where that is fixed.
    lists
        Lists of records inside a row that become rows of another table; they inherit the row's own columns.
    spellings
        Other spellings of names, each with the name.
    """

    name: str
    table: str
    fields: tuple[RawField, ...]
    is_positional: bool = False
    optional: int = 0
    parts: int | None = None
    lists: tuple[RawTable, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    @property
    def field_counts(self) -> tuple[int, ...]:
        """Numbers of fields that a row may have."""
        # A set first: where nothing is optional both numbers are the same.
        return tuple(sorted({len(self.fields) - self.optional, len(self.fields)}))

    @property
    def mandatory(self) -> tuple[str, ...]:
        """Names of the fields without which a row is refused."""
        return tuple(item.name for item in self.fields if item.is_mandatory)

    @property
    def names(self) -> tuple[str, ...]:
        """Names at the root of a record, those of lists among them."""
        names = [*(item.path[0] for item in self.fields), *(inner.name for inner in self.lists)]
        # Each name once, in order: the fields of one record share its name.
        return tuple(dict.fromkeys(names))

    def source(self, table: str, column: str) -> str | None:
        """Return where this raw table publishes a column of a canonical table, or None.

        Parameters
        ----------
        table
            The canonical table.
        column
            One of its columns.
        """
        for inner in self.lists:
            if inner.table == table:
                found = inner.source(table, column)
                # What an item lacks (ids, time) it has from the row around it.
                return f"{self.name}.{found}" if found else self.source(self.table, column)
        if self.table != table:
            return None
        for number, item in enumerate(self.fields, 1):
            if item.column == column:
                return f"{self.name}.{number if self.is_positional else item.name}"
        return None


# Base64 of a SHA-256 has 43 letters and one "="; Azure's encrypted ids are Base64 of 48 bytes.
_MARKS: Mapping[str, Mapping[str, Any]] = {
    "number": {"pattern": r"\d+"},
    "hash": {"pattern": r"[A-Za-z0-9+/]{43}="},
    "encrypted": {"pattern": r"[A-Za-z0-9+/=]{24,}"},
    # m_12, c_7, j_190: a letter for what it is of.
    "lettered": {"pattern": r"[a-z]_\d+"},
    "keeps_empty": {"keeps_empty": True},
}
_UNITS = {**TIMES, **CPU, **MEMORY}


def read_tables(trace: str, *, is_positional: bool = False) -> dict[str, RawTable]:
    """Read the raw tables of a trace from ``TRACE.fields``: a paragraph each, its parts divided by |.

    The first line names the table, the canonical one (``outer.name`` for a list in the rows of another), how many files
    are published and how many fields are optional.  A line of a field says its name, format, whether it is mandatory,
    its column, and perhaps marks: what tells its file from others of that width, that it keeps empty text, its unit
    (``unit=GiB``), a word that stands for a number (``word=>24=30``).

    Parameters
    ----------
    trace
        Name of the file.
    is_positional
        Whether fields are known by their place.
    """
    found: dict[str, RawTable] = {}
    for paragraph in read_paragraphs(Path(__file__).with_name(f"{trace}.fields")):
        (name, table, parts, optional), *fields = (line.split("|") for line in paragraph)
        outer, _, inner = name.rpartition(".")
        raw = RawTable(
            inner, table, tuple(_field(*f) for f in fields), is_positional, int(optional)
        )
        if outer:
            found[outer] = replace(found[outer], lists=(raw,))
        else:
            found[name] = replace(raw, parts=int(parts) if parts else None)
    return found


def _field(name: str, format: str, mandatory: str, column: str, *marks: str) -> RawField:
    facts: dict[str, Any] = {}
    for mark in marks:
        kind, _, value = mark.partition("=")
        if kind == "unit":
            facts["scale"] = _UNITS[value][0]
        elif kind == "word":
            word, _, number = value.rpartition("=")
            facts["words"] = ((word, float(number)),)
        else:
            facts |= _MARKS[mark]
    return RawField(name, column, mandatory == "Y", format, **facts)


@dataclass(frozen=True, slots=True)
class Flattened:
    """A delimited file with a header, each row of which joins one record of each of several tables.

    Parameters
    ----------
    header
        Columns by which such a file is known.
    cell
        The column that names the cell of a row.
    table
        The canonical table whose rows the ledger counts.
    renamed
        Columns that carry another name than the field they hold: (raw table, field) → column.
    literals
        Fields that are printed as Python literals: records and lists.
    """

    header: frozenset[str]
    cell: str
    table: str
    renamed: Mapping[tuple[str, str], str]
    literals: frozenset[str]
