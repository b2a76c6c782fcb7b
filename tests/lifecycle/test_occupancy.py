from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from tests.lifecycle.lives import life, occupancy_at, rows, tables
from tests.lifecycle.test_attempts import histories


def levels(
    *lives: list[dict[str, Any]], generation: str = "2011"
) -> list[tuple[int, int, int, int]]:
    rows_of_table = rows(tables(*lives, generation=generation).instance_occupancy, "time")
    return [(row["time"], row["pending"], row["queued"], row["running"]) for row in rows_of_table]


def test_every_change_of_state_is_a_step() -> None:
    assert levels(life("SUBMIT 1 SCHEDULE 3 FINISH 7"), life("SUBMIT 3 EVICT 4 SUBMIT 4", 2)) == [
        (1, 1, 0, 0),
        (3, 1, 0, 1),
        (4, 1, 0, 1),
        (7, 1, 0, 0),
    ]


def test_held_back_is_a_part_of_pending() -> None:
    assert levels(life("SUBMIT 1 QUEUE 2 ENABLE 4 SCHEDULE 6"), generation="2019") == [
        (1, 1, 0, 0),
        (2, 1, 1, 0),
        (4, 1, 0, 0),
        (6, 0, 0, 1),
    ]


def test_a_thing_that_is_only_seen_running_never_was_pending() -> None:
    assert levels(life("SCHEDULE 3 FINISH 7")) == [(3, 0, 0, 1), (7, 0, 0, 0)]


@settings(max_examples=15, deadline=None)
@given(histories())
def test_levels_are_what_a_plain_loop_counts(lives: list[list[dict[str, Any]]]) -> None:
    events = [
        dict(event, source_row=row) for row, event in enumerate(e for one in lives for e in one)
    ]
    for time, pending, queued, running in levels(events):
        assert (pending, running) == occupancy_at(lives, time)
        assert queued == 0
