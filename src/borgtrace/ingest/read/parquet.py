"""Parquet shards: typed chunks from DuckDB's reader; as JSON lines where they must be validated.

So both containers of 2019 are judged by the same SQL, and the quarantine shows text in both cases.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.embedded import files_sql, without_bar
from borgtrace.errors import SourceError
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout, layout_of
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import plain_file
from borgtrace.ingest.read.records import ROWS_PER_CHUNK, read_flat
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
        schema = pq.read_schema(path)
        if not layout.is_converted and _is_odd(schema, layout):
            raise NeedsValidation
        yield from read_flat(_records(path, layout), layout, schema.names)


def _records(path: Path, layout: RawLayout) -> str:
    """SQL of the records of a file, whose instants become numbers of the unit in which the format has them."""
    units = {field.raw.name: field.raw.scale for field in layout.fields if field.is_scaled}
    stamps = [
        field.name
        for field in pq.read_schema(path)
        if pa.types.is_timestamp(field.type) and field.name in units
    ]
    numbers = ", ".join(f'epoch_us("{name}") / {units[name]} AS "{name}"' for name in stamps)
    return f"(SELECT *{f' REPLACE ({numbers})' if stamps else ''} FROM {files_sql([path])})"


def _is_odd(schema: pa.Schema, layout: RawLayout) -> bool:
    """Whether a file has columns, or fields in them, that its table does not have under these names."""
    known = raw_schema(layout.raw)
    return any(
        field.name not in known.names
        or (
            pa.types.is_struct(field.type)
            and not set(field.type.names) <= set(known.field(field.name).type.names)
        )
        for field in schema
    )


def parquet_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the records of a file as numbered lines of JSON.

    Raises
    ------
    SourceError
        Where its pages are damaged.
    """
    done = 0
    with (
        plain_file(source) as path,
        without_bar(duckdb.connect(config={"threads": 1})) as connection,
    ):
        # As JSON, since the validating reader takes texts apart, and the quarantine keeps what a person can read.
        query = f"SELECT to_json(r)::VARCHAR AS line FROM {_records(path, layout_of(source))} AS r"
        try:
            for batch in connection.sql(query).to_arrow_reader(ROWS_PER_CHUNK):
                numbers = pa.array(np.arange(done, done + batch.num_rows))
                done += batch.num_rows
                yield pa.table({"source_row": numbers, "line": batch.column("line")})
        # Its footer was read when it was recognized: what cannot be read now are its pages.
        except (duckdb.Error, OSError) as error:
            raise SourceError(
                str(source.path), "damaged Parquet file", way_out="fetch it again"
            ) from error
