"""What kernels call is compiled as a part of them, and does what it does in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, prange

from borgtrace.kernels.compiled import compiled


@compiled(cached=False)
def _largest_gap(values: Any) -> float:
    """Numba's own functions are behind sorting and the maximum."""
    ordered = np.sort(values)
    return np.max(ordered[1:] - ordered[:-1])


@compiled(inline=True, cached=False)
def _doubled(value: float) -> float:
    return max(value, 0.0) * 2


@compiled(cached=False)
def _twice_the_gap(values: Any) -> float:
    return _doubled(_largest_gap(values))


@compiled(cached=False)
def _gap_and_one(values: Any) -> float:
    return _largest_gap(values) + 1


@compiled(cached=False)
def _checked(value: float, name: str) -> float:
    if value < 0:
        raise ValueError("below zero: " + name)
    return value


@compiled(cached=False)
def _sum_of_checked(values: Any, name: str) -> float:
    total = 0.0
    for value in values:
        total += _checked(value, name)
    return total


@compiled(parallel=True, cached=False)
def _squares(values: Any) -> Any:
    result = np.empty_like(values)
    for i in prange(values.size):
        result[i] = _doubled(values[i]) ** 2
    return result


@njit
def _foreign(value: float) -> float:
    """Somebody else's: compiled for a kernel's sake first, and called from Python later."""
    return min(value, 10.0)


@compiled(cached=False)
def _calls_foreign(value: float) -> float:
    return _foreign(value) + 1


@compiled(cached=False)
def _applied(function: Any, value: float) -> float:
    return function(value)


VALUES = np.array([5.0, 1.0, 2.0, 9.0])
"""Sorted 1, 2, 5, 9: the gaps are 1, 3 and 4."""


def test_kernels_share_what_they_call() -> None:
    assert _twice_the_gap(VALUES) == 8
    assert _gap_and_one(VALUES) == 5
    # Called from Python itself after others were compiled with it.
    assert _largest_gap(VALUES) == 4
    assert _doubled(1.5) == 3


def test_errors_come_out_of_what_is_called_with_their_words() -> None:
    assert _sum_of_checked(VALUES, "usage") == 17
    with pytest.raises(ValueError, match=r"^below zero: usage$"):
        _sum_of_checked(-VALUES, "usage")


def test_threads_call_it_too() -> None:
    assert _squares(np.array([-1.0, 1.0, 3.0])).tolist() == [0, 4, 36]


def test_a_function_of_somebody_else_can_still_be_called() -> None:
    assert _calls_foreign(20.0) == 11
    assert _foreign(20.0) == 10


def test_a_kernel_may_be_an_argument() -> None:
    assert _applied(_doubled, 4.0) == 8
    assert _applied(_foreign, 4.0) == 4
