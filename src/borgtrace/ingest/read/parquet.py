"""Parquet shards: typed chunks from DuckDB's reader; as JSON lines where they must be validated.

So both containers of 2019 are judged by the same SQL, and the quarantine shows text in both cases.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.embedded import files_sql
from borgtrace.engine.guard import open_file
from borgtrace.engine.identifiers import number, quoted
from borgtrace.errors import SourceError
from borgtrace.ingest.files.limits import require_plausible_size
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout, layout_of
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import plain_file
from borgtrace.ingest.read.records import ROWS_PER_CHUNK, json_texts_sql, read_flat
from borgtrace.ingest.read.text_fields import is_plain_number_sql
from borgtrace.schema.arrow import raw_schema


def read_parquet(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of flat records.

    Parameters
    ----------
    source
        The file, plain or in gzip.
    layout
        What a record holds.

    Raises
    ------
    NeedsValidation
        Where DuckDB cannot read a record as what it should be.
    """
    with plain_file(source) as path:
        _require_plausible_content(source, path)
        schema = _spelled_schema(path, layout)
        has_odd_columns = not layout.is_converted and _is_odd(schema, layout)
        if has_odd_columns or not layout.is_plain:
            raise NeedsValidation
        if not _are_plain_numbers(path, schema, layout):
            raise NeedsValidation
        yield from read_flat(path, _records_sql(path, layout), layout, schema.names)


def _require_plausible_content(source: Source, path: Path) -> None:
    """Refuse a file that says it holds more than its bytes can: a few of them repeat one value a billion times."""
    footer = pq.read_metadata(path)
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    n_page_bytes = sum(group.total_byte_size for group in groups)
    # A value takes no byte where it repeats the one before: then the number of values says what is to come.
    n_expanded = max(n_page_bytes, footer.num_rows * footer.num_columns)
    require_plausible_size(source.path, path.stat().st_size, n_expanded)


def _records_sql(path: Path, layout: RawLayout) -> str:
    """Write the records of a file: instants become numbers of the unit in which the format has them, NaN is missing."""
    units = {field.raw.name: field.raw.scale for field in layout.fields if field.is_scaled}
    columns = []
    for field in pq.read_schema(path):
        name = layout.raw.spelled(field.name)
        value_sql = quoted(field.name)
        if pa.types.is_timestamp(field.type) and name in units:
            unit_sql = number(units[name])
            value_sql = f"epoch_us({value_sql}) / {unit_sql}"
        elif pa.types.is_floating(field.type):
            # Where integers were missing, pandas made doubles of them: NaN is what is missing.
            value_sql = f"CASE WHEN NOT isnan({value_sql}) THEN {value_sql} END"
        columns.append(f"{value_sql} AS {quoted(name)}")
    columns_sql = ", ".join(columns)
    return f"(SELECT {columns_sql} FROM {files_sql([path])})"


def _spelled_schema(path: Path, layout: RawLayout) -> pa.Schema:
    """Return the schema of a file under the names that its columns have in their table."""
    schema = pq.read_schema(path)
    return pa.schema([field.with_name(layout.raw.spelled(field.name)) for field in schema])


def _are_plain_numbers(path: Path, schema: pa.Schema, layout: RawLayout) -> bool:
    """Whether a cast reads all numbers of a file as the validating reader does: it makes 10 of 9.5 and of '9.5'."""
    tests = []
    for field in layout.fields:
        data_type = _type_at(schema, field.raw.path)
        value_sql = quoted(*field.raw.path)
        is_number = not field.is_text and field.column.type not in ("string", "bool")
        if not is_number or field.has_words or data_type is None:
            continue
        is_float = field.is_scaled or field.column.type.startswith("float")
        if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
            column_type = "float64" if is_float else field.column.type
            tests.append(is_plain_number_sql(f"trim({value_sql})", column_type))
        elif (pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)) and not is_float:
            is_whole_sql = f"trunc({value_sql}) = {value_sql}"
            tests.append(f"({is_whole_sql} AND abs({value_sql}) <= {number(2**53)})")
    if not tests:
        return True
    tests_sql = " AND ".join(f"coalesce({test_sql}, true)" for test_sql in tests)
    with open_file(path, threads=1) as connection:
        query_sql = (
            f"SELECT coalesce(bool_and({tests_sql}), true) FROM {_records_sql(path, layout)}"
        )
        try:
            ((are_plain,),) = connection.sql(query_sql).fetchall()
        except duckdb.Error as error:
            raise NeedsValidation from error
    return bool(are_plain)


def _type_at(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType | None:
    """Return the type of a field of a file, which may be inside a record; None where there is none."""
    if path[0] not in schema.names:
        return None
    data_type = schema.field(path[0]).type
    for name in path[1:]:
        if not pa.types.is_struct(data_type) or data_type.get_field_index(name) < 0:
            return None
        data_type = data_type.field(name).type
    return data_type


def _is_odd(schema: pa.Schema, layout: RawLayout) -> bool:
    """Whether a file has columns, or fields in them, that its table does not have under these names."""
    declared = raw_schema(layout.raw)
    for field in schema:
        if field.name not in declared.names:
            return True
        if pa.types.is_struct(field.type):
            declared_inside = set(declared.field(field.name).type.names)
            if not set(field.type.names) <= declared_inside:
                return True
    return False


def parquet_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the records of a file as numbered lines of JSON.

    Raises
    ------
    SourceError
        Where its pages are damaged.
    """
    n_done = 0
    with plain_file(source) as path, open_file(path, threads=1) as connection:
        records_sql = _records_sql(path, layout_of(source))
        # As JSON, since the validating reader takes texts apart, and the quarantine keeps what a person can read.
        query_sql = json_texts_sql(records_sql, _spelled_schema(path, layout_of(source)).names)
        try:
            for batch in connection.sql(query_sql).to_arrow_reader(ROWS_PER_CHUNK):
                numbers = pa.array(np.arange(n_done, n_done + batch.num_rows))
                n_done += batch.num_rows
                yield pa.table({"source_row": numbers, "line": batch.column("line")})
        # Its footer was read when it was recognized: what cannot be read now are its pages.
        except (duckdb.Error, OSError) as error:
            raise SourceError(
                str(source.path),
                "damaged Parquet file",
                way_out="fetch it again",
            ) from error
