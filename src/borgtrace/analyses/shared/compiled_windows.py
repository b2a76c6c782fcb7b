"""The rules of :mod:`borgtrace.analyses.shared.windows` for compiled code: the same numbers, bit for bit.

SQL states what is computed, and computes it where rows are far or few.  Kernels take the columns as they are stored:
the arithmetic of these rules takes an engine several times as long as reading them.
"""

import math

import numpy as np

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import AFTER_TRACE, SECOND, TRACE_START, WINDOW

LARGEST = 2.0**61
"""Amounts and sums from here on are left to SQL, which adds up 128 bits and refuses what does not fit into 64."""


@compiled(inline=True)
def is_regular(start: int, end: int) -> bool:
    """Whether a window lies inside the trace and lasts a second or more.

    Parameters
    ----------
    start, end
        When it begins and ends, µs.
    """
    # In this order the difference cannot overflow.
    return start >= TRACE_START and end < AFTER_TRACE and end > start and end - start >= SECOND


@compiled(inline=True)
def slot_of(start: int) -> int:
    """Return the slot of 300 s that a window inside the trace begins in.

    Parameters
    ----------
    start
        When it begins, µs.
    """
    # Divided as float64, as SQL does.
    return math.floor((start - TRACE_START) / WINDOW)


@compiled(inline=True)
def seconds_of(start: int, end: int) -> int:
    """Return the length of a regular window in whole seconds.

    Parameters
    ----------
    start, end
        When it begins and ends, µs.
    """
    return math.floor((end - start) / SECOND)


@compiled(inline=True)
def is_summable(value: np.float32, seconds: int, scale: float) -> bool:
    """Whether :func:`amount_of` fits into 64 bits with room for a sum.

    Parameters
    ----------
    value, seconds, scale
        As for :func:`amount_of`.
    """
    return bool(abs(np.float64(value) * scale) * seconds < LARGEST)


@compiled(inline=True)
def amount_of(value: np.float32, seconds: int, scale: float) -> int:
    """Return value × seconds as an exact integer.

    Parameters
    ----------
    value
        A resource, not NaN.
    seconds
        Whole seconds that it was used.
    scale
        Two to the power of the binary digits behind the point.
    """
    return math.floor(np.float64(value) * scale + 0.5) * seconds
