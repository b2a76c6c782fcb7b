"""Is a store what its manifest says?  Digests, order, keys, conservation, index and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.schema import TABLES, Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store.digest import file_digest, store_digest
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, read_manifest


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, whether it holds, and what was found."""

    name: str
    holds: bool
    found: str


def verify(root: Path, progress: Callable[[str], None] = lambda name: None) -> list[Check]:
    """Check a store from its files alone.

    Parameters
    ----------
    root
        The store.
    progress
        Called with the name of each check before it runs.

    Raises
    ------
    StoreError
        When there is no finished store.

    Notes
    -----
    Reads every file once for its digest, and the key columns once more.
    """
    manifest, layout = read_manifest(root), Layout(root)
    return list(_checks(manifest, layout, progress))


def _checks(manifest: Manifest, layout: Layout, progress: Callable[[str], None]) -> Iterator[Check]:
    progress("digest")
    yield _digest(manifest, layout)
    progress("conservation")
    yield _conservation(manifest)
    for name, table in TABLES.items():
        progress(name)
        yield _rows(name, manifest, layout)
        yield _columns(table, layout)
        yield _order(table, layout)
    progress("index")
    yield _index(manifest, layout)
    yield _arrays(manifest, layout)


def _digest(manifest: Manifest, layout: Layout) -> Check:
    found = store_digest((f"{name}/{path.name}", file_digest(path)) for name in TABLES for path in layout.parts(name))
    same = found == manifest.digest
    return Check("digest", same, found if same else f"{found}, the manifest says {manifest.digest}")


def _conservation(manifest: Manifest) -> Check:
    broken = [entry.name for entry in manifest.sources if not entry.is_conserved]
    rows = sum(entry.rows_in for entry in manifest.sources)
    return Check("conservation", not broken, ", ".join(broken) or f"{rows:,} rows in, all accounted for")


def _rows(name: str, manifest: Manifest, layout: Layout) -> Check:
    found = sum(pq.read_metadata(path).num_rows for path in layout.parts(name))
    expected = manifest.tables.get(name, 0)
    text = f"{found:,}" if found == expected else f"{found:,}, the manifest says {expected:,}"
    return Check(f"{name}: rows", found == expected, text)


def _columns(table: Table, layout: Layout) -> Check:
    expected = arrow_schema(table)
    wrong = []
    for path in layout.parts(table.name):
        found = pq.read_schema(path)
        wrong += [
            f"{path.name}: {field.name} is not {field.type}"
            for field in expected
            if field.name not in found.names or not _same_type(found.field(field.name).type, field.type)
        ]
    return Check(f"{table.name}: columns", not wrong, "; ".join(wrong[:3]) or f"{len(expected)} as declared")


def _same_type(found: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_list(expected):
        return pa.types.is_list(found) and found.value_type == expected.value_type
    return bool(found == expected)


def _order(table: Table, layout: Layout) -> Check:
    """Each key must be greater than the one before it: so it is sorted, and unique."""
    last: pa.Table | None = None
    row = 0
    for path in layout.parts(table.name):
        for batch in pq.ParquetFile(path).iter_batches(1 << 20, columns=list(table.key)):
            block = pa.Table.from_batches([batch]).select(list(table.key))
            joined = block if last is None else pa.concat_tables([last, block])
            fault = _first_fault(joined)
            if fault is not None:
                at = row + fault - (last is not None)
                return Check(f"{table.name}: order", False, f"row {at:,} of {path.name} does not follow")
            last = block.slice(block.num_rows - 1)
            row += block.num_rows
        row = 0
    return Check(f"{table.name}: order", True, f"sorted and unique by {', '.join(table.key)}")


def _first_fault(keys: pa.Table) -> int | None:
    """Return the first row whose key is not greater than that of the row before."""
    rows = keys.num_rows
    follows = np.zeros(max(rows - 1, 0), bool)
    for name in reversed(keys.column_names):
        column = keys.column(name).combine_chunks()
        before, after = column.slice(0, rows - 1), column.slice(1)
        greater = pc.greater(after, before).to_numpy(zero_copy_only=False).astype(bool)
        equal = pc.equal(after, before).to_numpy(zero_copy_only=False).astype(bool)
        follows = greater | (equal & follows)
    wrong = np.flatnonzero(~follows)
    return int(wrong[0]) + 1 if len(wrong) else None


def _index(manifest: Manifest, layout: Layout) -> Check:
    index = pq.read_table(layout.parts("tasks"), columns=["first_row", "n_windows"])
    windows = index.column("n_windows").to_numpy().astype(np.int64)
    first = index.column("first_row").to_numpy()
    right = np.array_equal(first, np.cumsum(windows) - windows)
    total, expected = int(windows.sum()), manifest.tables.get("instance_usage", 0)
    holds = bool(right) and total == expected
    return Check("index", holds, f"{total:,} windows of {len(windows):,} tasks, {expected:,} usage rows")


def _arrays(manifest: Manifest, layout: Layout) -> Check:
    expected = manifest.tables.get("instance_usage", 0)
    wrong = [
        path.name
        for path in sorted(layout.traces.glob("*.npy"))
        if np.load(path, mmap_mode="r" if expected else None).shape != (expected,)
    ]
    count = len(list(layout.traces.glob("*.npy")))
    return Check("arrays", not wrong, ", ".join(wrong) or f"{count} of {expected:,} rows")
