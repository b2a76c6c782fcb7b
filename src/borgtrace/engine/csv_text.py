"""CSV for people and spreadsheets: one writer for all tables that commands and the explorer give out.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, and a formula of a stranger can
send the sheet elsewhere.  OWASP advises to put an apostrophe before such a text; that is done here in columns of text.
Columns of numbers and texts that are plain numbers stay as they are.  `raw` leaves everything as it is.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from borgtrace.engine.answer_text import json_text, with_short_floats

# The last four are wide forms of the first, which some spreadsheets take for the same.
_FORMULA = r"^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_FORMULA_IN_PYTHON = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER_IN_PYTHON = re.compile(_NUMBER)


def neutral(text: str) -> str:
    """Return a text of which no spreadsheet makes a formula.

    Examples
    --------
    >>> neutral("=1+1"), neutral("web-1"), neutral("-0.5")
    ("'=1+1", 'web-1', '-0.5')
    """
    is_formula = _FORMULA_IN_PYTHON.match(text) and not _NUMBER_IN_PYTHON.fullmatch(text)
    return f"'{text}" if is_formula else text


def _neutral_cell(cell: Any) -> Any:
    return neutral(cell) if isinstance(cell, str) else cell


def csv_text(rows: Iterable[Sequence[Any]], *, raw: bool = False) -> str:
    """Return rows of Python values as CSV.

    Parameters
    ----------
    rows
        The heading first.
    raw
        Whether texts stay as they are.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row if raw else [_neutral_cell(cell) for cell in row])
    return text.getvalue()


def csv_pieces(answer: pa.Table | pa.RecordBatchReader, *, raw: bool = False) -> Iterator[bytes]:
    """Write a table of Arrow as CSV: the heading at once, then the rows of each batch.

    Parameters
    ----------
    answer
        Rows, or batches of them as they arrive; lists and records become JSON.
    raw
        Whether texts stay as they are.
    """
    fields = []
    for field in answer.schema:
        name = field.name if raw else neutral(field.name)
        fields.append(pa.field(name, _flat_type(field.type)))
    flat = pa.schema(fields)
    yield _csv(flat.empty_table(), include_header=True)
    batches = answer.to_batches() if isinstance(answer, pa.Table) else answer
    for batch in batches:
        columns = [_flattened(column) for column in batch.columns]
        if not raw:
            columns = [_neutral_column(column) for column in columns]
        yield _csv(pa.record_batch(columns, schema=flat), include_header=False)


def write_csv(
    answer: pa.Table | pa.RecordBatchReader,
    out: Path | IO[bytes],
    *,
    raw: bool = False,
) -> None:
    """Write a table of Arrow as CSV.

    Parameters
    ----------
    answer, raw
        As for `csv_pieces`.
    out
        A path or a file of bytes.
    """
    if isinstance(out, Path):
        with out.open("wb") as file:
            file.writelines(csv_pieces(answer, raw=raw))
    else:
        for piece in csv_pieces(answer, raw=raw):
            out.write(piece)


def _csv(rows: pa.Table | pa.RecordBatch, *, include_header: bool) -> bytes:
    options = pyarrow.csv.WriteOptions(include_header=include_header, quoting_style="needed")
    text = pa.BufferOutputStream()
    pyarrow.csv.write_csv(rows, text, options)
    data: bytes = text.getvalue().to_pybytes()
    return data


def _flat_type(type_: pa.DataType) -> pa.DataType:
    is_text = pa.types.is_nested(type_) or pa.types.is_dictionary(type_)
    return pa.string() if is_text else type_


def _flattened(column: pa.Array) -> pa.Array:
    """Write lists and records, which CSV cannot hold, as JSON."""
    if pa.types.is_dictionary(column.type):
        return column.cast(pa.string())
    if not pa.types.is_nested(column.type):
        return column
    texts = []
    for value in with_short_floats(column).to_pylist():
        texts.append(None if value is None else json_text(value))
    return pa.array(texts, pa.string())


def _neutral_column(column: pa.Array) -> pa.Array:
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    is_formula = pc.match_substring_regex(column, _FORMULA)
    if not pc.any(is_formula).as_py():
        return column
    is_number = pc.match_substring_regex(column, f"^{_NUMBER}$")
    prefixed = pc.binary_join_element_wise(pa.scalar("'", kind), column, pa.scalar("", kind))
    return pc.if_else(pc.and_not(is_formula, is_number), prefixed, column)
