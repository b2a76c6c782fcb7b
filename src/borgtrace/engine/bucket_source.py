"""Tables in a bucket as a data source of Spark: its tasks read them through Arrow, with no jar beside Spark's own.

A task opens the bucket by its URL, with the credentials of the environment in which it runs; no plan holds any.  Spark
4.0 hands such a source neither the columns nor the filters of a query.  The columns are those of the schema that it is
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
        JSON: their URLs; the stored name of each column, null where they lack it; how many tasks share a file, each
        with every so many of its row groups.
    """

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the columns of a schema."""
        files, names, pieces = json.loads(self.options["made_of"])
        return BucketReader(to_arrow_schema(schema), files, names, pieces)


class BucketReader(DataSourceReader):
    """Reads some columns of Parquet files, each file in pieces.

    Parameters
    ----------
    schema
        The columns.
    files
        URLs of the files.
    names
        The stored name of each column, None where the files lack it.
    pieces
        How many tasks share a file.
    """

    def __init__(
        self,
        schema: pa.Schema,
        files: list[str],
        names: dict[str, str | None],
        pieces: int,
    ) -> None:
        self.schema = schema
        self.files = files
        self.pieces = pieces
        self.stored_names = [names[field.name] or field.name for field in schema]

    def partitions(self) -> list[InputPartition]:
        """Return one partition for each piece of each file."""
        partitions = []
        for file in self.files:
            for piece in range(self.pieces):
                partitions.append(InputPartition((file, piece)))
        return partitions

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one piece."""
        file, piece = partition.value
        path = RemotePath(file)
        # A column that the file lacks is NULL, and words that it holds as codes become words.
        fields = zip(self.schema, self.stored_names, strict=True)
        stored_schema = pa.schema([field.with_name(name) for field, name in fields])
        columns = {}
        for name, stored_name in zip(self.schema.names, self.stored_names, strict=True):
            columns[name] = ds.field(stored_name)
        with translate_bucket_errors(path):
            filesystem, key = path.located
            fragment = ds.ParquetFileFormat().make_fragment(key, filesystem)
            row_groups = list(range(piece, fragment.num_row_groups, self.pieces))
            subset = fragment.subset(row_group_ids=row_groups)
            # One batch ahead: Spark's memory does not count what Python holds.
            yield from subset.to_batches(stored_schema, columns=columns, batch_readahead=1)
