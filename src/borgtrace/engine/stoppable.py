"""Work of DuckDB that stops at Ctrl-C and at a time limit.

Python hears of a signal between two of its own instructions, and a query is one call that may last hours.  So DuckDB
works in a thread of its own while the calling thread waits, which a signal and a clock can interrupt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import duckdb

from borgtrace.errors import EngineError

T = TypeVar("T")
_PATIENCE = 0.05
"""Seconds between two interruptions: one that comes before DuckDB has begun is lost."""


class Stoppable:
    """The steps of one query: planned, run, its batches taken.

    Parameters
    ----------
    con
        The query's own connection: all that it does is interrupted.
    timeout
        Seconds that the steps may take together; any number where None.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, timeout: float | None = None) -> None:
        self._con, self._timeout = con, timeout
        self._end = None if timeout is None else time.monotonic() + timeout

    def step(self, work: Callable[[], T]) -> T:
        """Do `work` and return its answer.

        Raises
        ------
        EngineError
            Where the time is over; DuckDB has stopped by then.
        """
        # A thread for each step takes 0.1 ms, and none is left behind by whoever takes only the first batches.
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                left = None if self._end is None else max(0.0, self._end - time.monotonic())
                done, _ = wait([future], left)
            # Ctrl-C, which arrives here since this thread only waits.
            except BaseException:
                self._stop(future)
                raise
            if not done:
                self._stop(future)
                raise EngineError(
                    "query", f"stopped after {self._timeout:g} s", way_out="allow more with --timeout, or ask for less"
                )
            return future.result()

    def _stop(self, future: Future[T]) -> None:
        while not future.done():
            self._con.interrupt()
            wait([future], _PATIENCE)
