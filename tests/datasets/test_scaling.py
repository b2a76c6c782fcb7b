"""Standardization: stable, the same whatever the blocks, and invertible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from borgtrace.datasets.scaling import (
    inverse_transform,
    measure_running,
    measure_series,
    merge,
    scaling_of,
)

VALUES = hnp.arrays(np.float32, st.integers(2, 80), elements=st.floats(0, 100, width=32))


@settings(deadline=None, max_examples=50)
@given(VALUES, st.integers(1, 10))
def test_blocks_do_not_matter(values: np.ndarray, size: int) -> None:
    blocks = [values[k : k + size] for k in range(0, len(values), size)]
    whole = merge([measure_series([values])])
    parts = merge(measure_series([block]) for block in blocks)
    running = measure_running(([block] for block in blocks), 1)
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(running, whole, rtol=1e-9, atol=1e-7)


@settings(deadline=None, max_examples=50)
@given(VALUES)
def test_standard_is_mean_and_deviation_with_ddof_1(values: np.ndarray) -> None:
    scaling = scaling_of("x", "standard", merge([measure_series([values])])[0])
    exact = values.astype(np.float64)
    assert scaling.mean == pytest.approx(exact.mean(), rel=1e-12, abs=1e-12)
    assert scaling.deviation == pytest.approx(exact.std(ddof=1), rel=1e-9, abs=1e-9)
    assert (scaling.minimum, scaling.maximum) == (exact.min(), exact.max())


def test_a_large_mean_does_not_swallow_a_small_deviation() -> None:
    values = np.array([2.0**23, 2.0**23 + 1, 2.0**23 + 2], np.float32)
    assert scaling_of("x", "standard", measure_series([values])[0]).deviation == 1.0


def test_missing_values_are_skipped_and_nothing_is_divided_by_zero() -> None:
    constant = scaling_of(
        "x", "standard", measure_series([np.array([3, np.nan, 3], np.float32)])[0]
    )
    assert (constant.count, constant.offset, constant.divisor) == (2, 3.0, 1.0)
    nothing = scaling_of("x", "minmax", measure_series([np.array([np.nan], np.float32)])[0])
    assert (nothing.offset, nothing.divisor, nothing.minimum) == (0.0, 1.0, None)


def test_min_max_maps_to_zero_and_one() -> None:
    scaling = scaling_of("x", "minmax", measure_series([np.array([2, 6], np.float32)])[0])
    assert (scaling.offset, scaling.divisor) == (2.0, 4.0)
    assert inverse_transform([[0.0], [1.0]], [scaling]).tolist() == [[2.0], [6.0]]
