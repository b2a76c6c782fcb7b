"""The trace's clock: int64 microseconds, 600 s before the trace is time zero.

Source: 2011 format document ("Time"). Which instant that is, and in which time zone a cell lies, the dialect says.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from zoneinfo import ZoneInfo

from borgtrace.errors import UsageError

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 3600 * SECOND
DAY = 24 * HOUR
WINDOW = 300 * SECOND
"""Longest regular usage window, and the grid that windows are aligned to."""


@dataclass(frozen=True, slots=True)
class ClockUnit:
    """Marks a parameter as a time, and says its unit in µs."""

    microseconds: int


Microseconds = Annotated[int, ClockUnit(1)]
Seconds = Annotated[float, ClockUnit(SECOND)]
"""Annotations of parameters that are times, with their unit in µs: options accept amounts such as ``1h30m``."""

TRACE_START = 600 * SECOND
"""First instant inside the trace."""
BEFORE_TRACE = 0
AFTER_TRACE = 2**63 - 1
"""Stored for "after the end of the trace"; 2⁶⁴−1 in raw files becomes this."""

_UNITS = {
    "us": 1,
    "µs": 1,
    "ms": 1000,
    "s": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "h": HOUR,
    "d": DAY,
}
# Longer units first: "m" would match the beginning of "ms" and "min".
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(us|µs|ms|s|min|m|h|d)")
_LATEST = "106751991d, 2⁶³−1 µs"
_MOST_DIGITS = 1000
_TIME = "µs, or amounts such as 600s, 1h30m or 2d"


def is_time_zone(name: str) -> bool:
    """Whether a time zone has this name.

    Examples
    --------
    >>> is_time_zone("Asia/Tokyo"), is_time_zone("Mars/Base"), is_time_zone("../etc")
    (True, False, False)
    """
    try:
        ZoneInfo(name)
    # Not found, not below the folder of zones, a folder there.
    except (KeyError, ValueError, OSError):
        return False
    return True


def check_time_zone(where: str, name: str) -> None:
    """Refuse the name of no time zone.

    Parameters
    ----------
    where
        The option or field, for the error.
    name
        Such as ``Europe/Berlin``.

    Raises
    ------
    UsageError
        There is no such zone.
    """
    if not is_time_zone(name):
        raise UsageError(where, "no such time zone", got=name, way_out='try "UTC"')


def parse_time(text: str, where: str = "time") -> int:
    """Return a trace time in µs, written as ``5h``, ``1h30m``, ``2d3h``, or as µs without a unit.

    Parameters
    ----------
    text
        What the user wrote.
    where
        The option or parameter, for the error.

    Raises
    ------
    UsageError
        The text is none of these.

    Examples
    --------
    >>> parse_time("1h30m"), parse_time("600000000")
    (5400000000, 600000000)
    """
    microseconds: float
    stripped = text.strip()
    amounts = _AMOUNT.findall(stripped)
    # Nothing may be left over: "5h x" and "h5" are refused, "1h 30m" is not.
    rest = _AMOUNT.sub("", stripped).strip()
    if stripped.isdecimal():
        # Python refuses to read thousands of digits as a whole number.
        microseconds = int(stripped) if len(stripped) < _MOST_DIGITS else math.inf
    elif amounts and not rest:
        microseconds = sum(float(number) * _UNITS[unit] for number, unit in amounts)
    else:
        raise UsageError(where, "not a time", expected=_TIME, got=repr(text))
    if microseconds > AFTER_TRACE:
        raise UsageError(where, "too large", expected=f"at most {_LATEST}", got=repr(text))
    # 8.2s is 8199999.999999999 µs as a double, which int() would cut to one less.
    return round(microseconds)


def write_time(time: int) -> str:
    """Return a time in µs as :func:`parse_time` reads it, in the units that leave whole numbers.

    Examples
    --------
    >>> [write_time(time) for time in (5 * MINUTE, 90 * MINUTE, 2 * DAY, 1_500_000, 0)]
    ['5m', '1h30m', '2d', '1s500ms', '0us']
    """
    text = ""
    for unit in ("d", "h", "m", "s", "ms", "us"):
        amount, time = divmod(time, _UNITS[unit])
        if amount:
            text += f"{amount}{unit}"
    return text or "0us"


def parse_span(
    text: str,
    where: str = "time",
    read: Callable[[str, str], int] = parse_time,
) -> tuple[int, int]:
    """Return the times [from, to) in µs that ``A..B`` means; a side left out is that end of the trace.

    Parameters
    ----------
    text
        Such as ``1h30m..2h``, ``600s..`` or ``..2d``.
    where
        The option or parameter, for the error.
    read
        Reads a side, as :func:`parse_time` does.

    Raises
    ------
    UsageError
        There are no two dots, a side is not a time, or the end is not after the start.

    Examples
    --------
    >>> parse_span("1h30m..2h")
    (5400000000, 7200000000)
    >>> parse_span("600s..") == (600 * SECOND, AFTER_TRACE)
    True
    >>> parse_span("..2d") == (BEFORE_TRACE, 2 * DAY)
    True
    """
    first, dots, last = text.partition("..")
    if not dots:
        raise UsageError(
            where,
            "not a time range",
            expected="A..B, such as 1h30m..24h, 2h.. or ..2d",
            got=repr(text),
        )
    start = read(first, where) if first.strip() else BEFORE_TRACE
    end = read(last, where) if last.strip() else AFTER_TRACE
    if start >= end:
        raise UsageError(
            where,
            "the end is not after the start",
            expected="A..B with A < B",
            got=repr(text),
        )
    return start, end
