"""The part of a trace that a view shows: two times in the address, cut to what the store holds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from borgtrace.errors import UsageError
from borgtrace.notation import parse_moment
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START, WINDOW
from borgtrace.store.manifest import Manifest

BLOCK_SIZES = (1, 2, 3, 4, 6, 12, 24, 36, 72, 144, 288)
"""Slots of 300 s that one point of a chart may stand for: whole parts of an hour, then of a day."""

AROUND = HOUR
"""What a page shows before and after a moment that its address names."""
ReadTime = Callable[[str, str], int]
"""Returns the µs of the trace that a text means; also takes the parameter, for the error."""


class Slots(NamedTuple):
    """Slots of 300 s from the start of the trace: `last` is excluded."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Times from ``start`` to ``end``, µs of the trace."""

    start: int
    end: int

    @property
    def slots(self) -> Slots:
        """The slots of 300 s that it touches."""
        first = (self.start - TRACE_START) // WINDOW
        last = -((TRACE_START - self.end) // WINDOW)
        return Slots(first, last)

    @property
    def slot_times(self) -> npt.NDArray[np.int64]:
        """Start of each slot, µs."""
        first, last = self.slots
        return np.arange(first, last, dtype=np.int64) * WINDOW + TRACE_START

    def block(self, points: int) -> int:
        """Return how many slots a point stands for, so that there are at most about `points`."""
        first, last = self.slots
        for size in BLOCK_SIZES:
            if size * points >= last - first:
                return size
        return BLOCK_SIZES[-1]


def whole_span(manifest: Manifest) -> TimeSpan:
    """Return the span of all that happened within the trace; one slot where nothing is known.

    Parameters
    ----------
    manifest
        Of the store.
    """
    end = TRACE_START + WINDOW
    for table in ("instance_usage", "instance_events"):
        for time in manifest.time_range.get(table) or ():
            if time < AFTER_TRACE:
                end = max(end, time)
    return TimeSpan(TRACE_START, end)


def span_of_life(whole: TimeSpan, times: Iterable[int]) -> TimeSpan:
    """Return the whole slots in which something happened, with one before and one after; all of it where nothing did.

    Parameters
    ----------
    whole
        The span of the store.
    times
        When something happened, µs; sentinels are the edges of the store.
    """
    cut = [min(max(time, whole.start), whole.end) for time in times]
    if not cut:
        return whole
    first, last = TimeSpan(min(cut), max(cut)).slots
    start = TRACE_START + (first - 1) * WINDOW
    end = TRACE_START + (last + 1) * WINDOW
    return TimeSpan(max(start, whole.start), min(end, whole.end))


def requested_span(
    query: Mapping[str, str],
    whole: TimeSpan,
    read_time: ReadTime = parse_moment,
) -> TimeSpan:
    """Return the span of an address: ``from`` and ``to``: dates, 2h or 1d12h since the start, or µs.

    Parameters
    ----------
    query
        Parameters of the address.
    whole
        The span of the store.
    read_time
        Returns the µs that a text means.

    Raises
    ------
    UsageError
        Where one is no time, or the end is not after the start.
    """
    start = read_time(query["from"], "from") if query.get("from") else whole.start
    end = read_time(query["to"], "to") if query.get("to") else whole.end
    start = max(start, whole.start)
    end = min(end, whole.end)
    if start >= end:
        raise UsageError(
            "to", "the end is not after the start", expected="from < to, within the trace"
        )
    return TimeSpan(start, end)


@dataclass(frozen=True, slots=True)
class RequestedTimes:
    """What an address says of times: the span to open with, and a moment to mark; None for what it does not say."""

    span: TimeSpan | None = None
    at: int | None = None


def requested_times(
    query: Mapping[str, str],
    whole: TimeSpan,
    read_time: ReadTime = parse_moment,
) -> RequestedTimes:
    """Return the times of a page's address: ``from`` and ``to``, or the hours around ``at``.

    Parameters
    ----------
    query
        Parameters of the address.
    whole
        The span of the store.
    read_time
        Returns the µs that a text means.

    Raises
    ------
    UsageError
        One is no time, the end is not after the start, or the moment lies outside the trace.

    Examples
    --------
    >>> times = requested_times({"at": "3h"}, TimeSpan(TRACE_START, TRACE_START + 5 * HOUR))
    >>> times.at == TRACE_START + 3 * HOUR, times.span.start == TRACE_START + 2 * HOUR
    (True, True)
    """
    span = None
    if query.get("from") or query.get("to"):
        span = requested_span(query, whole, read_time)
    if not query.get("at"):
        return RequestedTimes(span)
    at = read_time(query["at"], "at")
    if not whole.start <= at <= whole.end:
        raise UsageError("at", "outside of the trace", expected="a time within it", got=query["at"])
    if span is None:
        span = TimeSpan(max(at - AROUND, whole.start), min(at + AROUND, whole.end))
    return RequestedTimes(span, at)
