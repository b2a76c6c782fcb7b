"""A pool as one Parquet file: a row per task, its windows as lists.

Only ``inst`` and ``avg`` are needed to read one (``--pool FILE``), so a pool can come from anywhere.  What else a
pool knows is written to further columns and to the file's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from borgtrace.colocation.tasks.pool import LEVELS, PER_TASK, PreparationStep, TaskPool
from borgtrace.errors import SourceError, shell_word
from borgtrace.kernels.arrays import Index
from borgtrace.schema.dialects import dialect
from borgtrace.storage import as_local_path, readable, refuse_shortage, replacing
from borgtrace.store.coverage import Coverage, StoreCoverage

_METADATA_KEY = b"borgtrace.pool"
_WINDOW_COLUMNS = {
    "inst": np.float32,
    "avg": np.float32,
    "memory": np.float32,
    "start": np.int64,
    "seconds": np.int64,
    "quantiles": np.float32,
}
"""Columns of lists: a number for each window of a task, of `quantiles` a list of numbers."""
_TASK_COLUMNS = {
    "cpu_request": np.float32,
    "memory_request": np.float32,
    "disk_request": np.float32,
    "priority": np.int64,
    "logical_name": np.int64,
    "user": np.int64,
    "retried": np.int64,
}
_METADATA_FIELDS = ("generation", "source", "is_synthetic", "is_weighted")
_WAY_OUT = "write one: borgtrace colocate pool STORE --out FILE"
"""Where a file is there, it is somebody's: no command is proposed that would replace it."""


def write_pool(pool: TaskPool, path: str | Path) -> None:
    """Write a pool; the file appears when it is whole.

    Parameters
    ----------
    pool
        Tasks to write.
    path
        The Parquet file; an existing one is replaced.
    """
    columns = {}
    for name in PER_TASK:
        values = getattr(pool, name)
        if values is not None:
            columns[name] = pa.array(values)
    offsets = pa.array(pool.offsets)
    for name in _WINDOW_COLUMNS:
        values = getattr(pool, name)
        if values is not None:
            # Large lists have 64-bit offsets; ordinary ones end at 2³¹ windows.
            columns[name] = pa.LargeListArray.from_arrays(offsets, _arrow_values(values))

    metadata: dict[str, Any] = {name: getattr(pool, name) for name in _METADATA_FIELDS}
    metadata["steps"] = [asdict(step) for step in pool.steps]
    if pool.part is not None:
        metadata["part"] = _coverage_facts(pool.part)
    table = pa.table(columns)
    table = table.replace_schema_metadata({_METADATA_KEY: json.dumps(metadata)})
    with replacing(Path(path)) as draft:
        pq.write_table(table, draft, compression="zstd")


def _arrow_values(values: NDArray[Any]) -> pa.Array:
    """Return values by window; rows of a matrix become lists."""
    flat = pa.array(values.ravel())
    if values.ndim == 1:
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def read_pool(path: str | Path) -> TaskPool:
    """Read a pool.

    Parameters
    ----------
    path
        The Parquet file.

    Raises
    ------
    SourceError
        The file is not there, is not Parquet, or a column is missing, ragged, negative or not a number; or the windows
        of a task are not in time order.
    """
    columns = PoolColumns(_open(as_local_path(path)), str(path))
    offsets = columns.offsets("inst")
    # Besides `inst`, a pool must have this one: `offsets` refuses a file without it.
    columns.offsets("avg")
    fields: dict[str, Any] = {}
    for name, kind in _WINDOW_COLUMNS.items():
        if name in columns:
            fields[name] = columns.windows(name, kind, offsets)
    for name, kind in _TASK_COLUMNS.items():
        fields[name] = columns.scalars(name, kind)
    fields |= columns.identity()
    columns.require_order(fields.get("start"), offsets)

    fields["source"] = Path(path).name
    stored_metadata = columns.table.schema.metadata or {}
    text = stored_metadata.get(_METADATA_KEY, b"{}")
    # Of any shape: the file may be somebody else's.
    try:
        return TaskPool(offsets=offsets, **{**fields, **_described(json.loads(text))})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SourceError(
            str(path),
            "what the file says of its tasks is damaged",
            way_out=_WAY_OUT,
        ) from error


