"""Copy many traces of the store side by side: gather them, put them on a grid, measure and scale them.

A *series* holds the windows of n traces one after the other: float32 of shape (points,), with int64 `offsets`
of shape (n + 1,).  ``first`` says at which row of the store's columns each trace begins.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Bytes, Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.prefetch import prefetch

Series = Values
Column = NDArray[Any]

# Start times are uint32 seconds in the store; before and after the trace are its ends.
_BEFORE = np.int64(0)
_AFTER = np.int64(2**32 - 1)
_AHEAD = 16
"""Traces that are asked for ahead of time."""
_LINE = 16
"""Values that memory brings at a time, or fewer."""


@compiled(makes_arrays=False)
def gather(
    column: Column,
    first: Index,
    offsets: Index,
    series: Series,
) -> None:
    """Copy the rows of each trace into `series`.

    Traces lie anywhere in a column larger than the caches: those to come are asked for ahead of time.

    Parameters
    ----------
    column
        A column of the store, shape (rows,).
    first
        Row at which each trace begins, shape (n,).
    offsets
        CSR offsets into `series`, shape (n + 1,).
    series
        Output, float32, shape (offsets[n],).
    """
    for i in range(first.size):
        later = i + _AHEAD
        if later < first.size:
            end = first[later] + offsets[later + 1] - offsets[later]
            for row in range(first[later], end, _LINE):
                prefetch(column, row)
        source = column[first[i] : first[i] + offsets[i + 1] - offsets[i]]
        target = series[offsets[i] : offsets[i + 1]]
        for k in range(target.size):
            target[k] = np.float32(source[k])


@compiled(makes_arrays=False)
def gather_elapsed(
    column: Column,
    first: Index,
    offsets: Index,
    series: Series,
) -> None:
    """Like :func:`gather`, less the first value of each trace: times since its first window."""
    for i in range(first.size):
        # Signed first: the column is uint32, and a difference below zero would wrap around.
        shift = first[i] - offsets[i]
        origin = np.int64(column[first[i]])
        for row in range(offsets[i], offsets[i + 1]):
            series[row] = np.float32(np.int64(column[shift + row]) - origin)


@compiled()
def grid_spans(
    start: Column,
    first: Index,
    windows: Index,
    period: int,
    slot: Index,
    slots: Index,
) -> None:
    """Find the first slot of each trace on a grid of `period` seconds, and how many slots it spans.

    Windows that start before or after the trace (0, 2³²−1) have no place; a trace of only such has 0 slots.

    Parameters
    ----------
    start
        Start of all windows of the store, s, uint32.
    first, windows
        First row and number of windows of each trace, shape (n,).
    period
        Length of a slot, s.
    slot, slots
        Output, shape (n,): the first slot of each trace, and how many.
    """
    for i in range(first.size):
        low = np.int64(-1)
        high = np.int64(-1)
        for row in range(first[i], first[i] + windows[i]):
            time = np.int64(start[row])
            if _BEFORE < time < _AFTER:
                low = time if low < 0 else min(low, time)
                high = max(high, time)
        slot[i] = low // period
        slots[i] = 0
        if low >= 0:
            slots[i] = high // period - slot[i] + 1


@compiled()
def gather_grid(
    column: Column,
    start: Column,
    duration: Column,
    first: Index,
    windows: Index,
    period: int,
    slot: Index,
    offsets: Index,
    series: Series,
) -> None:
    """Fill `series` slot by slot: the mean of the windows that start there, by their length.

    A slot in which no window with a value starts is NaN; windows of no length count as one second.

    Parameters
    ----------
    column, start, duration
        Columns of the store, shape (rows,): values, and start and length of windows in s.
    first, windows
        First row and number of windows of each trace, shape (n,).
    period
        Length of a slot, s.
    slot
        First slot of each trace, shape (n,).
    offsets
        CSR offsets into `series` in slots, shape (n + 1,).
    series
        Output, float32, shape (offsets[n],).
    """
    for i in range(first.size):
        size = offsets[i + 1] - offsets[i]
        total = np.zeros(size)
        weight = np.zeros(size)
        for row in range(first[i], first[i] + windows[i]):
            time = np.int64(start[row])
            value = np.float64(column[row])
            if _BEFORE < time < _AFTER and not np.isnan(value):
                # By where a window starts: one that crosses the end of its slot is not split.
                k = time // period - slot[i]
                # A window of no length has a value all the same, and weight 0 would lose it.
                length = max(np.float64(duration[row]), 1.0)
                total[k] += value * length
                weight[k] += length
        for k in range(size):
            mean = np.float32(np.nan)
            if weight[k] > 0:
                mean = np.float32(total[k] / weight[k])
            series[offsets[i] + k] = mean


@compiled(makes_arrays=False)
def moments(series: Series, out: Numbers) -> None:
    """Fill `out` with (count, mean, sum of squared deviations, smallest, largest); NaN is skipped.

    Two passes over values that are in cache: numerically as good as it gets, and of one order.
    """
    count = 0
    total = 0.0
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    for value in series:
        if not np.isnan(value):
            count += 1
            total += np.float64(value)
            low = min(low, value)
            high = max(high, value)
    mean = total / count if count > 0 else 0.0
    squares = 0.0
    # The mean first, then deviations from it: a sum of squares would lose what distinguishes large, close values.
    for value in series:
        if not np.isnan(value):
            squares += (np.float64(value) - mean) * (np.float64(value) - mean)
    out[0] = count
    out[1] = mean
    out[2] = squares
    out[3] = low
    out[4] = high


@compiled()
def run_moments(series: Series, state: Numbers) -> None:
    """Advance (count, sum, running mean, Welford's sum of squares, smallest, largest) value by value."""
    for number in series:
        value = np.float64(number)
        if not np.isnan(value):
            state[0] += 1.0
            state[1] += value
            # Both are kept: the pipeline of 2017 takes the mean from the sum and the deviation from the running mean.
            delta = value - state[2]
            state[2] += delta / state[0]
            state[3] += delta * (value - state[2])
            state[4] = min(state[4], value)
            state[5] = max(state[5], value)


@compiled(makes_arrays=False)
def scale(
    series: Series,
    offset: float,
    divisor: float,
    mask: Bytes,
) -> None:
    """Replace each value by (value − offset) ÷ divisor; `mask` becomes 1 where there is one, else 0.

    The arithmetic is float64, the result float32.

    Parameters
    ----------
    series
        float32, shape (points,); changed.
    offset, divisor
        The parameters.
    mask
        Output, shape (points,).
    """
    for i in range(series.size):
        value = series[i]
        mask[i] = np.uint8(value == value)  # noqa: PLR0124 - NaN is not equal to itself
        # A missing value stays NaN here; what fills it is decided when batches are made.
        series[i] = np.float32((np.float64(value) - offset) / divisor)


@compiled(makes_arrays=False)
def take_columns(
    columns: tuple[Index, ...],
    index: Index,
    out: Index,
) -> None:
    """Fill row k of `out` with the elements at `index` of column k: far places are fetched side by side.

    Parameters
    ----------
    columns
        Each of shape (n,).
    index
        Shape (k,).
    out
        Output, shape (columns, k).

    Examples
    --------
    >>> out = np.empty((2, 2), np.int64)
    >>> take_columns((np.array([1, 2, 3]), np.array([10, 20, 30])), np.array([2, 0]), out)
    >>> out.tolist()
    [[3, 1], [30, 10]]
    """
    # Columns that lie beside each other, a row for each place, come with the first of them.
    step = columns[0].strides[0] // columns[0].itemsize
    for i in range(index.size):
        later = i + _AHEAD
        if later < index.size:
            prefetch(columns[0], index[later] * step)
        element = np.uint64(i)
        place = np.uint64(index[i])
        for k in range(len(columns)):
            out[np.uint64(k), element] = columns[k][place]


@compiled(makes_arrays=False)
def place_rows(
    columns: tuple[Index, ...],
    places: Index,
    out: Index,
) -> None:
    """Write row i of some columns to row ``places[i]`` of `out`; nowhere where that is negative.

    Parameters
    ----------
    columns
        Each of shape (n,), read-only.
    places
        Shape (n,).
    out
        Output, shape (rows, columns).

    Examples
    --------
    >>> columns = (np.array([1, 2]), np.array([10, 20]))
    >>> for column in columns:
    ...     column.flags.writeable = False
    >>> out = np.zeros((2, 2), np.int64)
    >>> place_rows(columns, np.array([1, -1]), out)
    >>> out.tolist()
    [[0, 0], [1, 10]]
    """
    for i in range(places.size):
        later = i + _AHEAD
        if later < places.size:
            prefetch(out, max(places[later], 0) * out.shape[1])
        if places[i] >= 0:
            row = np.uint64(places[i])
            for k in range(len(columns)):
                out[row, np.uint64(k)] = columns[k][np.uint64(i)]
