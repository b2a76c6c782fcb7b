"""The option ``--from``: code of the user's own, whose names a command then takes."""

from collections.abc import Sequence
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.extensions import Registry


def names_in_own_code(
    sources: Sequence[str] | None, *kinds: Registry[Any], also: Sequence[Registry[Any]] = ()
) -> list[str]:
    """Import what the user named, and return the names that it adds.

    Parameters
    ----------
    sources
        Values of ``--from``: files and modules.
    kinds
        What the command can use of them.
    also
        Kinds that it can use, too, but whose names are not returned.

    Raises
    ------
    UsageError
        One cannot be imported, or has nothing of these kinds.
    """
    names: list[str] = []
    for source in sources or ():
        added: list[str] = []
        for registry in kinds:
            added += registry.add_from(source)
        added_beside: list[str] = []
        for registry in also:
            added_beside += registry.add_from(source)
        if not added and not added_beside:
            usable = [*kinds, *also]
            raise UsageError(
                source,
                f"no {' or '.join(registry.noun for registry in usable)} in it",
                expected=" or ".join(registry.wanted for registry in usable),
                way_out="borgtrace check lists what a file has",
            )
        names += added
    return names


def print_names_of(kinds: Registry[Any]) -> None:
    """Print the names of one kind, each with a few words, and where it comes from unless it is ours.

    Parameters
    ----------
    kinds
        What is listed; those of packages are imported.
    """
    for name, extension in kinds.items():
        origin = "" if name in kinds.own else f" (from {kinds.origin(name)})"
        print(f"{name:<22}{extension.about}{origin}")
