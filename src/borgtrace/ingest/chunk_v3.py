"""One chunk of flat v3 rows: checked as a whole, and given canonical values.

A chunk in which anything must be refused raises `Tripped`; its file is then read with care.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.columns2019 import MACHINE, SENTINELS, V3Column, has_machine, v3_columns
from borgtrace.ingest.fast_csv import Tripped
from borgtrace.schema.dialects import GOOGLE_2019


def canonical_chunk(table: str, flat: pa.Table) -> pa.Table:
    """Check a chunk of a v3 table and return its canonical columns.

    Raises
    ------
    Tripped
        When a row of the chunk needs care.
    """
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for v3 in v3_columns(table):
        values = flat.column(v3.column.name)
        columns[v3.column.name] = _canonical(v3, values)
        if v3.column.name == MACHINE and has_machine(table):
            columns["is_on_dedicated_machine"] = pc.fill_null(pc.equal(values, -1), False)
    if "end_time" in columns:
        shortest = pc.min(pc.subtract(columns["end_time"], columns["start_time"])).as_py()
        if shortest is not None and shortest < 0:
            raise Tripped
    return pa.table(columns)


def _canonical(v3: V3Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    column = v3.column
    if v3.is_mandatory and values.null_count:
        raise Tripped
    if column.type == "enum":
        return _names(v3, values)
    if column.type == "float32":
        return _amounts(values)
    if column.type == "list<float32>":
        return _percentiles(values, column.length or 0)
    if column.type in ("int64", "int32"):
        return _whole_numbers(v3, values)
    if column.type == "bool":
        return pc.fill_null(values, False)
    return values


def _names(v3: V3Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn codes into dictionary-encoded names; codes that mean nothing become NULL."""
    enum = v3.column.enum or ""
    codes, nulls = GOOGLE_2019.codes[enum], GOOGLE_2019.null_codes.get(enum, ())
    if not v3.column.nullable and values.null_count:
        values = pc.fill_null(values, min(codes))
    found = set(pc.unique(values).to_pylist()) - {None}
    if not found <= {*codes, *nulls}:
        raise Tripped
    names = pa.array(list(codes.values()))
    lowest = min(codes)
    indices = pc.cast(pc.subtract(values, lowest), pa.int8())
    for code in nulls:
        indices = pc.if_else(pc.equal(values, code), pa.scalar(None, pa.int8()), indices)
    chunks = [pa.DictionaryArray.from_arrays(chunk, names) for chunk in indices.chunks]
    return pa.chunked_array(chunks, pa.dictionary(pa.int8(), pa.string()))


def _amounts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    total = pc.sum(values).as_py() or 0.0
    if not np.isfinite(total) or (pc.min(values).as_py() or 0.0) < 0:
        raise Tripped
    return values


def _percentiles(values: pa.ChunkedArray, length: int) -> pa.ChunkedArray:
    lengths = set(pc.unique(pc.list_value_length(values)).to_pylist())
    if not lengths <= {None, 0, length}:
        raise Tripped
    flat = pc.list_flatten(values)
    if flat.null_count:
        raise Tripped
    _amounts(flat)
    return values


def _whole_numbers(v3: V3Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    bounds = pc.min_max(values).as_py()
    lowest, highest = bounds["min"] or 0, bounds["max"] or 0
    none = SENTINELS.get(v3.column.name, ())
    if lowest < min((0, *none)) or (v3.column.unit == "class" and highest > 3):
        raise Tripped
    for code in none:
        if lowest <= code:
            values = pc.if_else(pc.equal(values, code), pa.scalar(None, values.type), values)
    return values
