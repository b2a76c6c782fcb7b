"""Times as wall clock with hours beside, and wall clock as times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from borgtrace.errors import UsageError
from borgtrace.notation import WallClock, moment_option, span_option
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR, TRACE_START
from borgtrace.store import Store
from tests.store.typed import EMPTY

NOON = TRACE_START + 12 * HOUR


def test_own_times_are_those_of_the_files(cluster: Store) -> None:
    clock = WallClock.of(cluster.manifest)
    assert clock.text(TRACE_START) == "2026-11-01 00:00 UTC (0 h)"
    assert clock.text(TRACE_START + HOUR // 4) == "2026-11-01 00:15 UTC (0.25 h)"
    assert clock.text(BEFORE_TRACE) == "before the trace"
    assert clock.text(AFTER_TRACE) == "after the trace"
    assert clock.text(None) == "–"


def test_the_zone_of_a_published_cell() -> None:
    # 600 s is 19:00 EDT on 1 May 2011 (format document), noon of 2019's cell a is Pacific.
    assert WallClock.of(EMPTY).text(TRACE_START) == "2011-05-01 19:00 EDT (0 h)"
    cell_a = WallClock.of(replace(EMPTY, generation="2019", cell="a"))
    assert cell_a.parse("2019-05-01 12:00-07:00", "--at") == NOON


def test_a_trace_without_a_calendar_has_hours_alone() -> None:
    clock = WallClock.of(replace(EMPTY, generation="alibaba-2018"))
    assert clock.text(NOON) == "12 h"
    assert clock.wall(NOON) is None
    assert clock.parse("12h", "--at") == NOON
    with pytest.raises(UsageError) as caught:
        clock.parse("2018-01-01 12:00", "--at")
    assert str(caught.value) == (
        "--at: the trace has no calendar: expected a time since its start, such as 12h or 2d3h, "
        "got '2018-01-01 12:00'"
    )


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-01 12:00", NOON),
        ("2026-11-01T13:00:00+01:00", NOON),
        ("2026-11-02", TRACE_START + 24 * HOUR),
        ("12h", NOON),
        # Digits alone are µs, not the first of November.
        ("20261101", 20261101),
    ],
)
def test_what_a_user_writes_for_a_time(cluster: Store, text: str, time: int) -> None:
    assert WallClock.of(cluster.manifest).parse(text, "--at") == time


def test_what_is_printed_of_a_moment_can_be_typed_again(cluster: Store) -> None:
    clock = WallClock.of(cluster.manifest)
    assert clock.moment(NOON) == "2026-11-01 12:00 UTC, 12 h after the start"
    assert clock.parse("12h", "--at") == NOON
    without_calendar = WallClock(None, "UTC")
    assert without_calendar.moment(NOON) == "12 h after the start"
    assert without_calendar.span(TRACE_START, NOON) == "after the start of the trace"
    assert clock.parse(moment_option(NOON + 90), "--at") == NOON + 90
    assert span_option(TRACE_START, NOON) == "0s..12h"
    assert clock.span(TRACE_START, NOON) == "2026-11-01 00:00:00 UTC to 2026-11-01 12:00:00 UTC"


def test_a_moment_beyond_all_times_is_after_the_trace(cluster: Store) -> None:
    # 106,751,991 days are less than 2⁶³ µs, but not with the 600 s that lie before the start.
    assert WallClock.of(cluster.manifest).parse("106751991d4h", "--at") == AFTER_TRACE
