"""What is said where the code of others fails: their line, and not our traceback."""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from borgtrace.errors import UsageError

_ROOTS: dict[Path, str] = {}
"""Files and folders whose code is of others, and how a user named each; empty: as the path is."""
_LINES_IN_MESSAGE = (
    re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)'),
    re.compile(r"Raised from (?P<file>\S+) \((?P<line>\d+)\)"),
)
"""How Numba, and Python in a SyntaxError, name a line in the text of an error."""
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME_OF_NUMBA = re.compile(
    r"Failed in \w+ mode|During: |File \"|<source |\^|- |There are \d+ candidate"
)
"""How lines begin that say where in Numba something failed, and not what."""
_UNCOMPILED = re.compile(
    r"Untyped global name '(?P<name>\w+)':? *Cannot determine Numba type of <class 'function'>"
)
"""What Numba says of a function in plain Python that a compiled one calls."""
_LONGEST = 200
"""Characters that are quoted of a message: those of Numba have hundreds of lines."""


def add_root(path: Path, shown: str) -> None:
    """Remember that the code of a file, or of a folder, is of others.

    Parameters
    ----------
    path
        Absolute.
    shown
        What the user called the file; empty for the path itself.
    """
    _ROOTS[path] = shown


def failure_of_extension(error: BaseException) -> UsageError | None:
    """Return the error of code of others, with its line; None where the error comes from elsewhere.

    Parameters
    ----------
    error
        What was raised.
    """
    line = _line_of(error)
    if line is None:
        return None
    text = words_of(error)
    cause = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return UsageError(line, "the code of this extension failed", got=cause)


def _line_of(error: BaseException) -> str | None:
    """Return ``file:line`` of the innermost line of others, from the traceback or from the text."""
    if isinstance(error, SyntaxError) and error.filename:
        return _shown_line(error.filename, error.lineno or 0)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [(frame.filename, frame.lineno or 0) for frame in reversed(frames)]
    # What Numba cannot compile it names in its message: that code has not run.
    for pattern in _LINES_IN_MESSAGE:
        for match in pattern.finditer(_COLOR.sub("", str(error))):
            lines.insert(0, (match["file"], int(match["line"])))
    for file, number in lines:
        shown = _shown_line(file, number)
        if shown is not None:
            return shown
    return None


def _shown_line(file: str, number: int) -> str | None:
    path = Path(file)
    if not path.is_absolute():
        path = path.resolve()
    for root, shown in _ROOTS.items():
        if path == root:
            return f"{shown or path}:{number}"
        if root in path.parents:
            return f"{path}:{number}"
    return None


def words_of(error: BaseException) -> str:
    r"""Return what an error says, in one line; of Numba's many lines the one that names what it refuses.

    Examples
    --------
    >>> words_of(ValueError("too small\nsee there"))
    'too small'
    """
    helper = _UNCOMPILED.search(_COLOR.sub("", str(error)))
    if helper:
        name = helper["name"]
        return f"{name} is not compiled: put @borgtrace.compiled() above it"
    lines = [line.strip() for line in _COLOR.sub("", str(error)).splitlines()]
    telling = [line for line in lines if line and not _FRAME_OF_NUMBA.match(line)]
    if not telling:
        return ""
    text = telling[0]
    # What comes after a colon is on the next line: the types of a call.
    if text.endswith(":") and len(telling) > 1:
        text = f"{text} {telling[1].removeprefix('>>> ')}"
    return text.partition(" Raised from ")[0][:_LONGEST]


def line_of_function(function: Callable[..., Any]) -> str:
    """Return ``file:line`` of where a function begins.

    Parameters
    ----------
    function
        As it was written, or compiled by Numba.
    """
    code = inspect.unwrap(getattr(function, "py_func", function)).__code__
    line = _shown_line(code.co_filename, code.co_firstlineno)
    return line or f"{code.co_filename}:{code.co_firstlineno}"


@contextmanager
def quiet_output() -> Iterator[None]:
    """Send what the code of others prints to stderr: stdout is data."""
    with redirect_stdout(sys.stderr):
        yield
