"""Which code of others something came from: what was named, and the SHA-256 of its text."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from functools import cache, partial
from importlib.util import find_spec
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from borgtrace.extensions.sources import source_files

_OURS = "borgtrace"
_INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages."""


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


def digest_of_code(code: Any) -> str:
    """Return a digest of the code of a class or a function of others, and of what it imports; empty for one of ours.

    That is the file which was named and the modules beside it that it imports, directly or not, within functions, too;
    of a package all modules.  A module that is imported by a computed name, or data that is read, is not seen.

    Parameters
    ----------
    code
        A class, a function, or an object of a class.
    """
    source = source_of_code(code)
    module = module_of_code(code)
    if not source or module is None or not module.__file__:
        return source.get("sha256", "")
    digest = hashlib.sha256(source["sha256"].encode())
    for path in _files_beside(module.__name__, Path(module.__file__)):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _files_beside(name: str, file: Path) -> tuple[Path, ...]:
    """Return the files that the code of a module consists of beside its own, sorted by path."""
    package, dot, _ = name.partition(".")
    if dot:
        spec = find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        files = {path for folder in folders or () for path in Path(folder).rglob("*.py")} - {file}
    elif file.parent.name in _INSTALLED:
        # What lies beside it belongs to other packages.
        files = set()
    else:
        finder = ModuleFinder(path=[str(file.parent)], excludes=[_OURS])
        finder.run_script(str(file))
        # Its modules are what the finder calls so, and no modules of Python.
        named: list[Any] = list(finder.modules.values())
        files = {Path(found.__file__) for found in named if found.__file__} - {file}
    return tuple(sorted(files))


def module_of_code(code: Any) -> ModuleType | None:
    """Return the module of a class, a function or the class of an object; None where it has none."""
    if isinstance(code, partial):
        return module_of_code(code.func)
    # What Numba compiles keeps the function that was written.
    code = getattr(code, "py_func", code)
    is_named = inspect.isclass(code) or inspect.isroutine(code)
    return inspect.getmodule(code if is_named else type(code))


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
    module = module_of_code(code)
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
