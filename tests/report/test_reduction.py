"""Reducing points keeps every extreme."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from borgtrace.report.reduction import reduce_rows

POINTS = st.lists(
    st.fixed_dictionaries(
        {
            "t": st.integers(0, 10_000),
            "n": st.none() | st.integers(-5, 5),
            "line": st.sampled_from("ab"),
        }
    ),
    max_size=300,
)


def _lines(rows: list[Any], column: str) -> dict[str, list[float]]:
    return {
        line: [row[column] for row in rows if row["line"] == line and row[column] is not None]
        for line in "ab"
    }


@given(POINTS)
def test_extremes_and_ends_of_each_line_stay(rows: list[dict[str, Any]]) -> None:
    kept = reduce_rows(rows, "t", ["n"], ["line"], budget=10)
    for column in ("n", "t"):
        for line, values in _lines(rows, column).items():
            left = _lines(kept, column)[line]
            assert (min(values), max(values)) == (min(left), max(left)) if values else not left


@given(POINTS)
def test_what_stays_is_a_subsequence(rows: list[dict[str, Any]]) -> None:
    remaining = iter(rows)
    assert all(
        any(row is other for other in remaining)
        for row in reduce_rows(rows, "t", ["n"], ["line"], budget=10)
    )


def test_few_rows_all_stay() -> None:
    rows = [{"t": i, "n": i} for i in range(100)]
    assert reduce_rows(rows, "t", ["n"], budget=100) == rows


def test_a_single_spike_among_many_steps_survives() -> None:
    rows = [{"t": i, "n": 0} for i in range(100_000)]
    rows[65_432] = {"t": 65_432, "n": 9}
    kept = reduce_rows(rows, "t", ["n"], budget=4000)
    assert len(kept) <= 4000
    assert {"t": 65_432, "n": 9} in kept
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])


def test_every_pixel_column_keeps_its_extremes() -> None:
    """600 steps fall on one pixel; the picture needs the column's lowest and highest value."""
    generator = random.Random(0)
    rows = [{"t": i, "n": generator.random()} for i in range(60_000)]
    kept = reduce_rows(rows, "t", ["n"], budget=400)  # 100 buckets of 600 steps
    assert len(kept) <= 400
    for bucket in range(100):
        here = [row["n"] for row in rows[bucket * 600 : (bucket + 1) * 600]]
        left = [row["n"] for row in kept if bucket * 600 <= row["t"] < (bucket + 1) * 600]
        assert max(left) == max(here)
        assert min(left) == min(here)


def test_each_further_column_has_a_share_of_the_budget() -> None:
    generator = random.Random(0)
    rows = [
        {
            "t": i,
            "n": generator.random(),
            "m": generator.random(),
        }
        for i in range(6_000)
    ]
    # A bucket keeps its two ends, and two extremes of each column: 240 ÷ (2 + 2 · 2) = 40 buckets of 150 rows.
    kept = reduce_rows(rows, "t", ["n", "m"], budget=240)
    assert 220 < len(kept) <= 240
    for name in ("n", "m"):
        for bucket in range(0, 6_000, 150):
            here = [row[name] for row in rows[bucket : bucket + 150]]
            left = [row[name] for row in kept if bucket <= row["t"] < bucket + 150]
            assert (min(left), max(left)) == (min(here), max(here))


def test_the_smallest_budget_leaves_twenty_buckets() -> None:
    rows = [{"t": i, "n": 0} for i in range(2_000)]
    # Buckets of 100 rows, of which nothing stands out: both ends of each, and the first as its extreme.
    assert [row["t"] for row in reduce_rows(rows, "t", ["n"], budget=1)] == sorted(
        [*range(0, 2_000, 100), *range(99, 2_000, 100)]
    )


def test_order_of_rows_does_not_matter() -> None:
    rows = [{"t": i, "n": i * 7919 % 101} for i in range(5000)]
    shuffled = random.Random(1).sample(rows, len(rows))
    kept = reduce_rows(shuffled, "t", ["n"], budget=200)
    assert sorted(row["t"] for row in kept) == [
        row["t"] for row in reduce_rows(rows, "t", ["n"], budget=200)
    ]


def test_rows_without_a_number_stay() -> None:
    rows: list[dict[str, Any]] = [
        {"t": None, "n": 1},
        {"t": "x", "n": 1},
        *({"t": i, "n": 0} for i in range(1000)),
    ]
    kept = reduce_rows(rows, "t", ["n"], budget=100)
    assert kept[:2] == rows[:2]
    # The others are reduced as if these were not there: both ends of 25 buckets.
    assert len(kept) == 2 + 50


def test_lines_with_no_value_at_all() -> None:
    rows = [{"t": i, "n": None} for i in range(1000)]
    assert len(reduce_rows(rows, "t", ["n"], budget=100)) <= 100
