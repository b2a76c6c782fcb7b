"""Which code of others something came from: what was named, and the SHA-256 of its text."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from borgtrace.extensions.sources import source_files

_OURS = "borgtrace"


def source_of_module(module: ModuleType) -> dict[str, str]:
    """Return ``source`` and ``sha256`` of a module of others; nothing for one of ours, or without a file.

    The source is the name of the file, without its folder, or that of a module of a package.  The digest is that of the
    file when it was imported, as ``sha256sum`` prints it.

    Parameters
    ----------
    module
        It was imported.
    """
    if module.__name__.partition(".")[0] == _OURS:
        return {}
    for file in source_files():
        if file.name == module.__name__:
            return {"source": Path(file.path).name, "sha256": file.sha256}
    path = getattr(module, "__file__", None)
    if path is None or not Path(path).is_file():
        return {}
    # A script has no name that others could import.
    source = Path(path).name if module.__name__ == "__main__" else module.__name__
    return {"source": source, "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def source_of_code(code: Any) -> dict[str, str]:
    """Return ``source`` and ``sha256`` of the code of a class or a function of others; nothing for one of ours.

    Parameters
    ----------
    code
        A class, a function, or an object of a class.

    Examples
    --------
    >>> source_of_code(source_of_module)
    {}
    """
    if isinstance(code, partial):
        return source_of_code(code.func)
    # What Numba compiles keeps the function that was written.
    code = getattr(code, "py_func", code)
    is_named = inspect.isclass(code) or inspect.isroutine(code)
    module = inspect.getmodule(code if is_named else type(code))
    return source_of_module(module) if module else {}


def sources_of(code: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return ``source`` and ``sha256`` of what is of others, by name; ours is left out.

    Parameters
    ----------
    code
        Classes, functions or objects by what users call them.
    """
    sources = {name: source_of_code(each) for name, each in code.items()}
    return {name: source for name, source in sources.items() if source}
