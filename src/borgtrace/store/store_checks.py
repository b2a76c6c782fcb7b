"""The single checks of a store: files, contents, order, keys, conservation, index and arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine.stored import stored_names, stored_types
from borgtrace.errors import StoreError
from borgtrace.schema import TABLES, Table
from borgtrace.schema.evolution import incompatible_columns
from borgtrace.storage import readable
from borgtrace.store.columns import DEFAULT_COLUMNS, column_blocks, load_array
from borgtrace.store.compatibility import is_newer
from borgtrace.store.content import store_digest, table_digest
from borgtrace.store.digest import digest_of_all, file_digests
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, is_sealed


class CheckOutcome(NamedTuple):
    """Whether a check holds, and what it found in words."""

    holds: bool
    found: str


def _compare(found: str, expected: str) -> CheckOutcome:
    if found == expected:
        return CheckOutcome(True, found)
    return CheckOutcome(False, f"{found}, the manifest says {expected}")


def check_files(
    manifest: Manifest,
    layout: Layout,
    threads: int,
    changed: list[str],
) -> CheckOutcome:
    """Compare files with their digests; `changed` gets the names of those that are not as they were written."""
    tables = [path for name in TABLES for path in layout.parts(name)]
    # A store of format 1.0: its manifest has one digest over all files.
    if not manifest.files:
        digest = digest_of_all(file_digests(_by_name(tables, layout), threads))
        return _compare(digest, manifest.digest)
    # Arrays that the manifest lists; others are not read.
    listed = [layout.root / name for name in manifest.files]
    present = {path for path in listed if path.exists()}
    files = sorted({*tables, *present})
    digests = file_digests(_by_name(files, layout), threads)
    # The symmetric difference finds all three faults at once: changed, missing and unknown files.
    differences = digests.items() ^ manifest.files.items()
    changed += sorted({name for name, _ in differences})
    if changed:
        return CheckOutcome(False, f"{', '.join(changed[:3])}: changed, missing or unknown")
    return CheckOutcome(True, f"{len(digests)} as written")


def _by_name(paths: Sequence[Path], layout: Layout) -> dict[str, Path]:
    return {path.relative_to(layout.root).as_posix(): path for path in paths}


def check_content(
    table: Table,
    manifest: Manifest,
    layout: Layout,
    threads: int,
    contents: dict[str, str],
) -> CheckOutcome:
    """Compare the content digest of a table with the manifest's; `contents` gets it."""
    digest = table_digest(table, layout.parts(table.name), threads)
    contents[table.name] = digest
    return _compare(digest, manifest.content.get(table.name, ""))


def check_digest(manifest: Manifest, contents: Mapping[str, str]) -> CheckOutcome:
    """Compare the digest by which the store is known with the content of all its tables."""
    unread = [name for name in TABLES if name not in contents]
    if unread:
        return CheckOutcome(False, f"not compared: {unread[0]} could not be read")
    return _compare(store_digest(contents), manifest.digest)


def check_seal(layout: Layout) -> CheckOutcome:
    """Check that the manifest has a digest of itself; whoever opens the store compares it."""
    if is_sealed(layout):
        return CheckOutcome(True, "the manifest is as it was written")
    return CheckOutcome(False, "the manifest has no digest of itself: anybody may have changed it")


def check_conservation(manifest: Manifest) -> CheckOutcome:
    """Check that every row that came in is accounted for."""
    broken = [entry.name for entry in manifest.sources if not entry.is_conserved]
    if broken:
        return CheckOutcome(False, ", ".join(broken))
    n_rows = sum(entry.rows_in for entry in manifest.sources)
    return CheckOutcome(True, f"{n_rows:,} rows in, all accounted for")


def check_quarantine(manifest: Manifest, layout: Layout) -> CheckOutcome:
    """Compare the refused rows that are kept with those that the ledger counts, source by source."""
    expected = {}
    for entry in manifest.sources:
        expected[layout.refused(entry.table, entry.name)] = entry.quarantined
    stored = {}
    for path in layout.quarantine.glob("*/*.parquet"):
        stored[path] = _n_rows(path)
    faults = []
    for path in sorted({*expected, *stored}):
        n_stored = stored.get(path, 0)
        n_expected = expected.get(path, 0)
        if n_stored != n_expected:
            faults.append(f"{path.stem}: {n_stored:,}, the ledger says {n_expected:,}")
    if faults:
        return CheckOutcome(False, "; ".join(faults[:3]))
    return CheckOutcome(True, f"{sum(stored.values()):,} rows refused, all kept")


