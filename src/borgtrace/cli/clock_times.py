"""Wall-clock times, and spans before now, as options of commands."""

import math
import re
from datetime import UTC, datetime

from borgtrace.errors import UsageError
from borgtrace.schema.time import DAY, SECOND, parse_time

LONGEST_STEP = DAY // SECOND
"""Seconds."""
_UNIX = re.compile(r"1\d{9}")
_EXPECTED = "a span such as 14d, a date such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z"


def parse_clock_time(text: str, where: str, now: float) -> float:
    """Return a time in seconds since 1970.

    Parameters
    ----------
    text
        A span before now (``14d``), a date or time of ISO 8601 (of UTC where it names no zone), or seconds since 1970.
    where
        The option, for the error.
    now
        Seconds since 1970.

    Raises
    ------
    UsageError
        It is none of these, or lies in the future or before 1970.

    Examples
    --------
    >>> parse_clock_time("1d", "--since", now=1_793_577_600.0)
    1793491200.0
    >>> parse_clock_time("2026-11-01", "--since", now=1_793_577_600.0)
    1793491200.0
    >>> parse_clock_time("2026-11-01T02:00:00+02:00", "--since", now=1_793_577_600.0)
    1793491200.0
    """
    stripped = text.strip()
    if stripped == "now":
        return now
    if _UNIX.fullmatch(stripped):
        time = float(stripped)
    else:
        date = _date_of(stripped)
        # Alone, 14 would be so many µs to `parse_time`; nobody means that here.
        if date is None and stripped.isdecimal():
            raise UsageError(where, "not a time", expected=_EXPECTED, got=repr(text))
        time = now - _span(text, where) if date is None else date
    if not 0 <= time <= now:
        raise UsageError(
            where,
            "in the future" if time > now else "before 1970",
            expected=_EXPECTED,
            got=repr(text),
        )
    return time


def _date_of(text: str) -> float | None:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    zoned = date if date.tzinfo else date.replace(tzinfo=UTC)
    return zoned.timestamp()


def _span(text: str, where: str) -> float:
    try:
        return parse_time(text, where) / SECOND
    except UsageError as error:
        raise UsageError(where, "not a time", expected=_EXPECTED, got=repr(text)) from error


def parse_step(text: str, where: str = "--step") -> int:
    """Return the seconds between samples.

    Raises
    ------
    UsageError
        It is no span of whole seconds up to a day.

    Examples
    --------
    >>> parse_step("1m"), parse_step("90s")
    (60, 90)
    """
    expected = "whole seconds up to a day, such as 30s, 1m or 5m"
    if text.strip().isdecimal():
        raise UsageError(where, "a span without its unit", expected=expected, got=repr(text))
    seconds = parse_time(text, where) / SECOND
    if not 1 <= seconds <= LONGEST_STEP or not seconds.is_integer():
        raise UsageError(where, "not a step", expected=expected, got=repr(text))
    return int(seconds)


def utc(seconds: float) -> str:
    """Return a time as people read it.

    Examples
    --------
    >>> utc(1_793_491_200)
    '2026-11-01 00:00 UTC'
    """
    return datetime.fromtimestamp(math.floor(seconds), UTC).strftime("%Y-%m-%d %H:%M UTC")
