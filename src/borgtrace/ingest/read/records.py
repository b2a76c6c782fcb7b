"""Nested records (JSON lines, Parquet) as flat, typed chunks, through DuckDB; and JSON lines taken apart as text."""

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import without_bar
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout
from borgtrace.ingest.read.json_token_counts import PRESENT
from borgtrace.ingest.read.text_fields import field_type, list_type
from borgtrace.ingest.read.validating_reader import NOT_UTF8, LineFormat, line_sql

ROWS_PER_CHUNK = 1 << 18


def record_types(layout: RawLayout) -> dict[str, str]:
    """Return DuckDB's type of each name at the root of a record.

    Examples
    --------
    >>> from borgtrace.ingest.files.raw_layout import raw_layout
    >>> from borgtrace.schema.dialects import GOOGLE_2019
    >>> record_types(raw_layout(GOOGLE_2019, "machine_events"))["capacity"]
    'STRUCT("cpus" FLOAT, "memory" FLOAT)'
    """
    # A flag as text: DuckDB itself takes any number, and some words, for one.
    kinds = {
        f.raw.name: "VARCHAR" if f.column.type == "bool" or f.is_text else field_type(f)
        for f in layout.fields
    }
    types: dict[str, str] = {}
    for name, parts in _roots(layout).items():
        # A field that fills no column is read as an amount: only whether it is there matters.
        inner = ", ".join(f'"{part}" {kinds.get(f"{name}.{part}", "FLOAT")}' for part in parts)
        types[name] = f"STRUCT({inner})" if parts else kinds.get(name, "FLOAT")
    return types | {inner.raw.name: list_type(inner) for inner in layout.lists}


def read_flat(
    relation: str, layout: RawLayout, present: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Yield chunks of records: a column for each canonical column and list, and what `json_token_counts` asks.

    Parameters
    ----------
    relation
        SQL that reads the records, such as ``read_json(…)``.
    layout
        What a record holds.
    present
        Names at the root that the file has; all where None.

    Raises
    ------
    NeedsValidation
        Where DuckDB cannot read a record.
    """
    # One thread: there is a process for each core already.
    with without_bar(duckdb.connect(config={"threads": 1})) as connection:
        try:
            for batch in connection.sql(_query(relation, layout, present)).to_arrow_reader(
                ROWS_PER_CHUNK
            ):
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
        except (duckdb.Error, OSError) as error:
            # An error of the parser in mid-stream reaches us through Arrow, as an OSError.
            raise NeedsValidation from error


def _query(relation: str, layout: RawLayout, present: Sequence[str] | None) -> str:
    types = record_types(layout)
    known = [name for name in types if present is None or name in present]
    values = [
        (field.raw.path, "VARCHAR" if field.is_text else field_type(field), field.name)
        for field in layout.fields
    ]
    values += [((inner.raw.name,), types[inner.raw.name], inner.raw.name) for inner in layout.lists]
    # A shard of Parquet may lack a column that no row of it fills.
    parts = [
        f'CAST({_value(path, kind) if path[0] in known else "NULL"} AS {kind}) AS "{name}"'
        for path, kind, name in values
    ]
    filled = {field.raw.name for field in layout.fields}
    # Fields that fill no column still have keys in the text, and are counted there.
    unused = [item.path for item in layout.raw.fields if item.name not in filled]
    nested = [(name,) for name, inner in _roots(layout).items() if inner]
    parts += [
        f'({_sql(path)} IS NOT NULL) AS "{PRESENT}{".".join(path)}"'
        for path in nested + unused
        if path[0] in known
    ]
    return f"SELECT {', '.join(parts)} FROM {relation}"


def _value(path: Sequence[str], kind: str) -> str:
    found = _sql(path)
    # Anything else is no BOOLEAN any more, so that the validating reader decides what it is.
    return (
        f"CASE WHEN CAST({found} AS VARCHAR) IN ('true', 'false') THEN {found} ELSE '?' || {found} END"
        if kind == "BOOLEAN"
        else found
    )


def _sql(path: Sequence[str]) -> str:
    return ".".join(f'"{name}"' for name in path)


def _roots(layout: RawLayout) -> dict[str, list[str]]:
    """Return the names at the root of a record, each with the names inside where it is a record itself."""
    roots: dict[str, list[str]] = {}
    for item in layout.raw.fields:
        roots.setdefault(item.path[0], []).extend(item.path[1:])
    return roots


def json_lines(layout: RawLayout) -> LineFormat:
    """Return how a line of JSON is taken apart."""
    paths = [item.path for item in layout.raw.fields] + [
        (inner.raw.name,) for inner in layout.lists
    ]
    line = "line"
    for other, name in layout.raw.spellings:
        line = f"""replace({line}, '"{other}"', '"{name}"')"""
    # In quotes: columns of own data may have names with blanks.
    listed = ", ".join(f"""'${"".join(f'."{name}"' for name in path)}'""" for path in paths)
    return LineFormat(
        line_sql("json", listed=listed, fault=_fault(layout), is_odd=_is_odd(layout), json=line)
    )


def _fault(layout: RawLayout) -> str:
    """SQL for what is wrong with a record as a whole: not JSON, repeated keys, no record where one is due."""
    cases = ["WHEN doc IS NULL THEN 'unparsable_value'"]
    # No field accepts the mark, and a name with it is none that somebody gave.
    cases.append(
        f"WHEN contains(line, '{NOT_UTF8}') AND ({_is_odd(layout)}) THEN 'unparsable_value'"
    )
    if not layout.is_converted:
        cases.append(f"WHEN {_repeated('json_keys(doc)')} THEN 'wrong_column_count'")
    for name, inner in _roots(layout).items():
        if inner:
            keys = _repeated(f"json_keys(doc, '$.{name}')")
            cases.append(
                f"WHEN json_type(doc, '$.{name}') NOT IN ('OBJECT', 'NULL') THEN 'unparsable_value'"
            )
            cases.append(f"WHEN {keys} THEN 'wrong_column_count'")
    for listed in layout.lists:
        items = f"json_extract(doc, '$.{listed.raw.name}[*]')"
        for reason, test in (
            ("unparsable_value", "json_type(item) NOT IN ('OBJECT', 'NULL')"),
            ("wrong_column_count", _repeated("json_keys(item)")),
        ):
            cases.append(f"WHEN len(list_filter({items}, lambda item: {test})) > 0 THEN '{reason}'")
    return f"CASE {' '.join(cases)} END"


def _is_odd(layout: RawLayout) -> str:
    """SQL for whether a record, or one inside it, has keys that its table does not have."""
    tests = [] if layout.is_converted else [_unknown("json_keys(doc)", layout.raw.names)]
    tests += [
        _unknown(f"json_keys(doc, '$.{name}')", inner)
        for name, inner in _roots(layout).items()
        if inner
    ]
    for listed in layout.lists:
        keys = _unknown("json_keys(item)", listed.raw.names)
        tests.append(
            f"len(list_filter(json_extract(doc, '$.{listed.raw.name}[*]'), lambda item: {keys})) > 0"
        )
    return " OR ".join(f"coalesce({test}, false)" for test in tests) or "false"


def _unknown(keys: str, known: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in known)
    return f"len(list_filter({keys}, lambda key: key NOT IN ({listed}))) > 0"


def _repeated(keys: str) -> str:
    # The parsers differ in which value they keep.
    return f"len({keys}) != len(list_distinct({keys}))"
