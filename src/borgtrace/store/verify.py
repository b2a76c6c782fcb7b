"""Is a store what its manifest says?  Files, contents, order, keys, conservation, index and arrays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine.stored import stored_names, stored_types
from borgtrace.errors import StoreError, first_line
from borgtrace.schema import TABLES, Table
from borgtrace.schema.evolution import incompatible_columns
from borgtrace.storage import as_path, readable
from borgtrace.store.columns import DEFAULT_COLUMNS, TRACE_COLUMNS, column_blocks, load_array
from borgtrace.store.compatibility import is_newer, unreadable
from borgtrace.store.content import table_digest
from borgtrace.store.digest import digest_of_all, file_digests
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, read_manifest

Finding = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, whether it holds, and what was found."""

    name: str
    holds: bool
    found: str


def as_error(root: Path, checks: Sequence[Check]) -> StoreError | None:
    """Return the error for the checks of a store that failed, if any."""
    failed = ", ".join(check.name for check in checks if not check.holds)
    return unreadable(root, "the store is damaged", failed) if failed else None


def verify(
    root: Path, progress: Callable[[str], None] = lambda name: None, threads: int = 1
) -> list[Check]:
    """Check a store from its files alone.

    Parameters
    ----------
    root
        The store.
    progress
        Called with the name of each check before it runs.
    threads
        How many files or row groups are read at a time.

    Returns
    -------
    list of Check
        All checks, those that fail included; of files that are not as they were written nothing more is read.

    Raises
    ------
    StoreError
        When there is no finished store.

    Notes
    -----
    Reads every file once for its digest, every column once for the content digests, the key columns once more.
    A damaged file can make the library that parses it end the process: so digests are compared first.  A store of
    format 1.0 has none of single files: its one digest, over all of them, is compared, and the rest is read anyway.
    """
    manifest, layout = read_manifest(root), Layout(as_path(root))
    progress("files")
    changed: list[str] = []
    checks = [_check("files", partial(_files, manifest, layout, threads, changed))]
    for planned in _checks(manifest, layout, threads):
        progress(planned.name)
        unread = [name for name in changed if name.startswith(planned.reads)]
        if unread:
            checks.append(
                Check(planned.name, False, f"not read: {unread[0]} is not as it was written")
            )
        else:
            checks.append(_check(planned.name, planned.run))
    return checks


@dataclass(frozen=True, slots=True)
class _Planned:
    """A check, and where the files are that it parses."""

    name: str
    run: Callable[[], Finding]
    reads: tuple[str, ...] = ()


def _check(name: str, run: Callable[[], Finding]) -> Check:
    try:
        return Check(name, *run())
    # Damage is what is looked for: whatever a library says of a file is a finding, and the other checks still run.
    except Exception as error:
        return Check(name, False, first_line(error))


def _checks(manifest: Manifest, layout: Layout, threads: int) -> Iterator[_Planned]:
    yield _Planned("conservation", partial(_conservation, manifest))
    yield _Planned("quarantine", partial(_quarantine, manifest, layout), ("quarantine/",))
    for name, table in TABLES.items():
        reads = (f"{name}/",)
        yield _Planned(f"{name}: rows", partial(_rows, name, manifest, layout), reads)
        yield _Planned(f"{name}: columns", partial(_columns, table, manifest, layout), reads)
        yield _Planned(f"{name}: order", partial(_order, table, layout), reads)
        if manifest.content:
            yield _Planned(
                f"{name}: content", partial(_content, table, manifest, layout, threads), reads
            )
    yield _Planned("index", partial(_index, manifest, layout), ("tasks/",))
    yield _Planned("arrays", partial(_arrays, manifest, layout), ("instance_usage/",))


def _compared(found: str, expected: str) -> Finding:
    return (
        found == expected,
        found if found == expected else f"{found}, the manifest says {expected}",
    )


def _files(manifest: Manifest, layout: Layout, threads: int, changed: list[str]) -> Finding:
    """Compare files with their digests; `changed` gets the names of those that are not as they were written."""
    tables = [path for name in TABLES for path in layout.parts(name)]
    # A store of format 1.0: its manifest has one digest over all files.
    if not manifest.files:
        return _compared(
            digest_of_all(file_digests(_named(tables, layout), threads)), manifest.digest
        )
    # Arrays that the manifest lists; others were made on first use and are compared with their column instead.
    known = [path for name in manifest.files if (path := layout.root / name).exists()]
    digests = file_digests(_named(sorted({*tables, *known}), layout), threads)
    # The symmetric difference finds all three faults at once: changed, missing and unknown files.
    changed += sorted({name for name, _ in digests.items() ^ manifest.files.items()})
    said = (
        f"{', '.join(changed[:3])}: changed, missing or unknown"
        if changed
        else f"{len(digests)} as written"
    )
    return not changed, said


def _named(paths: Sequence[Path], layout: Layout) -> dict[str, Path]:
    return {path.relative_to(layout.root).as_posix(): path for path in paths}


def _content(table: Table, manifest: Manifest, layout: Layout, threads: int) -> Finding:
    return _compared(
        table_digest(table, layout.parts(table.name), threads), manifest.content.get(table.name, "")
    )