def _described(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of its tasks beside their numbers."""
    fields = {name: metadata[name] for name in _METADATA_FIELDS if name in metadata}
    fields["steps"] = tuple(PreparationStep(**step) for step in metadata.get("steps", ()))
    fields["part"] = _coverage(metadata["part"]) if "part" in metadata else None
    return fields


def _coverage_facts(part: StoreCoverage) -> dict[str, Any]:
    """Return what a file says of the store that its pool was made from."""
    return {
        "trace": part.dialect.trace,
        "tables": {name: asdict(table) for name, table in part.tables.items()},
        "n_tasks": part.n_tasks,
        "is_subset": part.is_subset,
    }


def _coverage(facts: dict[str, Any]) -> StoreCoverage:
    tables = {}
    for name, table in facts["tables"].items():
        parts = tuple(table["parts"])
        tables[name] = Coverage(**{**table, "parts": parts})
    return StoreCoverage(dialect(facts["trace"]), tables, facts["n_tasks"], facts["is_subset"])


def _open(path: Path) -> pa.Table:
    if not path.is_file():
        raise SourceError(
            str(path),
            "no such file",
            way_out=f"write one: borgtrace colocate pool STORE --out {shell_word(path)}",
        )
    try:
        table = pq.read_table(readable(path), partitioning=None)
    except (pa.ArrowException, OSError) as error:
        refuse_shortage(error, path)
        raise SourceError(str(path), "not a Parquet file", way_out=_WAY_OUT) from error
    if not table.num_rows:
        raise SourceError(str(path), "the pool has no tasks", way_out=_WAY_OUT)
    return table.combine_chunks()


@dataclass(frozen=True)
class PoolColumns:
    """The columns of a file, checked while they become arrays."""

    table: pa.Table
    path: str

    def __contains__(self, name: str) -> bool:
        return name in self.table.column_names

    def lists(self, name: str) -> pa.LargeListArray:
        """Return a column of lists without NULLs."""
        if name not in self:
            raise SourceError(
                self.path,
                f"no column {name}",
                expected="lists inst and avg",
                way_out=_WAY_OUT,
            )
        kind = self.table.schema.field(name).type
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            raise SourceError(
                self.path,
                f"column {name} is not a list",
                got=str(kind),
                way_out=_WAY_OUT,
            )
        lists = self.table[name].combine_chunks().cast(pa.large_list(kind.value_type))
        if lists.null_count:
            raise SourceError(self.path, f"column {name} holds NULLs", way_out=_WAY_OUT)
        return lists

    def offsets(self, name: str) -> Index:
        """Return where the list of each task begins, and where the last one ends."""
        # From 0 on, even of a slice of rows: combined lists begin there.
        offsets: Index = self.lists(name).offsets.to_numpy().astype(np.int64)
        counts = np.diff(offsets)
        if counts.min() < 1:
            row = int(counts.argmin())
            raise SourceError(self.path, f"row {row}: a task without windows", way_out=_WAY_OUT)
        return offsets

    def windows(self, name: str, kind: type, offsets: Index) -> NDArray[Any]:
        """Return a number for each window of each task, or (percentiles) a row of numbers."""
        self._require_lengths(name, np.diff(offsets))
        flat = self.lists(name).flatten()
        per_window = 1
        if name == "quantiles":
            flat = self._without_nesting(flat)
            per_window = len(LEVELS)
        # A copy where there are NULLs: they become NaN and are refused below with their row.
        values: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
        if not np.issubdtype(values.dtype, np.number):
            raise SourceError(
                self.path,
                f"column {name} is not a list of numbers",
                got=str(values.dtype),
            )
        is_valid = np.isfinite(values) & (values >= 0)
        if not is_valid.all():
            position = int(np.argmin(is_valid))
            row = _row_of_window(offsets, position // per_window)
            raise SourceError(
                self.path,
                f"row {row}: column {name}",
                expected="numbers ≥ 0",
                got=str(values[position]),
            )
        values = values.astype(kind)
        return values if per_window == 1 else values.reshape(-1, per_window)

    def _require_lengths(self, name: str, expected: Index) -> None:
        """Refuse a column with more or fewer windows of a task than `inst`."""
        lengths = np.diff(self.offsets(name))
        different = np.flatnonzero(lengths != expected)
        if different.size:
            row = int(different[0])
            raise SourceError(
                self.path,
                f"row {row}: {name} and inst differ in length",
                expected=str(expected[row]),
                got=str(lengths[row]),
            )

    def require_order(self, start: Index | None, offsets: Index) -> None:
        """Refuse windows of a task that go back in time: series and replays take them as they come."""
        if start is None:
            return
        goes_back = np.diff(start) < 0
        # Between two tasks time may go back.
        goes_back[offsets[1:-1] - 1] = False
        if goes_back.any():
            window = int(np.argmax(goes_back))
            row = _row_of_window(offsets, window)
            raise SourceError(
                self.path,
                f"row {row}: column start goes back in time",
                expected=f"at least {start[window]}",
                got=str(start[window + 1]),
            )

    def _without_nesting(self, windows: pa.Array) -> pa.Array:
        """Return the percentiles of all windows one after the other."""
        # Draws look up all levels of a window without asking how many there are.
        has_all_levels = False
        if pa.types.is_nested(windows.type):
            lengths = pc.list_value_length(windows)
            is_complete = pc.equal(lengths, len(LEVELS))
            has_all_levels = not lengths.null_count and pc.all(is_complete).as_py()
        if not has_all_levels:
            expected = f"{len(LEVELS)} percentiles for each window"
            raise SourceError(self.path, "column quantiles", expected=expected)
        return windows.flatten()

    def identity(self) -> dict[str, Index]:
        """Return collection and instance of each task; the number of its row where the file does not say."""
        rows = np.arange(self.table.num_rows, dtype=np.int64)
        name = "collection_id" if "collection_id" in self else "task"
        collection = self.scalars(name, np.int64)
        if collection is None:
            collection = rows
        instance = self.scalars("instance_index", np.int64)
        if instance is None:
            instance = np.zeros_like(rows)
        # Two rows with one identity would get the same draws, as if they peaked together.
        identities = np.column_stack((collection, instance))
        if len(np.unique(identities, axis=0)) < len(rows):
            raise SourceError(
                self.path,
                "two rows are the same task",
                expected=f"unique ({name}, instance_index)",
            )
        return {"collection_id": collection, "instance_index": instance}

    def scalars(self, name: str, kind: type) -> NDArray[Any] | None:
        """Return a number for each task; None where the column is absent, or is a text where a number is needed."""
        if name not in self:
            return None
        stored = self.table.schema.field(name).type
        if not (pa.types.is_integer(stored) or pa.types.is_floating(stored)):
            return None
        unknown = np.nan if np.issubdtype(kind, np.floating) else -1
        return self.table[name].fill_null(unknown).to_numpy().astype(kind)


def _row_of_window(offsets: Index, window: int) -> int:
    return int(np.searchsorted(offsets, window, side="right")) - 1
