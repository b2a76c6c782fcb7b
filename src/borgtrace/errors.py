"""Everything borgtrace refuses, as one exception tree.

::

    BorgtraceError                  exit code
    ├─ UsageError(ValueError)            2     a parameter, its value, what is allowed
    ├─ SourceError                       3     a raw file: not found, truncated, not a trace
    ├─ SchemaError                       4     every failure at once, with reason codes
    ├─ StoreError                        5     missing, half-written, other version, locked
    ├─ QualityError                      6     only under --strict
    └─ EngineError                       7     an engine is missing or refused

Bad rows are data, not exceptions (see :mod:`borgtrace.schema.reasons`).  A message reads
``where: what: expected …, got …; the way out``; the command line prints it as one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any


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
        self.where, self.what = where, what
        self.expected, self.got, self.way_out = expected, got, way_out
        super().__init__(_sentence(where, what, expected, got, way_out))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts, so that an error raised in a worker process arrives whole."""
        kind = partial(
            type(self),
            expected=self.expected,
            got=self.got,
            way_out=self.way_out,
        )
        return kind, (self.where, self.what)


def _sentence(
    where: str,
    what: str,
    expected: str | None,
    got: str | None,
    way_out: str | None,
) -> str:
    contrast = ", ".join(
        f"{word} {value}" for word, value in (("expected", expected), ("got", got)) if value
    )
    text = ": ".join(part for part in (where, what, contrast) if part)
    return f"{text}; {way_out}" if way_out else text


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
    """A store is missing, half-written, locked or of another format version."""

    exit_code = 5


class StoreNotice(UserWarning):
    """What is no fault of a store: columns that an earlier version lacks, gigabytes that are compared once."""


class QualityError(BorgtraceError):
    """Rows were refused or suspicious, and ``--strict`` was asked for."""

    exit_code = 6


class EngineError(BorgtraceError):
    """An engine is not installed, or refused the work."""

    exit_code = 7


def check_names(
    option: str,
    names: Iterable[str],
    allowed: Collection[str],
    what: str = "unknown name",
) -> None:
    """Refuse a name that is not allowed.

    Parameters
    ----------
    option
        For the message.
    names
        What was given.
    allowed
        What may be given.
    what
        What is wrong with another name.

    Raises
    ------
    UsageError
        It names `option` and all that is allowed.
    """
    # A few alternatives read as a sentence, many as a list, of which the nearest are said again.
    is_short = len(allowed) <= 5
    known = " or ".join(allowed) if is_short else f"one of {', '.join(allowed)}"
    for name in names:
        if name not in allowed:
            near = None if is_short else did_you_mean(name, allowed)
            raise UsageError(
                option,
                what,
                expected=known,
                got=name,
                way_out=near,
            )


def did_you_mean(name: str, allowed: Iterable[str]) -> str | None:
    """Return a question about the names most like `name`; None where none is.

    Examples
    --------
    >>> did_you_mean("queue", ["queue_length", "queueing", "tails"])
    'did you mean queue_length or queueing?'
    >>> did_you_mean("nonsense", ["tails"]) is None
    True
    """
    known = list(allowed)
    # A beginning is no typing error, and less alike than the names that share its length.
    near = [each for each in known if each.startswith(name)] or get_close_matches(
        name, known, n=2, cutoff=0.7
    )
    return f"did you mean {' or '.join(near[:3])}?" if near and name else None


def first_line(error: BaseException) -> str:
    r"""Return the first line of what a library says, or the name of its error where it says nothing.

    Examples
    --------
    >>> first_line(ValueError("no such table\nDid you mean tasks?"))
    'no such table'
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]