def _conservation(manifest: Manifest) -> Finding:
    broken = [entry.name for entry in manifest.sources if not entry.is_conserved]
    rows = sum(entry.rows_in for entry in manifest.sources)
    return not broken, ", ".join(broken) or f"{rows:,} rows in, all accounted for"


def _quarantine(manifest: Manifest, layout: Layout) -> Finding:
    """Compare the refused rows that are kept with those that the ledger counts, source by source."""
    expected = {
        layout.refused(entry.table, entry.name): entry.quarantined for entry in manifest.sources
    }
    found = {
        path: pq.read_metadata(readable(path)).num_rows
        for path in layout.quarantine.glob("*/*.parquet")
    }
    wrong = sorted(
        path for path in {*expected, *found} if found.get(path, 0) != expected.get(path, 0)
    )
    faults = [
        f"{path.stem}: {found.get(path, 0):,}, the ledger says {expected.get(path, 0):,}"
        for path in wrong
    ]
    return not wrong, "; ".join(faults[:3]) or f"{sum(found.values()):,} rows refused, all kept"


def _rows(name: str, manifest: Manifest, layout: Layout) -> Finding:
    found = sum(pq.read_metadata(readable(path)).num_rows for path in layout.parts(name))
    return _compared(f"{found:,}", f"{manifest.tables.get(name, 0):,}")


def _columns(table: Table, manifest: Manifest, layout: Layout) -> Finding:
    """Check the types in every file, and that all have the same columns; a column that all lack reads as NULL."""
    found = [stored_types(path) for path in layout.parts(table.name)]
    newer = is_newer(manifest.format_version)
    wrong = [
        fault for types in found for fault in incompatible_columns(table, types, is_newer=newer)
    ]
    wrong += [f"{table.name}: files differ in their columns"] * any(
        types != found[0] for types in found
    )
    return not wrong, "; ".join(wrong[:3]) or f"{len(table.columns)} as declared"


def _order(table: Table, layout: Layout) -> Finding:
    """Each key must be greater than the one before it: so it is sorted, and unique."""
    last: pa.Table | None = None
    for path in layout.parts(table.name):
        names, row = stored_names(table, [path]), 0
        key = [names[column] for column in table.key]
        for batch in pq.ParquetFile(readable(path)).iter_batches(columns=key):
            block = pa.Table.from_batches([batch]).select(key)
            # The last key of the block before goes along: order must hold across blocks and files.
            joined = block if last is None else pa.concat_tables([last, block])
            fault = _first_fault(joined)
            if fault is not None:
                return (
                    False,
                    f"row {row + fault - (last is not None):,} of {path.name} does not follow",
                )
            last = block.slice(block.num_rows - 1)
            row += block.num_rows
    return True, f"sorted and unique by {', '.join(table.key)}"


def _first_fault(keys: pa.Table) -> int | None:
    """Return the first row whose key is not greater than that of the row before."""
    rows = keys.num_rows
    follows = np.zeros(rows - 1, bool)
    # From the last key column to the first: a column decides where it differs, else what was found so far stands.
    for name in reversed(keys.column_names):
        column = keys.column(name).combine_chunks()
        before, after = column.slice(0, rows - 1), column.slice(1)
        greater = pc.greater(after, before).to_numpy(zero_copy_only=False).astype(bool)
        equal = pc.equal(after, before).to_numpy(zero_copy_only=False).astype(bool)
        follows = greater | (equal & follows)
    wrong = np.flatnonzero(~follows)
    return int(wrong[0]) + 1 if len(wrong) else None


def _index(manifest: Manifest, layout: Layout) -> Finding:
    index = layout.tasks(["first_row", "n_windows"])
    windows = index.column("n_windows").to_numpy().astype(np.int64)
    first = index.column("first_row").to_numpy()
    # first_row must be the running sum of n_windows, or a trace would be cut from another task's rows.
    right = np.array_equal(first, np.cumsum(windows) - windows)
    total, expected = int(windows.sum()), manifest.tables.get("instance_usage", 0)
    holds = bool(right) and total == expected
    return holds, f"{total:,} windows of {len(windows):,} tasks, {expected:,} usage rows"


def _arrays(manifest: Manifest, layout: Layout) -> Finding:
    """Compare each array with its column."""
    columns = sorted({*DEFAULT_COLUMNS, *(path.stem for path in layout.traces.glob("*.npy"))})
    rows = manifest.tables.get("instance_usage", 0)
    wrong = [f"{column}.npy" for column in columns if not _agrees(column, rows, layout)]
    return not wrong, ", ".join(wrong) or f"{len(columns)} as in instance_usage"


def _agrees(column: str, rows: int, layout: Layout) -> bool:
    if column not in TRACE_COLUMNS:
        return False
    try:
        array = load_array(layout, column, rows)
    except StoreError:
        return False
    blocks = column_blocks(layout.parts("instance_usage"), column)
    # As bits: −0 is not 0, and NaN is NaN.
    return all(
        np.array_equal(_bits(array[at : at + len(block)]), _bits(block)) for at, block in blocks
    )


def _bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint32)
