"""Finds the questions: modules of the question packages that have a constant ``RECIPE`` or ``EXPERIMENT``.

The packages are named by text, so that this layer depends on none of them and neither the command line nor the report
names an analysis.  A question has the name of its module, which is found by it and imported alone.
"""

import importlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import cast

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.question.question import Question

PACKAGES = ("borgtrace.analyses", "borgtrace.colocation", "borgtrace.datasets")
"""Packages whose modules (of any depth, names without a leading underscore) may hold a question."""
_CONSTANTS = ("RECIPE", "EXPERIMENT")
_DECLARATION = re.compile(rf"^({'|'.join(_CONSTANTS)})\b.*=", re.MULTILINE)


def modules(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the modules of some packages that hold a question, by its name, which is theirs; none is imported.

    Parameters
    ----------
    packages
        Packages, searched whole; one that is not there holds none.

    Raises
    ------
    UsageError
        Where two modules have the same name.
    """
    found: dict[str, str] = {}
    for package in packages:
        spec = find_spec(package)
        root = Path(spec.origin).parent if spec and spec.origin else None
        for path in sorted(root.rglob("*.py")) if root else ():
            places = path.relative_to(cast(Path, root)).with_suffix("").parts
            # Others are not imported: some need PyTorch.
            if any(place.startswith("_") for place in places) or not _DECLARATION.search(
                path.read_text("utf-8")
            ):
                continue
            module = ".".join((package, *places))
            if places[-1] in found:
                raise UsageError("recipes", f"two modules declare {places[-1]}", got=module)
            found[places[-1]] = module
    return found


def load(name: str, module: str) -> Question:
    """Import the module of one question, and what that needs.

    Parameters
    ----------
    name
        Name of the question.
    module
        Its module.

    Raises
    ------
    UsageError
        Where the module declares a question of another name.
    """
    loaded = importlib.import_module(module)
    question = next(
        getattr(loaded, constant) for constant in _CONSTANTS if hasattr(loaded, constant)
    )
    if not isinstance(question, Question) or question.name != name:
        raise UsageError(
            "recipes",
            f"{module} does not declare {name}",
            got=getattr(question, "name", repr(question)),
        )
    return question


def collect(packages: tuple[str, ...]) -> dict[str, Question]:
    """Return the recipes of some packages by name, in the order (`order`, name)."""
    found = {name: load(name, module) for name, module in modules(packages).items()}
    # The order of files says nothing to a reader; places may repeat, names do not.
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


@cache
def names() -> Mapping[str, str]:
    """Return the module of each recipe by its name, importing none."""
    return MappingProxyType(modules(PACKAGES))


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
    known = names()
    if name not in known:
        # Seventy names are no help in a message.
        near = did_you_mean(name, known)
        every = "every name: borgtrace analyze --list"
        raise UsageError(
            "NAME", "no such question", got=name, way_out=f"{near} {every}" if near else every
        )
    # Alone: the others would be a hundred files.
    return load(name, known[name])
