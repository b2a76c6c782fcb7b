"""Sorting by bits gives what comparing gives."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from borgtrace.kernels.sorting import sort_rows

FLOATS = st.floats(width=32, allow_nan=False)


@settings(deadline=None)  # the first example compiles
@given(arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 60)), elements=FLOATS))
def test_any_finite_or_infinite_floats_come_out_in_order(values: np.ndarray) -> None:
    expected = np.sort(values, axis=1)
    sort_rows(values)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(13.7, 0.7, (4, 10_000)),
        lambda rng: rng.integers(-3, 3, (4, 10_000)),
        lambda rng: np.zeros((2, 10_000)),
        # everything within a hair of 1, and a far outlier: the leading bits tell almost nothing apart
        lambda rng: np.where(rng.random((2, 10_000)) < 1e-3, -1e30, 1 + rng.random((2, 10_000)) * 1e-4),
    ],
    ids=["bell", "ties", "constant", "outlier"],
)
def test_ten_thousand_values(draw) -> None:  # type: ignore[no-untyped-def]
    values = draw(np.random.default_rng(0)).astype(np.float32)
    expected = np.sort(values, axis=1)
    sort_rows(values)
    np.testing.assert_array_equal(values, expected)


def test_threads_do_not_matter() -> None:
    values = np.random.default_rng(1).random((8, 500), np.float32)
    one = values.copy()
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        sort_rows(one)
    finally:
        numba.set_num_threads(before)
    sort_rows(values)
    assert one.tobytes() == values.tobytes()
