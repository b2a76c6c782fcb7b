"""How often machines overflow, counted on a few columns by hand."""

from __future__ import annotations

import numpy as np
import pytest

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
