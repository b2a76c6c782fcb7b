"""How often machines overflow, counted on a few columns by hand."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.colocation.packing.distinct_bins import EVALUATION_RTOL, TILE, DistinctBins
from borgtrace.colocation.packing.quality import machine_overflows, overflow_counts
from borgtrace.errors import UsageError
from borgtrace.placement import Packing
from tests.colocation.known import packing_of

APART = Packing(
    np.array([0, 1]),
    np.ones((2, 1)),
    np.zeros(2, np.int64),
)
TOGETHER = packing_of([0, 0], 1)
VALUES = np.float32([[0.5, 1.5, 0.75], [0.25, 0.75, 0.75]])


def test_each_machine_is_judged_from_the_first_column_of_its_packing() -> None:
    assert machine_overflows(VALUES, [APART, TOGETHER]).tolist() == [[1, 0], [2, 0]]
    assert machine_overflows(VALUES, [APART, TOGETHER], [2, 2]).tolist() == [[0, 0], [1, 0]]
    assert overflow_counts(VALUES, [APART, TOGETHER], [0, 2]).tolist() == [1, 1]


def test_without_a_packing_nothing_overflows() -> None:
    assert machine_overflows(VALUES, []).shape == (0, 0)
    assert overflow_counts(VALUES, []).tolist() == []


def test_a_packing_without_a_column_to_be_judged_on_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        machine_overflows(VALUES, [APART, TOGETHER], [0, 3])
    assert (
        str(caught.value)
        == "evaluation: no realizations left for evaluation: expected a first column below 3, got 3"
    )


def test_bins_of_several_packings_are_counted_once_each() -> None:
    # Task 2 alone is in two packings, and on a machine of twice the size in the third.
    pair = packing_of([0, 0, 1], 2)
    last = packing_of([1, 2, 0], 3)
    large = Packing(np.array([1, 1, 0]), np.array([[2.0], [1.0]]), np.arange(2))
    bins = DistinctBins.of([pair, last, large])
    assert bins.numbers.tolist() == [[0, 1, -1], [1, 2, 3], [4, 0, -1]]
    assert bins.offsets.tolist() == [0, 2, 3, 4, 5, 6]
    assert bins.members.tolist() == [0, 1, 2, 0, 1, 2]
    values = np.float32([[0.5, 0.75, 0.25], [0.75, 0.5, 0.5], [1.5, 2.5, 0.5]])
    counts = bins.overflows(values, np.array([0, 1, 3]))
    assert counts.tolist() == [
        [[1, 1], [1, 1], [0, 0]],
        [[1, 1], [0, 0], [0, 0]],
        [[0, 1], [1, 1], [0, 0]],
    ]


def test_packings_that_are_judged_from_other_columns_share_nothing() -> None:
    bins = DistinctBins.of([TOGETHER, TOGETHER], [0, 2])
    assert bins.numbers.tolist() == [[0], [1]]
    assert bins.overflows(VALUES, np.array([0, 2, 3])).tolist() == [[[1, 1]], [[0, 1]]]


@pytest.mark.parametrize("n_columns", [1, TILE - 1, TILE, TILE + 1, 3 * TILE])
def test_overflows_are_those_of_float32_sums_in_order(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    n_tasks = 40
    values = rng.gamma(0.5, 0.2, (n_tasks, n_columns)).astype(np.float32)
    # From all tasks on one machine to nearly one machine a task: up to 40 rows, every way of adding them up.
    packings = [packing_of(rng.integers(0, n, n_tasks).tolist(), n) for n in (1, 2, 4, 9, 30)]
    first = [0, n_columns // 2, n_columns - 1, 0, n_columns // 3]
    edges = np.array([0, n_columns // 4, n_columns // 4, n_columns])
    counts = DistinctBins.of(packings, first).overflows(values, edges)
    assert counts.sum() > 0
    for p, packing in enumerate(packings):
        for b in range(30):
            total = np.zeros(n_columns, np.float32)
            for task in np.flatnonzero(packing.bins == b):
                total += values[task]
            exceeds = total > np.float32(EVALUATION_RTOL)
            exceeds[: first[p]] = False
            by_block = [int(exceeds[edges[k] : edges[k + 1]].sum()) for k in range(3)]
            assert counts[p, b].tolist() == by_block
