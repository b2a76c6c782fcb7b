"""Ranges of addresses, and the span in which something lived."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from borgtrace.errors import UsageError
from borgtrace.explore.span import Span, asked, life_of, whole
from borgtrace.schema.time import AFTER_TRACE, DAY, HOUR, SECOND, TRACE_START, WINDOW

ALL = Span(TRACE_START, TRACE_START + 30 * DAY)


def test_slots_cover_what_a_span_touches() -> None:
    assert Span(TRACE_START, TRACE_START + WINDOW).slots == (0, 1)
    assert Span(TRACE_START + WINDOW - 1, TRACE_START + WINDOW + 1).slots == (0, 2)


def test_points_stand_for_whole_parts_of_an_hour_or_a_day() -> None:
    assert Span(TRACE_START, TRACE_START + 2 * DAY).block(600) == 1  # 576 slots
    assert Span(TRACE_START, TRACE_START + 3 * DAY).block(600) == 2
    assert ALL.block(600) == 24  # two hours
    assert Span(TRACE_START, TRACE_START + 9000 * DAY).block(600) == 288


def test_a_range_is_cut_to_the_store() -> None:
    assert asked({}, ALL) == ALL
    assert asked({"from": "2h", "to": "3h30m"}, ALL) == Span(2 * HOUR, 3 * HOUR + HOUR // 2)
    assert asked({"from": "0", "to": "900d"}, ALL) == ALL
    assert asked({"from": "7199999999", "to": "2h"}, ALL) == Span(2 * HOUR - 1, 2 * HOUR)
    for edge in ("2h", "3h"):
        with pytest.raises(UsageError):
            asked({"from": edge, "to": "2h"}, ALL)
    with pytest.raises(UsageError) as told:
        asked({"from": "3h", "to": "2h"}, ALL)
    assert (
        str(told.value)
        == "to: the end is not after the start: expected from < to, within the trace"
    )


def test_a_life_has_a_slot_before_and_after() -> None:
    lived = life_of(ALL, [TRACE_START + 3 * WINDOW + SECOND, TRACE_START + 5 * WINDOW])
    assert lived == Span(TRACE_START + 2 * WINDOW, TRACE_START + 6 * WINDOW)
    assert life_of(ALL, [0, AFTER_TRACE]) == ALL
    assert life_of(ALL, []) == ALL


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
    assert whole(SimpleNamespace(time_range=ranges)) == Span(TRACE_START, end)  # type: ignore[arg-type]


def test_a_life_stays_within_the_store() -> None:
    everything = Span(TRACE_START, TRACE_START + 10 * WINDOW + 1)
    assert life_of(everything, [TRACE_START]) == Span(TRACE_START, TRACE_START + WINDOW)
    assert life_of(everything, [TRACE_START + 10 * WINDOW]) == Span(
        TRACE_START + 9 * WINDOW, everything.end
    )
