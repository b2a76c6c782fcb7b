"""How the rows of one raw file become canonical columns: derived from the dialect and the declared tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from borgtrace.ingest.files.separators import DOUBLE_QUOTE
from borgtrace.ingest.files.sources import Source
from borgtrace.schema import Column, Dialect, RawField, RawTable, Table
from borgtrace.schema.dialects import Codes
from borgtrace.schema.records import row_of
from borgtrace.schema.records.shared_columns import LENGTHS, SHARE
from borgtrace.schema.types import Unit

MACHINE = "machine_id"
DEDICATED = "is_on_dedicated_machine"
_UNIT_OF_RESOURCE: dict[str, Unit] = {"cpu": "cores", "memory": "bytes"}


class NeedsValidation(Exception):  # noqa: N818 - a signal between two readers, not an error of the user's
    """The fast reader met something that only the validating reader can judge."""


@dataclass(frozen=True)
class Field:
    """One raw field and the canonical column it fills."""

    raw: RawField
    column: Column
    dialect: Dialect
    place: int
    """Its place in a row, from 1: in a line of delimited text, else among the fields of its raw table."""
    joined_places: tuple[int, ...] = ()
    """Places of further fields whose texts belong to its own."""

    @property
    def name(self) -> str:
        """Name of the canonical column."""
        return self.column.name

    @property
    def is_mandatory(self) -> bool:
        """Whether a row without a value is refused; empty text can be a value."""
        return self.raw.is_mandatory and not self.raw.keeps_empty

    @property
    def none(self) -> tuple[int, ...]:
        """Numbers that stand for "none"."""
        return self.dialect.none.get(self.name, ())

    @property
    def codes(self) -> Codes:
        """Names by code, of an enumeration."""
        enum = self.column.enum
        return self.dialect.codes.get(enum, {}) if enum else {}

    @property
    def is_scaled(self) -> bool:
        """Whether raw numbers have another unit, or another zero, than the column."""
        return (self.raw.scale, self.raw.offset) != (1, 0)

    @property
    def is_dated(self) -> bool:
        """Whether its times are dates as text."""
        return bool(self.raw.zone)

    @property
    def is_text(self) -> bool:
        """Whether it is read as text, though its column holds numbers: dates, and words among numbers."""
        return self.is_dated or bool(self.raw.words)

    @property
    def is_plain(self) -> bool:
        """Whether the fast readers can read it: a field of its own, whose numbers are written as programs do."""
        spelling = self.raw.spelling
        return not self.raw.joined and (spelling is None or spelling.allows_plain_numbers)

    @property
    def is_converted(self) -> bool:
        """Whether its format is one whose rows are converted."""
        return self.dialect.conversion is not None

    @property
    def is_name(self) -> bool:
        """Whether it is a name that people or programs gave: blanks around it are none of it."""
        return self.is_converted and self.column.type == "string"

    @property
    def has_words(self) -> bool:
        """Whether the codes of an enumeration are words."""
        return isinstance(next(iter(self.codes), None), str)

    @property
    def null_codes(self) -> tuple[int, ...]:
        """Codes that mean "nothing to say"."""
        enum = self.column.enum
        return self.dialect.null_codes.get(enum, ()) if enum else ()

    @property
    def has_default(self) -> bool:
        """Whether a value that is left out means the first code, or false (as protocol buffers do)."""
        return (
            not self.column.nullable
            and not self.is_mandatory
            and self.column.type in ("enum", "bool")
        )


@dataclass(frozen=True)
class RawLayout:
    """The fields of one raw table in the order of a file, and the lists that become rows of other tables."""

    raw: RawTable
    dialect: Dialect
    fields: tuple[Field, ...]
    width: int
    """Fields of a row, those that fill no column among them."""
    lists: tuple[RawLayout, ...] = ()
    delimiter: str = ","
    """What separates the fields of a line of delimited text."""
    quote: str = DOUBLE_QUOTE
    """What may stand around them."""

    @property
    def table(self) -> Table:
        """The table of its rows: a canonical one, or a kind of rows that are converted."""
        return table_of(self.dialect, self.raw)

    @property
    def is_converted(self) -> bool:
        """Whether its rows are not canonical ones: such files may hold more than is declared, and use quotes."""
        return self.dialect.conversion is not None

    @property
    def is_plain(self) -> bool:
        """Whether the fast readers can read its fields."""
        return all(field.is_plain for field in self.fields)

    @property
    def derives_dedicated(self) -> bool:
        """Whether a machine number marks instances on dedicated machines."""
        has_machine = any(field.name == MACHINE for field in self.fields)
        has_numbers = self.dialect.dedicated_machine is not None
        return has_machine and has_numbers and DEDICATED in self.table.names

    @property
    def columns(self) -> tuple[str, ...]:
        """Canonical columns that a row fills, in order."""
        names = [field.name for field in self.fields]
        if self.derives_dedicated:
            names.insert(names.index(MACHINE) + 1, DEDICATED)
        return tuple(names)


@cache
def table_of(dialect: Dialect, raw: RawTable) -> Table:
    """Return the table of the rows of a raw table, with the rules of shares where its amounts are shares.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> readings = dialect("azure-2019").tables["vm_cpu_readings"]
    >>> [check.bound for check in table_of(dialect("azure-2019"), readings).column("average_cpu").checks]
    [0, 1000000]
    """
    table = row_of(raw.table)
    if dialect.conversion is None:
        return table
    shared_units = {_UNIT_OF_RESOURCE[resource] for resource in dialect.conversion.shares}
    if raw.table == "usage_rows":
        # What comes in MHz is no share yet.
        for resource, whole in dialect.conversion.share_of.items():
            if whole not in ("clock", "megahertz"):
                shared_units.add(_UNIT_OF_RESOURCE[resource])
    columns = []
    for column in table.columns:
        is_share = column.unit in shared_units
        columns.append(replace(column, checks=SHARE) if is_share else column)
    return replace(table, columns=tuple(columns))


def layout_of(source: Source) -> RawLayout:
    """Return the layout of a raw file."""
    # Rows of a log are put together: its columns are not those of the raw table.
    order = () if source.format == "log" else source.order
    layout = raw_layout(source.dialect, source.table, order)
    if source.format == "csv":
        # A field of delimited text is no list of records.
        layout = replace(layout, lists=())
    layout = replace(layout, delimiter=source.delimiter, quote=source.quote)
    if not (source.epoch or source.time_zone):
        return layout
    return replace(layout, fields=tuple(_with_clock(field, source) for field in layout.fields))


def _with_clock(field: Field, source: Source) -> Field:
    """Return a field whose instants are read by the clock of its file."""
    if field.column.unit != "us" or field.name in LENGTHS:
        return field
    if field.is_dated:
        return replace(field, raw=replace(field.raw, zone=source.time_zone or field.raw.zone))
    return replace(field, raw=replace(field.raw, offset=field.raw.offset + source.epoch * 10**6))


@cache
def raw_layout(dialect: Dialect, name: str, order: Sequence[str] = ()) -> RawLayout:
    """Return the layout of a raw table.

    Parameters
    ----------
    dialect, name
        The dialect and the name of its raw table.
    order
        Names of the fields in the order of the file, where fields have places; else canonical order is taken.

    Examples
    --------
    >>> from borgtrace.schema.dialects import GOOGLE_2019
    >>> raw_layout(GOOGLE_2019, "machine_attributes").columns
    ('time', 'machine_id', 'name', 'value', 'is_deleted')
    """
    raw = dialect.tables[name]
    layout = _layout(dialect, raw, order)
    return replace(layout, lists=tuple(_layout(dialect, inner) for inner in raw.lists))


def _layout(dialect: Dialect, raw: RawTable, order: Sequence[str] = ()) -> RawLayout:
    table = table_of(dialect, raw)
    names = order or [item.name for item in raw.fields]
    place_of_name = {name: place for place, name in enumerate(names, 1)}
    fields = []
    for item in raw.fields:
        if item.column and item.name in place_of_name:
            column = table.column(item.column)
            joined_places = tuple(place_of_name[name] for name in item.joined)
            fields.append(Field(item, column, dialect, place_of_name[item.name], joined_places))
    if order:
        fields.sort(key=lambda field: field.place)
    else:
        # Records in canonical order, so that all shards give the same columns.
        fields.sort(key=lambda field: table.names.index(field.name))
    return RawLayout(
        raw,
        dialect,
        tuple(fields),
        # Several columns of a file may have one name, most often none.
        width=len(order or place_of_name),
    )
