"""Finds the questions: modules of the question packages that have a constant ``RECIPE`` or ``EXPERIMENT``.

The packages are named by text and imported on first use, so that this layer depends on none of them
and neither the command line nor the report names an analysis.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.recipe.question import Question

PACKAGES = ("borgtrace.analyses", "borgtrace.colocation", "borgtrace.datasets")
"""Packages whose modules (of any depth, names without a leading underscore) may hold a question."""
_CONSTANTS = ("RECIPE", "EXPERIMENT")
_DECLARATION = re.compile(rf"^({'|'.join(_CONSTANTS)})\b.*=", re.MULTILINE)


def _modules(package: str) -> Iterator[ModuleType]:
    if find_spec(package) is None:
        return
    root = importlib.import_module(package)
    for info in sorted(pkgutil.walk_packages(root.__path__, f"{package}."), key=lambda info: info.name):
        hidden = any(part.startswith("_") for part in info.name.split("."))
        if not hidden and _mentions_recipe(info.name):
            yield importlib.import_module(info.name)


def _mentions_recipe(module: str) -> bool:
    """Whether a module's source has such a constant: others (some import PyTorch) are not imported."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return False
    return _DECLARATION.search(Path(spec.origin).read_text("utf-8")) is not None


def collect(packages: tuple[str, ...]) -> dict[str, Question]:
    """Return the recipes of some packages by name, in the order (`order`, name).

    Raises
    ------
    UsageError
        Where two modules declare the same name.
    """
    found: dict[str, Question] = {}
    for package in packages:
        for module in _modules(package):
            recipe = next((getattr(module, name) for name in _CONSTANTS if hasattr(module, name)), None)
            # A module that only imports another's RECIPE does not declare it.
            if not isinstance(recipe, Question) or recipe.module != module.__name__:
                continue
            if recipe.name in found:
                raise UsageError("recipes", f"two modules declare {recipe.name}", got=module.__name__)
            found[recipe.name] = recipe
    # The order of files says nothing to a reader; places may repeat, names do not.
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


@cache
def recipes() -> Mapping[str, Question]:
    """Return all recipes by name."""
    return MappingProxyType(collect(PACKAGES))


def find_recipe(name: str) -> Question:
    """Return one recipe.

    Raises
    ------
    UsageError
        For an unknown name; the message has the names most like it.
    """
    known = recipes()
    if name not in known:
        # Seventy names are no help in a message.
        near = did_you_mean(name, known)
        every = "every name: borgtrace analyze --list"
        raise UsageError("NAME", "no such question", got=name, way_out=f"{near} {every}" if near else every)
    return known[name]
