"""The promise of the advice at 1,000 tasks × 50 instances, in three cells of known correlation; ten minutes each."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from borgtrace.colocation import Study, synthetic_pool
from borgtrace.colocation.experiments.beyond.packing_advice import QUESTION
from borgtrace.colocation.experiments.shared.advice_words import advice
from tests.rows import chosen_columns

TASKS = 10_000
DAYS = 12
TARGET = 0.001


@cache
def rows_of(shared: float) -> list[dict[str, Any]]:
    """What is measured in a cell whose tasks share a part of their variance."""
    pool = synthetic_pool(
        TASKS,
        seed=1,
        shared_factor=shared,
        hours=24 * DAYS,
    )
    result = QUESTION.run(
        Study(pool),
        instances=50,
        realizations=1_000,
        hours=24 * DAYS,
        tasks=TASKS,
    )
    print(f"\nshared {shared}: {advice(result.table)}")
    return result.table.to_pylist()


def flagged(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (row for row in rows if row[name])
    return found


@pytest.mark.scale
@pytest.mark.parametrize("shared", [0.0, 0.1, 0.4])
def test_advice_and_factor_keep_the_target_on_the_series(shared: float) -> None:
    rows = rows_of(shared)
    for name in ("is_advised", "is_factor"):
        row = flagged(rows, name)
        expected = {
            "n_tasks": 1_000,
            "n_instances": 50,
            "block_hours": 24,
        }
        assert chosen_columns(row, expected) == expected
        # The bar asks for the lower end; what is measured keeps it too.
        assert row["q_series_low"] <= row["q_series"] <= TARGET
        assert row["q_draws"] <= TARGET


@pytest.mark.scale
@pytest.mark.parametrize("shared", [0.0, 0.1])
def test_the_advice_saves_a_tenth_of_the_machines_of_packing_by_requests(shared: float) -> None:
    assert flagged(rows_of(shared), "is_advised")["saved_request_low"] >= 0.1


@pytest.mark.scale
def test_draws_do_not_see_what_independence_costs() -> None:
    gpa = {
        shared: next(
            r for r in rows_of(shared) if (r["estimator"], r["parameter"]) == ("gpa", TARGET)
        )
        for shared in (0.0, 0.1, 0.4)
    }
    assert gpa[0.0]["q_series"] < 2 * TARGET < gpa[0.1]["q_series_low"] < gpa[0.4]["q_series_low"]
    assert max(row["q_draws"] for row in gpa.values()) < 2 * TARGET
