"""Capacities, options and rows of a back-test at their edges, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit import ReplayOptions
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.overcommit.recommenders.table import summarize
from borgtrace.overcommit.replay import Capacities
from borgtrace.schema.dialects import dialect
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW
from tests.overcommit.rows import assert_row

NAN = float("nan")


def slot_begin(slot: int) -> int:
    return TRACE_START + slot * WINDOW


# Machine 3 has .5, then 1, and is away from slot 4 on; machine 5 comes as slot 1 ends.
MACHINES = Capacities(
    machine=np.array([3, 3, 3, 5, 7]),
    time=np.array(
        [
            0,
            slot_begin(2),
            slot_begin(4),
            slot_begin(2) - 1,
            0,
        ]
    ),
    cpu=np.array([0.5, 1.0, NAN, 0.25, NAN]),
    memory=np.array([0.25, 0.5, NAN, 0.125, NAN]),
    is_away=np.array([False, False, True, False, False]),
)


@pytest.mark.parametrize(
    ("machine", "resource", "expected"),
    [
        # An event as the next slot begins is of that slot.
        (3, "cpu", [0.5, 0.5, 1.0, 1.0, NAN, NAN]),
        (3, "memory", [0.25, 0.25, 0.5, 0.5, NAN, NAN]),
        (5, "cpu", [NAN, 0.25, 0.25, 0.25, 0.25, 0.25]),
        (4, "cpu", [NAN] * 6),
    ],
)
def test_what_a_machine_was_at_the_end_of_a_slot(
    machine: int,
    resource: str,
    expected: list[float],
) -> None:
    np.testing.assert_array_equal(MACHINES.at(machine, np.arange(6), resource), expected)


@pytest.mark.parametrize(
    ("machine", "absent"),
    # Machine 4 has no event: nobody knows that it was away.
    [(3, [4, 5]), (5, [0]), (7, []), (4, [])],
)
def test_when_a_machine_is_not_in_the_cell(machine: int, absent: list[int]) -> None:
    assert MACHINES.absent_slots(machine, 6).tolist() == absent


def test_the_shape_of_a_machine_is_its_last_known_one() -> None:
    assert MACHINES.shape(3) == "CPU 1, memory 0.5"
    assert MACHINES.shape(5) == "CPU 0.25, memory 0.125"
    assert MACHINES.shape(7) == "unknown"
    assert MACHINES.shape(4) == "unknown"


def test_a_change_after_the_trace_is_of_no_slot() -> None:
    late = Capacities(
        machine=np.array([1, 1]),
        time=np.array([0, AFTER_TRACE]),
        cpu=np.array([0.5, 1.0]),
        memory=np.array([0.5, 1.0]),
        is_away=np.zeros(2, bool),
    )
    last = (AFTER_TRACE - TRACE_START) // WINDOW
    assert late.at(
        1,
        np.array([0, last - 1]),
        "cpu",
    ).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resources": ("disk",)}, "--resource: .*cpu.*disk.*"),
        (
            {"horizon": WINDOW - 1},
            "--horizon: out of range: expected 5m to 366d, got 4m59s999ms999us",
        ),
        ({"target": 0.0}, "--target: out of range: expected above 0 and below 1, got 0"),
        ({"target": 1.0}, "--target: out of range: expected above 0 and below 1, got 1"),
        ({"machines": -1}, r"--machines: out of range: expected 0 to 1,000,000,000, got -1"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        ReplayOptions(**options)


def test_options_at_their_bounds_are_accepted() -> None:
    assert (
        ReplayOptions(
            horizon=WINDOW,
            machines=0,
            target=0.999,
        ).horizon_slots
        == 1
    )


def test_the_last_metric_of_a_resource_counts() -> None:
    trace = dialect("2011")
    metrics = ("maximum_cpu", "average_memory", "average_cpu", "maximum_memory")
    options = ReplayOptions(metrics=metrics)
    assert options.metric(trace, "cpu").name == "average_cpu"
    assert options.metric(trace, "memory").name == "maximum_memory"
    only_memory = ReplayOptions(metrics=("maximum_memory",))
    assert only_memory.metric(trace, "cpu").name == ReplayOptions().metric(trace, "cpu").name


def test_a_row_of_a_back_test() -> None:
    tally = Tally(
        slack=[np.array([0.0, 0.25]), np.array([0.5, 0.75, 1.0])],
        changes=[np.array([0, 0, 2]), np.array([6])],
        jobs=3,
        unused=24.0,
        short=5,
        samples=20,
        short_task_days=1,
        task_days=8,
    )
    # 24 of unused machines of a half over 12 slots; changes 0, 0, 2 and 6: the 99th percentile lies .97 of the way up.
    assert summarize(tally, 0.5, 12) == {
        "jobs": 3,
        "job_days": 4,
        "slack_mean": 0.5,
        "slack_median": 0.5,
        "machines": 4.0,
        "short": 0.25,
        "short_task_days": 0.125,
        "unchanged": 0.5,
        "changes_p99": pytest.approx(2 + 4 * 0.97),
    }
    tally.slack = [np.empty(0)]
    without_slack = summarize(tally, 0.5, 12)
    assert_row(
        without_slack,
        slack_mean=None,
        slack_median=None,
    )
