"""Reading lists of numbers and intervals from options."""

from __future__ import annotations

from borgtrace.errors import UsageError
from borgtrace.schema.time import parse_time


def whole_numbers(option: str, text: str) -> tuple[int, ...]:
    """Read ids with commas between.

    Examples
    --------
    >>> whole_numbers("--jobs", "1, 2")
    (1, 2)
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not word.lstrip("-").isdecimal():
            raise UsageError(option, "not a number", expected="ids with commas between", got=repr(word))
    return tuple(int(word) for word in words)


def interval(option: str, text: str) -> tuple[int, int]:
    """Read an interval ``A..B`` of trace times.

    Examples
    --------
    >>> interval("--time", "1h..2h")
    (3600000000, 7200000000)
    """
    low, dots, high = text.partition("..")
    if not dots:
        raise UsageError(option, "not an interval", expected="A..B, such as 24h..48h", got=repr(text))
    return parse_time(low), parse_time(high)
