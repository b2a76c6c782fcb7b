"""The table of tasks as an expression over the other tables: what counts where a window has no value or no end."""

from __future__ import annotations

from typing import Any

import pytest

from borgtrace.lifecycle.hosted import what_it_reads
from borgtrace.lifecycle.hosted_tasks import tasks
from borgtrace.schema.dialects import GOOGLE_2019
from borgtrace.schema.time import AFTER_TRACE
from tests.analyses.tiny import tiny


# 3 µs at 0.125, then 4 µs: of 0.78125, (0.375 + 3.125) / 7 is 0.5.
@pytest.mark.parametrize(
    ("end", "cpu", "seconds", "weighted"),
    [
        (14, 0.78125, 7e-6, 0.5),
        (14, None, 7e-6, 0.125),
        (AFTER_TRACE, 0.78125, 3e-6, 0.125),
    ],
)
def test_a_window_without_a_value_or_an_end_has_no_weight(
    end: int,
    cpu: float | None,
    seconds: float,
    weighted: float,
) -> None:
    first = {
        "start_time": 5,
        "end_time": 8,
        "average_cpu": 0.125,
    }
    windows = [
        first,
        {
            "start_time": 10,
            "end_time": end,
            "average_cpu": cpu,
        },
    ]
    given = tiny(
        "2019",
        instance_usage=windows,
        instance_events=[],
        collection_events=[],
    )
    made = tasks(
        given.instance_usage,
        given.instance_events,
        given.collection_events,
        GOOGLE_2019,
    )
    (row,) = made.to_pyarrow().to_pylist()
    assert row["seconds"] == pytest.approx(seconds, rel=1e-12)
    assert row["weighted_mean_average_cpu"] == weighted


@pytest.mark.parametrize(("end", "weighted"), [(6, 0.125), (AFTER_TRACE, None)])
def test_a_microsecond_has_a_mean_over_time_and_no_known_time_has_none(
    end: int, weighted: float | None
) -> None:
    windows = [
        {
            "start_time": 5,
            "end_time": end,
            "average_cpu": 0.125,
        }
    ]
    given = tiny(
        "2019",
        instance_usage=windows,
        instance_events=[],
        collection_events=[],
    )
    made = tasks(
        given.instance_usage,
        given.instance_events,
        given.collection_events,
        GOOGLE_2019,
    )
    (row,) = made.to_pyarrow().to_pylist()
    assert (row["mean_average_cpu"], row["weighted_mean_average_cpu"]) == (0.125, weighted)


def _row(**tables: Any) -> dict[str, Any]:
    given = tiny(
        "2019",
        **{
            "instance_usage": [],
            "instance_events": [],
            "collection_events": [],
        }
        | tables,
    )
    made = tasks(
        given.instance_usage,
        given.instance_events,
        given.collection_events,
        GOOGLE_2019,
    )
    (row,) = made.to_pyarrow().to_pylist()
    return dict(row)


def test_windows_are_counted_with_the_gaps_between_them_and_their_largest_value() -> None:
    # The second window lasts beyond the third and up to the fourth: only the last begins after a gap.
    times = [
        (0, 300, 0.25),
        (100, 900, 0.75),
        (600, 700, 0.5),
        (900, 950, 0.375),
        (1000, 1100, 0.0),
    ]
    row = _row(
        instance_usage=[
            {
                "start_time": a,
                "end_time": b,
                "average_cpu": cpu,
            }
            for a, b, cpu in times
        ]
    )
    assert [row[name] for name in ("n_windows", "n_gaps", "first_time", "last_time")] == [
        5,
        1,
        0,
        1100,
    ]
    assert (row["max_average_cpu"], row["mean_average_cpu"]) == (0.75, 0.375)
    # Nothing is known of its events: none was seen.
    assert (row["n_submit"], row["n_schedule"], row["end_type"], row["user"]) == (0, 0, None, None)


def test_events_tell_the_span_and_what_the_last_schedule_says_else_any_event() -> None:
    said = [
        ("SUBMIT", {"cpu_request": 0.5, "priority": 100}),
        ("SCHEDULE", {"cpu_request": 0.25, "memory_request": 0.125}),
        # A SCHEDULE that says nothing of CPU leaves what the one before said.
        ("SCHEDULE", {"memory_request": 0.0625}),
        (
            "UPDATE_RUNNING",
            {
                "cpu_request": 0.75,
                "memory_request": 0.75,
                "user": "anna",
            },
        ),
    ]
    row = _row(
        instance_events=[
            {
                "time": 10 + n,
                "type": kind,
                **more,
            }
            for n, (kind, more) in enumerate(said)
        ]
    )
    assert [row[name] for name in ("first_time", "last_time", "n_windows", "n_schedule")] == [
        10,
        13,
        0,
        2,
    ]
    assert [row[name] for name in ("cpu_request", "memory_request", "priority")] == [
        0.25,
        0.0625,
        100,
    ]
    assert (row["user"], row["end_type"], row["max_average_cpu"]) == ("anna", None, None)


def test_of_a_table_whose_rows_nobody_published_only_the_bytes_of_a_row_are_told() -> None:
    assert (
        what_it_reads("SELECT machine_id FROM machine_events")
        == "-- reads machine_events: 8 bytes a row"
    )
