"""Nested records (JSON lines, Parquet) as flat, typed chunks, through DuckDB; and JSON lines taken apart as text."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.guard import open_file
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout
from borgtrace.ingest.read.json_token_counts import PRESENT
from borgtrace.ingest.read.text_fields import NOT_UTF8_SQL, field_type, list_type
from borgtrace.ingest.read.validating_reader import LineFormat

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
    type_of_field = {}
    for field in layout.fields:
        # A flag as text: DuckDB itself takes any number, and some words, for one.
        is_text = field.column.type == "bool" or field.is_text
        type_of_field[field.raw.name] = "VARCHAR" if is_text else field_type(field)
    types: dict[str, str] = {}
    for name, inner_names in _roots(layout).items():
        # A field that fills no column is read as an amount: only whether it is there matters.
        if not inner_names:
            types[name] = type_of_field.get(name, "FLOAT")
            continue
        struct_sql = ", ".join(
            f"{quoted(inner)} {type_of_field.get(f'{name}.{inner}', 'FLOAT')}"
            for inner in inner_names
        )
        types[name] = f"STRUCT({struct_sql})"
    for listed in layout.lists:
        types[listed.raw.name] = list_type(listed)
    return types


def json_texts_sql(relation_sql: str, columns: Sequence[str]) -> str:
    """Return a query for each row of a relation as a text of JSON, called ``line``.

    Parameters
    ----------
    relation_sql
        Reads the rows.
    columns
        Names of all its columns: a column that is called like the row would be taken for it.

    Examples
    --------
    >>> json_texts_sql("rows", ["task", "Record"])
    'SELECT to_json("record_")::VARCHAR AS line FROM rows AS "record_"'
    """
    taken = {column.lower() for column in columns}
    name = "record"
    while name in taken:
        name += "_"
    row_sql = quoted(name)
    return f"SELECT to_json({row_sql})::VARCHAR AS line FROM {relation_sql} AS {row_sql}"


def read_flat(
    path: Path,
    relation_sql: str,
    layout: RawLayout,
    present: Sequence[str] | None = None,
) -> Iterator[pa.Table]:
    """Yield chunks of records: a column for each canonical column and list, and what `json_token_counts` needs.

    Parameters
    ----------
    path
        The file, the only one that can be read meanwhile.
    relation_sql
        Reads the records, such as ``read_json(…)``.
    layout
        What a record holds.
    present
        Names at the root that the file has; all where None.

    Raises
    ------
    NeedsValidation
        Where DuckDB cannot read a record.
    """
    query_sql = _flat_sql(relation_sql, layout, present)
    # One thread: there is a process for each core already.
    with open_file(path, threads=1) as connection:
        try:
            for batch in connection.sql(query_sql).to_arrow_reader(ROWS_PER_CHUNK):
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
        except (duckdb.Error, OSError) as error:
            # An error of the parser in mid-stream reaches us through Arrow, as an OSError.
            raise NeedsValidation from error


def _flat_sql(relation_sql: str, layout: RawLayout, present: Sequence[str] | None) -> str:
    types = record_types(layout)
    # A shard of Parquet may lack a column that no row of it fills.
    known = set(types) if present is None else set(types) & set(present)
    values: list[str] = []
    for field in layout.fields:
        type_sql = "VARCHAR" if field.is_text else field_type(field)
        values.append(_column_sql(field.raw.path, type_sql, field.name, known))
    for listed in layout.lists:
        name = listed.raw.name
        values.append(_column_sql((name,), types[name], name, known))
    for path in _counted_paths(layout):
        if path[0] in known:
            present_name = PRESENT + ".".join(path)
            values.append(f"({quoted(*path)} IS NOT NULL) AS {quoted(present_name)}")
    values_sql = ", ".join(values)
    return f"SELECT {values_sql} FROM {relation_sql}"


def _counted_paths(layout: RawLayout) -> list[tuple[str, ...]]:
    """Return the paths that fill no column, whose keys in the text are counted all the same."""
    filled = {field.raw.name for field in layout.fields}
    nested = [(name,) for name, inner_names in _roots(layout).items() if inner_names]
    unused = [tuple(item.path) for item in layout.raw.fields if item.name not in filled]
    return nested + unused


def _column_sql(
    path: Sequence[str],
    type_sql: str,
    name: str,
    known: set[str],
) -> str:
    if path[0] not in known:
        return f"CAST(NULL AS {type_sql}) AS {quoted(name)}"
    value_sql = quoted(*path)
    if type_sql == "BOOLEAN":
        # Anything else fails as a BOOLEAN, so that the validating reader decides.
        is_flag_sql = f"CAST({value_sql} AS VARCHAR) IN ('true', 'false')"
        value_sql = f"CASE WHEN {is_flag_sql} THEN {value_sql} ELSE '?' || {value_sql} END"
    return f"CAST({value_sql} AS {type_sql}) AS {quoted(name)}"


def _roots(layout: RawLayout) -> dict[str, list[str]]:
    """Return the names at the root of a record, each with the names inside where it is a record itself."""
    roots: dict[str, list[str]] = {}
    for item in layout.raw.fields:
        root, *inner = item.path
        roots.setdefault(root, []).extend(inner)
    return roots


def json_lines(layout: RawLayout) -> LineFormat:
    """Return how a line of JSON is taken apart."""
    paths = [tuple(item.path) for item in layout.raw.fields]
    paths += [(listed.raw.name,) for listed in layout.lists]
    paths_sql = ", ".join(_path_sql(path) for path in paths)
    json_sql = "line"
    for other, name in layout.raw.spellings:
        # As keys, in quotes.
        other_sql = literal(f'"{other}"')
        name_sql = literal(f'"{name}"')
        json_sql = f"replace({json_sql}, {other_sql}, {name_sql})"
    fault_sql = _fault_sql(layout)
    is_odd_sql = _is_odd_sql(layout)
    return LineFormat(
        f"""
        SELECT
            source_row,
            line,
            json_extract_string(doc, [{paths_sql}]) AS fields,
            {fault_sql} AS fault,
            CASE fault WHEN 'wrong_column_count' THEN 'each key once'
                       WHEN 'unparsable_value' THEN 'a record with the fields of its table'
                       END AS expected,
            {is_odd_sql} AS is_odd
        FROM (
            SELECT
                source_row,
                line,
                CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT' THEN {json_sql} END AS doc
            FROM lines
        )
        """
    )


def _path_sql(path: Sequence[str]) -> str:
    """Write a path into a record; in quotes, since columns of own data may have names with blanks."""
    keys = "".join('."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"' for key in path)
    return literal(f"${keys}")


def _fault_sql(layout: RawLayout) -> str:
    """Write the fault of a record as a whole: not JSON, repeated keys, no record where one is due."""
    is_odd_sql = _is_odd_sql(layout)
    cases = [
        "WHEN doc IS NULL THEN 'unparsable_value'",
        # No field accepts the mark, and a name with it is none that somebody gave.
        f"WHEN contains(line, {NOT_UTF8_SQL}) AND ({is_odd_sql}) THEN 'unparsable_value'",
    ]
    if not layout.is_converted:
        has_repeated_sql = _has_repeated_sql("json_keys(doc)")
        cases.append(f"WHEN {has_repeated_sql} THEN 'wrong_column_count'")
    for name, inner_names in _roots(layout).items():
        if inner_names:
            path_sql = _path_sql([name])
            has_repeated_sql = _has_repeated_sql(f"json_keys(doc, {path_sql})")
            cases.append(
                f"WHEN json_type(doc, {path_sql}) NOT IN ('OBJECT', 'NULL') THEN 'unparsable_value'"
            )
            cases.append(f"WHEN {has_repeated_sql} THEN 'wrong_column_count'")
    nested_sql = _any_nested_sql(layout)
    if nested_sql:
        cases.append(f"WHEN {nested_sql} THEN 'unparsable_value'")
    for listed in layout.lists:
        has_other_sql = _any_item_sql(listed, "json_type(item) NOT IN ('OBJECT', 'NULL')")
        cases.append(f"WHEN {has_other_sql} THEN 'unparsable_value'")
        has_repeated_sql = _any_item_sql(listed, _has_repeated_sql("json_keys(item)"))
        cases.append(f"WHEN {has_repeated_sql} THEN 'wrong_column_count'")
    cases_sql = " ".join(cases)
    return f"CASE {cases_sql} END"


def _any_nested_sql(layout: RawLayout) -> str:
    """Write whether a text is an object or a list: as the text of that it would be stored as a name."""
    texts = [field for field in layout.fields if field.column.type == "string"]
    if not texts:
        return ""
    paths_sql = ", ".join(_path_sql(field.raw.path) for field in texts)
    return f"list_has_any(json_type(doc, [{paths_sql}]), ['OBJECT', 'ARRAY'])"


def _is_odd_sql(layout: RawLayout) -> str:
    """Write whether a record, or one inside it, has keys that its table does not have."""
    tests = []
    if not layout.is_converted:
        tests.append(_has_unknown_sql("json_keys(doc)", layout.raw.names))
    for name, inner_names in _roots(layout).items():
        if inner_names:
            tests.append(_has_unknown_sql(f"json_keys(doc, {_path_sql([name])})", inner_names))
    for listed in layout.lists:
        unknown_sql = _has_unknown_sql("json_keys(item)", listed.raw.names)
        tests.append(_any_item_sql(listed, unknown_sql))
    return " OR ".join(f"coalesce({test_sql}, false)" for test_sql in tests) or "false"


def _any_item_sql(listed: RawLayout, condition_sql: str) -> str:
    """Write whether a condition is true of any ``item`` of a list inside a record."""
    # The name is declared in this package: own data have no lists of records.
    path_sql = literal(f"$.{listed.raw.name}[*]")
    return f"len(list_filter(json_extract(doc, {path_sql}), lambda item: {condition_sql})) > 0"


def _has_unknown_sql(keys_sql: str, known: Sequence[str]) -> str:
    known_sql = ", ".join(literal(name) for name in known)
    return f"len(list_filter({keys_sql}, lambda key: key NOT IN ({known_sql}))) > 0"


def _has_repeated_sql(keys_sql: str) -> str:
    # The parsers differ in which value they keep.
    return f"len({keys_sql}) != len(list_distinct({keys_sql}))"
