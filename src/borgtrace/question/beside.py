"""Questions that a second process answers while this one answers others and draws.

Two threads would not do: charts and relational questions are mostly Python, as is a third of a packing study, and
threads take turns at Python.  The process is a fork, which shares what was imported before, and lives as long as a
block of this one.  Whatever it does not answer, because it was killed or met a mistake, is answered here.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
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

AnswerQuestions = Callable[[Sequence[Question]], Iterator["Result | BorgtraceError"]]
"""Yields the answer to each question in turn, or why there is none."""


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
    """Answers of a second process, taken as they arrive.

    Parameters
    ----------
    questions
        What it answers, in this order.
    answers
        Where they arrive.
    """

    def __init__(self, questions: Sequence[Question], answers: Connection) -> None:
        self._names = frozenset(question.name for question in questions)
        self._arrived: dict[str, SentAnswer | BorgtraceError] = {}
        self._queue: SimpleQueue[Sent | None] = SimpleQueue()
        # A thread takes them from the pipe, or the other process would wait when it is full.
        threading.Thread(target=self._receive, args=(answers,), daemon=True).start()

    def __contains__(self, question: Question) -> bool:
        """Whether a question is answered there."""
        return question.name in self._names

    def answer(self, question: Question, tables: EngineTables) -> Result | None:
        """Wait for an answer and return it; None where the process has ended without one.

        Parameters
        ----------
        question
            One of those that it answers.
        tables
            Of the store.

        Raises
        ------
        BorgtraceError
            The question was refused.
        """
        while question.name not in self._arrived:
            sent = self._queue.get()
            if sent is None:
                # For the next one who asks.
                self._queue.put(None)
                return None
            name, outcome = sent
            self._arrived[name] = outcome
        outcome = self._arrived.pop(question.name)
        if isinstance(outcome, BorgtraceError):
            raise outcome
        return outcome.result(question, tables)

    def _receive(self, answers: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._queue.put(answers.recv())
        self._queue.put(None)


@contextmanager
def answering_beside(
    questions: Sequence[Question], answer: AnswerQuestions
) -> Iterator[QuestionsBeside | None]:
    """Answer questions in a fork of this process while the block runs; None where there cannot be one.

    Parameters
    ----------
    questions
        What is asked there.
    answer
        Answers them, in the fork.
    """
    if not questions or not can_fork():
        yield None
        return
    # What was imported stays for good: who looks for garbage in it would copy its pages.
    gc.freeze()
    forks = multiprocessing.get_context("fork")
    receiver, sender = forks.Pipe(duplex=False)
    process = forks.Process(target=_answer_and_send, args=(questions, answer, sender), daemon=True)
    with warnings.catch_warnings():
        # Python counts the idle threads of libraries, which have handlers for a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    # The end of the pipe shows only when nobody else holds it open.
    sender.close()
    try:
        yield QuestionsBeside(questions, receiver)
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
    questions: Sequence[Question], answer: AnswerQuestions, answers: Connection
) -> None:
    end_with(os.getppid())
    signal.signal(signal.SIGINT, _stop)
    # Ctrl-C reaches both processes: the other one says so.  A reader that is gone needs no answers, and whatever else
    # goes wrong here happens there again, where it is shown.
    with suppress(KeyboardInterrupt, Exception):
        for question, outcome in zip(questions, answer(questions), strict=True):
            sent = SentAnswer.of(outcome) if isinstance(outcome, Result) else outcome
            answers.send((question.name, sent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers.close()


def _stop(*_: Any) -> None:
    # Once: what is being removed then is not interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _interrupt(process: ForkProcess) -> None:
    """Let the process end as at Ctrl-C."""
    if process.is_alive() and process.pid is not None:
        os.kill(process.pid, signal.SIGINT)
