"""Ranges of addresses, and the span in which something lived."""

from __future__ import annotations

import pytest

from borgtrace.errors import UsageError
from borgtrace.explore.span import TimeSpan, requested_span, span_of_life, whole_span
from borgtrace.schema.time import AFTER_TRACE, DAY, HOUR, SECOND, TRACE_START, WINDOW
from tests.report.conftest import manifest

WHOLE = TimeSpan(TRACE_START, TRACE_START + 30 * DAY)


def test_slots_cover_what_a_span_touches() -> None:
    assert TimeSpan(TRACE_START, TRACE_START + WINDOW).slots == (0, 1)
    assert TimeSpan(TRACE_START + WINDOW - 1, TRACE_START + WINDOW + 1).slots == (0, 2)


@pytest.mark.parametrize(
    ("days", "block"),
    [
        # 576 slots.
        (2, 1),
        (3, 2),
        # Two hours.
        (30, 24),
        (9000, 288),
    ],
)
def test_points_stand_for_whole_parts_of_an_hour_or_a_day(days: int, block: int) -> None:
    assert TimeSpan(TRACE_START, TRACE_START + days * DAY).block(600) == block


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ({}, WHOLE),
        (
            {"from": "2h", "to": "3h30m"},
            TimeSpan(TRACE_START + 2 * HOUR, TRACE_START + 3 * HOUR + HOUR // 2),
        ),
        ({"from": "0", "to": "900d"}, WHOLE),
        # Digits alone are stored microseconds, whose clock begins 600 s before the trace.
        ({"from": "7799999999", "to": "2h"}, TimeSpan(7_799_999_999, 7_800_000_000)),
    ],
)
def test_a_range_is_cut_to_the_store(query: dict[str, str], span: TimeSpan) -> None:
    assert requested_span(query, WHOLE) == span


@pytest.mark.parametrize("start", ["2h", "3h"])
def test_a_range_that_ends_before_it_starts_is_refused(start: str) -> None:
    with pytest.raises(UsageError) as caught:
        requested_span({"from": start, "to": "2h"}, WHOLE)
    message = "to: the end is not after the start: expected from < to, within the trace"
    assert str(caught.value) == message


def test_a_life_has_a_slot_before_and_after() -> None:
    times = [TRACE_START + 3 * WINDOW + SECOND, TRACE_START + 5 * WINDOW]
    life = TimeSpan(TRACE_START + 2 * WINDOW, TRACE_START + 6 * WINDOW)
    assert span_of_life(WHOLE, times) == life
    assert span_of_life(WHOLE, [0, AFTER_TRACE]) == WHOLE
    assert span_of_life(WHOLE, []) == WHOLE


def test_a_life_stays_within_the_store() -> None:
    whole = TimeSpan(TRACE_START, TRACE_START + 10 * WINDOW + 1)
    first = TimeSpan(TRACE_START, TRACE_START + WINDOW)
    last = TimeSpan(TRACE_START + 9 * WINDOW, whole.end)
    assert span_of_life(whole, [TRACE_START]) == first
    assert span_of_life(whole, [TRACE_START + 10 * WINDOW]) == last


@pytest.mark.parametrize(
    ("ranges", "end"),
    [
        ({}, TRACE_START + WINDOW),
        ({"instance_usage": [0, TRACE_START + 1]}, TRACE_START + WINDOW),
        ({"instance_usage": [0, 9 * 10**9], "instance_events": [0, 8 * 10**9]}, 9 * 10**9),
        (
            {"instance_usage": [0, AFTER_TRACE], "instance_events": [7 * 10**9, AFTER_TRACE]},
            7 * 10**9,
        ),
    ],
)
def test_the_span_ends_with_the_last_known_time(ranges: dict[str, list[int]], end: int) -> None:
    assert whole_span(manifest(time_range=ranges)) == TimeSpan(TRACE_START, end)
