"""A schedule hour by hour: three tasks by hand, and sums that are those of the whole time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.question.conforming import table_of
from borgtrace.scheduling import SIMULATE_HOURS, hours, parse_policy, simulate
from borgtrace.scheduling.replay import replayed
from borgtrace.scheduling.state import ALIVE, DONE, PREEMPTED
from borgtrace.schema.time import HOUR
from tests.scheduling.traces import trace_of

FREE = 0
PRODUCTION = 2
HALF = HOUR // 2
NOBODY = np.empty(0, np.int64)


def test_hours_by_hand() -> None:
    # Two machines and two and a half hours; the free task is evicted after one and a half, and waits from then on.
    trace = trace_of(
        [
            (1, 0, 0, 0, -1, 0.5, FREE),
            (2, 0, HALF, HALF, -1, 1.0, PRODUCTION),
        ],
        (1.0, 1.0),
        5 * HALF,
    )
    found = [
        [0, 0, 0, 3 * HALF, 0, PREEMPTED],
        [1, HALF, 3 * HALF, 4 * HALF, 0, DONE],
        [0, 3 * HALF, -1, -1, -1, ALIVE],
    ]
    rows = {
        (row["tier"], row["hour"]): row
        for row in hours.compute(
            trace,
            np.array(found),
            "p",
            trace.tasks.sizes,
            NOBODY,
        )
    }
    assert list(rows) == [(tier, hour) for tier in ("free", "production") for hour in range(3)]
    names = ("waiting_hours", "evicted", "running", "cpu", "cpu_used", "memory_used")
    # Half of a machine is a quarter of the cell, and half of what is asked for is used; the last hour is half of one.
    free = [
        (0, 0, 1, 0.25, 0.125, 0.125),
        (0.5, 1, 0.5, 0.125, 0.0625, 0.0625),
        (0.5, 0, 0, 0, 0, 0),
    ]
    production = [
        (0.5, 0, 0, 0, 0, 0),
        (0.5, 0, 0.5, 0.25, 0.125, 0.125),
        (0, 0, 0, 0, 0, 0),
    ]
    for tier, expected in (("free", free), ("production", production)):
        found_rows = [tuple(rows[tier, hour][name] for name in names) for hour in range(3)]
        assert found_rows == [pytest.approx(row) for row in expected], tier


def test_usage_of_too_few_tasks_is_not_told() -> None:
    trace = trace_of(
        [(job, 0, 0, 0, -1, 0.5, FREE) for job in range(10)],
        (1.0,) * 5,
        HOUR,
    )
    found = replayed(trace, parse_policy("best-fit"), 1.0)
    for unmeasured, is_told in ((1, True), (2, False)):
        part = replace(trace, tasks=replace(trace.tasks, without_usage=unmeasured))
        (row,) = hours.compute(part, found, "p", part.tasks.sizes, NOBODY)
        assert (row["cpu_used"] is not None) == is_told
        assert (row["memory_used"] is not None) == is_told


def test_hours_add_up_to_the_whole() -> None:
    rng = np.random.default_rng(3)
    begins = np.sort(rng.integers(0, 7 * HOUR, 200)).tolist()
    attempts = [
        (job, 0, t, t, t + int(rng.integers(1, 2 * HOUR)), 0.3, job % 3)
        for job, t in enumerate(begins)
    ]
    trace = trace_of(attempts, (1.0,) * 8, 7 * HOUR + 12345)
    found = replayed(trace, parse_policy("best-fit+preempt"), 1.0)
    whole = {
        row["tier"]: row for row in simulate.compute(trace, found, "p", trace.tasks.sizes, NOBODY)
    }
    by_hour = pa.Table.from_pylist(hours.compute(trace, found, "p", trace.tasks.sizes, NOBODY))
    for tier, row in whole.items():
        part = by_hour.filter(pa.compute.equal(by_hour["tier"], tier)).to_pydict()
        lengths = np.diff([*np.arange(8) * HOUR, trace.until])
        assert sum(part["waiting_hours"]) == pytest.approx(row["waiting_hours"])
        assert sum(part["evicted"]) == row["evicted"]
        assert np.average(part["cpu"], weights=lengths) == pytest.approx(row["cpu"])
    assert sum(row["evicted"] for row in whole.values()) > 0


def test_the_chart_leaves_out_what_is_not_known() -> None:
    row = {
        "policy": "best-fit",
        "tier": "free",
        "hour": 0,
        "waiting_hours": 1.0,
        "evicted": 0,
        "running": 1.0,
    }
    row |= {"cpu": 0.5, "memory": 0.5, "empty": 0.25}
    for used, shown in ((0.25, {"asked for", "used"}), (None, {"asked for"})):
        used_row = {
            **row,
            "cpu_used": used,
            "memory_used": used,
        }
        table = table_of([used_row], SIMULATE_HOURS.schema)
        drawn = hours.chart(table).to_json()
        assert {name for name in ("asked for", "used") if f'"series": "{name}"' in drawn} == shown


def test_what_happens_on_the_hour_is_of_the_one_that_begins() -> None:
    # Evicted at 0, at one hour and, as the last thing of all, at two.
    trace = trace_of(
        [(1, 0, 0, 0, -1, 0.5, FREE)],
        (1.0,),
        2 * HOUR,
    )
    found = [[0, 0, 0, at, 0, PREEMPTED] for at in (0, HOUR, 2 * HOUR)]
    rows = hours.compute(
        trace,
        np.array(found),
        "p",
        trace.tasks.sizes,
        NOBODY,
    )
    assert [(row["hour"], row["evicted"], row["running"]) for row in rows] == [
        (0, 1, 2.0),
        (1, 2, 1.0),
    ]
