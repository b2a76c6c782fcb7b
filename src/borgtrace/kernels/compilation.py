"""Announce a compilation: machine code that is missing takes a command tens of seconds, once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[], None]] = []


@contextmanager
def announcing_compilation(announce: Callable[[], None]) -> Iterator[None]:
    """Call a function the first time that a function has no machine code in the cache, while the block runs.

    Parameters
    ----------
    announce
        Called at most once, before the compiler begins.
    """
    _listeners.append(announce)
    try:
        yield
    finally:
        if announce in _listeners:
            _listeners.remove(announce)


def announce_missing_code() -> None:
    """Tell whoever wants to know that a function is about to be compiled, and kept."""
    while _listeners:
        _listeners.pop()()