def check_rows(name: str, manifest: Manifest, layout: Layout) -> CheckOutcome:
    """Compare the number of rows of a table with the manifest's."""
    n_rows = sum(_n_rows(path) for path in layout.parts(name))
    expected = manifest.tables.get(name, 0)
    return _compare(f"{n_rows:,}", f"{expected:,}")


def _n_rows(path: Path) -> int:
    return int(pq.read_metadata(readable(path)).num_rows)


def check_columns(table: Table, manifest: Manifest, layout: Layout) -> CheckOutcome:
    """Check the types in every file, and that all have the same columns; a column that all lack reads as NULL."""
    types_of_files = [stored_types(path) for path in layout.parts(table.name)]
    is_of_later_version = is_newer(manifest.format_version)
    faults: list[str] = []
    for types in types_of_files:
        faults += incompatible_columns(table, types, is_newer=is_of_later_version)
    if any(types != types_of_files[0] for types in types_of_files):
        faults.append(f"{table.name}: files differ in their columns")
    if faults:
        return CheckOutcome(False, "; ".join(faults[:3]))
    return CheckOutcome(True, f"{len(table.columns)} as declared")


def check_order(table: Table, layout: Layout) -> CheckOutcome:
    """Check that each key is greater than the one before it: then rows are sorted, and keys unique."""
    last_key: pa.Table | None = None
    for path in layout.parts(table.name):
        names = stored_names(table, [path])
        key = [names[column] for column in table.key]
        row = 0
        for batch in pq.ParquetFile(readable(path)).iter_batches(columns=key):
            block = pa.Table.from_batches([batch]).select(key)
            # The last key of the block before is prepended: order must hold across blocks and files.
            n_before = 0 if last_key is None else 1
            keys = block if last_key is None else pa.concat_tables([last_key, block])
            fault = first_unsorted_row(keys)
            if fault is not None:
                at = row + fault - n_before
                return CheckOutcome(False, f"row {at:,} of {path.name} does not follow")
            last_key = block.slice(block.num_rows - 1)
            row += block.num_rows
    return CheckOutcome(True, f"sorted and unique by {', '.join(table.key)}")


def first_unsorted_row(keys: pa.Table) -> int | None:
    """Return the first row whose key is not greater than that of the row before."""
    n_rows = keys.num_rows
    follows = np.zeros(n_rows - 1, bool)
    # From the last key column to the first: a column decides where it differs, else the columns after it do.
    for name in reversed(keys.column_names):
        column = keys.column(name).combine_chunks()
        before = column.slice(0, n_rows - 1)
        after = column.slice(1)
        is_greater = pc.greater(after, before).to_numpy(zero_copy_only=False).astype(bool)
        is_equal = pc.equal(after, before).to_numpy(zero_copy_only=False).astype(bool)
        follows = is_greater | (is_equal & follows)
    faults = np.flatnonzero(~follows)
    return int(faults[0]) + 1 if len(faults) else None


def check_index(manifest: Manifest, layout: Layout) -> CheckOutcome:
    """Check that tasks follow each other in usage, and that all rows belong to one."""
    index = layout.tasks(["first_row", "n_windows"])
    n_windows = index.column("n_windows").to_numpy().astype(np.int64)
    first_rows = index.column("first_row").to_numpy()
    # first_row must be the running sum of n_windows, or a trace would be cut from another task's rows.
    running_sum = np.cumsum(n_windows) - n_windows
    is_running_sum = np.array_equal(first_rows, running_sum)
    total = int(n_windows.sum())
    expected = manifest.tables.get("instance_usage", 0)
    return CheckOutcome(
        bool(is_running_sum) and total == expected,
        f"{total:,} windows of {len(n_windows):,} tasks, {expected:,} usage rows",
    )


def check_arrays(manifest: Manifest, layout: Layout) -> CheckOutcome:
    """Compare each array with its column."""
    columns = sorted(DEFAULT_COLUMNS)
    n_rows = manifest.tables.get("instance_usage", 0)
    wrong = [f"{column}.npy" for column in columns if not _agrees(column, n_rows, layout)]
    if wrong:
        return CheckOutcome(False, ", ".join(wrong))
    return CheckOutcome(True, f"{len(columns)} as in instance_usage")


def _agrees(column: str, rows: int, layout: Layout) -> bool:
    try:
        array = load_array(layout, column, rows)
    except StoreError:
        return False
    for row, block in column_blocks(layout.parts("instance_usage"), column):
        if not have_equal_bits(array[row : row + len(block)], block):
            return False
    return True


def have_equal_bits(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether arrays of four-byte numbers are equal bit by bit: −0 is not 0, and NaN is NaN."""
    first_bits = np.ascontiguousarray(first).view(np.uint32)
    second_bits = np.ascontiguousarray(second).view(np.uint32)
    return np.array_equal(first_bits, second_bits)
