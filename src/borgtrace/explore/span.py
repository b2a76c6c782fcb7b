"""The part of a trace that a view shows: two times in the address, cut to what the store holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from borgtrace.errors import UsageError
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW, parse_time
from borgtrace.store.manifest import Manifest

_BLOCKS = (1, 2, 3, 4, 6, 12, 24, 36, 72, 144, 288)
"""Slots of 300 s that one point of a chart may stand for: whole parts of an hour, then of a day."""


@dataclass(frozen=True, slots=True)
class Span:
    """Times from ``start`` to ``end``, µs of the trace."""

    start: int
    end: int

    @property
    def slots(self) -> tuple[int, int]:
        """First slot of 300 s that it touches, and the one after the last."""
        return (self.start - TRACE_START) // WINDOW, -((TRACE_START - self.end) // WINDOW)

    @property
    def slot_times(self) -> npt.NDArray[np.int64]:
        """Start of each slot, µs."""
        return np.arange(*self.slots, dtype=np.int64) * WINDOW + TRACE_START

    def block(self, points: int) -> int:
        """Return how many slots a point stands for, so that there are at most about `points`."""
        first, last = self.slots
        return next((size for size in _BLOCKS if size * points >= last - first), _BLOCKS[-1])


def whole(manifest: Manifest) -> Span:
    """Return the span of all that happened within the trace; one slot where nothing is known.

    Parameters
    ----------
    manifest
        Of the store.
    """
    of = (manifest.time_range.get(name) or () for name in ("instance_usage", "instance_events"))
    known = [time for times in of for time in times if time < AFTER_TRACE]
    return Span(TRACE_START, max([*known, TRACE_START + WINDOW]))


def life_of(all_of_it: Span, times: Iterable[int]) -> Span:
    """Return the whole slots in which something happened, with one before and one after; all of it where nothing did.

    Parameters
    ----------
    all_of_it
        The span of the store.
    times
        When, µs; sentinels are the edges of the store.
    """
    known = [min(max(time, all_of_it.start), all_of_it.end) for time in times]
    if not known:
        return all_of_it
    first, last = Span(min(known), max(known)).slots
    start, end = (TRACE_START + slot * WINDOW for slot in (first - 1, last + 1))
    return Span(max(start, all_of_it.start), min(end, all_of_it.end))


def asked(query: Mapping[str, str], all_of_it: Span) -> Span:
    """Return the span of an address: ``from`` and ``to``, as 2h, 1d12h or µs.

    Raises
    ------
    UsageError
        Where one is no time, or the end is not after the start.
    """
    start, end = (
        parse_time(query[name], name) if query.get(name) else edge
        for name, edge in (("from", all_of_it.start), ("to", all_of_it.end))
    )
    start, end = max(start, all_of_it.start), min(end, all_of_it.end)
    if start >= end:
        raise UsageError(
            "to", "the end is not after the start", expected="from < to, within the trace"
        )
    return Span(start, end)
