"""JSON documents as people and other tools write tables: which part of one is the table, and what its rows are.

A list of records is a table; so are the orients of pandas' ``to_json``, columns beside rows, and lists of equal length.
A record in a record becomes columns whose names are joined by dots.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from borgtrace.ingest.read.json_walker import NumberText
from borgtrace.ingest.read.tables.monitoring_records import measured_rows
from borgtrace.ingest.read.tables.text_rows import NoRowsError, Row, TableRow

INDEX = "index"
"""The column of the labels of rows, where these are more than numbers from 0."""
NAMES_OF_COLUMNS = ("columns", "fields", "headers", "header", "names")
"""Keys of the names of columns, where rows are lists."""
_NAMES_OF_ROWS = ("data", "rows", "values", "records")
_MOST_NESTED = 20
_TEXT_TYPES = frozenset({str, NumberText, type(None)})
"""Types of values that are the texts of a row as they are."""


def document_rows(document: Any) -> Iterator[TableRow]:
    """Yield the rows of all tables of a document.

    Parameters
    ----------
    document
        Its value, numbers as `NumberText`.

    Raises
    ------
    NoRowsError
        It is no table, or one that could be read in two ways.
    """
    if isinstance(document, list):
        yield from listed_rows("", document, {})
    elif isinstance(document, dict):
        yield from _rows_of_object("", document, {})
    else:
        raise NoRowsError("a single value")


def listed_rows(table: str, items: Iterable[Any], around: Row) -> Iterator[TableRow]:
    """Yield the rows of a list: of records, or of lists whose first one names the columns.

    Parameters
    ----------
    table
        Its name.
    items
        What is listed.
    around
        Columns of the object around the list, which all its rows have.
    """
    names: list[str] = []
    for item in items:
        if isinstance(item, dict):
            if _TEXT_TYPES.issuperset(map(type, item.values())):
                # Nothing to be taken apart, as in most files: it is a row itself.
                yield TableRow(table, {**around, **item} if around else item)
                continue
            for row in record_rows(item):
                yield TableRow(table, {**around, **row})
        elif isinstance(item, list) and names:
            yield TableRow(table, {**around, **_named(names, item)})
        elif isinstance(item, list) and item and all(_is_name(name) for name in item):
            names = [str(name) for name in item]
        elif isinstance(item, list):
            raise NoRowsError(
                "rows without the names of their columns, as orient='values' writes them"
            )
        else:
            raise NoRowsError("a list of single values")


def record_rows(record: Mapping[str, Any]) -> Iterable[Row]:
    """Return the rows that one record of a list stands for: itself, or the measurements in it."""
    rows = measured_rows(record)
    return [flat(record)] if rows is None else rows


def flat(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the values of a record as texts; those of records in it under names joined by dots.

    Examples
    --------
    >>> flat({"pod": {"name": "web", "labels": ["a"]}, "ready": True})
    {'pod.name': 'web', 'pod.labels': '["a"]', 'ready': 'true'}
    """
    row: dict[str, str | None] = {}
    _flatten(record, "", row, _MOST_NESTED)
    return row


def _flatten(
    record: Mapping[str, Any], prefix: str, row: dict[str, str | None], n_more: int
) -> None:
    for key, value in record.items():
        if isinstance(value, dict) and value and n_more:
            _flatten(value, f"{prefix}{key}.", row, n_more - 1)
        else:
            row[prefix + key] = text_of(value)


