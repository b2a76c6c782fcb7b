"""Reuse arrays: each thread keeps its own, so that it allocates memory once.

Fresh megabytes for every file cost more, in page faults, than filling them.
"""

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_OWN = threading.local()


def reused_array(
    name: str,
    size: int,
    dtype: DTypeLike,
) -> NDArray[Any]:
    """Return `size` elements of undefined content: the same memory at each call with this name and thread.

    Examples
    --------
    >>> first = reused_array("doctest", 3, np.int64)
    >>> first[:] = 7
    >>> reused_array("doctest", 2, np.int64).tolist()
    [7, 7]
    """
    arrays: dict[str, NDArray[Any]] = _OWN.__dict__.setdefault("arrays", {})
    array = arrays.get(name)
    if array is None or array.size < size or array.dtype != dtype:
        # A quarter larger: files of a set differ a little in size, and growing costs page faults.
        room = max(size + size // 4, 1024)
        array = np.empty(room, dtype)
        arrays[name] = array
    return array[:size]
