"""How every kernel is compiled: one place for Numba's options.

``fastmath`` stays off: the order of additions is ours (measured: same speed, half the error).
"""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from numba import cfunc
from numba.core import types
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.types.misc import unliteral

from borgtrace.kernels.caching import DigestCache, cache_on_disk

Function = TypeVar("Function", bound=Callable[..., Any])


class CalledKernel(CPUDispatcher):
    """A kernel as other kernels call it: without the code that unpacks arguments from Python, and never on disk.

    That code is most of the machine code of a kernel whose arguments are tuples of arrays, and it took half of the time
    of compiling (measured on ``simulate``: 50 s, and 28 without it).  What calls it holds its machine code, and is on
    disk itself.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how a call with arguments of these types is compiled: once, whether they are constants or not."""
        plain_args = tuple(unliteral(arg) for arg in args)
        plain_kws = {name: unliteral(arg) for name, arg in kws.items()}
        return super().get_call_template(plain_args, plain_kws)


class Kernel(CPUDispatcher):
    """A compiled function that Python calls; kernels that call it get a :class:`CalledKernel` of the same function.

    Parameters
    ----------
    py_func
        What is compiled.
    locals
        Types of its variables, by name.
    targetoptions
        Numba's options of ``njit``.
    """

    # As of its base, which unpickles by these arguments: machine code of a generator refers to its functions.
    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: dict[str, Any] | None = None,
        targetoptions: dict[str, Any] | None = None,
    ) -> None:
        options = targetoptions or {}
        super().__init__(py_func=py_func, locals=locals or {}, targetoptions=options)
        options_inside = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        # Types refer to their functions weakly: it is kept alive here.
        self._inside = CalledKernel(py_func=py_func, targetoptions=options_inside)

    def compile(self, sig: Any) -> Any:
        """Compile the function for a signature, or take its machine code from disk; one process at a time."""
        # In this order: a thread that waits for another process never keeps that one from compiling.
        with global_compiler_lock:
            cache = self._cache
            if not isinstance(cache, DigestCache) or cache.holds(sig, self.targetctx):
                return super().compile(sig)
            with cache.alone():
                return super().compile(sig)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """What Numba takes this for where another kernel names it."""
        return types.Dispatcher(self._inside)


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
        options = {
            "nopython": True,
            # joblib's threads run the same kernel side by side on different rows.
            "nogil": True,
            "parallel": parallel,
            "inline": inlining,
            "error_model": model,
            "_nrt": makes_arrays,
        }
        if signature is None:
            dispatcher: Any = Kernel(function, targetoptions=options)
        else:
            dispatcher = CPUDispatcher(py_func=function, targetoptions=options)
        if cached:
            cache_on_disk(dispatcher)
        if signature is not None:
            dispatcher.compile(signature)
            # A call with other types is then an error rather than a second, slow compilation.
            dispatcher.disable_compile()
        return dispatcher

    return compile_


def callback(signature: Any, function: Callable[..., Any]) -> CFunc:
    """Compile a function that other code calls by its address; it is not kept on disk.

    Parameters
    ----------
    signature
        Types of the arguments and of what is returned.
    function
        What is compiled.
    """
    return cfunc(signature)(function)


def is_compiled(function: object) -> bool:
    """Whether Numba has compiled a function."""
    return isinstance(function, Dispatcher)
