"""Rows of batches, by hand."""

from __future__ import annotations

import numpy as np

from borgtrace.kernels.batches import arrange


def test_traces_are_sorted_stably_and_cut() -> None:
    lengths, identity = (
        np.array([3, 1, 3, 2, 1]),
        np.array([[30, -3], [10, -1], [31, -4], [20, -2], [11, -5]]),
    )
    order = np.array([4, 2, 1, 0, 3])
    rows, first, width, row_lengths = (np.empty(5, np.int64) for _ in range(4))
    row_identity = np.empty((5, 2), np.int64)
    values = arrange(lengths, identity, order, 2, 2, rows, first, width, row_lengths, row_identity)
    assert rows.tolist() == [4, 1, 3, 2, 0]
    assert row_lengths.tolist() == [1, 1, 2, 3, 3]
    assert width.tolist() == [2, 2, 6, 6, 6]
    assert first.tolist() == [0, 2, 4, 10, 16]
    assert values == 22
    assert row_identity.tolist() == [[11, -5], [10, -1], [20, -2], [31, -4], [30, -3]]
