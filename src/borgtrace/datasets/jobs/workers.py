"""Processes that write files, and die with the one that started them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from borgtrace.datasets.jobs.files import Run, write_run
from borgtrace.datasets.jobs.layout import JobsLayout
from borgtrace.errors import StoreError

_HEARTBEAT = 0.1


def write_runs(parts: Sequence[str], runs: Sequence[Run], out: Path, layout: JobsLayout, workers: int) -> Iterator[int]:
    """Write the files of all runs, in place where there is one worker or one run; yield how many each has.

    Raises
    ------
    StoreError
        A worker was killed.
    """
    if workers == 1 or len(runs) == 1:
        yield from (write_run(parts, run, out, layout) for run in runs)
        return
    pool = Parallel(n_jobs=workers, return_as="generator", batch_size=1, pre_dispatch="2*n_jobs")
    try:
        yield from pool(delayed(_write_for)(os.getpid(), parts, run, out, layout) for run in runs)
    except TerminatedWorkerError as error:
        raise StoreError(
            str(out),
            "a worker process was killed",
            got="perhaps not enough memory",
            way_out="run again with fewer --jobs",
        ) from error


def _write_for(parent: int, parts: Sequence[str], run: Run, out: Path, layout: JobsLayout) -> int:
    _end_with(parent)
    return write_run(parts, run, out, layout)


@cache
def _end_with(parent: int) -> None:
    """Let this worker die when `parent` does: a killed export must not go on writing."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_HEARTBEAT)
    os._exit(1)
