"""Parquet: one row per trace, one list column per series; for HF datasets, polars, pandas, DuckDB.

A value that was not measured is null in its list.  Words are dictionary-encoded strings.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.datasets.formats.arrays import (
    IDENTITY,
    FeatureNames,
    TraceArrays,
    had_once,
    side_by_side,
)
from borgtrace.errors import StoreError, first_line
from borgtrace.kernels.arrays import Index


def schema(names: FeatureNames) -> pa.Schema:
    """Return the columns of a file."""
    fields = [
        *(pa.field(name, pa.int64(), nullable=False) for name in IDENTITY),
        *(pa.field(name, pa.list_(pa.float32()), nullable=False) for name in names.series),
        *(pa.field(name, pa.float32()) for name in names.numbers),
        *(pa.field(name, pa.string()) for name in names.words),
    ]
    return pa.schema(fields)


def write(
    path: Path,
    names: FeatureNames,
    parts: Iterable[TraceArrays],
    *,
    is_compressed: bool = False,
) -> int:
    """Write one file; return the number of rows.  `is_compressed` chooses zstd; pages are plain without."""
    count = 0
    compression = "zstd" if is_compressed else "none"
    series = [f"{name}.list.element" for name in names.series]
    with pq.ParquetWriter(
        path,
        schema(names),
        compression=compression,
        use_dictionary=list(names.words),
        write_statistics=list(IDENTITY),
        write_page_checksum=True,  # a tenth of the time of writing
        column_encoding=dict.fromkeys(
            series, "PLAIN"
        ),  # scaled values hardly repeat: a dictionary only costs
    ) as writer:
        for part in parts:
            writer.write_table(_table(part, names))
            count += len(part)
    return count


def read(path: Path, names: FeatureNames, *, is_verified: bool = True) -> TraceArrays:
    """Read one file; Parquet's own check sums are looked at if `is_verified` and the file has them.

    Raises
    ------
    StoreError
        The file is damaged.
    """
    try:
        table = pq.read_table(
            path, page_checksum_verification=is_verified, memory_map=True
        ).combine_chunks()
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            str(path), "damaged", got=first_line(error), way_out="build the dataset again"
        ) from error
    lists = [table.column(name).combine_chunks() for name in names.series]
    offsets = lists[0].offsets.to_numpy().astype(np.int64)
    series = [column.values.to_numpy(zero_copy_only=False) for column in lists]
    values = side_by_side(series, np.float32)
    # Nulls of a list come back as NaN, and a NaN was never written as a value.
    mask = (~np.isnan(values)).view(np.uint8)
    columns = {
        name: table.column(name).to_numpy() for name in (*IDENTITY, *names.numbers)
    } | _codes(table, names)
    return TraceArrays(offsets, values, mask, *had_once(columns, names, table.num_rows))


def _table(part: TraceArrays, names: FeatureNames) -> pa.Table:
    offsets = pa.array(part.offsets, pa.int32())
    # NaN, which numbers have where they are unknown, becomes NULL.
    columns = {
        name: pa.array(column, from_pandas=True) for name, column in part.columns(names).items()
    }
    for name, values, mask in zip(names.series, part.values.T, part.mask.T, strict=True):
        columns[name] = pa.ListArray.from_arrays(offsets, pa.array(values, mask=mask == 0))
    for (name, words), codes in zip(names.words.items(), part.codes.T, strict=True):
        columns[name] = pa.array(words, pa.string()).take(pa.array(codes, mask=codes < 0))
    return pa.table(columns, schema(names))


def _codes(table: pa.Table, names: FeatureNames) -> dict[str, Index]:
    codes = {}
    for name, words in names.words.items():
        number = {word: code for code, word in enumerate(words)}
        # By the order of `meta.json`, not of the file's dictionary, which holds only the words of this file.
        codes[name] = np.array(
            [number.get(word, -1) for word in table.column(name).to_pylist()], np.int64
        )
    return codes
