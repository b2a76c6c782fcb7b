"""Does a result look as its recipe declares: names, types, NULLs, key, order."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.errors import SchemaError, first_line
from borgtrace.question.answer import Rows
from borgtrace.schema.arrow import arrow_field, arrow_schema
from borgtrace.schema.types import Table


def conform(answer: Rows, declared: Table) -> pa.Table:
    """Return `answer` with the declared types, in the declared column order, sorted by the key.

    Integers may change width and floats may become narrower; nothing else is converted.

    Parameters
    ----------
    answer
        What `compute` returned.
    declared
        The declaration of the result.

    Returns
    -------
    pa.Table
        Columns in the declared order, one chunk each; rows sorted by the key.

    Raises
    ------
    SchemaError
        With every failure at once: missing and surplus columns, wrong types, NULLs, repeated keys.
    """
    schema = arrow_schema(declared)
    given = answer if isinstance(answer, pa.Table) else table_of(answer, declared)
    # Types are compared name by name, which takes every name to be there.
    failures = _name_failures(given, schema) or _type_failures(given, schema)
    if failures:
        raise SchemaError(
            declared.name, "the result is not what its recipe declares: " + "; ".join(failures)
        )
    # What a column is goes with it, into charts and files.
    fields = [
        arrow_field(one).with_metadata({"doc": one.doc, "unit": one.unit})
        for one in declared.columns
    ]
    table = pa.table(
        {one.name: _cast(given[one.name], one) for one in fields}, schema=pa.schema(fields)
    )
    failures = _null_failures(table) + _key_failures(table, declared)
    if failures:
        raise SchemaError(
            declared.name, "the result is not what its recipe declares: " + "; ".join(failures)
        )
    return _sorted(table, declared)


def table_of(rows: Sequence[Mapping[str, Any]], declared: Table) -> pa.Table:
    """Turn rows into a table with the declared types.

    Parameters
    ----------
    rows
        Rows as mappings, each with all columns.
    declared
        The declaration of the result.

    Raises
    ------
    SchemaError
        Where a row has other columns than declared: Arrow would drop them, or fill in NULL.
    """
    names = set(declared.names)
    wrong = next((row.keys() for row in rows if row.keys() != names), None)
    if wrong is not None:
        raise SchemaError(
            declared.name, f"a row has the columns {sorted(wrong)}, declared are {sorted(names)}"
        )
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(declared))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        # An integer that does not fit the declared width is an error and not another number; of floats only digits go.
        return pc.cast(column, field.type)
    except pa.ArrowInvalid as error:
        raise SchemaError(
            field.name, f"a value does not fit {field.type}: {first_line(error)}"
        ) from error


def _name_failures(answer: pa.Table, schema: pa.Schema) -> list[str]:
    have, want = set(answer.column_names), set(schema.names)
    missing = [f"column {name} is missing" for name in schema.names if name not in have]
    surplus = [f"column {name} is not declared" for name in answer.column_names if name not in want]
    return missing + surplus


def _type_failures(answer: pa.Table, schema: pa.Schema) -> list[str]:
    return [
        f"column {field.name} is {answer.schema.field(field.name).type}, declared {field.type}"
        for field in schema
        if not _convertible(answer.schema.field(field.name).type, field.type)
    ]


def _convertible(found: pa.DataType, declared: pa.DataType) -> bool:
    # Enums are dictionaries in a store and plain text once an expression has made them.
    if pa.types.is_dictionary(found):
        found = found.value_type
    kinds = (pa.types.is_integer, pa.types.is_floating, _is_text)
    # A column without a single value has Arrow's type null.
    return (
        found.equals(declared)
        or pa.types.is_null(found)
        or any(kind(found) and kind(declared) for kind in kinds)
    )


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _null_failures(table: pa.Table) -> list[str]:
    return [
        f"column {field.name} holds {table[field.name].null_count} NULLs"
        for field in table.schema
        if not field.nullable and table[field.name].null_count
    ]


def _key_failures(table: pa.Table, declared: Table) -> list[str]:
    if not declared.key or not table.num_rows:
        return []
    # Grouping without an aggregate leaves the distinct keys.
    distinct = table.select(declared.key).group_by(list(declared.key)).aggregate([]).num_rows
    repeated = table.num_rows - distinct
    return [f"{repeated} rows repeat the key ({', '.join(declared.key)})"] if repeated else []


def _sorted(table: pa.Table, declared: Table) -> pa.Table:
    if not declared.key or table.num_rows < 2:
        return table.combine_chunks()
    # Engines return rows in any order: sorted, the answers of two of them can be compared, and files too.
    return table.sort_by([(name, "ascending") for name in declared.key]).combine_chunks()
