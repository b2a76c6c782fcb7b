"""What a command leaves on a terminal of 80 columns and 24 lines."""

from __future__ import annotations

import io
import re
import sys

import pytest

from borgtrace.cli import main

N_LINES = 24
N_COLUMNS = 80
VARYING = {
    r"\d+\.\d s\)": "… s)",
    r"came in \d+ s": "came in … s",
    r"[0-9a-f]{64}": "DIGEST",
    r"borgtrace \d[^,\s]*, format": "borgtrace VERSION, format",
    r"First run: compiling.*\n": "",
    r"token=[\w-]+": "token=TOKEN",
    r"http://127\.0\.0\.1:\d+": "http://HOST:PORT",
}
"""What differs from run to run or from machine to machine, and what stands for it."""


class Terminal(io.StringIO):
    """What a terminal shows, stdout and stderr together."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise io.UnsupportedOperation


def printed_on_terminal(words: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command on a terminal, and return all lines that it prints, with what varies taken out.

    Parameters
    ----------
    words
        Of its command line, without ``borgtrace``.
    monkeypatch
        Of the test.
    """
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", str(N_COLUMNS))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(SystemExit):
        main(words)
    text = terminal.getvalue()
    for pattern, replacement in VARYING.items():
        text = re.sub(pattern, replacement, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def last_screen(text: str) -> str:
    """Return the last lines of a text as a terminal shows them: what is wider than it goes on in the next line.

    Examples
    --------
    >>> [len(line) for line in last_screen("x" * 100).splitlines()]
    [80, 20]
    """
    lines = []
    for line in text.rstrip().splitlines():
        starts = range(0, max(len(line), 1), N_COLUMNS)
        lines += [line[start : start + N_COLUMNS] for start in starts]
    return "\n".join(lines[-N_LINES:]) + "\n"
