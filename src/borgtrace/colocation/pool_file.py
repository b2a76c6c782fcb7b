"""A pool as one Parquet file: a row per task, its windows as lists.

Only ``inst`` and ``avg`` are needed to read one (``--pool FILE``), so a pool can come from anywhere; what a
written pool knows besides is kept in further columns and in the file's metadata.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from borgtrace.colocation.pool import PER_TASK, Pool, Step
from borgtrace.errors import SourceError
from borgtrace.kernels.arrays import Index, Values
from borgtrace.storage import replacing

_KEY = b"borgtrace.pool"
_LISTS = {"inst": np.float32, "avg": np.float32, "memory": np.float32, "start": np.int64, "seconds": np.int64}
_SCALARS = {"cpu_request": np.float32, "memory_request": np.float32, "priority": np.int64, "logical_name": np.int64}
_WAY_OUT = "write one with `borgtrace colocate STORE --export-pool FILE`"


def write_pool(pool: Pool, path: str | Path) -> None:
    """Write a pool; the file appears when it is whole.

    Parameters
    ----------
    pool
        Tasks to write.
    path
        The Parquet file; an existing one is replaced.
    """
    columns = {name: pa.array(getattr(pool, name)) for name in PER_TASK if getattr(pool, name) is not None}
    for name in _LISTS:
        values = getattr(pool, name)
        if values is not None:
            # Large lists have 64-bit offsets; ordinary ones end at 2³¹ windows.
            columns[name] = pa.LargeListArray.from_arrays(pa.array(pool.offsets), pa.array(values))
    if pool.quantiles is not None:
        levels = pa.FixedSizeListArray.from_arrays(pa.array(pool.quantiles.ravel()), pool.quantiles.shape[1])
        columns["quantiles"] = pa.LargeListArray.from_arrays(pa.array(pool.offsets), levels)
    about = {
        "generation": pool.generation,
        "source": pool.source,
        "is_synthetic": pool.is_synthetic,
        "is_weighted": pool.is_weighted,
        "steps": [asdict(step) for step in pool.steps],
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about)})
    with replacing(Path(path)) as draft:
        pq.write_table(table, draft, compression="zstd")


def read_pool(path: str | Path) -> Pool:
    """Read a pool.

    Raises
    ------
    SourceError
        The file is not there, is not Parquet, or a column is missing, ragged, negative or not a number.
    """
    table = _open(Path(path))
    about = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    offsets = _offsets(table, "inst", str(path))
    windows = {name: _values(table, name, kind, offsets, str(path)) for name, kind in _LISTS.items()}
    if windows["inst"] is None or windows["avg"] is None:
        raise SourceError(str(path), "no column avg", expected="lists inst and avg", way_out=_WAY_OUT)
    known = windows | _identity(table, str(path))
    known |= {name: _column(table, name, kind) for name, kind in _SCALARS.items()}
    return Pool(
        offsets=offsets,
        **known,
        quantiles=_quantiles(table),
        is_weighted=about.get("is_weighted", False),
        generation=about.get("generation", ""),
        source=about.get("source", Path(path).name),
        is_synthetic=about.get("is_synthetic", False),
        steps=tuple(Step(**step) for step in about.get("steps", ())),
    )


def _open(path: Path) -> pa.Table:
    if not path.is_file():
        raise SourceError(str(path), "no such file", way_out=_WAY_OUT)
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise SourceError(str(path), "not a Parquet file", way_out=_WAY_OUT) from error
    if not table.num_rows:
        raise SourceError(str(path), "the pool has no tasks", way_out=_WAY_OUT)
    return table.combine_chunks()


def _list(table: pa.Table, name: str, path: str) -> Any:
    if name not in table.column_names:
        raise SourceError(path, f"no column {name}", expected="lists inst and avg", way_out=_WAY_OUT)
    kind = table.schema.field(name).type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise SourceError(path, f"column {name} is not a list", got=str(kind), way_out=_WAY_OUT)
    return table[name].combine_chunks().cast(pa.large_list(kind.value_type))


def _offsets(table: pa.Table, name: str, path: str) -> Index:
    lists = _list(table, name, path)
    if lists.null_count:
        raise SourceError(path, f"column {name} holds NULLs", way_out=_WAY_OUT)
    # A slice of a file's rows has offsets that begin past 0.
    offsets: Index = lists.offsets.to_numpy().astype(np.int64)
    counts = np.diff(offsets)
    if counts.min() < 1:
        raise SourceError(path, f"row {int(counts.argmin())}: a task without windows", way_out=_WAY_OUT)
    offsets -= offsets[0]
    return offsets


def _values(table: pa.Table, name: str, kind: type, offsets: Index, path: str) -> NDArray[Any] | None:
    if name not in table.column_names:
        return None
    own = _offsets(table, name, path)
    if not np.array_equal(own, offsets):
        row = int(np.flatnonzero(np.diff(own) != np.diff(offsets))[0])
        raise SourceError(
            path,
            f"row {row}: {name} and inst differ in length",
            expected=str(np.diff(offsets)[row]),
            got=str(np.diff(own)[row]),
        )
    # A copy where there are NULLs: they become NaN and are refused below with their row.
    values: NDArray[Any] = _list(table, name, path).flatten().to_numpy(zero_copy_only=False)
    if not np.issubdtype(values.dtype, np.number):
        raise SourceError(path, f"column {name} is not a list of numbers", got=str(values.dtype))
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        row = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        raise SourceError(path, f"row {row}: column {name}", expected="numbers ≥ 0", got=str(values[bad[0]]))
    return values.astype(kind)


def _identity(table: pa.Table, path: str) -> dict[str, Any]:
    rows = np.arange(table.num_rows, dtype=np.int64)
    name = "collection_id" if "collection_id" in table.column_names else "task"
    collection = _column(table, name, np.int64)
    instance = _column(table, "instance_index", np.int64)
    collection = rows if collection is None else collection
    instance = np.zeros_like(rows) if instance is None else instance
    # Two rows with one identity would get the same draws, as if they peaked together.
    if len(np.unique(np.column_stack((collection, instance)), axis=0)) < len(rows):
        raise SourceError(path, "two rows are the same task", expected=f"unique ({name}, instance_index)")
    return {"collection_id": collection, "instance_index": instance}


def _column(table: pa.Table, name: str, kind: type) -> NDArray[Any] | None:
    """A column as an array; None where it is absent, or is a text where a number is needed."""
    if name not in table.column_names or not _is_number(table.schema.field(name).type):
        return None
    unknown = np.nan if np.issubdtype(kind, np.floating) else -1
    values: NDArray[Any] = table[name].fill_null(unknown).to_numpy().astype(kind)
    return values


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _quantiles(table: pa.Table) -> Values | None:
    if "quantiles" not in table.column_names:
        return None
    lists = table["quantiles"].combine_chunks().flatten()
    values: Values = lists.flatten().to_numpy().astype(np.float32)
    return values.reshape(len(lists), -1)
