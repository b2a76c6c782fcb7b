"""What an interrupted ingest staged, where it cannot be read any more: which file it is, and the way out."""

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest.build.coded_part import damaged_part
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.storage import RemotePath, read_text
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import SourceEntry


def require_staged_parts(layout: Layout, entries: Iterable[SourceEntry]) -> None:
    """Require a part of each source that the ledger says has rows: without it they would be missing in the store.

    Parameters
    ----------
    layout
        The store.
    entries
        The ledger of what is staged.

    Raises
    ------
    StoreError
        A part is gone.
    """
    # Those of a bucket are listed where they are fetched.
    if isinstance(layout.staging, RemotePath):
        return
    for entry in entries:
        paths = StagedPaths.of(layout.staging, entry.name)
        part = paths.table(entry.table)
        if entry.stored and not (part.exists() or paths.coded(entry.table).exists()):
            raise damaged_part(part, layout.staging)


def refuse_damaged_staging(error: Exception, layout: Layout) -> None:
    """Raise what is damaged in the staging area of a store, where that is why an ingest failed.

    Parameters
    ----------
    error
        What failed: an error of a library that could not read something.
    layout
        The store; its version before stays as it is.

    Raises
    ------
    StoreError
        A file of the staging area cannot be read.
    """
    if isinstance(layout.staging, RemotePath):
        return
    for path in sorted(layout.staging.rglob("*")):
        # One library may read what another one cannot.
        if path.is_file() and (str(path) in str(error) or not _is_readable(path)):
            raise damaged_part(path, layout.staging) from error


def _is_readable(path: Path) -> bool:
    try:
        if path.suffix == ".json":
            json.loads(read_text(path))
        elif path.suffix == ".parquet":
            for _ in pq.ParquetFile(path).iter_batches():
                pass
    # What is no JSON, and no UTF-8, is a ValueError.
    except (ValueError, OSError, pa.ArrowException):
        return False
    return True
