"""Rows as the raw files of a trace write them: what its fields say about reading, turned round."""

from collections.abc import Callable
from functools import partial

from borgtrace.errors import UsageError
from borgtrace.schema import TABLES, Dialect, RawTable
from borgtrace.store import Store

Place = Callable[..., str]
"""Names a file, of the number of its ``part`` where a table has several."""


def raw_queries(store: Store) -> list[tuple[Place, str]]:
    """Return the query of each raw table of a store, its rows file by file, and what names the file of each ``part``.

    Files are the parts that the store was made of, so that an ingest gives the rows their places again; those of a cell
    are in a folder named like its bucket, which is where an ingest finds the cell.

    Parameters
    ----------
    store
        Of a trace that Google published.

    Raises
    ------
    UsageError
        The trace is another one.
    """
    dialect, cell = store.manifest.dialect, store.manifest.cell
    published = dialect.publication
    if not published:
        what, way_out = (
            "raw files are those of Google's traces",
            "--layout jobs writes files of any store",
        )
        expected, got = "a store of 2011 or 2019", dialect.title
        raise UsageError("--layout raw", what, expected=expected, got=got, way_out=way_out)
    folder = f"{published.bucket.format(cell=cell)}/" if cell else ""
    found: list[tuple[Place, str]] = []
    for name, raw in dialect.tables.items():
        row = (
            delimited(dialect, raw)
            if raw.is_positional
            else f"{_record(dialect, raw)} || chr(10) AS line"
        )
        # One query for all parts: what filters by part reads the whole table, which is in another order.
        query = (
            f"SELECT source_part AS part, {row} FROM {raw.table} ORDER BY source_part, source_row"
        )
        place = partial(
            (folder + published.path).format, table=name, parts=raw.parts, format=dialect.formats[0]
        )
        found.append((place, query))
    return found


def delimited(dialect: Dialect, raw: RawTable, amount: str = "{}") -> str:
    """Return SQL for a delimited line, from columns of the canonical table.

    Parameters
    ----------
    dialect, raw
        The trace format, and one of its tables.
    amount
        How numbers with a point are written.
    """
    casts = {"bool": "CAST({} AS INTEGER)", "float32": amount}
    kinds = {column.name: casts.get(column.type, "{}") for column in TABLES[raw.table].columns}
    values = [
        kinds[field.column].format(_value(dialect, raw, field.column)) for field in raw.fields
    ]
    texts = ", ".join(f"coalesce(CAST({value} AS VARCHAR), '')" for value in values)
    return f"concat_ws(',', {texts}) || chr(10) AS line"


def _value(dialect: Dialect, raw: RawTable, column: str) -> str:
    if enum := TABLES[raw.table].column(column).enum:
        cases = " ".join(f"WHEN '{word}' THEN {code}" for code, word in dialect.codes[enum].items())
        return f"CASE {column} {cases} END"
    if (
        column == "machine_id"
        and "is_on_dedicated_machine" in TABLES[raw.table].names
        and dialect.dedicated_machine
    ):
        return f"CASE WHEN is_on_dedicated_machine THEN {dialect.dedicated_machine} ELSE machine_id END"
    return column


def _record(dialect: Dialect, raw: RawTable) -> str:
    """SQL for a line of JSON as BigQuery exports it: integers and codes are text, and what is NULL is left out."""
    records: dict[str, list[str]] = {"": []}
    for field in raw.fields:
        if field.column:
            *outer, name = field.path
            records.setdefault("".join(outer), []).append(
                _member(name, _json(dialect, raw, field.column))
            )
    members = records.pop("")
    members += [
        _member(name, f"nullif({_object(inner)}, '{{}}')") for name, inner in records.items()
    ]
    for inner in raw.lists:
        items = f"string_agg({_record(dialect, inner)}, ',' ORDER BY position)"
        # An item is of the row that has its place in the files.
        same = " AND ".join(
            f"item.{place} = {raw.table}.{place}" for place in ("source_part", "source_row")
        )
        members.append(
            _member(
                inner.name,
                f"'[' || (SELECT {items} FROM {inner.table} AS item WHERE {same}) || ']'",
            )
        )
    return _object(members)


def _member(name: str, value: str) -> str:
    return f"'\"{name}\":' || {value}"


def _object(members: list[str]) -> str:
    # It passes over what is NULL.
    return f"'{{' || concat_ws(',', {', '.join(members)}) || '}}'"


def _json(dialect: Dialect, raw: RawTable, column: str) -> str:
    kind = TABLES[raw.table].column(column).type
    # By way of text a float has the fewest digits that read back as the same.
    text = f"VARCHAR{'[]' * kind.startswith('list')}"
    quoted = f"CAST(to_json(CAST({_value(dialect, raw, column)} AS {text})) AS VARCHAR)"
    return f"replace({quoted}, '\"', '')" if "float" in kind or kind == "bool" else quoted
