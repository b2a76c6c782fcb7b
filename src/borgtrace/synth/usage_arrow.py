"""Usage rows as Arrow tables, for Parquet."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.schema.dialects import RawTable
from borgtrace.schema.time import SECOND
from borgtrace.synth.measurement import PLACES
from borgtrace.synth.usage_blocks import Block, UsageBlocks
from borgtrace.synth.usage_windows import IDENTITY, TIMES, Windows


def usage_tables(blocks: UsageBlocks) -> Iterator[tuple[int, pa.Table]]:
    """Yield number of the file and rows, block by block, with the fields of the raw table."""
    for block in blocks:
        # From the codes, so that Parquet holds the same ten-bit numbers as the JSON of the same seed.
        codes = block.codes[block.rows]
        values = np.where(codes < 0, np.nan, blocks.numbers.values[codes]).astype(np.float32)
        yield block.shard, _table(blocks.raw, blocks.windows, block, values)


def _table(raw: RawTable, windows: Windows, block: Block, values: NDArray[np.float32]) -> pa.Table:
    rows = windows.rows[block.first + block.rows]
    executions = windows.executions[rows["execution"]]
    columns: dict[str, Any] = {}
    at = 0
    for field in raw.fields:
        if field.column in PLACES:
            width = len(PLACES[field.column])
            several = values[:, at : at + width]
            at += width
            numbers = pa.array(several.ravel(), from_pandas=True)
            array = pa.FixedSizeListArray.from_arrays(numbers, width) if width > 1 else numbers
        elif field.column in IDENTITY:
            array = pa.array(executions[field.column])
        elif field.column in TIMES:
            array = pa.array(rows[field.column.removesuffix("_time")] * SECOND)
        else:
            array = pa.nulls(len(rows), pa.float32())
        if len(field.path) > 1:
            columns.setdefault(field.path[0], {})[field.path[1]] = array
        else:
            columns[field.path[0]] = array
    return pa.table(
        {
            name: _record(found) if isinstance(found, dict) else found
            for name, found in columns.items()
        }
    )


def _record(fields: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
