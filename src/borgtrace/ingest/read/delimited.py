"""Delimited text: typed chunks from Arrow's CSV reader, or from our own where all fields are numbers, and its lines."""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from borgtrace.ingest.files.raw_layout import Field, NeedsValidation, RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_lines
from borgtrace.ingest.read.number_reader import NotPlainNumbers, read_numbers
from borgtrace.ingest.read.strange_text import is_strange
from borgtrace.ingest.read.validating_reader import LineFormat, line_sql
from borgtrace.schema.arrow import arrow_field

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
        Where a field fills no column, is not a number, or a line is not plain numbers.
    """
    # A field that fills no column may hold anything, text too.
    if len(layout.fields) != layout.width:
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
        Where a field does not parse, or a line has another number of fields.
    """
    types = {field.name: _type(field) for field in layout.fields}
    names = {field.place: field.name for field in layout.fields}
    every = [names.get(place, f"field {place}") for place in range(1, layout.width + 1)]
    # A trace has no quotes, so there a quote is a part of its field; in own data the validating reader takes them off.
    barred = b'"' if layout.is_converted else b""
    with open_lines(source) as stream:
        try:
            reader = pyarrow.csv.open_csv(
                _Lines(stream, barred),
                # One thread: there is a process for each core already.
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=BLOCK_SIZE, column_names=every
                ),
                # An empty line is a row like any other: it must be refused and counted, or rows in would not equal rows
                # stored and refused.
                pyarrow.csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
                pyarrow.csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    # Arrow alone takes an empty text for a value; in the trace it is a missing one.
                    strings_can_be_null=True,
                    null_values=[""],
                    true_values=["1", "true"],
                    false_values=["0", "false"],
                ),
            )
            for batch in reader:
                yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid as error:
            raise NeedsValidation from error


class _Lines:
    """A stream that stops where Arrow would take lines otherwise than the validating reader."""

    def __init__(self, stream: BinaryIO, barred: bytes = b"") -> None:
        self._stream, self._rest, self._barred = stream, b"", barred
        self.closed = False

    def read(self, size: int) -> bytes:
        """Read on, or raise `NeedsValidation`."""
        block = self._stream.read(size)
        # Whole lines, so that nothing is looked at in two halves.
        end = block.rfind(b"\n") + 1
        whole = b"".join((self._rest, memoryview(block)[:end])) if end or not block else b""
        self._rest = block[end:] if end else self._rest + block
        # Arrow takes a carriage return alone for the end of a line.
        lone = b"\r" in whole and whole.count(b"\r") != whole.count(b"\r\n")
        if lone or is_strange(whole) or (self._barred and self._barred in whole):
            raise NeedsValidation
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
    split = _QUOTED_FIELDS if layout.is_converted else "string_split(line, ',')"
    quotes = f"WHEN NOT regexp_full_match(line || ',', '({_FIELD},)+') THEN 'unparsable_value'"
    quotes = quotes if layout.is_converted else ""
    return LineFormat(
        line_sql("delimited", width=layout.width, quotes=quotes, split=split), empty_is_null=True
    )


_FIELD = '("(?:[^"]|"")*"|[^",]*)'
# A comma is added, so that each field ends with one and the last is no special case.
_QUOTED_FIELDS = (
    f"list_transform(regexp_extract_all(line || ',', '{_FIELD},', 1), lambda x: "
    "CASE WHEN x[1] = '\"' THEN replace(x[2:-2], '\"\"', '\"') ELSE x END)"
)
