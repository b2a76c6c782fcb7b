"""What a command prints, on a terminal or into a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NamedTuple


class Terminal(io.TextIOWrapper):
    """A terminal, or a pipe, that keeps what it is sent."""

    def __init__(self, *, is_terminal: bool = True) -> None:
        self._bytes = io.BytesIO()
        self._is_terminal = is_terminal
        super().__init__(self._bytes, "utf-8", newline="")

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode()


class Shown(NamedTuple):
    """What was printed."""

    out: Terminal
    err: Terminal


@contextmanager
def shown(*, is_terminal: bool = True) -> Iterator[Shown]:
    """Take what is printed while the block runs; pytest has streams of its own for each phase of a test."""
    streams = Shown(Terminal(is_terminal=is_terminal), Terminal(is_terminal=is_terminal))
    with redirect_stdout(streams.out), redirect_stderr(streams.err):
        yield streams
