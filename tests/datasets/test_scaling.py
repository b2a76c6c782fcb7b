"""Standardization: stable, the same whatever the blocks, and invertible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike

from borgtrace.datasets.scaling import (
    FeatureMoments,
    Method,
    Scaling,
    SeriesMoments,
    inverse_transform,
    measure_running,
    measure_series,
    merge,
    scaling_of,
)

VALUES = hnp.arrays(
    np.float32,
    st.integers(2, 80),
    elements=st.floats(0, 100, width=32),
)


@settings(deadline=None, max_examples=50)
@given(VALUES, st.integers(1, 10))
def test_blocks_do_not_matter(values: np.ndarray, size: int) -> None:
    blocks = [values[k : k + size] for k in range(0, len(values), size)]
    whole = only_feature(measure_series([values]))
    parts = only_feature(merge(measure_series([block]) for block in blocks))
    running = only_feature(measure_running(([block] for block in blocks), 1))
    np.testing.assert_allclose(numbers_of(parts), numbers_of(whole), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(numbers_of(running), numbers_of(whole), rtol=1e-9, atol=1e-7)


@settings(deadline=None, max_examples=50)
@given(VALUES)
def test_standard_is_mean_and_deviation_with_ddof_1(values: np.ndarray) -> None:
    scaling = scaling_of_values("standard", values)
    exact = values.astype(np.float64)
    assert scaling.mean == pytest.approx(exact.mean(), rel=1e-12, abs=1e-12)
    assert scaling.deviation == pytest.approx(exact.std(ddof=1), rel=1e-9, abs=1e-9)
    assert scaling.minimum == exact.min()
    assert scaling.maximum == exact.max()


def test_a_large_mean_does_not_swallow_a_small_deviation() -> None:
    scaling = scaling_of_values(
        "standard",
        [
            2.0**23,
            2.0**23 + 1,
            2.0**23 + 2,
        ],
    )
    assert scaling.deviation == 1.0


def test_missing_values_are_skipped() -> None:
    constant = scaling_of_values("standard", [3, np.nan, 3])
    assert constant.count == 2
    assert constant.offset == 3.0
    # A deviation of 0 divides nothing.
    assert constant.divisor == 1.0


def test_nothing_measured_leaves_values_as_they_are() -> None:
    nothing = scaling_of_values("minmax", [np.nan])
    assert (nothing.offset, nothing.divisor) == (0.0, 1.0)
    assert nothing.minimum is None


def test_min_max_maps_to_zero_and_one() -> None:
    scaling = scaling_of_values("minmax", [2, 6])
    assert (scaling.offset, scaling.divisor) == (2.0, 4.0)
    assert inverse_transform([[0.0], [1.0]], [scaling]).tolist() == [[2.0], [6.0]]


def scaling_of_values(method: Method, values: ArrayLike) -> Scaling:
    series = np.array(values, np.float32)
    measured = only_feature(measure_series([series]))
    return scaling_of("x", method, measured)


def only_feature(moments: SeriesMoments) -> FeatureMoments:
    (feature,) = moments.features()
    return feature


def numbers_of(moments: FeatureMoments) -> list[float]:
    return [
        moments.count,
        moments.mean,
        moments.squares,
        moments.minimum,
        moments.maximum,
    ]
