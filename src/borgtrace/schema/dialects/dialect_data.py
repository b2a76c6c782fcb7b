"""A trace format as data that JSON can hold: so a store is read without the Python file that described its format."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.dialects.trace_format import Dialect, PriorityTier

_MICROSECOND = timedelta(microseconds=1)
_LONGEST_TEXT = 2000
"""Characters of one text: those of a manifest of others are shown and matched."""


def data_of(dialect: Dialect) -> dict[str, Any]:
    """Return a format as data: what differs from the defaults, mappings as pairs in their order.

    Parameters
    ----------
    dialect
        The format.

    Raises
    ------
    UsageError
        Something in it is code, or a number that JSON does not have.

    Examples
    --------
    >>> data_of(Dialect(name="own", title="Own trace", tables={}, span=timedelta(days=7)))
    {'name': 'own', 'title': 'Own trace', 'tables': [], 'trace': 'own', 'span': 604800000000}
    """
    data = _data_of_value(dialect, "DIALECT")
    assert isinstance(data, dict)
    return data


def dialect_from(data: Any, where: str) -> Dialect:
    """Make a format of its data; nothing of it is run.

    Parameters
    ----------
    data
        As `data_of` returns it, and as JSON has it.
    where
        The file, for errors.

    Raises
    ------
    UsageError
        A value is not what a format takes there.

    Examples
    --------
    >>> dialect_from({"name": "own", "title": "Own trace", "tables": []}, "own.py").span
    datetime.timedelta(0)
    """
    dialect = _value_from(data, Dialect, where)
    assert isinstance(dialect, Dialect)
    return dialect


def _data_of_value(value: Any, where: str) -> Any:
    """Return a value as data; `where` is how its author would write it."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | datetime | timedelta):
        return _data_of_amount(value, where)
    if isinstance(value, Mapping | set | frozenset | list | tuple):
        return _data_of_items(value, where)
    if is_dataclass(value) and not isinstance(value, type):
        return _data_of_fields(value, where)
    raise UsageError(
        where,
        "a store cannot keep this",
        expected="numbers, texts, tuples, mappings and what borgtrace.schema offers",
        got=_shown(value),
    )


def _data_of_amount(value: float | datetime | timedelta, where: str) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if not math.isfinite(value):
        raise UsageError(where, "not a finite number", got=str(value))
    return value


def _data_of_items(value: Any, where: str) -> list[Any]:
    if isinstance(value, Mapping):
        return [
            [_data_of_value(key, where), _data_of_value(item, f"{where}[{key!r}]")]
            for key, item in value.items()
        ]
    if isinstance(value, set | frozenset):
        return sorted(_data_of_value(item, where) for item in value)
    return [_data_of_value(item, f"{where}[{place}]") for place, item in enumerate(value)]


def _data_of_fields(value: Any, where: str) -> dict[str, Any]:
    data = {}
    for field in fields(value):
        item = getattr(value, field.name)
        if not _is_default(field, item):
            data[field.name] = _data_of_value(item, f"{where}.{field.name}")
    return data


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default is not MISSING:
        # By type: a flag equals 1.
        return type(field.default) is type(value) and bool(field.default == value)
    if field.default_factory is not MISSING:
        return bool(field.default_factory() == value)
    return False


def _value_from(data: Any, hint: Any, where: str) -> Any:
    """Return a value of a declared type."""
    kind = get_origin(hint) or hint
    if is_dataclass(kind):
        return _fields_from(data, kind, where)
    read = _READERS.get(kind)
    return read(data, hint, where) if read else _plain_from(data, kind, where)


def _word_from(data: Any, hint: Any, where: str) -> Any:
    check_names(where, [data], get_args(hint), "not one of what it may be")
    return data


def _plain_from(data: Any, kind: type, where: str) -> Any:
    # By type: a flag is an integer for isinstance.
    allowed = (int, float) if kind is float else (kind,)
    if type(data) not in allowed:
        raise _not_a(where, _NAMES_OF_KINDS[kind], data)
    if isinstance(data, str):
        _check_text(data, where)
    return data


_NAMES_OF_KINDS = {str: "a text", bool: "True or False", int: "a whole number", float: "a number"}


def _key_from(data: Any, _hint: Any, where: str) -> int | str:
    """Return the code of a name: a number or a word."""
    if type(data) not in (int, str):
        raise _not_a(where, "a whole number or a text", data)
    key: int | str = data
    if isinstance(key, str):
        _check_text(key, where)
    return key


