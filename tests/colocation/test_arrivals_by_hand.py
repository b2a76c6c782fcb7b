"""Tasks that arrive one after the other: totals, hours and what is refused, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.beyond import packing_online
from borgtrace.colocation.packing.online_cluster import SlotCounts
from borgtrace.question import NotApplicable
from tests.colocation.answers import measured
from tests.colocation.test_packing_past import on_clock


def test_totals_of_one_way() -> None:
    table = pa.Table.from_pylist(
        [
            {
                "estimator": name,
                "cold_start": start,
                "hour": hour,
                "machine_hours": m,
                "overflows": n,
                "moments": 12 * m,
            }
            for name, start, hour, m, n in (
                ("gpa 0.01", "name", 0, 2.0, 1),
                ("gpa 0.01", "name", 1, 3.0, 2),
                ("gpa 0.01", "request", 0, 10.0, 6),
                ("request 1", "request", 0, 20.0, 0),
                ("gpa 0.1", "name", 0, 0.0, 0),
            )
        ]
    )
    # 3 of 60 moments, .05 over .01; 5 hours of machines for 20 and for 10 by requests.
    assert measured(packing_online, "online-promise", table) == pytest.approx(5)
    assert measured(packing_online, "online-saving", table) == pytest.approx(0.25)
    assert measured(packing_online, "online-names", table) == pytest.approx(0.5)
    nothing = table.set_column(
        5,
        "moments",
        pa.array([0] * table.num_rows),
    )
    for calls, reason in (
        (nothing, "no task could be placed"),
        (table.slice(3), "not among the ways that were run"),
    ):
        with pytest.raises(NotApplicable) as caught:
            measured(packing_online, "online-promise", calls)
        assert str(caught.value) == reason


def test_every_way_is_run_where_tasks_come_one_after_the_other() -> None:
    values = np.full((2, 12), 0.25)

    def study(start: list[int]) -> Study:
        return Study(on_clock(values, start=start))

    options = ColocationOptions(capacity=0.5)
    rows = packing_online.compute(study([0, 6]), options)
    # Five ways without requests, 18 slots each.
    assert [(row["estimator"], row["cold_start"], row["hour"]) for row in rows] == [
        (way, "name", hour)
        for way in ("gpa 0.01", "gpa 0.001", "convolution 0.001", "average 1.25", "percentile 95")
        for hour in (0, 1)
    ]
    # A task of which nothing is known has a machine of its own, and fits none at 1.25 times that.
    hours = {
        row["estimator"]: (row["machine_hours"], row["moments"]) for row in rows if row["hour"] == 0
    }
    assert hours.pop("average 1.25") == (0.0, 0)
    assert set(hours.values()) == {(1.5, 18)}
    with pytest.raises(NotApplicable):
        packing_online.compute(study([3, 3]), options)


@pytest.mark.parametrize(
    ("start", "is_refused"),
    [
        ([4, 4], True),
        ([4, 5], False),
        ([4], False),
        ([5, 4, 4], False),
    ],
)
def test_arrivals_at_one_moment_tell_nothing(start: list[int], is_refused: bool) -> None:
    pool = on_clock(
        np.full((len(start), 3), 0.25),
        start=start,
    )
    if not is_refused:
        packing_online.require_arrivals(pool)
        return
    with pytest.raises(NotApplicable) as caught:
        packing_online.require_arrivals(pool)
    assert str(caught.value) == "all tasks of the pool arrive at the same moment"


def test_hours_of_a_simulation_whose_last_is_shorter() -> None:
    # From slot 5 on: an hour, and six slots.
    machines = np.array([1] * 11 + [2] + [3] * 6)
    tasks = np.array([2] * 12 + [5] * 6)
    day = replace(SlotCounts.zeros(5, 18), machines=machines, tasks=tasks)
    day.cold[0] = 2
    day.cold[12] = 3
    day.unplaceable[11] = 1
    day.overflows[3] = 1
    day.overflows[17] = 2
    # Two tasks through all of it, and one, made again, through the last six slots.
    whole = on_clock(
        np.repeat(
            [
                [0.5],
                [0.25],
                [0.75],
            ],
            18,
            axis=1,
        ),
        start=[5, 5, 17],
        retried=np.array([0, 0, 1]),
    )
    pool = whole.during(5, 18)
    first, second = packing_online.hourly_rows(day, pool)
    assert first == {
        "hour": 0,
        "machine_hours": 13 / 12,
        "n_tasks": 2,
        "n_placed": 2,
        "n_unplaceable": 1,
        "overflows": 1,
        "moments": 13,
        "cpu_hours": 0.75,
        "retried_cpu_hours": 0,
    }
    # Half an hour: 18 machines × 5 minutes, five tasks at a time; .75 ÷ 2 of two, and .75 ÷ 2 of the third.
    assert second == {
        "hour": 1,
        "machine_hours": 1.5,
        "n_tasks": 5,
        "n_placed": 3,
        "n_unplaceable": 0,
        "overflows": 2,
        "moments": 18,
        "cpu_hours": 0.75,
        "retried_cpu_hours": 0.375,
    }
