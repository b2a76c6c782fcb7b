from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.schema.time import AFTER_TRACE
from tests.lifecycle.lives import ENDS, UPDATES, attempts_of, life, rows, tables


def attempts(text: str, generation: str = "2011") -> list[dict[str, Any]]:
    return rows(tables(life(text), generation=generation).instance_attempts, "attempt")


def test_a_plain_life() -> None:
    (one,) = attempts("SUBMIT 5 SCHEDULE 7 FINISH 19")
    assert (one["attempt"], one["submit_time"], one["schedule_time"], one["end_time"]) == (
        1,
        5,
        7,
        19,
    )
    assert (one["end_type"], one["wait"], one["run"], one["left_time"]) == ("FINISH", 2, 12, 19)
    assert not one["is_left_censored"]
    assert not one["is_right_censored"]


def test_machine_and_requests_come_from_the_schedule_row() -> None:
    events = life("SUBMIT 5 SCHEDULE 7 KILL 9")
    events[0] |= {"cpu_request": 0.5, "priority": 4}
    events[1] |= {
        "cpu_request": 0.25,
        "machine_id": 77,
        "priority": 2,
    }
    (one,) = rows(tables(events).instance_attempts, "attempt")
    assert (one["cpu_request"], one["machine_id"], one["priority"]) == (0.25, 77, 2)


def test_what_was_there_at_the_start_has_no_wait_and_no_run() -> None:
    (one,) = attempts("SUBMIT 0 SCHEDULE 0 FINISH 19")
    assert (one["wait"], one["run"], one["is_left_censored"]) == (None, None, True)


def test_what_ends_after_the_trace_is_right_censored() -> None:
    (one,) = attempts(f"SUBMIT 5 SCHEDULE 7 KILL {AFTER_TRACE}")
    assert (one["run"], one["is_right_censored"], one["end_type"]) == (None, True, "KILL")


def test_resubmission_counts_on_and_knows_the_gap() -> None:
    first, second = attempts("SUBMIT 5 SCHEDULE 7 EVICT 9 SUBMIT 12 SCHEDULE 13")
    assert (first["next_time"], second["attempt"], second["left_time"]) == (12, 2, None)
    assert second["is_right_censored"]


def test_updates_never_lose_the_predecessor() -> None:
    (one,) = attempts("SUBMIT 5 UPDATE_PENDING 6 SCHEDULE 7 UPDATE_RUNNING 8 KILL 9")
    assert (one["submit_time"], one["schedule_time"], one["end_type"], one["run"]) == (
        5,
        7,
        "KILL",
        2,
    )


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("SUBMIT 5 SUBMIT 8 SCHEDULE 9", [(5, 8), (8, None)]),
        ("SCHEDULE 5 SCHEDULE 8 FINISH 9", [(5, 8), (8, 9)]),
        ("FINISH 5 SCHEDULE 8", [(5, 5), (8, None)]),
        ("SUBMIT 5 SCHEDULE 6 KILL 7 KILL 8", [(5, 7), (8, 8)]),
        ("SUBMIT 5 SCHEDULE 6 EVICT 7 KILL 8", [(5, 7), (8, 8)]),
    ],
)
def test_a_lost_event_costs_a_time_never_a_task(
    text: str, spans: list[tuple[int, int | None]]
) -> None:
    assert [(one["begin_time"], one["left_time"]) for one in attempts(text)] == spans


def test_queueing_stays_within_one_attempt() -> None:
    (one,) = attempts("SUBMIT 1 QUEUE 2 ENABLE 3 QUEUE 4 ENABLE 5 SCHEDULE 6 FINISH 9", "2019")
    assert (one["queue_time"], one["enable_time"], one["schedule_time"]) == (2, 5, 6)


@st.composite
def histories(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    lives = []
    for collection_id in range(draw(st.integers(1, 3))):
        types = draw(
            st.lists(
                st.sampled_from(("SUBMIT", "SCHEDULE", *ENDS, *UPDATES)),
                min_size=1,
                max_size=12,
            )
        )
        times = sorted(
            draw(
                st.lists(
                    st.integers(0, 9),
                    min_size=len(types),
                    max_size=len(types),
                )
            )
        )
        text = " ".join(f"{type_} {time}" for type_, time in zip(types, times, strict=True))
        lives.append(life(text, collection_id))
    return lives


@settings(max_examples=15, deadline=None)
@given(histories(), st.randoms(use_true_random=False))
def test_attempts_are_what_a_plain_loop_finds_in_any_row_order(
    lives: list[list[dict[str, Any]]], random: Any
) -> None:
    events = [
        dict(event, source_row=row) for row, event in enumerate(e for one in lives for e in one)
    ]
    random.shuffle(events)
    rows_of_table = rows(tables(events).instance_attempts, "collection_id", "attempt")
    names = ("begin_time", "submit_time", "schedule_time", "end_time", "end_type", "left_time")
    expected = [
        (number, *(one.get(name) for name in names))
        for events_of_one in lives
        for number, one in enumerate(attempts_of(events_of_one), 1)
    ]
    assert [(row["attempt"], *(row[name] for name in names)) for row in rows_of_table] == expected