def text_of(value: Any) -> str | None:
    """Return a value as the text that other files have in its place."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _rows_of_object(table: str, value: Mapping[str, Any], around: Row) -> Iterator[TableRow]:
    """Yield the rows of an object: of the lists of records in it, of its columns, or itself as the only one."""
    measured = measured_rows(value)
    if measured is not None:
        for row in measured:
            yield TableRow(table, {**around, **row})
        return
    beside = named_rows(value)
    if beside is not None:
        yield from _rows_beside_names(table, beside, value, around)
        return
    inner_tables = _inner_tables(value)
    if inner_tables:
        around = {**around, **around_rows(value)}
        for key in inner_tables:
            name = f"{table}.{key}" if table else key
            if isinstance(value[key], list):
                yield from listed_rows(name, value[key], around)
            else:
                yield from _rows_of_object(name, value[key], around)
        return
    for row in _columnwise(value):
        yield TableRow(table, {**around, **row})


class RowsBesideNames(NamedTuple):
    """The keys of rows that are lists, and the names of their columns."""

    key: str
    names: Sequence[str]


def named_rows(value: Mapping[str, Any]) -> RowsBesideNames | None:
    """Return which entry of an object has rows whose columns another entry names; None where none has.

    Parameters
    ----------
    value
        The object; where its rows are not read yet, they may be None.

    Examples
    --------
    >>> named_rows({"columns": ["task", "cpu"], "index": [0], "data": [["web", 1]]})
    RowsBesideNames(key='data', names=['task', 'cpu'])
    """
    key = next((key for key in _NAMES_OF_ROWS if _is_list_of(list, value.get(key))), None)
    if key is None:
        return None
    for name in NAMES_OF_COLUMNS:
        names = names_in(value.get(name))
        if names:
            return RowsBesideNames(key, names)
    return None


def names_in(listed: Any) -> list[str]:
    """Return the names of columns that an entry lists, alone or in records; none where it lists something else."""
    if not isinstance(listed, list):
        return []
    names = [item.get("name") if isinstance(item, dict) else item for item in listed]
    return [str(name) for name in names] if all(_is_name(name) for name in names) else []


def _rows_beside_names(
    table: str, beside: RowsBesideNames, value: Mapping[str, Any], around: Row
) -> Iterator[TableRow]:
    rows = value[beside.key]
    labels = _labels(value.get(INDEX, ()), len(rows))
    for item, label in zip(rows, labels, strict=True):
        if not isinstance(item, list):
            raise NoRowsError("a row that is no list among others that are lists")
        yield TableRow(table, {**around, **label, **_named(beside.names, item)})


def _named(names: Sequence[str], values: Sequence[Any]) -> dict[str, str | None]:
    if len(names) != len(values):
        raise NoRowsError(f"a row of {len(values)} values under {len(names)} names")
    return flat(dict(zip(names, values, strict=True)))


def _labels(labels: Sequence[Any], n_rows: int) -> list[dict[str, str | None]]:
    """Return the column of the labels of rows; none where they are numbers from 0."""
    texts = [text_of(label) for label in labels]
    if len(texts) != n_rows or texts == [str(number) for number in range(n_rows)]:
        return [{}] * n_rows
    return [{INDEX: text} for text in texts]


def _inner_tables(value: Mapping[str, Any]) -> list[str]:
    """Return the keys of an object under which there are lists of records, however deep."""
    # pandas describes its columns beside the rows.
    if _is_list_of(dict, value.get("data")) and isinstance(value.get("schema"), dict):
        return ["data"]
    keys = []
    for key, inner in value.items():
        has_tables = isinstance(inner, dict) and (named_rows(inner) or _inner_tables(inner))
        if _is_list_of(dict, inner) or has_tables:
            keys.append(key)
    return keys


def around_rows(value: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the columns that an object gives to the rows inside of it: its single values.

    Parameters
    ----------
    value
        The object.
    """
    # What Kubernetes says of a list is nothing about its items.
    asides = ("apiVersion", "kind", "metadata") if "apiVersion" in value else ("schema",)
    tables = _inner_tables(value)
    single = {}
    for key, inner in value.items():
        if key not in (*asides, *tables) and not isinstance(inner, list):
            single[key] = inner
    return flat(single)


def _columnwise(value: Mapping[str, Any]) -> Iterable[Row]:
    """Return the rows of an object of columns, of an object of rows, or of an object that is one row."""
    if value and all(isinstance(inner, list) for inner in value.values()):
        return _rows_of_lists(value)
    inner_keys = [tuple(inner) for inner in value.values() if isinstance(inner, dict)]
    is_grid = len(inner_keys) == len(value) and len(set(inner_keys)) == 1
    if not is_grid or not inner_keys[0] or not _has_single_values(value):
        return [flat(value)]
    are_labels_outside = _are_labels(value)
    are_labels_inside = _are_labels(inner_keys[0])
    if are_labels_outside == are_labels_inside:
        raise NoRowsError("an object of objects, which may be columns of rows or rows of columns")
    if are_labels_outside:
        rows = [flat(record) for record in value.values()]
        return _with_labels(list(value), rows)
    texts = {name: [text_of(inner) for inner in column.values()] for name, column in value.items()}
    rows = [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
    return _with_labels(list(inner_keys[0]), rows)


def _with_labels(labels: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    return [{**label, **row} for label, row in zip(_labels(labels, len(rows)), rows, strict=True)]


def _has_single_values(value: Mapping[str, Mapping[str, Any]]) -> bool:
    return not any(
        isinstance(item, dict | list) for inner in value.values() for item in inner.values()
    )


def _rows_of_lists(value: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    if len({len(column) for column in value.values()}) > 1:
        raise NoRowsError("lists of unequal length")
    for row in zip(*value.values(), strict=True):
        yield flat(dict(zip(value, row, strict=True)))


def _are_labels(keys: Iterable[str]) -> bool:
    """Return whether keys are labels of rows, such as numbers and dates, rather than names of columns."""
    return all(key[:1].isdigit() or key[:1] == "-" for key in keys)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, NumberText) and bool(value)


def _is_list_of(item_type: type, value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(item) is item_type for item in value[:3])
    )
