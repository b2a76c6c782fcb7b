"""Staging many files: one single-threaded process per core, or in place when there is little to do."""

import csv
import errno
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.processes import map_processes
from borgtrace.errors import BorgtraceError, SourceError, StoreError, first_line
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staging import stage
from borgtrace.store.manifest import SourceEntry

WORTH_A_PROCESS = 64_000_000
"""Bytes below which starting processes costs more than it saves."""
DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""No space left, file too large, quota exceeded: one message, since the way out is the same."""

Outcome = SourceEntry | SourceError


def stage_all(sources: Sequence[Source], staging: Path, jobs: int) -> Iterator[tuple[Source, Outcome]]:
    """Stage files and yield each, as it is done, with its ledger entry or the error that names it.

    Parameters
    ----------
    sources
        Raw files.
    staging
        The staging area of the store.
    jobs
        Most processes at a time.

    Raises
    ------
    StoreError
        When the disk is full or a worker was killed; what was staged stays.
    """
    is_small = len(sources) < 2 or sum(source.size for source in sources) < WORTH_A_PROCESS
    # Largest first, so that no core is left with one long file at the end.
    ordered = sources if is_small or jobs == 1 else sorted(sources, key=lambda source: -source.size)
    yield from map_processes(
        partial(_attempt, staging=staging),
        ordered,
        1 if is_small else jobs,
        place=str(staging.parent),
        way_out="run again with fewer --jobs; staged files are kept",
        ordered=False,
    )


def _attempt(source: Source, staging: Path) -> tuple[Source, Outcome]:
    try:
        return source, stage(source, staging)
    # Handed back, not raised: one bad file must not end the work on the others.
    except SourceError as fault:
        return source, fault
    except OSError as error:
        # The disk is the store's, not this file's: every other file would fail as well.
        if error.errno in DISK_FULL:
            raise disk_full(staging.parent) from None
        return source, SourceError(str(source.path), f"cannot be read ({error.strerror or error})")
    # What a library says of bytes that none of the readers foresaw.
    except (duckdb.Error, pa.ArrowException, csv.Error, RecursionError) as error:
        return source, SourceError(str(source.path), f"cannot be read ({first_line(error)})", way_out="fetch it again")


def disk_full(store: Path) -> BorgtraceError:
    """Return the error for a full disk."""
    return StoreError(
        str(store), "the disk is full", way_out="free some disk and run the same command again: staged files are kept"
    )
