"""The exact two-sample Kolmogorov-Smirnov test: do two windows of a task come from one distribution?"""

from math import comb

import numba
import numpy as np

from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import Keys, hashed

_S32 = np.uint64(32)


@compiled()
def ks_steps(a: Values, b: Values) -> int:
    """Return n·D of two sorted samples of one size n: the largest gap of their step functions, in steps.

    Parameters
    ----------
    a, b
        Ascending, both of shape (n,); only read.

    Examples
    --------
    >>> ks_steps(np.array([1, 2, 3], np.float32), np.array([3, 4, 5], np.float32))
    2
    """
    i = j = largest = 0
    while i < a.size and j < b.size:
        # Skip all values equal to `value` in both samples before taking the gap: ties are no gap.
        value = min(a[i], b[j])
        while i < a.size and a[i] == value:
            i += 1
        while j < b.size and b[j] == value:
            j += 1
        largest = max(largest, abs(i - j))
    return largest


def ks_p_value(n: int, steps: int) -> float:
    """Return P(n·D ≥ steps) for two samples of size n from one continuous law (Gnedenko & Korolyuk, 1951).

    Ties, which a real series has, only lower it.

    Parameters
    ----------
    n
        Size of each sample.
    steps
        n·D as `ks_steps` gives it.

    Examples
    --------
    >>> round(ks_p_value(12, 6), 4), round(ks_p_value(12, 7), 4)
    (0.0995, 0.0314)
    """
    if steps <= 0:
        return 1.0
    # Integers of any size: the terms alternate and nearly cancel, which floats would not survive.
    total = 0
    for j in range(1, n // steps + 1):
        sign = 1 if j % 2 else -1
        total += sign * comb(2 * n, n + j * steps)
    return float(2 * total / comb(2 * n, n))


@compiled(inline=True)
def _draw_below(end: int, key: np.uint64, counter: np.uint64) -> int:
    """Draw a whole number below `end`: number `counter` of the random sequence `key`."""
    # The upper 32 bits times the end, shifted back: a draw without a division.
    upper_bits = hashed(key, counter) >> _S32
    return np.int64((upper_bits * np.uint64(end)) >> _S32)  # type: ignore[return-value]


@compiled(parallel=True)
def window_pairs(
    values: Values,
    offsets: Index,
    keys: Keys,
    spacing: int,
    length: int,
    steps: Index,
) -> None:
    """Find n·D of two random windows of each task.

    A task of T values has ⌊T / spacing⌋ windows; window w holds the first `length` values from
    ``w * spacing``.  Two different ones are drawn by the task's key.

    Parameters
    ----------
    values, offsets
        Series of the tasks (CSR).
    keys
        uint64 (n,): one random sequence per task.
    spacing, length
        Distance of the windows and number of values in each, 1 ≤ length ≤ spacing.
    steps
        int64 (n,), filled; −1 where a task has fewer than two windows.
    """
    # Each iteration writes steps[i] alone, so threads share nothing and their number does not matter.
    for i in numba.prange(keys.size):
        row = values[offsets[i] : offsets[i + 1]]
        n_windows = row.size // spacing
        steps[i] = -1
        if n_windows >= 2:
            first = _draw_below(n_windows, keys[i], np.uint64(1))
            second = _draw_below(n_windows - 1, keys[i], np.uint64(2))
            # Drawn from one fewer and moved past the first: every other window is equally likely, without a retry.
            second += second >= first
            # `np.sort` copies: `values` may be a memory map that is open read-only.
            a = np.sort(row[first * spacing : first * spacing + length])
            b = np.sort(row[second * spacing : second * spacing + length])
            steps[i] = ks_steps(a, b)
