"""A pool as one Parquet file: a row per task, its windows as lists.

Only ``inst`` and ``avg`` are needed to read one (``--pool FILE``), so a pool can come from anywhere; what a
written pool knows besides is kept in further columns and in the file's metadata.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from borgtrace.colocation.pool import LEVELS, PER_TASK, REQUESTS, Pool, Step
from borgtrace.errors import SourceError
from borgtrace.kernels.arrays import Index
from borgtrace.schema.dialects import dialect
from borgtrace.storage import as_local_path, replacing
from borgtrace.store.coverage import Coverage, StoreCoverage

_KEY = b"borgtrace.pool"
_FLOAT = np.float32
_INT = np.int64
_LISTS = {
    "inst": _FLOAT,
    "avg": _FLOAT,
    "memory": _FLOAT,
    "start": _INT,
    "seconds": _INT,
    "quantiles": _FLOAT,
}
_SCALARS = {name: _FLOAT if name in REQUESTS else _INT for name in PER_TASK[2:]}
_ABOUT = ("generation", "source", "is_synthetic", "is_weighted")
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
    columns = {
        name: pa.array(getattr(pool, name)) for name in PER_TASK if getattr(pool, name) is not None
    }
    for name in _LISTS:
        values = getattr(pool, name)
        if values is not None:
            flat = pa.array(values.ravel())
            inner = (
                flat
                if values.ndim == 1
                else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
            )
            # Large lists have 64-bit offsets; ordinary ones end at 2³¹ windows.
            columns[name] = pa.LargeListArray.from_arrays(pa.array(pool.offsets), inner)
    about = {name: getattr(pool, name) for name in _ABOUT} | {
        "steps": [asdict(step) for step in pool.steps]
    }
    if pool.part is not None:
        about["part"] = _coverage_facts(pool.part)
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about)})
    with replacing(Path(path)) as draft:
        pq.write_table(table, draft, compression="zstd")


def read_pool(path: str | Path) -> Pool:
    """Read a pool.

    Raises
    ------
    SourceError
        The file is not there, is not Parquet, or a column is missing, ragged, negative or not a number; or the windows
        of a task are not in time order.
    """
    columns = _Columns(_open(as_local_path(path)), str(path))
    about = json.loads((columns.table.schema.metadata or {}).get(_KEY, b"{}"))
    known: dict[str, Any] = {"source": Path(path).name} | {
        name: about[name] for name in _ABOUT if name in about
    }
    offsets = columns.offsets("inst")
    # These two a pool must have; `offsets` refuses a file without them.
    columns.offsets("avg")
    known |= {
        name: columns.windows(name, kind, offsets)
        for name, kind in _LISTS.items()
        if name in columns
    }
    known |= {name: columns.scalars(name, kind) for name, kind in _SCALARS.items()}
    columns.require_order(known.get("start"), offsets)
    steps = tuple(Step(**step) for step in about.get("steps", ()))
    part = _coverage(about["part"]) if "part" in about else None
    return Pool(
        offsets=offsets,
        **known,
        **columns.identity(),
        steps=steps,
        part=part,
    )


def _coverage_facts(part: StoreCoverage) -> dict[str, Any]:
    """What a file says of the store that its pool was made from."""
    tables = {name: asdict(table) for name, table in part.tables.items()}
    return {
        "trace": part.dialect.trace,
        "tables": tables,
        "n_tasks": part.n_tasks,
        "is_subset": part.is_subset,
    }


def _coverage(facts: dict[str, Any]) -> StoreCoverage:
    tables = {
        name: Coverage(**{**table, "parts": tuple(table["parts"])})
        for name, table in facts["tables"].items()
    }
    return StoreCoverage(dialect(facts["trace"]), tables, facts["n_tasks"], facts["is_subset"])


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


@dataclass(frozen=True)
class _Columns:
    """The columns of a file, checked while they become arrays."""

    table: pa.Table
    path: str

    def __contains__(self, name: str) -> bool:
        return name in self.table.column_names

    def lists(self, name: str) -> Any:
        """A column of lists without NULLs."""
        if name not in self:
            raise SourceError(
                self.path, f"no column {name}", expected="lists inst and avg", way_out=_WAY_OUT
            )
        kind = self.table.schema.field(name).type
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            raise SourceError(
                self.path, f"column {name} is not a list", got=str(kind), way_out=_WAY_OUT
            )
        lists = self.table[name].combine_chunks().cast(pa.large_list(kind.value_type))
        if lists.null_count:
            raise SourceError(self.path, f"column {name} holds NULLs", way_out=_WAY_OUT)
        return lists

    def offsets(self, name: str) -> Index:
        """Where the list of each task begins, and where the last one ends."""
        # From 0 on, even of a slice of rows: combined lists begin there.
        offsets: Index = self.lists(name).offsets.to_numpy().astype(np.int64)
        counts = np.diff(offsets)
        if counts.min() < 1:
            raise SourceError(
                self.path, f"row {int(counts.argmin())}: a task without windows", way_out=_WAY_OUT
            )
        return offsets

    def windows(
        self,
        name: str,
        kind: type,
        offsets: Index,
    ) -> NDArray[Any]:
        """A number for each window of each task, or (percentiles) a row of numbers."""
        own = np.diff(self.offsets(name))
        expected = np.diff(offsets)
        if (own != expected).any():
            row = int(np.flatnonzero(own != expected)[0])
            words = f"row {row}: {name} and inst differ in length"
            raise SourceError(
                self.path,
                words,
                expected=str(expected[row]),
                got=str(own[row]),
            )
        flat = self.lists(name).flatten()
        levels = 1
        if name == "quantiles":
            flat = self._levels(flat)
            levels = len(LEVELS)
        # A copy where there are NULLs: they become NaN and are refused below with their row.
        values: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
        if not np.issubdtype(values.dtype, np.number):
            raise SourceError(
                self.path, f"column {name} is not a list of numbers", got=str(values.dtype)
            )
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if bad.size:
            row = int(np.searchsorted(offsets, bad[0] // levels, side="right")) - 1
            raise SourceError(
                self.path,
                f"row {row}: column {name}",
                expected="numbers ≥ 0",
                got=str(values[bad[0]]),
            )
        values = values.astype(kind)
        return values if levels == 1 else values.reshape(-1, levels)

    def require_order(self, start: Index | None, offsets: Index) -> None:
        """Refuse windows of a task that go back in time: series and replays take them as they come."""
        if start is None:
            return
        back = np.diff(start) < 0
        # Between two tasks time may go back.
        back[offsets[1:-1] - 1] = False
        if back.any():
            at = int(np.flatnonzero(back)[0])
            row = int(np.searchsorted(offsets, at, side="right")) - 1
            words = f"row {row}: column start goes back in time"
            raise SourceError(
                self.path,
                words,
                expected=f"at least {start[at]}",
                got=str(start[at + 1]),
            )

    def _levels(self, windows: Any) -> Any:
        # Draws look up all levels of a window without asking how many there are.
        lengths = (
            pc.list_value_length(windows) if pa.types.is_nested(windows.type) else pa.array([None])
        )
        if lengths.null_count or not pc.all(pc.equal(lengths, len(LEVELS))).as_py():
            raise SourceError(
                self.path, "column quantiles", expected=f"{len(LEVELS)} percentiles for each window"
            )
        return windows.flatten()

    def identity(self) -> dict[str, Any]:
        """Collection and instance of each task; the number of its row where the file does not say."""
        rows = np.arange(self.table.num_rows, dtype=np.int64)
        name = "collection_id" if "collection_id" in self else "task"
        collection = self.scalars(name, np.int64)
        instance = self.scalars("instance_index", np.int64)
        collection = rows if collection is None else collection
        instance = np.zeros_like(rows) if instance is None else instance
        # Two rows with one identity would get the same draws, as if they peaked together.
        if len(np.unique(np.column_stack((collection, instance)), axis=0)) < len(rows):
            raise SourceError(
                self.path, "two rows are the same task", expected=f"unique ({name}, instance_index)"
            )
        return {"collection_id": collection, "instance_index": instance}

    def scalars(self, name: str, kind: type) -> NDArray[Any] | None:
        """A number for each task; None where the column is absent, or is a text where a number is needed."""
        if name not in self:
            return None
        found = self.table.schema.field(name).type
        if not (pa.types.is_integer(found) or pa.types.is_floating(found)):
            return None
        unknown = np.nan if np.issubdtype(kind, np.floating) else -1
        return self.table[name].fill_null(unknown).to_numpy().astype(kind)
