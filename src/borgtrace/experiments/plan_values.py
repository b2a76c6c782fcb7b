"""Plain values of experiments, from a TOML file or the arguments of a call: stores, labels, parameters of policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.extensions import kind_of

MOST_CELLS = 100_000
"""A file of a few lines could ask for more than anybody can replay."""
_LABEL = re.compile(r"[\w.+:=,%-]{1,80}")
"""What stores and families may be called: they stand in tables, charts and sentences."""
_PARAMETER_VALUE = re.compile(r"[\w.%-]+")
"""A text that is the value of a parameter: without what separates parameters, or policies."""
Values = Mapping[str, Any]
Member = TypeVar("Member")


def check_number_of_cells(n: int) -> None:
    """Refuse an experiment that nobody could finish.

    Raises
    ------
    UsageError
        It has more than 100,000 cells.
    """
    if n > MOST_CELLS:
        raise UsageError(
            "experiment",
            "too many cells: stores × policies × parameters × seeds",
            expected=f"at most {MOST_CELLS:,}",
            got=f"{n:,}",
        )


def check_parts(values: Values, known: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse names that are no part of an experiment, and one that lacks what it needs.

    Parameters
    ----------
    values
        The experiment.
    known, needed
        Names that it may have, and those that it must.

    Raises
    ------
    UsageError
        A name is unknown, or one is missing.
    """
    for name in values:
        if name not in known:
            raise UsageError(
                name,
                "no part of an experiment",
                expected=f"one of {', '.join(known)}",
                way_out=did_you_mean(name, list(known)),
            )
    for name in needed:
        if name not in values:
            raise UsageError(name, "missing", expected=f"an experiment names its {name}")


def check_seeds(
    seeds: Sequence[int], *, changes_something: bool, reason: str, way_out: str
) -> None:
    """Refuse a seed that is named twice, and several where they change nothing.

    Parameters
    ----------
    seeds
        Of the experiment.
    changes_something
        Whether anything of it is random.
    reason, way_out
        Why nothing is, and what would be.

    Raises
    ------
    UsageError
        They are refused.
    """
    if len(set(seeds)) < len(seeds):
        raise UsageError("seeds", "one is named twice", got=str(list(seeds)))
    if len(seeds) > 1 and not changes_something:
        raise UsageError(
            "seeds",
            f"they would change nothing: {reason}",
            expected=f"one seed, or {way_out}",
            got=f"{len(seeds):,} seeds",
        )


def items_of(name: str, value: Any, kind: type) -> tuple[Any, ...]:
    """Return one value or a list of values as a tuple; each is a whole number, or a text.

    Parameters
    ----------
    name
        Of the part, for errors.
    value
        As it is written.
    kind
        ``int`` or ``str``.

    Raises
    ------
    UsageError
        One is something else.
    """
    items = value if isinstance(value, list | tuple | range) else [value]
    for item in items:
        if not isinstance(item, kind) or isinstance(item, bool):
            expected = "whole numbers" if kind is int else "texts"
            raise UsageError(name, f"not {expected}", got=repr(item))
    return tuple(items)


def stores_of(value: Any, folder: Path | None) -> dict[str, Path]:
    """Return the folders of stores by label; a list of them is labelled by their names.

    Parameters
    ----------
    value
        As it is written.
    folder
        Where relative paths begin; the working directory where None.

    Raises
    ------
    UsageError
        It names no folders of this machine.
    """
    if isinstance(value, str | Path):
        value = [value]
    if isinstance(value, list | tuple):
        labelled = [(Path(str(path)).name, path) for path in value]
    elif isinstance(value, Mapping):
        labelled = list(value.items())
    else:
        raise UsageError("stores", "not a list or a table of folders", got=kind_of(value))
    stores: dict[str, Path] = {}
    for label, path in labelled:
        _check_label("stores", label)
        if label in stores:
            raise UsageError(
                "stores",
                "two stores have one name",
                got=label,
                way_out="name each: a table of LABEL = FOLDER",
            )
        # A file of others must not make this machine talk to a server.
        if not isinstance(path, str | Path) or "://" in str(path) or "\0" in str(path):
            raise UsageError(f"stores.{label}", "not a folder of this machine", got=repr(str(path)))
        stores[label] = (folder or Path()) / path
    return stores