def _check_text(text: str, where: str) -> None:
    """Refuse what would act on a terminal, and what nobody would write."""
    is_control = any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in text)
    if is_control or len(text) > _LONGEST_TEXT:
        raise _not_a(where, f"one line of at most {_LONGEST_TEXT} characters", text)


def _value_of_several(data: Any, hint: Any, where: str) -> Any:
    alternatives = get_args(hint)
    if data is None and types.NoneType in alternatives:
        return None
    kinds = [kind for kind in alternatives if kind is not types.NoneType]
    # Names of tables of the store, and of rows that are converted, are two lists of words.
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words:
        check_names(where, [data], words, "not one of what it may be")
        return data
    return _value_from(data, kinds[0], where)


def _span_from(data: Any, _hint: Any, where: str) -> timedelta:
    microseconds: int = _plain_from(data, int, where)
    try:
        return microseconds * _MICROSECOND
    except OverflowError:
        raise _not_a(where, "a length of time", data) from None


def _time_from(data: Any, _hint: Any, where: str) -> datetime:
    try:
        instant = datetime.fromisoformat(data)
    except (TypeError, ValueError):
        raise _not_a(where, "a time", data) from None
    if instant.tzinfo is None:
        raise UsageError(
            where,
            "a time without a time zone",
            got=data,
            way_out="add tzinfo=UTC to it",
        )
    return instant


def _tier_from(data: Any, _hint: Any, where: str) -> PriorityTier:
    if not isinstance(data, list) or len(data) != 3:
        raise _not_a(where, "PriorityTier(name, lowest, highest)", data)
    name, lowest, highest = data
    return PriorityTier(
        _plain_from(name, str, where),
        _plain_from(lowest, int, where),
        _plain_from(highest, int, where),
    )


def _fields_from(data: Any, kind: Any, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise _not_a(where, kind.__name__, data)
    known_fields = fields(kind)
    # A later version may have more of them, which this one would misread.
    check_names(where, data, [field.name for field in known_fields], "no such part of a format")
    hints = _hints_of(kind)
    values = {}
    for field in known_fields:
        if field.name in data:
            values[field.name] = _value_from(
                data[field.name], hints[field.name], f"{where}.{field.name}"
            )
        elif field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(where, f"no {field.name}")
    return kind(**values)


def _mapping_from(data: Any, hint: Any, where: str) -> dict[Any, Any]:
    if not isinstance(data, list) or not all(_is_pair(item) for item in data):
        raise _not_a(where, "a mapping", data)
    key_hint, value_hint = get_args(hint)
    mapping = {}
    for key, value in data:
        read_key = _value_from(key, key_hint, f"a name in {where}")
        mapping[read_key] = _value_from(value, value_hint, f"{where}[{key!r}]")
    return mapping


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2


def _items_from(data: Any, hint: Any, where: str) -> Any:
    kind = get_origin(hint)
    inner = get_args(hint)
    if not isinstance(data, list):
        raise _not_a(where, "several values in brackets", data)
    has_any_length = inner[-1] is Ellipsis or kind is frozenset
    hints = [inner[0]] * len(data) if has_any_length else list(inner)
    if len(hints) != len(data):
        raise _not_a(where, f"{len(hints)} values in brackets", data)
    items = [
        _value_from(item, hint, f"{where}[{place}]")
        for place, (item, hint) in enumerate(zip(data, hints, strict=True))
    ]
    return frozenset(items) if kind is frozenset else tuple(items)


_READERS: dict[Any, Callable[[Any, Any, str], Any]] = {
    Any: _key_from,
    Literal: _word_from,
    Union: _value_of_several,
    types.UnionType: _value_of_several,
    datetime: _time_from,
    timedelta: _span_from,
    PriorityTier: _tier_from,
    Mapping: _mapping_from,
    tuple: _items_from,
    frozenset: _items_from,
}
"""How values are read of the types that have no fields and are no plain number or text."""


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _not_a(where: str, expected: str, value: Any) -> UsageError:
    return UsageError(
        where, "not what a format takes here", expected=expected, got=repr(value)[:60]
    )


def _shown(value: Any) -> str:
    """Return a value that is no data: a function by its name, whose repr has an address."""
    name = getattr(value, "__name__", None)
    return f"{type(value).__name__} {name}" if name else repr(value)[:60]
