"""Usage rows as Arrow tables, for Parquet."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.schema.dialects import RawTable
from borgtrace.schema.time import SECOND
from borgtrace.synth.measure.measurement import PLACES
from borgtrace.synth.measure.usage_blocks import UsageBlock, UsageBlocks
from borgtrace.synth.measure.usage_windows import IDENTITY, TIMES, SegmentWindows


def usage_tables(blocks: UsageBlocks) -> Iterator[tuple[int, pa.Table]]:
    """Yield number of the file and rows, block by block, with the fields of the raw table."""
    for block in blocks:
        # From the codes, so that Parquet holds the same ten-bit numbers as the JSON of the same seed.
        codes = block.codes[block.rows]
        printed = blocks.numbers.values[codes]
        values = np.where(codes < 0, np.nan, printed)
        yield (
            block.shard,
            _table(blocks.raw, blocks.windows, block, values.astype(np.float32)),
        )


def _table(
    raw: RawTable,
    windows: SegmentWindows,
    block: UsageBlock,
    values: NDArray[np.float32],
) -> pa.Table:
    rows = windows.rows[block.first + block.rows]
    executions = windows.executions[rows["execution"]]
    columns: dict[str, Any] = {}
    records: dict[str, dict[str, pa.Array]] = {}
    first = 0
    for field in raw.fields:
        if field.column in PLACES:
            width = len(PLACES[field.column])
            array = _number_array(values[:, first : first + width])
            first += width
        elif field.column in IDENTITY:
            array = pa.array(executions[field.column])
        elif field.column in TIMES:
            seconds = rows[field.column.removesuffix("_time")]
            array = pa.array(seconds * SECOND)
        else:
            array = pa.nulls(len(rows), pa.float32())
        if len(field.path) > 1:
            record, name = field.path
            records.setdefault(record, {})[name] = array
            # Holds the record's place among the columns until all of its fields are known.
            columns.setdefault(record, None)
        else:
            columns[field.path[0]] = array
    for name, fields in records.items():
        columns[name] = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    return pa.table(columns)


def _number_array(values: NDArray[np.float32]) -> pa.Array:
    """Return a column of numbers, or of lists of numbers."""
    width = values.shape[1]
    if width == 1:
        return pa.array(values.ravel(), from_pandas=True)
    # A list is whole or empty.
    has_numbers = ~np.isnan(values[:, 0])
    ends = np.cumsum(width * has_numbers, dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    return pa.ListArray.from_arrays(offsets, values[has_numbers].ravel())
