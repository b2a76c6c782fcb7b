"""Threads that work through a list, and end when the one who asked for it goes away."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Generic, NoReturn, TypeVar

from borgtrace.fetch.faults import Stopped

T = TypeVar("T")
R = TypeVar("R")

_TICK = 0.1
_PATIENCE = 5.0


class Crew(Generic[T, R]):
    """``jobs`` threads that take items in order and hand results over as they come.

    At most ``jobs`` results wait to be taken: who deletes each file after use never has more than
    ``2 jobs + 1`` of them.  The threads are daemons, so a connection that hangs cannot keep a program
    from ending.

    Examples
    --------
    >>> sorted(Crew(str.upper, ["a", "b"], jobs=2))
    ['A', 'B']
    """

    def __init__(self, work: Callable[[T], R], items: Iterable[T], jobs: int) -> None:
        self._work, self._items = work, iter(items)
        self._results: queue.Queue[Callable[[], R] | None] = queue.Queue(max(1, jobs))
        self._take = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(max(1, jobs))]

    def __iter__(self) -> Iterator[R]:
        for thread in self._threads:
            thread.start()
        working = len(self._threads)
        try:
            while working:
                result = self._results.get()
                if result is None:
                    working -= 1
                else:
                    yield result()
        finally:
            self._stop.set()

    def join(self) -> None:
        """Wait a little for the threads to notice that they should end."""
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                with self._take:
                    item = next(self._items)
                self._hand_over(_outcome(self._work, item))
        except (StopIteration, Stopped):
            pass
        finally:
            self._hand_over(None)

    def _hand_over(self, result: Callable[[], R] | None) -> None:
        while not self._stop.is_set():
            with suppress(queue.Full):
                self._results.put(result, timeout=_TICK)
                return


def _outcome(work: Callable[[T], R], item: T) -> Callable[[], R]:
    try:
        value = work(item)
    except Stopped:
        raise
    except Exception as error:
        return _raiser(error)
    return lambda: value


def _raiser(error: Exception) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


def in_order(work: Callable[[T], R], items: list[T]) -> list[R]:
    """Do all items at once, one thread each, and return the results (or raise) in the items' order."""

    def numbered(pair: tuple[int, T]) -> tuple[int, Callable[[], R]]:
        return pair[0], _outcome(work, pair[1])

    outcomes = sorted(Crew(numbered, enumerate(items), len(items)), key=lambda pair: pair[0])
    return [outcome() for _, outcome in outcomes]
