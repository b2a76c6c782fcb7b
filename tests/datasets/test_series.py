"""Gathering, grids, moments, scaling and padding, by hand and against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from borgtrace.datasets import series as kernels

NAN = np.float32(np.nan)


def test_gather_copies_runs_in_any_order() -> None:
    column = np.arange(10, dtype=np.float32)
    out = np.empty(5, np.float32)
    kernels.gather(
        column,
        np.array([7, 0]),
        np.array([0, 3, 5]),
        out,
    )
    assert out.tolist() == [7, 8, 9, 0, 1]


def test_elapsed_starts_at_zero() -> None:
    start = np.array([600, 900, 1500, 4_000_000_000], np.uint32)
    out = np.empty(3, np.float32)
    kernels.gather_elapsed(start, np.array([0]), np.array([0, 3]), out)
    assert out.tolist() == [0, 300, 900]


def test_grid_of_a_trace_with_a_hole_an_overlap_and_a_window_out_of_time() -> None:
    start = np.array([0, 600, 700, 1500], np.uint32)
    duration = np.array([300, 100, 200, 300], np.float32)
    values = np.array([9, 1, 4, 2], np.float32)
    first = np.array([0])
    windows = np.array([4])
    slot = np.empty(1, np.int64)
    slots = np.empty(1, np.int64)
    kernels.grid_spans(start, first, windows, 300, slot, slots)
    assert (slot[0], slots[0]) == (2, 4)  # 600 … 1799
    out = np.empty(4, np.float32)
    kernels.gather_grid(
        values,
        start,
        duration,
        first,
        windows,
        300,
        slot,
        np.array([0, 4]),
        out,
    )
    assert out.tolist()[0] == 3  # (1 · 100 + 4 · 200) ÷ 300
    assert np.isnan(out[1:3]).all()
    assert out[3] == 2


def test_a_trace_wholly_out_of_time_has_no_slots() -> None:
    start = np.array([0, 2**32 - 1], np.uint32)
    slot = np.empty(1, np.int64)
    slots = np.empty(1, np.int64)
    kernels.grid_spans(
        start,
        np.array([0]),
        np.array([2]),
        300,
        slot,
        slots,
    )
    assert slots[0] == 0


@settings(deadline=None, max_examples=50)
@given(
    hnp.arrays(
        np.float32, st.integers(2, 60), elements=st.floats(-1e3, 1e3, width=32) | st.just(np.nan)
    )
)
def test_moments_are_those_of_numpy(values: np.ndarray) -> None:
    out = np.empty(5)
    known = values[~np.isnan(values)].astype(np.float64)
    kernels.moments(values, out)
    assert out[0] == len(known)
    if len(known):
        assert out[1] == pytest.approx(known.mean(), abs=1e-9)
        assert out[2] == pytest.approx(((known - known.mean()) ** 2).sum(), abs=1e-6)
        assert out[3] == known.min()
        assert out[4] == known.max()


def test_scale_keeps_missing_and_marks_it() -> None:
    values = np.array([3, NAN, 1], np.float32)
    mask = np.empty(3, np.uint8)
    kernels.scale(values, 1.0, 4.0, mask)
    assert values[[0, 2]].tolist() == [0.5, 0]
    assert np.isnan(values[1])
    assert mask.tolist() == [1, 0, 1]
