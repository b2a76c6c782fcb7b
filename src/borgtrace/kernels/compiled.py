"""How every kernel is compiled: one place for Numba's options.

``fastmath`` stays off: the order of additions is ours (measured: same speed, half the error).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(
    *, parallel: bool = False, inline: bool = False, makes_arrays: bool = True
) -> Callable[[Function], Function]:
    """Compile a function with Numba, cached on disk, releasing the GIL; its type is kept.

    Parameters
    ----------
    parallel
        Let ``prange`` loops use all threads.
    inline
        Paste the function into its callers (small scalar functions).
    makes_arrays
        Where it is False, references to arrays are not counted: for every slice, and every array handed to
        an inlined function, that takes longer than reading a few bytes.  Such a kernel makes no array.

    Notes
    -----
    Numba's cache needs a source file, so this does not work at a prompt.
    """
    if inline:
        return cast(Callable[[Function], Function], numba.njit(cache=True, nogil=True, inline="always"))
    return cast(
        Callable[[Function], Function],
        numba.njit(cache=True, nogil=True, parallel=parallel, fastmath=False, _nrt=makes_arrays),
    )
