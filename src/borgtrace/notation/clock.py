"""Times of a trace as people read them: the wall clock of the cell where it is known, and hours since the start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from borgtrace.errors import UsageError
from borgtrace.notation.numbers import number
from borgtrace.schema.dialects.trace_format import RELATIVE_ORIGIN
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR, TRACE_START, parse_time
from borgtrace.store.manifest import Manifest

MINUTES = "%Y-%m-%d %H:%M %Z"
"""An instant to the minute."""
SECONDS = "%Y-%m-%d %H:%M:%S %Z"
"""An instant to the second."""
EDGES = {BEFORE_TRACE: "before the trace", AFTER_TRACE: "after the trace"}
"""What the sentinels of time are called."""
_MICROSECOND = timedelta(microseconds=1)


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
    >>> clock.parse("2026-11-01 12:00", "--at") == TRACE_START + 12 * HOUR
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

    def parse(self, text: str, where: str) -> int:
        """Return a time in µs on the trace's clock: a date with a time of day, or an amount such as ``2d3h``.

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
            return parse_time(text, where)
        # Digits alone are µs, though ISO 8601 reads eight of them as a date.
        if text.strip().isdecimal():
            return parse_time(text, where)
        if self.start is None:
            raise UsageError(
                where,
                "the trace has no calendar",
                expected="a time since its start, such as 12h or 2d3h",
                got=repr(text),
            )
        zoned = date if date.tzinfo else date.replace(tzinfo=ZoneInfo(self.zone))
        return (zoned - self.start) // _MICROSECOND + TRACE_START
