"""Check that an answer is as its question declares it: names, types, NULLs, key and order."""

from collections.abc import Iterable, Mapping, Sequence
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
        The declaration of the answer.

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
    computed = answer if isinstance(answer, pa.Table) else table_of(answer, declared)
    _refuse(declared, _name_failures(computed, schema))
    # Types are compared name by name, which takes every name to be there.
    _refuse(declared, _type_failures(computed, schema))

    # The doc and the unit of a column go with it, into charts and files.
    fields = [
        arrow_field(column).with_metadata({"doc": column.doc, "unit": column.unit})
        for column in declared.columns
    ]
    columns = {field.name: _cast(computed[field.name], field) for field in fields}
    table = pa.table(columns, schema=pa.schema(fields))
    _refuse(declared, [*_null_failures(table), *_key_failures(table, declared)])
    return _sorted(table, declared)


def _refuse(declared: Table, failures: Sequence[str]) -> None:
    if failures:
        raise SchemaError(
            declared.name,
            "the answer is not what its question declares: " + "; ".join(failures),
        )


def table_of(rows: Sequence[Mapping[str, Any]], declared: Table) -> pa.Table:
    """Turn rows into a table with the declared types.

    Parameters
    ----------
    rows
        Rows as mappings, each with all columns.
    declared
        The declaration of the answer.

    Raises
    ------
    SchemaError
        Where a row has other columns than declared: Arrow would drop them, or fill in NULL.
    """
    names = set(declared.names)
    for row in rows:
        if row.keys() != names:
            raise SchemaError(
                declared.name,
                f"a row has the columns {sorted(row)}, declared are {sorted(names)}",
            )
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(declared))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        # An integer that does not fit the declared width is an error and not another number; of floats only digits go.
        return pc.cast(column, field.type)
    except pa.ArrowInvalid as error:
        message = f"a value does not fit {field.type}: {first_line(error)}"
        raise SchemaError(field.name, message) from error


def _name_failures(answer: pa.Table, schema: pa.Schema) -> list[str]:
    computed = set(answer.column_names)
    declared = set(schema.names)
    missing = [f"column {name} is missing" for name in schema.names if name not in computed]
    surplus = [
        f"column {name} is not declared" for name in answer.column_names if name not in declared
    ]
    return missing + surplus


def _type_failures(answer: pa.Table, schema: pa.Schema) -> list[str]:
    failures = []
    for field in schema:
        computed = answer.schema.field(field.name).type
        if not _is_convertible(computed, field.type):
            failures.append(f"column {field.name} is {computed}, declared {field.type}")
    return failures


def _is_convertible(computed: pa.DataType, declared: pa.DataType) -> bool:
    # Enums are dictionaries in a store and plain text once an expression has made them.
    if pa.types.is_dictionary(computed):
        computed = computed.value_type
    # A column without a single value has Arrow's type null.
    if computed.equals(declared) or pa.types.is_null(computed):
        return True
    kinds = (pa.types.is_integer, pa.types.is_floating, _is_text)
    return any(is_kind(computed) and is_kind(declared) for is_kind in kinds)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _null_failures(table: pa.Table) -> Iterable[str]:
    for field in table.schema:
        n_nulls = table[field.name].null_count
        if n_nulls and not field.nullable:
            yield f"column {field.name} holds {n_nulls} NULLs"


def _key_failures(table: pa.Table, declared: Table) -> Iterable[str]:
    if not declared.key or not table.num_rows:
        return
    # Grouping without an aggregate leaves the distinct keys.
    distinct_keys = table.select(declared.key).group_by(list(declared.key)).aggregate([])
    n_repeated = table.num_rows - distinct_keys.num_rows
    if n_repeated:
        yield f"{n_repeated} rows repeat the key ({', '.join(declared.key)})"


def _sorted(table: pa.Table, declared: Table) -> pa.Table:
    if not declared.key or table.num_rows < 2:
        return table.combine_chunks()
    # Engines return rows in any order: sorted, the answers of two of them can be compared, and files too.
    return table.sort_by([(name, "ascending") for name in declared.key]).combine_chunks()
