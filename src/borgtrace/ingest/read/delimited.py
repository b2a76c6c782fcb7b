"""Delimited text: typed chunks from Arrow's CSV reader, or from our own where all fields are numbers, and its lines."""

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from borgtrace.engine.identifiers import literal
from borgtrace.ingest.files.raw_layout import Field, NeedsValidation, RawLayout
from borgtrace.ingest.files.separators import DOUBLE_QUOTE
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_lines
from borgtrace.ingest.read.number_reader import NotPlainNumbers, read_numbers
from borgtrace.ingest.read.strange_text import is_foreign
from borgtrace.ingest.read.validating_reader import LineFormat
from borgtrace.schema.arrow import arrow_field

COMMA = ","
_WHOLE_QUOTES = "quotes that end on the line on which they begin"
BLOCK_SIZE = 1 << 23
"""Arrow makes a batch of each block of so many bytes; larger ones ask for new memory each time."""


def read_plain_numbers(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of a file that has nothing but numbers (task_usage: 19 of 20 bytes of the 2011 trace).

    Parameters
    ----------
    source
        The file.
    layout
        What it holds.

    Raises
    ------
    NotPlainNumbers
        Where a field fills no column or two, is not a number, or a line is not plain numbers.
    """
    # A field that fills no column may hold anything, text too.
    has_other_fields = [field.place for field in layout.fields] != list(range(1, layout.width + 1))
    if has_other_fields or layout.delimiter != COMMA or layout.quote != DOUBLE_QUOTE:
        raise NotPlainNumbers
    with open_lines(source) as stream:
        yield from read_numbers(stream, {field.name: _type(field) for field in layout.fields})


def read_delimited(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of typed columns with Arrow's CSV reader.

    Parameters
    ----------
    source
        The file.
    layout
        What it holds.

    Raises
    ------
    NeedsValidation
        Where a field does not parse or fills two columns, or a line has another number of fields.
    """
    name_of_place = {field.place: field.name for field in layout.fields}
    # To Arrow a field has one name; own data may fill two columns from it, such as submit and start.
    is_plain = layout.is_plain and layout.quote == DOUBLE_QUOTE
    if len(name_of_place) != len(layout.fields) or not is_plain:
        raise NeedsValidation
    places = range(1, layout.width + 1)
    names = [name_of_place.get(place, f"field {place}") for place in places]
    with open_lines(source) as stream:
        yield from typed_chunks(stream, layout, names, layout.delimiter)


def typed_chunks(
    stream: BinaryIO, layout: RawLayout, names: Sequence[str], delimiter: str
) -> Iterator[pa.Table]:
    """Yield chunks of typed columns of delimited lines.

    Parameters
    ----------
    stream
        The lines.
    layout
        What they hold.
    names
        The column of each of their fields; those that the layout does not have are left out.
    delimiter
        What separates the fields.

    Raises
    ------
    NeedsValidation
        Where a field does not parse, or a line has another number of fields.
    """
    types = {field.name: _type(field) for field in layout.fields}
    # And no field is a list.
    if any(pa.types.is_list(data_type) for data_type in types.values()):
        raise NeedsValidation
    read_options = pyarrow.csv.ReadOptions(
        # One thread: there is a process for each core already.
        use_threads=False,
        block_size=BLOCK_SIZE,
        column_names=names,
    )
    # Arrow would pass over an empty line and number the rows below it wrongly: the validating reader counts it.
    parse_options = pyarrow.csv.ParseOptions(
        delimiter=delimiter,
        quote_char=False,
        ignore_empty_lines=False,
    )
    convert_options = pyarrow.csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        # Arrow alone takes an empty text for a value; in the trace it is a missing one.
        strings_can_be_null=True,
        null_values=[""],
        true_values=["1", "true", "True", "TRUE"],
        false_values=["0", "false", "False", "FALSE"],
    )
    try:
        reader = pyarrow.csv.open_csv(
            PlainLines(stream),
            read_options,
            parse_options,
            convert_options,
        )
        for batch in reader:
            yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        raise NeedsValidation from error


class PlainLines:
    """A stream that stops where Arrow would read lines otherwise than the validating reader, which takes quotes off."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self.closed = False

    def read(self, size: int) -> bytes:
        """Read on, or raise `NeedsValidation`."""
        block = self._stream.read(size)
        # Whole lines, so that nothing is looked at in two halves.
        end = block.rfind(b"\n") + 1
        if block and not end:
            self._rest += block
            return block
        first_end = 0
        if self._rest:
            # Alone: joined with all of the block, the line would be copied with it.
            first_end = block.find(b"\n") + 1
            if is_foreign(self._rest + block[:first_end]):
                raise NeedsValidation
        # From the end of that line on, which an empty one may follow.
        if is_foreign(block, max(first_end - 1, 0), end):
            raise NeedsValidation
        self._rest = block[end:]
        return block


def _type(field: Field) -> pa.DataType:
    """Return the type a field is read as: codes as numbers, times unsigned since 2⁶⁴−1 means "after the trace"."""
    if field.is_text:
        return pa.string()
    if field.is_scaled:
        return pa.float64()
    if field.column.type == "enum":
        return pa.string() if field.has_words else pa.int8()
    return pa.uint64() if field.column.unit == "us" else arrow_field(field.column).type


def delimited_lines(layout: RawLayout) -> LineFormat:
    """Return how a delimited line is taken apart."""
    delimiter_sql = literal(layout.delimiter)
    end = re.escape(layout.delimiter)
    # Google's traces have no quotes, but R, Excel and csv.QUOTE_ALL put them around texts, or all fields.
    quote = layout.quote
    quote_sql, two_quotes_sql = literal(quote), literal(quote * 2)
    field = f"({quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{quote}{end}]*)"
    # A delimiter is added, so that each field ends with one and the last is no special case.
    ended_sql = f"line || {delimiter_sql}"
    fields_sql = f"""
        list_transform(
            regexp_extract_all({ended_sql}, {literal(f"{field}{end}")}, 1),
            lambda field:
                CASE WHEN field[1] = {quote_sql} THEN replace(field[2:-2], {two_quotes_sql}, {quote_sql})
                     ELSE field END
        )
    """
    is_misquoted_sql = f"NOT regexp_full_match({ended_sql}, {literal(f'({field}{end})+')})"
    n_quotes_sql = f"len(line) - len(replace(line, {quote_sql}, ''))"
    return LineFormat(
        f"""
        SELECT
            *,
            CASE WHEN len(fields) != {int(layout.width)} THEN 'wrong_column_count'
                 WHEN {is_misquoted_sql} THEN 'unparsable_value' END AS fault,
            -- Half of a field whose quotes hold a line break has any number of fields.
            CASE WHEN fault IS NULL THEN NULL
                 WHEN ({n_quotes_sql}) % 2 = 1 THEN {literal(_WHOLE_QUOTES)}
                 WHEN fault = 'wrong_column_count' THEN {literal(f"{layout.width} fields")}
                 WHEN fault = 'unparsable_value' THEN 'quotes around whole fields' END AS expected,
            false AS is_odd
        FROM (SELECT source_row, line, {fields_sql} AS fields FROM lines)
        """,
        empty_is_null=True,
    )
