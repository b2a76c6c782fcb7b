"""Keep machine code on disk under a digest of everything that a function is compiled from.

Numba keeps a function's machine code beside its source file and drops it when that file changes. But the code of
functions that it calls or inlines, and the values of constants, are compiled into it too, from any file: editing those
once gave silently old results. Here the name of a file holds a digest of all of these, so that no index is needed, and
files can be copied: the wheel brings along some for a portable CPU.
"""

import fcntl
import hashlib
import inspect
import os
import pickle
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from borgtrace.kernels.code_files import SUFFIX, read_code, write_code
from borgtrace.kernels.code_folders import folder_to_write, folders_to_read
from borgtrace.kernels.compilation import announce_missing_code
from borgtrace.kernels.digests import digest_of, text_of_types
from borgtrace.kernels.portable_code import portable_target, runs_portable_code

_UNREADABLE = (
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    RuntimeError,
    pickle.UnpicklingError,
    zlib.error,
)
"""Errors of unpickling what another version wrote, or of a class that is gone."""
_VERSIONS = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
"""What machine code and the pickles around it belong to, besides source and machine."""


PATIENCE_S = 120
"""How long to wait for another process to compile a function."""
POLL_S = 0.02
_lock_files: dict[Path, int] = {}
"""Open lock file by folder: closing one would give up all locks of this process in it."""


def cache_on_disk(dispatcher: Any) -> None:
    """Keep a Numba function's machine code on disk, where :mod:`borgtrace.kernels.code_folders` says.

    A function that was not read from a file is compiled again in each process.
    """
    source = Path(inspect.getfile(dispatcher.py_func))
    if source.is_file():
        # Numba's own `cache=True` builds the cache inside njit, and leaves no way to name its files.
        dispatcher._cache = DigestCache(dispatcher.py_func, source)


class DigestCache:
    """The machine code of a function on disk, in files named by a digest of all that it is compiled from.

    To Numba it is one of its caches: it has all that a dispatcher asks of them.

    Parameters
    ----------
    function
        What is compiled.
    source
        The file that it is from.
    """

    def __init__(self, function: Callable[..., Any], source: Path) -> None:
        self._function = function
        self._source = source
        # As it was read: an update may replace it while this process runs.
        self._source_state = source.stat()

    @property
    def cache_path(self) -> str | None:
        """Where machine code is written, as Numba's statistics show it."""
        folder = self._folder_to_write
        return None if folder is None else str(folder)

    def flush(self) -> None:
        """Forget nothing: a file that holds something else than its name says is not read, and written anew."""

    def holds(self, signature: Any, target_context: Any) -> bool:
        """Whether there is a file for a signature; it may be damaged.

        Parameters
        ----------
        signature
            Types of the arguments.
        target_context
            Numba's description of what it compiles for.
        """
        target_context.refresh()
        paths = self._paths_to_read(signature, target_context.codegen())
        return any(path.is_file() for path in paths)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the machine code kept for a signature, or None."""
        # What the code refers to must be there before it is linked.
        target_context.refresh()
        for path in self._paths_to_read(sig, target_context.codegen()):
            content = read_code(path, self._source_state)
            if content is None:
                continue
            with suppress(*_UNREADABLE):
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        announce_missing_code()
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep what was compiled for a signature, where there is a place for it."""
        folder = self._folder_to_write
        if folder is None or not _can_be_kept(data):
            return
        path = folder / self._file_name(sig, data.codegen.magic_tuple())
        content = dumps(data._reduce())
        # A full disk costs only the next start.
        with suppress(OSError):
            write_code(path, content)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one process at a time compile this function: the others find its machine code on disk.

        Where no lock file can be written, or the other process takes more than `PATIENCE_S`, it goes on without.
        """
        place = zlib.crc32(f"{self._source} {self._function.__qualname__}".encode())
        folder = self._folder_to_write
        file = None if folder is None else _lock_file(folder)
        is_locked = file is not None and _lock(file, place)
        try:
            yield
        finally:
            if file is not None and is_locked:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    @property
    def _folder_to_write(self) -> Path | None:
        return folder_to_write(self._source.parent)

    # Computed when Numba first compiles the function: by then all names that it uses are defined.
    @cached_property
    def _digest(self) -> str:
        return digest_of(self._function)

    def _paths_to_read(self, signature: Any, codegen: Any) -> Iterator[Path]:
        """Yield where the machine code for a signature may lie: that for this CPU, then that for a portable one."""
        target = codegen.magic_tuple()
        folders = folders_to_read(self._source.parent)
        for folder in folders:
            yield folder / self._file_name(signature, target)
        # Whoever names a CPU means that one.
        if config.CPU_NAME is None and runs_portable_code():
            for folder in folders:
                yield folder / self._file_name(signature, portable_target(target))

    def _file_name(self, signature: Any, target: tuple[str, str, str]) -> str:
        """Return the name of the file: the function, what it is compiled for, what it is compiled from."""
        name = f"{self._source.stem}.{self._function.__qualname__}"
        compiled_for = repr((name, text_of_types(signature), target, _VERSIONS))
        for_digest = hashlib.sha256(compiled_for.encode()).hexdigest()
        readable = name.replace("<", "").replace(">", "")[:80]
        return f"{readable}-{for_digest[:24]}-{self._digest[:32]}{SUFFIX}"


def _can_be_kept(result: CompileResult) -> bool:
    """Whether compiled code means the same in another process: it holds no address of this one."""
    return not result.library.has_dynamic_globals and all(loop.can_cache for loop in result.lifted)


def _lock_file(folder: Path) -> int | None:
    """Return the open lock file of a cache folder, or None where there can be none."""
    if folder not in _lock_files:
        path = folder / "borgtrace-compiling.lock"
        try:
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
