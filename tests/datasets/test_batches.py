"""Rows of batches, by hand."""

from __future__ import annotations

import numpy as np

from borgtrace.datasets.padding import pad

NAN = np.nan


def _bytes(*values: float) -> np.ndarray:
    """Return values where they are not aligned: after one byte that belongs to nobody."""
    return np.frombuffer(b"?" + np.array(values, np.float32).tobytes(), np.uint8)


def test_traces_are_sorted_stably_and_cut() -> None:
    source = _bytes(
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
    )
    lengths = np.array([3, 1, 3, 2, 1])
    identity = np.array(
        [
            [30, 0],
            [10, 1],
            [31, 2],
            [20, 3],
            [11, 4],
        ]
    )
    position = 1 + 4 * np.array([0, 3, 4, 7, 9])
    order = np.array([4, 2, 1, 0, 3])
    values, mask, rows, first, row_lengths, row_identity = pad(
        source,
        position,
        lengths,
        identity,
        order,
        2,
        1,
        0.0,
    )
    assert rows.tolist() == [4, 1, 3, 2, 0]
    assert row_lengths.tolist() == [1, 1, 2, 3, 3]
    assert row_identity.tolist() == [
        [11, 4],
        [10, 1],
        [20, 3],
        [31, 2],
        [30, 0],
    ]
    assert first.tolist() == [0, 1, 2, 5, 8, 11]
    assert values.tolist() == [10, 4, 8, 9, 0, 5, 6, 7, 1, 2, 3]
    assert mask.tolist() == [True, True, True, True, False] + 6 * [True]


def test_what_is_missing_and_what_is_beyond_is_filled() -> None:
    values, mask, _, first, _, _ = pad(
        _bytes(1, 10, 2, NAN, 3, 30),
        np.array([1, 17]),
        np.array([2, 1]),
        np.zeros((2, 1), np.int64),
        np.array([1, 0]),
        2,
        2,
        -1.0,
    )
    assert first.tolist() == [0, 4, 8]
    assert values.tolist() == [3, 30, -1, -1, 1, 10, 2, -1]
    assert mask.tolist() == [True, True, False, False, True, True, True, False]


def test_rows_of_every_length_are_whole_to_the_last_byte() -> None:
    n = 100
    lengths = np.arange(n, 0, -1)
    source = np.concatenate([np.full(k, k) for k in lengths])
    position = 1 + 4 * (np.cumsum(lengths) - lengths)
    values, mask, rows, first, _, _ = pad(
        _bytes(*source),
        position,
        lengths,
        np.zeros((n, 1), np.int64),
        np.arange(n),
        n,
        1,
        0.5,
    )
    expected = np.array(
        [[k if column < k else 0.5 for column in range(n)] for k in range(1, n + 1)]
    )
    assert rows.tolist() == list(range(n - 1, -1, -1))
    assert first.tolist() == list(range(0, n * n + 1, n))
    assert (values.reshape(n, n) == expected).all()
    assert (mask.reshape(n, n) == (expected != 0.5)).all()


def test_a_missing_value_is_filled_wherever_it_stands() -> None:
    n = 20
    # Trace k lacks its value k, and ends where the file does or the next begins.
    traces = np.arange(float(n * n)).reshape(n, n)
    traces[np.arange(n), np.arange(n)] = NAN
    values, mask, rows, _, _, _ = pad(
        _bytes(*traces.ravel()),
        1 + 4 * n * np.arange(n),
        np.full(n, n),
        np.zeros((n, 1), np.int64),
        np.arange(n),
        7,
        1,
        -1.0,
    )
    assert rows.tolist() == list(range(n))
    assert values.tolist() == [-1 if k % (n + 1) == 0 else k for k in range(n * n)]
    assert mask.tolist() == [k % (n + 1) != 0 for k in range(n * n)]
