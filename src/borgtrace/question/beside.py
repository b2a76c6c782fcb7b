"""Questions that a second process answers while this one answers others and draws.

Two threads would not do: charts and relational questions are mostly Python, as is a third of a packing study, and
threads take turns at Python.  The process is a fork, which shares what was imported before, and lives as long as a
block of this one.  It takes groups of questions from the end of a list, and this process from its beginning when it
has nothing else to do, so that both end at about the same time.  Whatever the fork does not answer, because it was
killed or met a mistake, is answered here.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from borgtrace.engine.processes import end_with
from borgtrace.errors import BorgtraceError
from borgtrace.question.claims import Finding
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.provenance import Provenance
from borgtrace.question.question import Question, Result

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

PATIENCE_S = 2
"""How long the process may take to end by itself, which lets it remove what it was writing."""

Outcome = Result | BorgtraceError
"""An answer, or why there is none."""

AnswerQuestions = Callable[[Sequence[Question]], Iterator[Outcome]]
"""Yields the answer to each question in turn, or why there is none; called again, it keeps what questions share."""


class SentAnswer(NamedTuple):
    """An answer on its way from one process to the other: without what the other one has, too."""

    table: pa.Table
    provenance: Provenance
    findings: tuple[Finding, ...]
    not_applicable: str | None
    is_in_own_units: bool

    @classmethod
    def of(cls, result: Result) -> SentAnswer:
        """Take what makes an answer."""
        provenance = result.provenance
        return cls(
            table=result.table,
            # A mapping of constants, of which defaults are made, cannot be sent.
            provenance=replace(
                provenance,
                parameters=dict(provenance.parameters),
                extensions={name: dict(code) for name, code in provenance.extensions.items()},
            ),
            findings=result.findings,
            not_applicable=result.not_applicable,
            is_in_own_units=result.names is not None,
        )

    def result(self, question: Question, tables: EngineTables) -> Result:
        """Return the answer to a question, in the amounts and names of a store.

        Parameters
        ----------
        question
            What was asked.
        tables
            Of the store.
        """
        result = Result(question, self.table, self.provenance, self.findings, self.not_applicable)
        if not self.is_in_own_units:
            return result
        return replace(result, amounts=tables.amounts, names=tables.names)


Sent = tuple[str, SentAnswer | BorgtraceError]
"""Name of a question, and its answer or why there is none."""


class QuestionsBeside:
    """Groups of questions for a second process, and its answers as they arrive.

    Parameters
    ----------
    groups
        What it may answer: groups from the end, and the questions of one in their order.
    pipe
        Takes the numbers of groups there, and answers back.
    """

    def __init__(self, groups: Sequence[Sequence[Question]], pipe: Connection) -> None:
        self._groups = groups
        self._names = frozenset(question.name for group in groups for question in group)
        # Its ends are taken by two threads, each in one step.
        self._open_groups = deque(range(len(groups)))
        self._queue: SimpleQueue[Sent | None] = SimpleQueue()
        # A thread takes them from the pipe, or the other process would wait when it is full.
        threading.Thread(target=self._exchange, args=(pipe,), daemon=True).start()

    def __contains__(self, question: Question) -> bool:
        """Whether a question may be answered there."""
        return question.name in self._names

    def take_group(self) -> Sequence[Question]:
        """Return the first group that nobody has begun, which is to be answered here; empty where there is none."""
        try:
            return self._groups[self._open_groups.popleft()]
        except IndexError:
            return ()

    def arrived(self) -> Iterator[tuple[str, SentAnswer | BorgtraceError]]:
        """Yield what has arrived since the last call: names of questions with the answer or why there is none."""
        while not self._queue.empty():
            sent = self._queue.get()
            if sent is None:
                # For the next one who asks.
                self._queue.put(None)
                return
            yield sent

    def wait(self) -> Sent | None:
        """Wait for the next answer and return it; None where the process has ended and sends no more."""
        sent = self._queue.get()
        if sent is None:
            self._queue.put(None)
        return sent

    def _exchange(self, pipe: Connection) -> None:
        try:
            with suppress(EOFError, OSError, IndexError):
                while True:
                    group = self._open_groups.pop()
                    pipe.send(group)
                    for _ in self._groups[group]:
                        self._queue.put(pipe.recv())
        finally:
            # Whatever happened, nobody waits for ever; the end of the pipe lets the other process end.
            self._queue.put(None)
            pipe.close()


@contextmanager
def answering_beside(
    groups: Sequence[Sequence[Question]], prepare: Callable[[], AnswerQuestions]
) -> Iterator[QuestionsBeside | None]:
    """Answer questions in a fork of this process while the block runs; None where there cannot be one.

    Parameters
    ----------
    groups
        What may be answered there; questions of a group are answered by one process.
    prepare
        Called in the fork: returns what answers questions there.
    """
    if not groups or not can_fork():
        yield None
        return
    # What was imported stays for good: who looks for garbage in it would copy its pages.
    gc.freeze()
    forks = multiprocessing.get_context("fork")
    here, there = forks.Pipe()
    process = forks.Process(
        target=_answer_and_send, args=(groups, prepare, here, there), daemon=True
    )
    with warnings.catch_warnings():
        # Python counts the idle threads of libraries, which have handlers for a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    # The end of the pipe shows only when nobody else holds it open.
    there.close()
    try:
        yield QuestionsBeside(groups, here)
    except BaseException:
        _interrupt(process)
        raise
    finally:
        process.join(PATIENCE_S)
        process.kill()
        process.join()


def can_fork() -> bool:
    """Whether a fork of this process can go on alone, and has a core to do so."""
    # A fork copies one thread only: locks that others hold would never be released.
    is_alone = sys.platform == "linux" and threading.active_count() == 1
    return is_alone and len(os.sched_getaffinity(0)) > 1


def _answer_and_send(
    groups: Sequence[Sequence[Question]],
    prepare: Callable[[], AnswerQuestions],
    here: Connection,
    there: Connection,
) -> None:
    # The fork holds a copy of this end, too.
    here.close()
    end_with(os.getppid())
    signal.signal(signal.SIGINT, _stop)
    # Ctrl-C reaches both processes: the other one says so.  A reader that is gone needs no answers, and whatever else
    # goes wrong here happens there again, where it is shown.
    with suppress(KeyboardInterrupt, Exception):
        answer = prepare()
        while True:
            group = groups[there.recv()]
            for question, outcome in zip(group, answer(group), strict=True):
                sent = SentAnswer.of(outcome) if isinstance(outcome, Result) else outcome
                there.send((question.name, sent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    there.close()


def _stop(*_: Any) -> None:
    # Once: what is being removed then is not interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _interrupt(process: ForkProcess) -> None:
    """Let the process end as at Ctrl-C."""
    if process.is_alive() and process.pid is not None:
        os.kill(process.pid, signal.SIGINT)
