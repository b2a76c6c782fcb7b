"""Work of DuckDB that stops at Ctrl-C and at a time limit.

Python sees a signal between two of its own instructions, and a query is one call that may last hours.  So DuckDB
works in a thread of its own while the calling thread waits, which a signal and a clock can interrupt.
"""

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

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
        self._con = con
        self._timeout = timeout
        self._end = None if timeout is None else time.monotonic() + timeout

    def step(self, work: Callable[[], T]) -> T:
        """Do `work` and return its result.

        Raises
        ------
        EngineError
            Where the time is over; DuckDB has stopped by then.
        """
        # A thread for each step takes 0.1 ms, and none is left behind by whoever takes only the first batches.
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                done, _ = wait([future], self._seconds_left())
            # Ctrl-C, which arrives here since this thread only waits.
            except BaseException:
                self._stop(future)
                raise
            if not done:
                self._stop(future)
                raise timed_out(self._timeout)
            return future.result()

    def _seconds_left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def _stop(self, future: Future[T]) -> None:
        while not future.done():
            self._con.interrupt()
            wait([future], _PATIENCE)


class _TimeIsOver(BaseException):
    """Ends the work at once: it is nothing that who asks several questions may take for the failure of one."""


def within(timeout: float | None, work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Do `work` in the main thread, and stop it when the time is over: queries, and any work between them.

    A query stops at once, other work between two instructions of Python.

    Parameters
    ----------
    timeout
        Seconds that the work may take; any number where None.
    work
        Does the work.
    interrupt
        Interrupts the engine, from another thread.

    Raises
    ------
    EngineError
        Where the time is over.
    """
    if timeout is None:
        return work()
    is_over = threading.Event()
    ended = threading.Event()

    def stop(*_: Any) -> None:
        if not ended.is_set():
            raise _TimeIsOver

    def watch(main: int) -> None:
        if ended.wait(timeout):
            return
        is_over.set()
        # The handler runs when the main thread is back in Python, for which its query must end.
        signal.pthread_kill(main, signal.SIGALRM)
        while not ended.wait(_PATIENCE):
            interrupt()

    handler_before = signal.signal(signal.SIGALRM, stop)
    watcher = threading.Thread(target=watch, args=(threading.get_ident(),))
    watcher.start()
    # No context manager: the signal could arrive between the end of its block and its own code, which then never runs.
    try:
        try:
            return work()
        finally:
            # The signal may arrive here, once; after this line its handler does nothing.
            ended.set()
    except _TimeIsOver:
        raise timed_out(timeout) from None
    except Exception as error:
        # The interrupted query's own error may arrive before the signal does.
        if is_over.is_set():
            raise timed_out(timeout) from error
        raise
    finally:
        ended.set()
        watcher.join()
        signal.signal(signal.SIGALRM, handler_before)


def timed_out(timeout: float | None) -> EngineError:
    """Return the error for a query whose time is over."""
    return EngineError(
        "query",
        f"stopped after {timeout:g} s",
        way_out="ask for less, or allow more with the command's --timeout",
    )
