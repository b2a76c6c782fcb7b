"""All errors of borgtrace, as one tree of exceptions.

::

    BorgtraceError                  exit code
    ├─ UsageError(ValueError)            2     a parameter, its value, what is allowed
    ├─ SourceError                       3     a raw file: not found, truncated, not a trace
    ├─ SchemaError                       4     every failure at once, with reason codes
    ├─ StoreError                        5     missing, half-written, other version, locked; a full disk
    ├─ QualityError                      6     only under --strict
    └─ EngineError                       7     an engine is missing or refused; memory or open files are short

Bad rows are data, not exceptions (see :mod:`borgtrace.schema.reasons`). A message reads
``where: what: expected …, got …; the way out``; the command line prints it as one line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from borgtrace.redaction import without_secrets

_HARMFUL = re.compile(
    "["
    "\\x00-\\x08\\x0b-\\x1f\\x7f"  # control characters of ASCII, without tabulator and line feed
    "\\x80-\\x9f"  # those of Latin-1: U+009B begins an escape sequence by itself
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # the order of letters
    "\\u2028\\u2029\\ufff9-\\ufffb"  # line and paragraph separators, annotations
    "\\ud800-\\udfff"  # bytes of a name that are no UTF-8
    "]"
)


def harmless(text: str) -> str:
    r"""Show the characters that a terminal would obey: control characters, and those that turn text around.

    They are written as JSON and TOML write them, so that what is made harmless in a string there still says the same.

    Examples
    --------
    >>> print(harmless("web\x1b[2J"))
    web\u001b[2J
    """
    return _HARMFUL.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def shell_word(path: Path | str) -> str:
    """Return a path as a word of a shell: hints are commands that work when they are pasted, whatever files are called.

    Parameters
    ----------
    path
        Of a file or a folder, or a URL.

    Examples
    --------
    >>> shell_word("cell-2011"), shell_word("my cell"), shell_word("-cell")
    ('cell-2011', "'my cell'", './-cell')
    """
    text = str(path)
    # A name that begins with a hyphen would be taken for an option.
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def sql_command(store: Path | str, query: str) -> str:
    """Return the command that asks a store a query of ours, which holds no quotes.

    Examples
    --------
    >>> print(sql_command("my cell", "select 1"))
    borgtrace sql 'my cell' "select 1"
    """
    return f'borgtrace sql {shell_word(store)} "{query}"'


class BorgtraceError(Exception):
    """Base of all errors that borgtrace raises on purpose.

    Parameters
    ----------
    where
        File, parameter, store or table the error is about.
    what
        What is wrong, in a few words.
    expected, got
        What would have been right and what was found, when that helps.
    way_out
        What the reader can do next: a command or an option.

    Examples
    --------
    >>> print(UsageError("--split", "fractions exceed 1", expected="a sum ≤ 1", got="1.2",
    ...                  way_out="try 0.7,0.1,0.2"))
    --split: fractions exceed 1: expected a sum ≤ 1, got 1.2; try 0.7,0.1,0.2
    """

    exit_code = 1

    def __init__(
        self,
        where: str,
        what: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        way_out: str | None = None,
    ) -> None:
        self.where = where
        self.what = what
        self.expected = expected
        self.got = got
        self.way_out = way_out
        super().__init__(self._message())

    def _message(self) -> str:
        """Return ``where: what: expected …, got …; the way out``, without the parts that are empty."""
        contrasts = []
        if self.expected:
            contrasts.append(f"expected {self.expected}")
        if self.got:
            contrasts.append(f"got {self.got}")
        parts = [self.where, self.what, ", ".join(contrasts)]
        message = ": ".join(part for part in parts if part)
        if self.way_out:
            message = f"{message}; {self.way_out}"
        # Each part may quote a URL, or a name of a file, which may hold a line break and with it lines of its own.
        return harmless(without_secrets(message)).replace("\n", "\\n")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts, so that an error raised in a worker process arrives whole."""
        make = partial(
            type(self),
            expected=self.expected,
            got=self.got,
            way_out=self.way_out,
        )
        return make, (self.where, self.what)


class UsageError(BorgtraceError, ValueError):
    """A parameter has a value that makes no sense."""

    exit_code = 2


class SourceError(BorgtraceError):
    """A raw file cannot be used."""

    exit_code = 3


class SchemaError(BorgtraceError):
    """Data and the declared tables disagree."""

    exit_code = 4


class StoreError(BorgtraceError):
    """A store is missing, half-written, locked or of another format version, or there is no room for an output."""

    exit_code = 5


class StoreNotice(UserWarning):
    """Something about a store that is no fault: columns that an earlier version lacks, a long first comparison."""


class QualityError(BorgtraceError):
    """Rows were refused or suspicious, and ``--strict`` was asked for."""

    exit_code = 6


class EngineError(BorgtraceError):
    """An engine is not installed, or refused the work, or the machine lacks what the work needs."""

    exit_code = 7


def check_names(
    option: str,
    names: Iterable[str],
    allowed: Collection[str],
    what: str = "unknown name",
    otherwise: str | None = None,
) -> None:
    """Refuse a name that is not allowed.

    Parameters
    ----------
    option
        For the message.
    names
        Names that the user gave.
    allowed
        Names that there are.
    what
        What is wrong with another name.
    otherwise
        Another way out than one of these names.

    Raises
    ------
    UsageError
        It names `option` and all that is allowed.
    """
    # A few alternatives read as a sentence; of many, the most similar ones are named again.
    is_short = len(allowed) <= 5
    expected = " or ".join(allowed) if is_short else f"one of {', '.join(allowed)}"
    for name in names:
        if name not in allowed:
            suggestion = None if is_short else did_you_mean(name, allowed)
            ways_out = " ".join(way for way in (suggestion, otherwise) if way)
            raise UsageError(option, what, expected=expected, got=name, way_out=ways_out or None)


def did_you_mean(name: str, allowed: Iterable[str]) -> str | None:
    """Return a question that suggests the names most similar to `name`; None where none is.

    Examples
    --------
    >>> did_you_mean("queue", ["queue_length", "queueing", "tails"])
    'did you mean queue_length or queueing?'
    >>> did_you_mean("nonsense", ["tails"]) is None
    True
    """
    if not name:
        return None
    candidates = list(allowed)
    # The beginning of a name is no typing error, and less similar than other names of the same length.
    similar = [candidate for candidate in candidates if candidate.startswith(name)]
    if not similar:
        similar = get_close_matches(name, candidates, n=2, cutoff=0.7)
    return f"did you mean {' or '.join(similar[:3])}?" if similar else None


def first_line(error: BaseException) -> str:
    r"""Return the first line of a library's message, or the name of the error where it has none.

    Examples
    --------
    >>> first_line(ValueError("no such table\nDid you mean tasks?"))
    'no such table'
    """
    message = str(error).strip() or type(error).__name__
    return message.splitlines()[0]
