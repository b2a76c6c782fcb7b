"""Values of answers as JSON and as text, the same wherever they are written.

It takes answers whose carrier is ``text`` (see :mod:`borgtrace.engine.answer_columns`): what is left are numbers,
texts, and lists, records and maps of them.
"""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from borgtrace.errors import harmless

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
    columns = [with_short_floats(column) for column in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def with_short_floats(column: pa.Array) -> pa.Array:
    """Widen a column of float32, or one in which they are nested; see `short_floats`."""
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
    # JSON itself escapes control characters of ASCII alone.
    return harmless(json.dumps(plain_value(value), ensure_ascii=False, default=str))


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
