"""The fast path for clean 2011 CSV: parsed, checked and written without Python per row.

Any doubt (a field that does not parse, a NULL where none may be, a value out of range) raises
`Tripped`, and the file is read again with care (`careful.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from borgtrace.ingest.columns2011 import TIMES, RawColumn
from borgtrace.ingest.counts import count_out_of_order, count_suspicions
from borgtrace.schema.time import AFTER_TRACE

BLOCK_SIZE = 1 << 22
ROWS_PER_CHUNK = 1 << 19
_MAX_INT64 = np.uint64(AFTER_TRACE)
_MAX_UINT64 = np.uint64(2**64 - 1)


class Tripped(Exception):  # noqa: N818 - a signal between two readers, not an error of the user's
    """The fast path met something it does not handle."""


@dataclass(frozen=True)
class Reader:
    """A way to read typed columns; whether what it yields is finite and not negative by its making."""

    chunks: Callable[[BinaryIO, tuple[RawColumn, ...]], Iterator[pa.Table]]
    is_unsigned: bool = False


def read_chunks(
    stream: BinaryIO, columns: tuple[RawColumn, ...], reader: Reader
) -> Iterator[tuple[pa.Table, Counter[str]]]:
    """Yield checked tables of canonical columns and what was counted in them.

    Parameters
    ----------
    stream
        Decompressed bytes.
    columns
        The fields of the file.
    reader
        `GENERAL`, or `fast_numbers.NUMBERS` where all fields are numbers.

    Raises
    ------
    Tripped
        When any row needs care.
    """
    previous = 0
    for raw in reader.chunks(stream, columns):
        table = pa.table(
            {column.column.name: _canonical(column, raw.column(i), reader) for i, column in enumerate(columns)}
        )
        counts = count_suspicions(table)
        if "end_time" in table.column_names and _ends_early(table):
            raise Tripped
        times = table.column("start_time" if "end_time" in table.column_names else "time").to_numpy()
        counts["time_out_of_order"] += count_out_of_order(times, previous)
        previous = int(times[-1])
        yield table, +counts


def _read_general(stream: BinaryIO, columns: tuple[RawColumn, ...]) -> Iterator[pa.Table]:
    """Yield tables of typed columns, named by position, with Arrow's CSV reader."""
    names = [str(i) for i in range(len(columns))]
    types = {name: column.reader_type for name, column in zip(names, columns, strict=True)}
    try:
        reader = pyarrow.csv.open_csv(
            stream,
            pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK_SIZE, column_names=names),
            pyarrow.csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            pyarrow.csv.ConvertOptions(
                column_types=types, strings_can_be_null=True, null_values=[""], true_values=["1"], false_values=["0"]
            ),
        )
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in reader:
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= ROWS_PER_CHUNK:
                yield pa.Table.from_batches(waiting)
                waiting, rows = [], 0
    except pa.ArrowInvalid as error:
        raise Tripped from error
    if rows:
        yield pa.Table.from_batches(waiting)


GENERAL = Reader(_read_general)


def _canonical(raw: RawColumn, values: pa.ChunkedArray, reader: Reader) -> pa.ChunkedArray:
    """Check one column and give it its canonical type."""
    if raw.is_mandatory and values.null_count and not raw.keeps_empty:
        raise Tripped
    if raw.column.type == "string":
        return pc.fill_null(values, "") if raw.keeps_empty else values
    if raw.column.type == "bool":
        return values
    if raw.column.type == "float32":
        return values if reader.is_unsigned else _amounts(values)
    if raw.column.type == "enum":
        return _names(raw, values)
    return _times(values) if raw.column.name in TIMES else _whole_numbers(raw, values)


def _amounts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    total = pc.sum(values).as_py() or 0.0
    if not np.isfinite(total) or (pc.min(values).as_py() or 0.0) < 0:
        raise Tripped
    return values


def _whole_numbers(raw: RawColumn, values: pa.ChunkedArray) -> pa.ChunkedArray:
    bounds = pc.min_max(values).as_py()
    if (bounds["min"] or 0) < 0 or (raw.column.unit == "class" and (bounds["max"] or 0) > 3):
        raise Tripped
    return values


def _names(raw: RawColumn, values: pa.ChunkedArray) -> pa.ChunkedArray:
    bounds = pc.min_max(values).as_py()
    if (bounds["min"] or 0) < 0 or (bounds["max"] or 0) >= len(raw.codes):
        raise Tripped
    names = pa.array(raw.codes)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(chunk, names) for chunk in values.chunks], pa.dictionary(pa.int8(), pa.string())
    )


def _times(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if (pc.max(values).as_py() or 0) > int(_MAX_INT64):
        return pa.chunked_array([_clip(chunk) for chunk in values.chunks], pa.int64())
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in values.chunks], pa.int64())


def _clip(chunk: pa.Array) -> pa.Array:
    """Turn 2⁶⁴−1 into 2⁶³−1; anything else beyond 2⁶³−1 is no time."""
    numbers = chunk.to_numpy().copy()
    beyond = numbers > _MAX_INT64
    if np.any(numbers[beyond] != _MAX_UINT64):
        raise Tripped
    numbers[beyond] = _MAX_INT64
    return pa.array(numbers.view(np.int64))


def _ends_early(table: pa.Table) -> bool:
    difference = pc.subtract(table.column("end_time"), table.column("start_time"))
    return bool((pc.min(difference).as_py() or 0) < 0)
