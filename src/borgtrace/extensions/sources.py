"""Modules of others, imported from a file or by name."""

from __future__ import annotations

import hashlib
import importlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.extensions.failures import add_root, failure_of_extension, quiet_output


@dataclass(frozen=True)
class SourceFile:
    """A file of others that was imported.

    Attributes
    ----------
    name
        Of its module.
    path, shown
        Absolute, and what the user called it.
    text
        What it held when it was imported.
    sha256
        Digest of its bytes.
    """

    name: str
    path: str
    shown: str
    text: str
    sha256: str


_MODULES: dict[Path, ModuleType] = {}
_SOURCES: dict[Path, SourceFile] = {}
"""Modules of files, and the files, by path: a file runs once, however often it is named."""


def import_source(source: str, option: str = "--from") -> ModuleType:
    """Return the module that a user names: a Python file, or a module that can be imported.

    A file may import others of its folder, and a module may lie in the working directory.  Both come last in the
    search, so that a file called ``random.py`` replaces nothing.

    Parameters
    ----------
    source
        ``my_policy.py``, ``ideas/my_policy.py``, or ``my_package.policies``.
    option
        Where the user named it, for errors.

    Raises
    ------
    UsageError
        It is not there, or its code fails; the message has its line.
    """
    if source.endswith(".py"):
        return _import_file(Path(source), option)
    if not all(part.isidentifier() for part in source.split(".")):
        raise UsageError(
            option,
            "neither a file nor a module",
            expected="FILE.py, or the name of a module such as my_package.policies",
            got=source,
        )
    return _import_named(source, option)


def _import_file(file: Path, option: str) -> ModuleType:
    path = file.resolve()
    if path in _MODULES:
        return _MODULES[path]
    if not path.is_file():
        raise _no_such_file(file, option)
    spec = spec_from_file_location(_free_name(path.stem), path)
    if spec is None or spec.loader is None:
        raise UsageError(option, "no Python file", got=str(file))
    module = module_from_spec(spec)
    add_root(path, shown=str(file))
    _search_also(path.parent)
    # Dataclasses look their module up while it runs.
    sys.modules[spec.name] = module
    try:
        with quiet_output():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise _failure(error, str(file), option) from error
    _MODULES[path] = module
    content = path.read_bytes()
    text = content.decode("utf-8")
    digest = hashlib.sha256(content).hexdigest()
    _SOURCES[path] = SourceFile(spec.name, str(path), str(file), text, digest)
    return module


def _no_such_file(file: Path, option: str) -> UsageError:
    beside: list[str] = []
    if file.parent.is_dir():
        beside = [str(file.parent / path.name) for path in file.parent.glob("*.py")]
    return UsageError(
        option,
        "no such file",
        got=str(file),
        way_out=did_you_mean(str(file), beside) or "check the path",
    )


def _free_name(stem: str) -> str:
    """Return a name for the module of a file that no other module has."""
    name = f"extension_{stem}"
    number = 2
    while name in sys.modules:
        name = f"extension_{stem}_{number}"
        number += 1
    return name


def _search_also(folder: Path) -> None:
    """Let a file import what lies beside it; last, so that its neighbours replace no module of others."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _import_named(name: str, option: str) -> ModuleType:
    _search_also(Path.cwd())
    _remember_code_of(name.partition(".")[0])
    try:
        with quiet_output():
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _failure(error, name, option) from error


def _remember_code_of(top_module: str) -> None:
    """Remember where the code of a package, or of a module outside any, lies; nothing of it runs."""
    spec = find_spec(top_module)
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        add_root(Path(folder).resolve(), shown="")
    if spec.origin and not spec.submodule_search_locations:
        add_root(Path(spec.origin).resolve(), shown="")


def _failure(error: BaseException, shown: str, option: str) -> UsageError:
    """Return the error of a module that cannot be imported."""
    if isinstance(error, UsageError):
        return error
    located = failure_of_extension(error)
    if located is not None:
        return located
    cause = f"{type(error).__name__}: {error}".removesuffix(": ")
    return UsageError(f"{option} {shown}", "it cannot be imported", got=cause)


def source_files() -> tuple[SourceFile, ...]:
    """Return the files of others that were imported, in this order."""
    return tuple(_SOURCES.values())
