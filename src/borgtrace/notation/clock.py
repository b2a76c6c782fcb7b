"""Times of a trace as people read them: the wall clock of the cell where it is known, and hours since the start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from borgtrace.errors import UsageError
from borgtrace.notation.numbers import number
from borgtrace.schema.dialects.trace_format import RELATIVE_ORIGIN
from borgtrace.schema.time import (
    AFTER_TRACE,
    BEFORE_TRACE,
    HOUR,
    TRACE_START,
    parse_time,
    write_time,
)
from borgtrace.store.manifest import Manifest

MINUTES = "%Y-%m-%d %H:%M %Z"
"""An instant to the minute."""
SECONDS = "%Y-%m-%d %H:%M:%S %Z"
"""An instant to the second."""
EDGES = {BEFORE_TRACE: "before the trace", AFTER_TRACE: "after the trace"}
"""What the sentinels of time are called."""
_MICROSECOND = timedelta(microseconds=1)


def parse_moment(text: str, where: str) -> int:
    """Return a time in µs on the trace's clock: an amount since the start of the trace, or stored µs.

    The same hours are printed beside the wall clock, so that what is printed can be typed.

    Parameters
    ----------
    text
        What the user wrote: ``12h`` or ``2d3h`` count from the start of the trace; digits alone are µs as stored.
    where
        The option, for the error.

    Raises
    ------
    UsageError
        It is neither, or lies beyond all times.

    Examples
    --------
    >>> parse_moment("0h", "--at") == TRACE_START, parse_moment("600000000", "--at") == TRACE_START
    (True, True)
    """
    amount = parse_time(text, where)
    if text.strip().isdecimal():
        return amount
    return min(TRACE_START + amount, AFTER_TRACE)


def moment_option(time: int) -> str:
    """Return a time in µs as :func:`parse_moment` reads it.

    Examples
    --------
    >>> moment_option(TRACE_START + 90 * HOUR), moment_option(TRACE_START), moment_option(7)
    ('3d18h', '0s', '7')
    """
    if time < TRACE_START or time == AFTER_TRACE:
        return str(time)
    return write_time(time - TRACE_START) if time > TRACE_START else "0s"


def span_option(first: int, last: int) -> str:
    """Return the times [first, last) in µs as the option ``--time`` takes them; an open side is left out.

    Examples
    --------
    >>> span_option(TRACE_START, TRACE_START + HOUR), span_option(BEFORE_TRACE, TRACE_START + HOUR)
    ('0s..1h', '..1h')
    """
    begin = "" if first == BEFORE_TRACE else moment_option(first)
    end = "" if last == AFTER_TRACE else moment_option(last)
    return f"{begin}..{end}"


@dataclass(frozen=True, slots=True)
class WallClock:
    """Writes and reads times of a trace, which are µs on its own clock.

    Parameters
    ----------
    start
        The instant at which the trace starts; None where its times are of no calendar.
    zone
        Name of the time zone of the cell.

    Examples
    --------
    >>> clock = WallClock(datetime(2026, 11, 1, tzinfo=UTC), "UTC")
    >>> clock.text(TRACE_START + 12 * HOUR), clock.text(BEFORE_TRACE)
    ('2026-11-01 12:00 UTC (12 h)', 'before the trace')
    >>> WallClock(None, "UTC").text(TRACE_START + 12 * HOUR)
    '12 h'
    >>> clock.parse("2026-11-01 12:00", "--at") == clock.parse("12h", "--at") == TRACE_START + 12 * HOUR
    True
    """

    start: datetime | None
    zone: str

    @classmethod
    def of(cls, manifest: Manifest) -> WallClock:
        """Return the clock of a store."""
        dialect = manifest.dialect
        zone = dialect.time_zone(manifest.cell)
        if dialect.origin == RELATIVE_ORIGIN:
            return cls(None, zone)
        return cls(dialect.origin.astimezone(UTC), zone)

    def hours(self, time: int) -> float:
        """Return the hours from the start of the trace to a time."""
        return (time - TRACE_START) / HOUR

    def wall(self, time: int, form: str = MINUTES) -> str | None:
        """Write a time as the wall clock of the cell; None where the trace has no calendar.

        Parameters
        ----------
        time
            On the trace's clock, µs; its sentinels become words.
        form
            As for ``strftime``.
        """
        if time in EDGES:
            return EDGES[time]
        if self.start is None:
            return None
        # By way of UTC: adding to a local time would ignore that daylight saving begins or ends in between.
        instant = self.start + timedelta(microseconds=time - TRACE_START)
        return instant.astimezone(ZoneInfo(self.zone)).strftime(form)

    def text(self, time: int | None, form: str = MINUTES) -> str:
        """Write a time: wall clock, with hours since the start beside; hours alone where there is no calendar.

        Parameters
        ----------
        time
            On the trace's clock, µs; None where it is not known.
        form
            As for ``strftime``.
        """
        if time is None:
            return number(None)
        if time in EDGES:
            return EDGES[time]
        hours = f"{number(self.hours(time))} h"
        wall = self.wall(time, form)
        return hours if wall is None else f"{wall} ({hours})"

    def moment(self, time: int) -> str:
        """Write a time that a user may type again: it says what its hours count from.

        Parameters
        ----------
        time
            On the trace's clock, µs.
        """
        if time in EDGES:
            return EDGES[time]
        amount = f"{number(self.hours(time))} h after the start"
        wall = self.wall(time)
        return amount if wall is None else f"{wall}, {amount}"

    def span(self, first: int, last: int) -> str:
        """Say to the second when two times are on the wall clock, or what :func:`span_option` counts from."""
        if self.start is None:
            return "after the start of the trace"
        return f"{self.wall(first, SECONDS)} to {self.wall(last, SECONDS)}"

    def parse(self, text: str, where: str) -> int:
        """Return a time in µs on the trace's clock: a date with a time of day, or what :func:`parse_moment` reads.

        Parameters
        ----------
        text
            What the user wrote; a date is of the cell's zone where it names none.
        where
            The option, for the error.

        Raises
        ------
        UsageError
            It is no time, or a date though the trace has no calendar.
        """
        try:
            date = datetime.fromisoformat(text.strip())
        except ValueError:
            return parse_moment(text, where)
        # Digits alone are µs, though ISO 8601 reads eight of them as a date.
        if text.strip().isdecimal():
            return parse_moment(text, where)
        if self.start is None:
            raise UsageError(
                where,
                "the trace has no calendar",
                expected="a time since its start, such as 12h or 2d3h",
                got=repr(text),
            )
        zoned = date if date.tzinfo else date.replace(tzinfo=ZoneInfo(self.zone))
        return (zoned - self.start) // _MICROSECOND + TRACE_START
