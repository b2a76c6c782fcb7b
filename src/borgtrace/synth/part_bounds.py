"""Where a trace is cut into parts."""

from __future__ import annotations

import math

import numpy as np

from borgtrace.schema.time import SECOND, TRACE_START


def part_bounds(hours: float, parts: int | None = None) -> list[int]:
    """Return the limits of the parts, µs, on the 300 s grid; the real trace has 500 in 29 days.

    Examples
    --------
    >>> [b // 1_000_000 for b in part_bounds(2)]
    [600, 7800]
    >>> len(part_bounds(24)) - 1
    17
    """
    # Rounded first: .1 · 12 is a little more than 1.2 in floating point, and 24.000000000000004 windows are 24.
    windows = max(1, math.ceil(round(hours * 12, 6)))
    parts = min(windows, parts or max(1, round(hours * 500 / 696)))
    edges = np.round(np.arange(parts + 1) * windows / parts).astype(int)
    bounds = [TRACE_START + int(edge) * 300 * SECOND for edge in edges]
    # The trace ends when it was asked to, also inside a window; only inner limits lie on the grid.
    bounds[-1] = TRACE_START + round(hours * 3600) * SECOND
    return bounds