def _check_label(where: str, label: Any) -> None:
    if not isinstance(label, str) or not _LABEL.fullmatch(label):
        raise UsageError(
            where,
            "not a name",
            expected="up to 80 letters, digits and . _ - + : = , %",
            got=repr(label),
        )


def families_of(
    part: str,
    value: Any,
    noun: str,
    label_of: Callable[[Any], str | None],
    combinations: Callable[[str, Values, str], Iterable[Member]],
) -> dict[str, tuple[Any, ...]]:
    """Return the members of each family; of a plain list each member is a family.

    Parameters
    ----------
    part
        ``policies`` or ``schedulers``.
    value
        As it is written.
    noun
        What a member is, for errors.
    label_of
        What a member is called; None for what is no member.
    combinations
        From the label of a family, its table of parameters and its place to its members.

    Raises
    ------
    UsageError
        A member is none or named twice, a family is empty, or a label or a parameter is not as it must be.
    """
    if isinstance(value, list | tuple):
        labels = [_label_or_refuse(part, member, noun, label_of) for member in value]
        check_named_once(part, labels)
        value = {label: [member] for label, member in zip(labels, value, strict=True)}
    if not isinstance(value, Mapping):
        raise UsageError(part, "not a table of families", got=kind_of(value))
    families: dict[str, tuple[Any, ...]] = {}
    for label, members in value.items():
        _check_label(part, label)
        where = f"{part}.{label}"
        if isinstance(members, Mapping):
            families[label] = tuple(combinations(label, members, where))
            continue
        items = members if isinstance(members, list | tuple) else [members]
        for item in items:
            _label_or_refuse(where, item, noun, label_of)
        if not items:
            raise UsageError(where, f"no {noun} in it", expected="at least one")
        families[label] = tuple(items)
    return families


def _label_or_refuse(
    where: str, member: Any, noun: str, label_of: Callable[[Any], str | None]
) -> str:
    label = label_of(member)
    if label is None:
        raise UsageError(where, f"not a {noun}", got=kind_of(member))
    return label


def check_named_once(part: str, names: Sequence[str]) -> None:
    """Refuse what is named twice: both would be the same cells.

    Raises
    ------
    UsageError
        With the first such name.
    """
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(part, "one is named twice", got=twice[0])


def name_in_table(label: str, table: Values, where: str) -> str:
    """Return the name of the policy that a table of parameters is of: that of the family, or what it says.

    Raises
    ------
    UsageError
        It is no name.
    """
    name = table.get("policy", label)
    if not isinstance(name, str) or not _PARAMETER_VALUE.fullmatch(name):
        raise UsageError(f"{where}.policy", "not the name of a policy", got=repr(name))
    return name


def values_of_parameter(parameter: Any, value: Any, where: str) -> list[str]:
    """Return the values of a parameter of a family, as text.

    Parameters
    ----------
    parameter, value
        As they are written: one value, or a list of them.
    where
        The family, for errors.

    Raises
    ------
    UsageError
        The parameter has no name, no value, or one that is not plain.
    """
    if not _PARAMETER_VALUE.fullmatch(parameter):
        raise UsageError(where, "not the name of a parameter", got=repr(parameter))
    items = value if isinstance(value, list | tuple) else [value]
    texts = [_parameter_text(item, f"{where}.{parameter}") for item in items]
    if not texts:
        raise UsageError(f"{where}.{parameter}", "no value", expected="at least one")
    if len(set(texts)) < len(texts):
        raise UsageError(f"{where}.{parameter}", "a value is named twice", got=str(list(items)))
    return texts


def _parameter_text(value: Any, where: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r}"
    if isinstance(value, str) and _PARAMETER_VALUE.fullmatch(value):
        return value
    raise UsageError(
        where, "not a value of a parameter", expected="a number, or a text", got=repr(value)
    )
