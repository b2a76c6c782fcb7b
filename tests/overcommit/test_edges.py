"""Capacities, settings and rows of a back-test at their edges, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit import study
from borgtrace.overcommit.recommenders.table import _row
from borgtrace.overcommit.replay import Capacities
from borgtrace.overcommit.study import ReplayOptions
from borgtrace.schema.dialects import dialect
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW

NAN = float("nan")
STORE = cast(Any, SimpleNamespace(manifest=SimpleNamespace(dialect=dialect("2011"))))
# Machine 3 has .5, then 1, and is away from slot 4 on; machine 5 comes as slot 1 ends.
MACHINES = Capacities(
    np.array([3, 3, 3, 5, 7]),
    np.array(
        [
            0,
            TRACE_START + 2 * WINDOW,
            TRACE_START + 4 * WINDOW,
            TRACE_START + 2 * WINDOW - 1,
            0,
        ]
    ),
    np.array([0.5, 1.0, NAN, 0.25, NAN]),
    np.array([0.25, 0.5, NAN, 0.125, NAN]),
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
    machine: int, resource: str, expected: list[float]
) -> None:
    np.testing.assert_array_equal(MACHINES.at(machine, np.arange(6), resource), expected)


def test_the_shape_of_a_machine_is_its_last_known_one() -> None:
    assert [MACHINES.shape(machine) for machine in (3, 5, 7, 4)] == [
        *("CPU 1, memory 0.5", "CPU 0.25, memory 0.125", "unknown", "unknown")
    ]


def test_a_change_after_the_trace_is_of_no_slot() -> None:
    late = Capacities(
        np.array([1, 1]), np.array([0, AFTER_TRACE]), np.array([0.5, 1.0]), np.array([0.5, 1.0])
    )
    last = (AFTER_TRACE - TRACE_START) // WINDOW
    assert late.at(1, np.array([0, last - 1]), "cpu").tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resources": ("disk",)}, "--resource: .*cpu.*disk.*"),
        (
            {"horizon": WINDOW - 1},
            f"--horizon: shorter than a slot: expected 5m or more, got {WINDOW - 1} µs",
        ),
        ({"target": 0.0}, "--target: not a rate: expected above 0 and below 1, got 0"),
        ({"target": 1.0}, "--target: not a rate: expected above 0 and below 1, got 1"),
        ({"machines": -1}, r"--machines: negative: expected 0 \(all\) or more, got -1"),
        (
            {
                "horizon": WINDOW,
                "machines": 0,
                "target": 0.999,
            },
            "",
        ),
    ],
)
def test_settings_that_are_refused(given: dict[str, Any], message: str) -> None:
    if not message:
        ReplayOptions(**given)
        return
    with pytest.raises(UsageError, match=f"^{message}$"):
        ReplayOptions(**given)


def test_the_last_metric_of_a_resource_counts() -> None:
    trace = dialect("2011")
    given = ReplayOptions(metrics=("maximum_cpu", "average_memory", "average_cpu", "maximum_memory"))
    assert [given.metric(trace, resource).name for resource in ("cpu", "memory")] == [
        "average_cpu",
        "maximum_memory",
    ]
    plain = ReplayOptions(metrics=("maximum_memory",))
    assert plain.metric(trace, "cpu").name == ReplayOptions().metric(trace, "cpu").name


@pytest.mark.parametrize(
    ("policy", "is_literal", "is_refused"),
    [("limit", True, False), ("online-gpa", True, True), ("limit", False, False)],
)
def test_slots_without_a_time_have_no_pools(
    policy: str, is_literal: bool, is_refused: bool
) -> None:
    setting = ReplayOptions(policies=(policy,), is_literal=is_literal)
    if not is_refused:
        assert study._pools(STORE, "cpu", setting, study._no_forecasts) == {}
        return
    with pytest.raises(
        UsageError, match=r"^--compat: its slots have no time: expected policies that need none.*"
    ):
        study._pools(STORE, "cpu", setting, study._no_forecasts)


def test_a_forecaster_is_handed_over_and_other_pools_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, str]] = []

    def forecasts(store: Any, resource: str, model: str) -> dict[str, Any]:
        asked.append((resource, model))
        return {"seasonal": "told", "persistence": "not asked for"}

    monkeypatch.setattr(study, "POOLS", {"names": lambda store, metric: metric.name, "jobs": None})
    setting = ReplayOptions(policies=("online-gpa+forecast", "limit"), model="saved")
    found = study._pools(STORE, "memory", setting, forecasts)
    assert found == {"names": "average_memory", "seasonal": "told"}
    assert asked == [("memory", "saved")]
    # Without a policy that forecasts no forecaster is made.
    assert study._pools(STORE, "cpu", ReplayOptions(policies=("online-gpa",)), forecasts) == {
        "names": "average_cpu"
    }
    assert len(asked) == 1


def test_a_row_of_a_back_test() -> None:
    tally: Any = SimpleNamespace(
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
    assert _row(tally, 0.5, 12) == {
        **{
            "jobs": 3,
            "job_days": 4,
            "slack_mean": 0.5,
            "slack_median": 0.5,
            "machines": 4.0,
        },
        **{
            "short": 0.25,
            "short_task_days": 0.125,
            "unchanged": 0.5,
            "changes_p99": pytest.approx(2 + 4 * 0.97),
        },
    }
    tally.slack = [np.empty(0)]
    assert (_row(tally, 0.5, 12)["slack_mean"], _row(tally, 0.5, 12)["slack_median"]) == (
        None,
        None,
    )
