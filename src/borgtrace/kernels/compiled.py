"""How every kernel is compiled: one place for Numba's options.

``fastmath`` stays off: the order of additions is ours (measured: same speed, half the error).
"""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numba

from borgtrace.kernels.caching import cache_on_disk

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(
    signature: Any = None,
    *,
    parallel: bool = False,
    inline: bool = False,
    makes_arrays: bool = True,
    divides_by_zero: bool = False,
    cached: bool = True,
) -> Callable[[Function], Function]:
    """Compile a function with Numba, cached on disk, releasing the GIL; its type is kept.

    Parameters
    ----------
    signature
        Compile at once, for these types only; where None, at the first call and for the types of any call.
    parallel
        Let ``prange`` loops use all threads.
    inline
        Paste the function into its callers (small scalar functions).
    makes_arrays
        Where it is False, references to arrays are not counted: for every slice, and every array handed to
        an inlined function, that takes longer than reading a few bytes.  Such a kernel makes no array.
    divides_by_zero
        Let a division by zero give infinity or NaN, as NumPy does, instead of raising an error.
    cached
        Whether to keep the machine code on disk; functions made at run time have no source file to keep it beside.
    """
    model: Literal["numpy", "python"] = "numpy" if divides_by_zero else "python"
    inlining = "always" if inline else "never"

    def compile_(function: Function) -> Function:
        # `nogil`, since joblib's threads run the same kernel side by side on different rows.
        dispatcher = numba.njit(
            nogil=True,
            parallel=parallel,
            inline=inlining,
            error_model=model,
            _nrt=makes_arrays,
        )(function)
        if cached:
            cache_on_disk(dispatcher)
        if signature is not None:
            dispatcher.compile(signature)
            # A call with other types is then an error rather than a second, slow compilation.
            dispatcher.disable_compile()
        return dispatcher

    return compile_
