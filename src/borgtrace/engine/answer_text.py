"""Answers as CSV and JSON, the same wherever they are written.

It takes answers whose carrier is ``text`` (see :mod:`borgtrace.engine.answer_columns`): what is left are numbers,
texts, and lists, records and maps of them.
"""

import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa

LARGEST_EXACT = 2**53
"""Largest integer that every reader of JSON keeps."""


def short_floats(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Widen float32 by its shortest decimal form, as it was published: 0.2493, not 0.24930000305.

    Examples
    --------
    >>> prices = pa.array([[{"a": 0.1}]], pa.list_(pa.struct({"a": pa.float32()})))
    >>> short_floats(pa.record_batch({"prices": prices})).to_pylist()
    [{'prices': [{'a': 0.1}]}]
    """
    columns = [_with_short_floats(column) for column in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def _with_short_floats(column: pa.Array) -> pa.Array:
    # Arrow writes a float32 by the shortest text that reads back as the same.
    as_text = _with_leaves(column.type, pa.float32(), pa.string())
    if as_text == column.type:
        return column
    return column.cast(as_text).cast(_with_leaves(column.type, pa.float32(), pa.float64()))


def _with_leaves(type_: pa.DataType, old: pa.DataType, new: pa.DataType) -> pa.DataType:
    """Return a type in which one that may be nested in it is another."""
    types = pa.types
    if type_ == old:
        return new

    def inner(part: pa.DataType) -> pa.DataType:
        return _with_leaves(part, old, new)

    if types.is_map(type_):
        return pa.map_(inner(type_.key_type), inner(type_.item_type))
    if types.is_fixed_size_list(type_):
        value = type_.value_field
        return pa.list_(value.with_type(inner(value.type)), type_.list_size)
    if types.is_list(type_):
        value = type_.value_field
        return pa.list_(value.with_type(inner(value.type)))
    if types.is_struct(type_):
        return pa.struct([field.with_type(inner(field.type)) for field in type_])
    return type_


def json_text(value: Any) -> str:
    """Write a value as JSON.

    Examples
    --------
    >>> json_text({"n": Decimal(3), "share": [0.5, float("inf"), Decimal("0.25")]})
    '{"n": 3, "share": [0.5, null, 0.25]}'
    """
    return json.dumps(plain_value(value), ensure_ascii=False, default=str)


def plain_value(value: Any) -> Any:
    """Return a value of which JSON loses nothing; what is not finite becomes null.

    A decimal becomes a number where a float has all its digits, else text.
    """
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Decimal):
        return _plain_number(value)
    return value


def _plain_number(value: Decimal) -> int | float | str:
    if value.as_tuple().exponent == 0:
        return int(value)
    is_exact = Decimal(repr(float(value))) == value
    return float(value) if is_exact else str(value)


def browser_value(value: Any) -> Any:
    """Return what `plain_value` returns, large integers as text: a browser would round them."""
    if isinstance(value, dict):
        return {key: browser_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [browser_value(item) for item in value]
    plain = plain_value(value)
    is_large = isinstance(plain, int) and abs(plain) > LARGEST_EXACT
    return str(plain) if is_large else plain


def cell_text(value: Any, write_float: Callable[[float], str]) -> str:
    """Write a value for people: lists and records as JSON, floats as somebody else says."""
    if isinstance(value, float):
        return write_float(value)
    if isinstance(value, dict | list | tuple):
        return json_text(value)
    return str(value)


def csv_pieces(answer: pa.RecordBatchReader) -> Iterator[pa.Buffer]:
    """Write an answer as CSV: the heading at once, then the rows of each batch."""
    from pyarrow import csv

    flat = pa.schema([(field.name, _flat_type(field.type)) for field in answer.schema])
    options = csv.WriteOptions(quoting_style="needed")
    heading = pa.BufferOutputStream()
    csv.write_csv(flat.empty_table(), heading, options)
    yield heading.getvalue()
    options.include_header = False
    for batch in answer:
        columns = [_flattened(column) for column in batch.columns]
        rows = pa.BufferOutputStream()
        csv.write_csv(pa.record_batch(columns, schema=flat), rows, options)
        yield rows.getvalue()


def write_csv(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    """Write an answer as CSV to a file."""
    for piece in csv_pieces(answer):
        out.write(piece)


def _flat_type(type_: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_nested(type_) else type_


def _flattened(column: pa.Array) -> pa.Array:
    """Write lists and records, which CSV cannot hold, as JSON."""
    if not pa.types.is_nested(column.type):
        return column
    texts = []
    for value in _with_short_floats(column).to_pylist():
        texts.append(None if value is None else json_text(value))
    return pa.array(texts, pa.string())
