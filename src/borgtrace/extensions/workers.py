"""Functions that run code of others in workers, which have imported none of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from borgtrace.errors import BorgtraceError
from borgtrace.extensions.failures import add_root, failure_of_extension, quiet_output
from borgtrace.extensions.sources import SourceFile, source_files

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class GuardedFunction(Generic[Item, Result]):
    """A function that runs code of others in a worker: its files travel with it, and a failure names their line.

    Attributes
    ----------
    function
        What is called.
    """

    function: Callable[[Item], Result]

    def __call__(self, item: Item) -> Result:
        """Call the function, and name the line of others where it fails.

        Raises
        ------
        UsageError
            Code of others failed.
        """
        try:
            with quiet_output():
                return self.function(item)
        except BorgtraceError:
            raise
        except Exception as error:
            located = failure_of_extension(error)
            if located is None:
                raise
            # A traceback does not travel.
            raise located from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the files first: the function can be unpickled where they have been imported."""
        # Here: it is loaded by joblib, where there are workers.
        import cloudpickle

        return _restored, (source_files(), cloudpickle.dumps(self.function))


def _restored(files: Sequence[SourceFile], pickled: bytes) -> GuardedFunction[Any, Any]:
    import cloudpickle

    for file in files:
        _import_text(file)
    return GuardedFunction(cloudpickle.loads(pickled))


def _import_text(file: SourceFile) -> None:
    """Import the text of a file, which may not be on the machine of a worker, under the name that it has elsewhere."""
    if file.name in sys.modules:
        return
    module = ModuleType(file.name)
    module.__file__ = file.path
    add_root(Path(file.path), file.shown)
    sys.path.append(str(Path(file.path).parent))
    sys.modules[file.name] = module
    code = compile(file.text, file.path, "exec")
    with quiet_output():
        exec(code, vars(module))


def guarded(function: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return a function as workers call it: itself, where no code of others was imported."""
    return GuardedFunction(function) if source_files() else function
