"""The process that runs foreign queries, one after another, for the process that started it.

Planning and scalar functions of DuckDB look neither at the clock nor at the memory budget.  Here they run where they
can be ended: the system refuses memory beyond a limit, and the process that asks ends this one when its time is over.
"""

import io
import os
import pickle
import resource
import select
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from borgtrace.engine import guard, query_frames
from borgtrace.engine.query_request import QueryRequest, memory_exhausted
from borgtrace.errors import BorgtraceError, EngineError, first_line
from borgtrace.schema import TABLES
from borgtrace.storage import translate_bucket_errors

PATIENCE = 60.0
"""Seconds that the process waits for another query before it ends."""
PIECE_BYTES = 32 << 20
"""Rows are sent in pieces of about this size, however large a batch is."""
_HEARTBEAT = 0.1


def main(parent: int, spill: str) -> None:
    """Answer requests from stdin on stdout until there is no more, or the process that asks has ended.

    Parameters
    ----------
    parent
        Id of the process that asks.
    spill
        Folder for what does not fit in memory.
    """
    # Ctrl-C is for the process that asks: it ends this one.
    os.setsid()
    threading.Thread(target=_end_with, args=(parent, spill), daemon=True).start()
    # A crash ends this process alone: nobody needs an image of its memory on disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = _claim_pipes()
    worker = Worker(Path(spill), answers)
    query_frames.write_frame(answers, query_frames.READY)
    while select.select([requests], [], [], PATIENCE)[0]:
        try:
            request = pickle.load(requests)
        except EOFError:
            break
        worker.answer(request)


def _claim_pipes() -> tuple[io.BufferedReader, int]:
    """Take stdin and stdout for the conversation: nothing else in this process reads or writes them."""
    requests = os.dup(0)
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), answers


def _end_with(parent: int, spill: str) -> None:
    while os.getppid() == parent:
        time.sleep(_HEARTBEAT)
    shutil.rmtree(spill, ignore_errors=True)
    os._exit(1)


class Worker:
    """Answers queries over one store after another.

    Parameters
    ----------
    spill
        Folder for what does not fit in memory.
    answers
        Descriptor that takes the frames.
    """

    def __init__(self, spill: Path, answers: int) -> None:
        self._spill = spill
        self._answers = answers
        self._opened: tuple[Any, ...] = ()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def answer(self, request: QueryRequest) -> None:
        """Answer one query: frames of rows, or one that says why not."""
        try:
            connection = self._connect(request)
            limit_memory(request.memory_limit)
            with translate_bucket_errors(request.root):
                reader = guard.stream(
                    connection,
                    request.query,
                    parameters=request.parameters,
                    carrier=request.carrier,
                )
                self._send(reader, request)
        except BorgtraceError as error:
            query_frames.write_error(self._answers, error)
        except MemoryError:
            query_frames.write_error(self._answers, memory_exhausted("no more can be allocated"))
        except Exception as error:
            text = f"{type(error).__name__}: {first_line(error)}"
            failure = EngineError("query", "the engine failed", got=text)
            query_frames.write_error(self._answers, failure)

    def _connect(self, request: QueryRequest) -> duckdb.DuckDBPyConnection:
        """Open the store, or take the connection of the query before."""
        wanted = (
            request.root,
            request.files,
            request.version,
            request.memory,
            request.environment,
        )
        if self._connection is None or self._opened != wanted:
            os.environ.clear()
            os.environ.update(request.environment)
            tables = {TABLES[name]: paths for name, paths in request.files.items()}
            self._connection = guard.open_store(
                request.root,
                tables,
                memory=request.memory,
                temp_directory=self._spill,
            )
            self._opened = wanted
        return self._connection

    def _send(self, reader: pa.RecordBatchReader, request: QueryRequest) -> None:
        content = io.BytesIO()
        with pa.ipc.new_stream(content, reader.schema) as writer:
            for piece in pieces(reader, request.most_rows, request.row_limit):
                writer.write_batch(piece)
                with content.getbuffer() as stream_bytes:
                    query_frames.write_frame(self._answers, query_frames.ROWS, stream_bytes)
                content.seek(0)
                content.truncate()
        query_frames.write_frame(self._answers, query_frames.LAST_ROWS, content.getvalue())


def pieces(
    reader: pa.RecordBatchReader,
    most_rows: int | None,
    row_bytes: int,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an answer in pieces that are small enough to send.

    Parameters
    ----------
    reader
        The answer.
    most_rows
        Rows after which it ends; all where None.
    row_bytes
        Largest row that is sent.
    piece_bytes
        Size of a piece that has more than one row.

    Raises
    ------
    EngineError
        A row is larger than `row_bytes`.
    """
    n_left = most_rows
    small_bytes = min(piece_bytes, row_bytes)
    for batch in reader:
        wanted = batch if n_left is None else batch.slice(0, n_left)
        yield from _halved(wanted, row_bytes, small_bytes)
        if n_left is not None:
            n_left -= wanted.num_rows
            if not n_left:
                return


def _halved(batch: pa.RecordBatch, row_bytes: int, piece_bytes: int) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= piece_bytes:
        yield batch
    elif batch.num_rows > 1:
        middle = batch.num_rows // 2
        yield from _halved(batch.slice(0, middle), row_bytes, piece_bytes)
        yield from _halved(batch.slice(middle), row_bytes, piece_bytes)
    elif batch.nbytes <= row_bytes:
        yield batch
    else:
        raise memory_exhausted(f"one row of {batch.nbytes / 1e6:,.0f} MB")


def limit_memory(further_bytes: int) -> None:
    """Let the system refuse memory that this process asks for beyond what it has now.

    Parameters
    ----------
    further_bytes
        How much more it may have.
    """
    # Stacks of threads count although they are hardly touched, and DuckDB starts one a core: so relative to now.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = data_bytes() + further_bytes
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def data_bytes() -> int:
    """Return the bytes of this process that `RLIMIT_DATA` counts; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(pages[5]) * resource.getpagesize()
