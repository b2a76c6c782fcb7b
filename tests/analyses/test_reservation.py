"""Measure 1 by hand: one task of four windows, limit 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from borgtrace.analyses.reservations import reservation
from borgtrace.question import Tables
from tests.analyses.tiny import answer, tiny, window
from tests.rows import chosen_columns

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
        if row["resource"] == "cpu"
        and (row["tier"], row["policy"], row["setting"]) == ("production", policy, setting)
    ]
    return only_row


def test_the_limit_reclaims_nothing() -> None:
    policy_row = row(tiny(**APART), "limit", 0.0)
    expected = {
        "reclaimed": 0.0,
        "violated": 0.0,
        "seconds": 1200,
    }
    assert chosen_columns(policy_row, expected) == expected


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


def test_margin_and_request_are_counted_apart() -> None:
    # The limit is 1.  Reserved with 20 % more than before: 1, .6, 1 (1.2 without the limit), 1 (1.5), .6.
    usage = [window(1, 300 * k, cpu) for k, cpu in enumerate((0.5, 1.0, 1.25, 0.5, 0.75))]
    policy_row = row(tiny(instance_usage=usage, tasks=TASKS), "previous", 0.2)
    assert policy_row["violated"] == 0.6
    # The third window alone exceeds the request, which the limit cannot hold either.
    assert policy_row["above_request"] == 0.2
    assert policy_row["added"] == 0.4
    # Of the four windows after another one, 1 > .6, 1.25 > 1.2 and .75 > .6.
    assert policy_row["above_margin"] == 0.75
    limit_row = row(tiny(instance_usage=usage, tasks=TASKS), "limit", 0.0)
    assert limit_row["violated"] == limit_row["above_request"] == 0.2
    assert limit_row["added"] == 0.0
    assert limit_row["above_margin"] is None


def test_a_steady_task_above_its_request_needs_no_margin() -> None:
    # 1.5 times the request all the time: every reservation is broken, and no margin would mend it.
    usage = [window(1, 300 * k, 1.5, 0.75) for k in range(12)]
    policy_row = row(tiny(instance_usage=usage, tasks=TASKS), "previous", 0.2)
    assert policy_row["violated"] == policy_row["above_request"] == 1.0
    assert policy_row["added"] == policy_row["above_margin"] == 0.0
    claims = {claim.id: claim for claim in reservation.QUESTION.claims}
    table = reservation.QUESTION.run(tiny(instance_usage=usage, tasks=TASKS)).table
    for resource in ("cpu", "memory"):
        finding = claims[f"S4-measure1-violated-{resource}"].judge(table)
        assert (finding.measured, finding.verdict) == ("0", "holds")


def test_margin_and_request_of_a_real_task(trace: Path) -> None:
    """A task of cell a of 2019, whose request stays the same: shares of its windows, counted with NumPy."""
    rows = pq.read_table(
        trace / "usage-2019" / "crf_instance_usage.parquet",
        filters=[("unique_id", "=", "382417448240-115")],
    ).sort_by("time")
    assert rows.num_rows == 889
    seconds = rows["time"].to_numpy() / 1e6
    cpu = rows["avg_cpu_usage"].to_numpy()
    starts = (seconds - seconds[0]).tolist()
    usage = [window(1, start, value) for start, value in zip(starts, cpu.tolist(), strict=True)]
    request = float(rows["cpu_limit"][0].as_py())
    follows = np.diff(seconds) < 600
    is_above_margin = cpu[1:] > 1.2 * cpu[:-1]
    is_above_request = cpu > request
    tasks = [{"collection_id": 1, "priority": 9, "cpu_request": request}]
    policy_row = row(tiny(instance_usage=usage, tasks=tasks), "previous", 0.2)
    expected = {
        "above_margin": is_above_margin[follows].mean(),
        "above_request": is_above_request.mean(),
    }
    assert chosen_columns(policy_row, expected) == pytest.approx(expected)
    assert 0.05 < policy_row["above_margin"] < 0.95


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
