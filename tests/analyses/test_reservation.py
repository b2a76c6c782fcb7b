"""Measure 1 by hand: one task of four windows, limit 1."""

from __future__ import annotations

from typing import Any

import pytest

from borgtrace.analyses.reservations import reservation
from borgtrace.question import Tables
from tests.analyses.tiny import answer, tiny, window

USAGE = [window(1, 300 * k, cpu) for k, cpu in enumerate((0.5, 0.5, 0.625, 0.25))]
TASKS = [
    {
        "collection_id": 1,
        "priority": 9,
        "cpu_request": 1.0,
        "memory_request": 0.5,
    }
]
APART = {"instance_usage": [*USAGE, window(2, 0, 0.25)], "tasks": TASKS}  # task 2 has no request


def row(tables: Tables, policy: str, setting: float, **params: Any) -> dict[str, Any]:
    rows = answer(reservation.QUESTION, tables, **params)
    (only_row,) = [
        row
        for row in rows
        if (row["tier"], row["policy"], row["setting"]) == ("production", policy, setting)
    ]
    return only_row


def test_the_limit_reclaims_nothing() -> None:
    policy_row = row(tiny(**APART), "limit", 0.0)
    assert policy_row["reclaimed"] == 0.0
    assert policy_row["violated"] == 0.0
    assert policy_row["seconds"] == 1200


def test_previous_usage_plus_20_percent() -> None:
    # Reserved: 1, .6, .6, .75; the third window uses .625.
    policy_row = row(tiny(**APART), "previous", 0.2)
    assert policy_row["reclaimed"] == pytest.approx(1 - 2.95 / 4, abs=1e-6)
    assert policy_row["violated"] == 0.25
    assert policy_row["overload"] == pytest.approx(0.025 / 1.875, abs=1e-6)


def test_margin_from_the_increases() -> None:
    # Increases: 0, 25 %, 0 (it falls): nine tenths of the time grow by at most 25 %.
    policy_row = row(tiny(**APART), "quantile", 0.9)
    assert policy_row["margin"] == 0.25
    assert policy_row["reclaimed"] == pytest.approx(1 - (1 + 0.625 + 0.625 + 0.78125) / 4, abs=1e-6)
    assert policy_row["violated"] == 0.0


def test_borg_decays_after_300_s() -> None:
    # Half of the distance to the target is left after each window: 1, .75, .625; then the target rises.
    policy_row = row(tiny(**APART), "borg", 0.0, half_life=300.0)
    assert policy_row["reclaimed"] == 0.25
    assert policy_row["violated"] == 0.0


def test_borg_leaves_the_limit_for_the_first_300_s() -> None:
    # Windows begin after 0, 100, 200 (still the limit) and 300 s: then half of the distance from 1 to .5 is left.
    usage = [window(1, 100 * k, 0.5, length=100) for k in range(4)]
    policy_row = row(tiny(instance_usage=usage, tasks=TASKS), "borg", 0.0, half_life=100.0)
    assert policy_row["reclaimed"] == 0.0625


@pytest.mark.parametrize(
    "second", [window(1, 600, 0.25), window(1, 300, 0.25, machine_id=2)], ids=["gap", "machine"]
)
def test_a_new_run_starts_at_the_limit(second: dict[str, Any]) -> None:
    tables = tiny(instance_usage=[window(1, 0, 0.5), second], tasks=TASKS)
    assert row(tables, "previous", 0.0)["reclaimed"] == 0.0


def test_never_more_than_the_limit() -> None:
    tables = tiny(instance_usage=[window(1, 0, 0.75), window(1, 300, 1.5)], tasks=TASKS)
    policy_row = row(tables, "previous", 5.0)
    assert policy_row["reclaimed"] == 0.0
    assert policy_row["violated"] == 0.5
    assert row(tables, "limit", 0.0)["violated"] == 0.5


def test_front() -> None:
    rows = [row for row in answer(reservation.QUESTION, tiny(**APART)) if row["tier"] == "all"]
    front = {(row["policy"], row["setting"]) for row in rows if row["is_on_front"]}
    # Without violations the margin of 25 % reclaims most; any smaller one is violated.
    assert ("quantile", 0.9) in front
    assert ("previous", 0.0) in front
    assert ("previous", 0.2) not in front or front >= {("previous", 0.2)}
    assert ("limit", 0.0) not in front


def test_rows_in_any_order() -> None:
    expected = reservation.QUESTION.run(tiny(**APART)).table
    shuffled = {**APART, "instance_usage": APART["instance_usage"][::-1]}
    assert reservation.QUESTION.run(tiny(**shuffled)).table.equals(expected)


def test_without_requests_it_says_so() -> None:
    result = reservation.QUESTION.run(tiny(instance_usage=USAGE, tasks=[{"collection_id": 1}]))
    assert result.not_applicable == "no task has both usage and a request"


def test_a_request_too_small_to_count_has_no_part_that_could_be_reclaimed() -> None:
    tasks = [
        {
            "collection_id": 1,
            "priority": 9,
            "cpu_request": 2.0**-22,
        }
    ]
    assert reservation.QUESTION.run(tiny(instance_usage=USAGE, tasks=tasks)).not_applicable
    tasks[0]["cpu_request"] = 2.0**-21
    assert row(tiny(instance_usage=USAGE, tasks=tasks), "limit", 0.0)["reclaimed"] == 0.0
