"""Queries in a process of their own, which is ended when the time is over or when it holds more memory than it may.

One process answers one query after another, so that only the first of them waits for its start.
"""

import atexit
import os
import pickle
import signal
import threading
import time
from contextlib import suppress

import pyarrow as pa

from borgtrace.engine.child import Child
from borgtrace.engine.query_frames import FrameReader, wait_until_ready
from borgtrace.engine.query_request import QueryRequest, memory_exhausted
from borgtrace.engine.stoppable import timed_out
from borgtrace.errors import BorgtraceError, EngineError

START_SECONDS = 60.0
"""Time that a process may take to start."""
PERIOD = 0.02
"""Seconds between two looks at the clock and at the memory of a process."""
MOST_IDLE = 2
"""Processes that wait for another query."""
IDLE_BYTES = 200_000_000
"""A process that has taken more does not wait for another query."""


def prepare() -> None:
    """Start a process for the next query, and do not wait for it: for a command that has just begun."""
    _POOL.keep(_POOL.take(may_fork=True))


def stream_apart(request: QueryRequest, timeout: float | None = None) -> pa.RecordBatchReader:
    """Answer a query in a process of its own, as batches.

    Errors are raised here or while the batches are taken.  Whoever drops the reader ends the query.

    Parameters
    ----------
    request
        The query.
    timeout
        Seconds until the last batch is taken; any number where None.

    Raises
    ------
    UsageError
        The query is wrong, or not one SELECT.
    EngineError
        The engine refused the work, the time is over, or the process held more memory than it may.
    StoreError
        The bucket of the store cannot be read.
    """
    try:
        return _POOL.take().answer(request, timeout)
    except WaitedTooLongError:
        return QueryProcess().answer(request, timeout)


def table_apart(request: QueryRequest, timeout: float | None = None) -> pa.Table:
    """Answer a query in a process of its own, as one table; see :func:`stream_apart`.

    Raises
    ------
    EngineError
        Also where the rows do not fit in the memory of the request.
    """
    reader = stream_apart(request, timeout)
    batches = []
    n_bytes = 0
    for batch in reader:
        batches.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > request.memory_limit:
            raise memory_exhausted(f"an answer of more than {request.memory}")
    return pa.Table.from_batches(batches, reader.schema).combine_chunks()


class WaitedTooLongError(EngineError):
    """The process ended by itself, since nobody had asked it for long; the query crossed its end, and never began."""


class QueryProcess:
    """A process that answers one query at a time.

    Parameters
    ----------
    may_fork
        As for :class:`borgtrace.engine.child.Child`.
    """

    def __init__(self, *, may_fork: bool = False) -> None:
        self._child = Child(may_fork=may_fork)
        self._is_ready = False
        self._bytes_at_start = 0
        self._verdict: BorgtraceError | None = None
        self._answered = threading.Event()

    def answer(self, request: QueryRequest, timeout: float | None) -> pa.RecordBatchReader:
        """Answer a query; see :func:`stream_apart`.

        Raises
        ------
        WaitedTooLongError
            The process had just ended by itself: another one can be asked.
        """
        self._answered.clear()
        try:
            self._wait_until_ready()
            end = None if timeout is None else time.monotonic() + timeout
            threading.Thread(
                target=self._watch,
                args=(request, end, timeout),
                daemon=True,
            ).start()
            self._send(request)
            frames = FrameReader(self._child.answers, self._failure, self._end_answer)
            return pa.ipc.open_stream(frames)
        except BaseException:
            if not self._answered.is_set():
                self.end()
            raise

    def is_alive(self) -> bool:
        """Return whether the process still runs."""
        return self._child.exit_code() is None

    def end(self) -> None:
        """End the process, whatever it does."""
        self._answered.set()
        self._child.end()

    def _wait_until_ready(self) -> None:
        if self._is_ready:
            return
        if not wait_until_ready(self._child.answers, START_SECONDS):
            if self._child.exit_code() is None:
                raise EngineError("query", f"its process did not start within {START_SECONDS:g} s")
            raise self._failure()
        self._is_ready = True
        # A fork holds what its parent holds.
        self._bytes_at_start = self._child.resident_bytes()

    def _taken_bytes(self) -> int:
        return self._child.resident_bytes() - self._bytes_at_start

    def _send(self, request: QueryRequest) -> None:
        rest = memoryview(pickle.dumps(request))
        # A process that has ended has no more to read; what it left is read next.
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._child.requests, rest) :]

    def _watch(self, request: QueryRequest, end: float | None, timeout: float | None) -> None:
        """End the process when its time is over or its memory is used up."""
        while not self._answered.wait(PERIOD):
            if end is not None and time.monotonic() > end:
                self._verdict = timed_out(timeout)
            elif self._taken_bytes() > request.memory_limit:
                self._verdict = memory_exhausted(f"more than {request.memory} in use")
            if self._verdict is not None:
                self._child.kill()
                return

    def _failure(self) -> BorgtraceError:
        """Return why the process ended in the middle of an answer."""
        if self._verdict is not None:
            return self._verdict
        code = self._child.exit_code(wait=True) or 0
        if code == -signal.SIGKILL:
            return memory_exhausted("the system ended the process of the query")
        if code == 0:
            return WaitedTooLongError("query", "its process had ended before it was asked")
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        words = self._child.last_words()
        got = f"{cause}: {words!r}" if words else cause
        return EngineError("query", "its process ended", got=got, way_out="ask for less at once")

    def _end_answer(self, is_free: bool) -> None:
        self._answered.set()
        if is_free and self._taken_bytes() <= IDLE_BYTES:
            _POOL.keep(self)
        else:
            self.end()


class QueryProcesses:
    """Processes that wait for another query."""

    def __init__(self) -> None:
        self._waiting: list[QueryProcess] = []
        self._lock = threading.Lock()
        self._of_parent: list[QueryProcess] = []

    def take(self, *, may_fork: bool = False) -> QueryProcess:
        """Return a process that waits for a query, or a new one."""
        with self._lock:
            while self._waiting:
                process = self._waiting.pop()
                if process.is_alive():
                    return process
                process.end()
        return QueryProcess(may_fork=may_fork)

    def keep(self, process: QueryProcess) -> None:
        """Let a process wait for another query, if not enough do."""
        with self._lock:
            has_room = len(self._waiting) < MOST_IDLE
            if has_room:
                self._waiting.append(process)
        if not has_room:
            process.end()

    def end(self) -> None:
        """End them all."""
        while self._waiting:
            self._waiting.pop().end()

    def leave_to_parent(self) -> None:
        """Leave them alone in a fork, which would take the answers of its parent."""
        self._of_parent.extend(self._waiting)
        self._waiting.clear()
        self._lock = threading.Lock()


_POOL = QueryProcesses()
atexit.register(_POOL.end)
os.register_at_fork(after_in_child=_POOL.leave_to_parent)
