"""Staging many files: one single-threaded process per core, or in place when there is little to do."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from borgtrace.errors import BorgtraceError, SourceError, StoreError
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staging import stage
from borgtrace.store.manifest import SourceEntry

WORTH_A_PROCESS = 64_000_000
"""Bytes below which starting processes costs more than it saves."""
_DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

Outcome = SourceEntry | SourceError


def stage_all(sources: Sequence[Source], staging: Path, jobs: int) -> Iterator[tuple[Source, Outcome]]:
    """Stage files and yield each, as it is done, with its ledger entry or the error that names it.

    Raises
    ------
    StoreError
        When the disk is full or a worker was killed; what was staged stays.
    """
    if jobs == 1 or len(sources) < 2 or sum(source.size for source in sources) < WORTH_A_PROCESS:
        for source in sources:
            yield _attempt(source, staging)
        return
    # Largest first, so that no core is left with one long file at the end.
    ordered = sorted(sources, key=lambda source: -source.size)
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
    try:
        yield from pool(delayed(_attempt_for)(source, staging, os.getpid()) for source in ordered)
    except TerminatedWorkerError as error:
        raise StoreError(
            str(staging.parent),
            "a worker process was killed",
            got="perhaps not enough memory",
            way_out="run again with fewer --jobs; staged files are kept",
        ) from error


def _attempt_for(source: Source, staging: Path, parent: int) -> tuple[Source, Outcome]:
    _end_with(parent)
    return _attempt(source, staging)


def _attempt(source: Source, staging: Path) -> tuple[Source, Outcome]:
    try:
        return source, stage(source, staging)
    except SourceError as fault:
        return source, fault
    except OSError as error:
        if error.errno in _DISK_FULL:
            raise disk_full(staging.parent) from None
        return source, SourceError(str(source.path), f"cannot be read ({error.strerror or error})")


@cache
def _end_with(parent: int) -> None:
    """Let this worker die when `parent` does: a killed ingest must not go on writing."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)


def disk_full(store: Path) -> BorgtraceError:
    """Return the error for a full disk."""
    return StoreError(
        str(store), "the disk is full", way_out="free some disk and run the same command again: staged files are kept"
    )
