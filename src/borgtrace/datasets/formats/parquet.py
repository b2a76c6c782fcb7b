"""Write and read Parquet: one row per trace, one list column per series; for HF datasets, polars, pandas, DuckDB.

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
    side_by_side,
    trace_columns,
)
from borgtrace.errors import StoreError, first_line
from borgtrace.kernels.arrays import Index
from borgtrace.storage import readable, refuse_shortage


def schema(names: FeatureNames) -> pa.Schema:
    """Return the columns of a file."""
    fields = [pa.field(name, pa.int64(), nullable=False) for name in IDENTITY]
    for name in names.series:
        fields.append(pa.field(name, pa.list_(pa.float32()), nullable=False))
    for name in names.numbers:
        fields.append(pa.field(name, pa.float32()))
    for name in names.words:
        fields.append(pa.field(name, pa.string()))
    return pa.schema(fields)


def write(
    path: Path,
    names: FeatureNames,
    parts: Iterable[TraceArrays],
    *,
    is_compressed: bool = False,
) -> int:
    """Write one file; return the number of rows.  `is_compressed` chooses zstd; pages are plain without."""
    # Scaled values hardly repeat: a dictionary would only cost.
    encodings = {f"{name}.list.element": "PLAIN" for name in names.series}
    count = 0
    with pq.ParquetWriter(
        path,
        schema(names),
        compression="zstd" if is_compressed else "none",
        use_dictionary=list(names.words),
        write_statistics=list(IDENTITY),
        write_page_checksum=True,  # a tenth of the time of writing
        column_encoding=encodings,
    ) as writer:
        for part in parts:
            writer.write_table(as_table(part, names))
            count += len(part)
    return count


def read(
    path: Path,
    names: FeatureNames,
    *,
    is_verified: bool = True,
) -> TraceArrays:
    """Read one file; Parquet's own check sums are verified if `is_verified` and the file has them.

    Raises
    ------
    StoreError
        The file is damaged.
    """
    try:
        table = pq.read_table(
            readable(path),
            page_checksum_verification=is_verified,
            memory_map=True,
            # A folder called `split=a` above the file is no column.
            partitioning=None,
        )
        table = table.combine_chunks()
    except (OSError, pa.ArrowException) as error:
        refuse_shortage(error, path)
        raise StoreError(
            str(path),
            "damaged",
            got=first_line(error),
            way_out="build the dataset again",
        ) from error
    lists = [table.column(name).combine_chunks() for name in names.series]
    offsets = lists[0].offsets.to_numpy().astype(np.int64)
    series = [column.values.to_numpy(zero_copy_only=False) for column in lists]
    values = side_by_side(series, np.float32)
    columns = {}
    for name in (*IDENTITY, *names.numbers):
        columns[name] = table.column(name).to_numpy()
    for name, words in names.words.items():
        columns[name] = codes_of(table.column(name), words)
    once = trace_columns(columns, names, table.num_rows)
    return TraceArrays(
        offsets=offsets,
        values=values,
        # Nulls of a list come back as NaN, and a NaN was never written as a value.
        mask=(~np.isnan(values)).view(np.uint8),
        identity=once.identity,
        numbers=once.numbers,
        codes=once.codes,
    )


def as_table(traces: TraceArrays, names: FeatureNames) -> pa.Table:
    """Return some traces as rows of a file."""
    offsets = pa.array(traces.offsets, pa.int32())
    columns = {}
    for name, column in traces.columns(names).items():
        # NaN, which numbers have where they are unknown, becomes NULL.
        columns[name] = pa.array(column, from_pandas=True)
    for name, values, mask in zip(
        names.series,
        traces.values.T,
        traces.mask.T,
        strict=True,
    ):
        elements = pa.array(values, mask=mask == 0)
        columns[name] = pa.ListArray.from_arrays(offsets, elements)
    for (name, words), codes in zip(names.words.items(), traces.codes.T, strict=True):
        positions = pa.array(codes, mask=codes < 0)
        columns[name] = pa.array(words, pa.string()).take(positions)
    return pa.table(columns, schema(names))


def codes_of(column: pa.ChunkedArray, words: tuple[str, ...]) -> Index:
    """Return the position of each word of a column among `words`, −1 where it is none of them."""
    # By the order of `meta.json`, not of the file's dictionary, which holds only the words of this file.
    code_of = {word: code for code, word in enumerate(words)}
    return np.array([code_of.get(word, -1) for word in column.to_pylist()], np.int64)
