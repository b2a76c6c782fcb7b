"""Tools in a process of their own, which is ended where one takes too long: compiled code may run for hours."""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import Any, ParamSpec

from borgtrace.assistants.tools import StoreTools
from borgtrace.catalog import QUESTION_KINDS
from borgtrace.errors import BorgtraceError, EngineError, StoreError
from borgtrace.interactive import open as open_store
from borgtrace.question import NotApplicable

P = ParamSpec("P")
Plain = dict[str, Any]
_START_S = 60.0
"""Seconds that a process may take to import borgtrace and open the store."""


@dataclass(frozen=True)
class WorkerSetup:
    """What a process needs to answer for a store.

    Attributes
    ----------
    path, memory
        Of the store, and of its engine.
    sources
        Code of the user that has questions of its own.
    query_seconds
        What a query of SQL may take.
    """

    path: str
    memory: str
    sources: Sequence[str]
    query_seconds: float


class LimitedTools:
    """Calls tools in a process that is ended, and started anew, where one takes too long; one at a time.

    Parameters
    ----------
    setup
        What the process needs.
    seconds
        What a tool may take.
    """

    def __init__(self, setup: WorkerSetup, seconds: float) -> None:
        self._setup = setup
        self._seconds = seconds
        self._one_at_a_time = Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def limited(self, tool: Callable[P, Plain]) -> Callable[P, Plain]:
        """Return a tool that is called in the process.

        Parameters
        ----------
        tool
            A method of :class:`~borgtrace.assistants.tools.StoreTools`.
        """
        signature = inspect.signature(tool)

        @functools.wraps(tool)
        def call(*arguments: P.args, **options: P.kwargs) -> Plain:
            values = signature.bind(*arguments, **options).arguments
            with self._one_at_a_time:
                return self._call(tool.__name__, values)

        return call

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Plain:
        try:
            pipe = self._started()
            pipe.send((name, dict(arguments)))
            if not pipe.poll(self._seconds):
                self._end()
                raise EngineError(
                    name,
                    f"not done after {self._seconds:g} s, and ended",
                    way_out="ask for less, such as fewer tasks with where; or start the server with a longer "
                    "--answer-timeout",
                )
            error, answer = pipe.recv()
        except (EOFError, OSError) as gone:
            self._end()
            raise StoreError(
                name,
                "the process that computed the answer was killed",
                got="perhaps not enough memory",
                way_out="ask for less, or start the server with more --memory",
            ) from gone
        if error is not None:
            raise error
        return dict(answer)

    def _started(self) -> Connection:
        """Return the pipe of the process, which is started where there is none."""
        if self._pipe is not None and self._process is not None and self._process.is_alive():
            return self._pipe
        self._end()
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        # Ends with the server: it reads the end of the pipe, whatever ended that one.
        process = context.Process(target=_answer, args=(theirs, self._setup), daemon=True)
        process.start()
        theirs.close()
        self._process, self._pipe = process, ours
        if not ours.poll(_START_S):
            self._end()
            raise StoreError(self._setup.path, f"not open after {_START_S:g} s")
        error, _ = ours.recv()
        if error is not None:
            self._end()
            raise error
        return ours

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _answer(pipe: Connection, setup: WorkerSetup) -> None:
    """Open the store, say so, and answer until the pipe ends."""
    # What the server prints is its protocol: here everything goes to stderr.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        for source in setup.sources:
            QUESTION_KINDS.add_from(source)
        tools = StoreTools(open_store(setup.path, memory=setup.memory), seconds=setup.query_seconds)
    except BorgtraceError as error:
        pipe.send((error, None))
        return
    pipe.send((None, None))
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = getattr(tools, name)(**arguments)
        except (BorgtraceError, NotApplicable) as error:
            pipe.send((error, None))
        except Exception as error:
            # A mistake of ours, or of code of the user: its lines go to whoever reads the log of the server.
            traceback.print_exc()
            pipe.send((RuntimeError(f"{type(error).__name__}: {error}"), None))
        else:
            pipe.send((None, answer))
