"""Cache machine code on disk under a digest of everything that a function is compiled from.

Numba caches a function's machine code beside its source file and drops it when that file changes. But the code of
functions that it calls or inlines, and the values of constants, are compiled into it too, from any file: editing those
once gave silently old results. Here the key holds a digest of the function's own bytecode and of all that it refers to,
transitively, so an edit recompiles what it concerns and nothing else.
"""

import fcntl
import hashlib
import os
import pickle
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.caching import FunctionCache

from borgtrace.kernels.compilation import announce_missing_code


def cache_on_disk(dispatcher: Any) -> None:
    """Cache a Numba function's machine code in ``__pycache__`` beside its source, else in the user's cache folder.

    Where neither can be written to, it is compiled again in each process.
    """
    # Numba's own `cache=True` builds the cache inside njit and leaves no way to add to its key.
    try:
        dispatcher._cache = DigestCache(dispatcher.py_func)
    # Numba found no place.
    except RuntimeError:
        return


_UNREADABLE = (
    AttributeError,
    ImportError,
    IndexError,
    TypeError,
    ValueError,
    EOFError,
    pickle.UnpicklingError,
)
"""Errors of reading an index that another version wrote."""


PATIENCE_S = 120
"""How long to wait for another process to compile a function."""
POLL_S = 0.02
_lock_files: dict[str, int] = {}
"""Open lock file by cache folder: closing one would give up all locks of this process in it."""


class DigestCache(FunctionCache):
    """Numba's cache of a function, whose key holds the digest of all that the function is compiled from."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one process at a time compile this function: the others find its machine code on disk.

        Two processes that write the index of a function at once may also leave the code of one signature under
        another.  Where no lock file can be written, or the other process takes more than `PATIENCE_S`, it goes on
        without.
        """
        place = zlib.crc32(self._impl.filename_base.encode())
        file = _lock_file(self.cache_path)
        is_locked = file is not None and _lock(file, place)
        try:
            yield
        finally:
            if file is not None and is_locked:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    # Computed when Numba first compiles the function: by then all names that it uses are defined.
    @cached_property
    def _digest(self) -> str:
        return digest_of(self._py_func)

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(signature, codegen), self._digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code kept for a signature, or None."""
        try:
            machine_code = super().load_overload(sig, target_context)
        except _UNREADABLE:
            # An index pickled by another version may name a class that is gone; saving reads it too.
            self.flush()
            machine_code = None
        if machine_code is None:
            announce_missing_code()
        return machine_code


def _lock_file(folder: str) -> int | None:
    """Return the open lock file of a cache folder, or None where there can be none."""
    if folder not in _lock_files:
        path = Path(folder, "borgtrace-compiling.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _lock_files[folder] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError:
            return None
    return _lock_files[folder]


def _lock(file: int, place: int) -> bool:
    """Lock one byte of a file, which stands for a function; False where that cannot be had.

    Another process may not let go of it, and some file systems know no locks.
    """
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            time.sleep(POLL_S)
        except OSError:
            return False
        else:
            return True
    return False


def digest_of(function: Callable[..., Any]) -> str:
    """Return a digest of a function's code and of all functions and constants that it refers to, transitively.

    Examples
    --------
    >>> digest_of(lambda x: x + 1) == digest_of(lambda x: x + 1)
    True
    >>> digest_of(lambda x: x + 1) == digest_of(lambda x: x + 2)
    False
    """
    digest = hashlib.sha256()
    pending: list[Any] = [function]
    # Functions may call each other in a circle.
    seen: set[int] = set()
    while pending:
        value = _python_function(pending.pop())
        if not isinstance(value, FunctionType):
            digest.update(_text(value).encode())
        elif id(value) not in seen:
            seen.add(id(value))
            pending += _references(value)
            # The docstring is a constant of the bytecode, but changes no machine code.
            digest.update(_code(value.__code__, value.__doc__).encode())
    return digest.hexdigest()


def _python_function(value: Any) -> Any:
    """Return the Python function behind a compiled one or an intrinsic; any other value as it is."""
    return getattr(value, "py_func", getattr(value, "_defn", value))


def _references(function: FunctionType) -> Iterator[Any]:
    """Yield what a function finds outside itself: globals that it names, closure, defaults."""
    for name in _names(function.__code__):
        if name in function.__globals__:
            value = function.__globals__[name]
            # A value taken from a module by attribute is not seen here, and an edit of it would go unnoticed.
            if isinstance(value, ModuleType) and value.__name__.startswith("borgtrace"):
                raise TypeError(
                    f"{function.__qualname__} uses the module {name}: import the names that it needs"
                )
            yield value
    yield from (cell.cell_contents for cell in function.__closure__ or ())
    yield function.__defaults__


def _names(code: CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        # The bodies of comprehensions and inner functions are constants of the outer one, and name globals themselves.
        if isinstance(constant, CodeType):
            names += _names(constant)
    return names


def _code(code: CodeType, doc: str | None = None) -> str:
    """Write a function's bytecode, names and constants, without its docstring and line numbers."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_code(constant))
        elif constant is not doc:
            constants.append(_text(constant))
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _text(value: Any) -> str:
    """Write a constant; for what is not ours (a module, a class, a builtin), its name."""
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {content}"
    if isinstance(value, tuple | list):
        items = [_text(item) for item in value]
        return f"{type(value).__name__}({', '.join(items)})"
    if isinstance(value, frozenset | set):
        # Sorted, since the order of a set changes with every process (hash seeds of texts).
        items = sorted(_text(item) for item in value)
        return f"set({', '.join(items)})"
    if hasattr(value, "__name__"):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    return f"{type(value).__name__} {value!r}"
