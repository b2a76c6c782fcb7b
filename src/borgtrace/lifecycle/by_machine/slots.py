"""How many slots of 300 s have usage, from the times of the windows."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.lifecycle.by_machine.window_rows import LONGEST
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW

Times = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Starts and lengths of windows as the store's arrays have them, s."""


def last_end(times: Iterable[Times]) -> int:
    """Return the last end of a window that is known, s on the trace's clock; 0 where none is.

    Parameters
    ----------
    times
        Of some windows at a time.

    Examples
    --------
    >>> last_end([(np.array([600, 900]), np.array([300.0, 90_000.0]))])
    900
    """
    last = 0
    for starts, seconds in times:
        start = starts.astype(np.int64)
        length = np.asarray(seconds, np.float64)
        is_end_known = length * SECOND <= LONGEST
        ends = (start + length)[is_end_known]
        last = max(last, math.ceil(ends.max(initial=0.0)))
    return last


def slots_until(end: int) -> int:
    """Return the number of slots that begin before an end, s on the trace's clock.

    Examples
    --------
    >>> slots_until(600), slots_until(601), slots_until(900)
    (0, 1, 1)
    """
    # Rounded up.
    return max(0, -(-(end * SECOND - TRACE_START) // WINDOW))
