"""Tables in a bucket as a data source of Spark: its tasks read them through Arrow, with no jar beside Spark's own.

A task opens the bucket by its URL, with the credentials of the environment in which it runs; no plan holds any.  Spark
4.0 tells such a source neither the columns nor the filters of a query.  The columns are those of the schema that it is
made with (:func:`borgtrace.engine.spark.frame` asks for few), and all of their rows are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from borgtrace.storage.remote import RemotePath, translate_bucket_errors


class BucketSource(DataSource):
    """Parquet files of a bucket.

    Options
    -------
    made_of
        JSON: their URLs; what they call each column, null where they lack it; how many tasks share a file, each with
        every so many of its row groups.
    """

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the columns of a schema."""
        return _Reader(to_arrow_schema(schema), *json.loads(self.options["made_of"]))


class _Reader(DataSourceReader):
    def __init__(
        self, schema: pa.Schema, files: list[str], names: dict[str, str | None], pieces: int
    ) -> None:
        self.schema, self.files, self.pieces = schema, files, pieces
        self.stored = [names[field.name] or field.name for field in schema]

    def partitions(self) -> list[InputPartition]:
        return [
            InputPartition((file, piece)) for file in self.files for piece in range(self.pieces)
        ]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        place, piece = RemotePath(partition.value[0]), partition.value[1]
        # A column that the file lacks is NULL, and words that it holds as codes become words.
        schema = pa.schema(
            [field.with_name(name) for field, name in zip(self.schema, self.stored, strict=True)]
        )
        columns = dict(zip(self.schema.names, map(ds.field, self.stored), strict=True))
        with translate_bucket_errors(place):
            system, path = place.located
            file = ds.ParquetFileFormat().make_fragment(path, system)
            some = file.subset(row_group_ids=list(range(piece, file.num_row_groups, self.pieces)))
            # One batch ahead: Spark's memory does not count what Python holds.
            yield from some.to_batches(schema, columns=columns, batch_readahead=1)
