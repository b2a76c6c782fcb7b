"""What an experiment is: stores × policies with their parameters × seeds, and how policies are judged."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.extensions import kind_of
from borgtrace.overcommit import PeakPolicy
from borgtrace.schema.bounds import (
    HORIZON,
    PROBABILITY,
    SAMPLE_OR_ALL,
    SEED,
    Declaration,
    check_value,
    declarations_of,
)
from borgtrace.schema.time import Microseconds, parse_time

MOST_CELLS = 100_000
"""A file of a few lines could ask for more than anybody can replay."""
MOST_FAMILIES = 40
"""Families of policies; each pair of them is compared."""
_LABEL = re.compile(r"[\w.+:=,%-]{1,80}")
"""What stores and families may be called: they stand in tables, charts and sentences."""
_PARAMETER_VALUE = re.compile(r"[\w.%-]+")
"""A text that is the value of a parameter: without what separates parameters, or policies."""
Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ExperimentPlan:
    """Stores × policies with their parameters × seeds; each combination is a cell.

    Attributes
    ----------
    stores
        Folders of stores by what they are called in tables.
    policies
        By family, the policies that it consists of: one for each combination of its parameters.
    seeds
        Each draws a random sample of the machines of each store: nothing else in a replay is random.
    machines
        Size of these samples; 0 takes all machines, with one seed only.
    target
        Violation rate at which families are compared.
    horizon
        How far ahead peaks are predicted, µs; 0 takes what suits the shortest store.
    resources, tasks, metrics
        As for :class:`borgtrace.overcommit.ReplayOptions`.
    """

    stores: Mapping[str, Path]
    policies: Mapping[str, Sequence[str | PeakPolicy]]
    seeds: Annotated[Sequence[int], SEED] = (0,)
    machines: Annotated[int, SAMPLE_OR_ALL] = 0
    target: Annotated[float, PROBABILITY] = 0.01
    horizon: Microseconds = 0
    resources: Sequence[str] = ("cpu", "memory")
    tasks: Sequence[str] = ("all",)
    metrics: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse what makes no experiment.

        Raises
        ------
        UsageError
            For a value out of range, seeds that change nothing, or more than 100,000 cells.
        """
        own_class: Any = type(self)
        declared = declarations_of(own_class)
        for name in ("seeds", "machines", "target"):
            check_value(name, getattr(self, name), declared[name])
        if self.horizon:
            check_value("horizon", self.horizon, Declaration(bounds=HORIZON, time_unit=1))
        for name in ("stores", "policies", "seeds", "resources", "tasks"):
            if not getattr(self, name):
                raise UsageError(name, "nothing is named", expected="at least one")
        if len(set(self.seeds)) < len(self.seeds):
            raise UsageError("seeds", "one is named twice", got=str(list(self.seeds)))
        if len(self.seeds) > 1 and not self.machines:
            raise UsageError(
                "seeds",
                "they would change nothing: a seed draws a sample of machines, and all are taken",
                expected="one seed, or machines = N",
                got=f"{len(self.seeds):,} seeds",
            )
        if len(self.policies) > MOST_FAMILIES:
            raise UsageError(
                "policies",
                "too many families to compare each with each",
                expected=f"at most {MOST_FAMILIES}",
                got=str(len(self.policies)),
                way_out="put variants of a policy into one family, as values of a parameter",
            )
        check_number_of_cells(self.n_cells)

    @property
    def n_cells(self) -> int:
        """Number of combinations of a store, a policy with its parameters and a seed."""
        n_policies = sum(len(members) for members in self.policies.values())
        return len(self.stores) * n_policies * len(self.seeds)


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


def plan_of(values: Values, folder: Path | None = None) -> ExperimentPlan:
    """Return the experiment that plain values describe: those of a TOML file, or the arguments of a call.

    Parameters
    ----------
    values
        By the names of the fields of :class:`ExperimentPlan`. Stores may be a list of folders, then called as these
        are; of a family, ``policies`` has a table of parameters, each with one value or several, or a list of
        policies; horizons are times such as ``"2h"``.
    folder
        Where relative paths of stores begin; the working directory where None.

    Raises
    ------
    UsageError
        For an unknown name, or a value that is not as it must be.
    """
    known = [field.name for field in fields(ExperimentPlan)]
    for name in values:
        if name not in known:
            raise UsageError(
                name,
                "no part of an experiment",
                expected=f"one of {', '.join(known)}",
                way_out=did_you_mean(name, known),
            )
    for name in ("stores", "policies"):
        if name not in values:
            raise UsageError(name, "missing", expected=f"an experiment names its {name}")
    plain = dict(values)
    plain["stores"] = _stores_of(values["stores"], folder)
    plain["policies"] = _families_of(values["policies"])
    if isinstance(plain.get("horizon"), str):
        plain["horizon"] = parse_time(plain["horizon"], "horizon")
    for name in ("seeds", "resources", "tasks", "metrics"):
        if name in plain:
            plain[name] = _items_of(name, plain[name], int if name == "seeds" else str)
    for name in ("machines", "horizon"):
        if isinstance(plain.get(name), float | bool):
            raise UsageError(name, "not a whole number", got=repr(plain[name]))
    return ExperimentPlan(**plain)


def _items_of(name: str, value: Any, kind: type) -> tuple[Any, ...]:
    items = value if isinstance(value, list | tuple | range) else [value]
    for item in items:
        if not isinstance(item, kind) or isinstance(item, bool):
            expected = "whole numbers" if kind is int else "texts"
            raise UsageError(name, f"not {expected}", got=repr(item))
    return tuple(items)


def _stores_of(value: Any, folder: Path | None) -> dict[str, Path]:
    """Return the folders of stores by label; a list of them is labelled by their names."""
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


def _families_of(value: Any) -> dict[str, tuple[str | PeakPolicy, ...]]:
    """Return the policies of each family."""
    if isinstance(value, list | tuple):
        value = {_name_of(policy): [policy] for policy in value}
    if not isinstance(value, Mapping):
        raise UsageError("policies", "not a table of families", got=kind_of(value))
    families: dict[str, tuple[str | PeakPolicy, ...]] = {}
    for label, members in value.items():
        _check_label("policies", label)
        where = f"policies.{label}"
        if isinstance(members, Mapping):
            families[label] = tuple(_combinations(label, members, where))
            continue
        items = members if isinstance(members, list | tuple) else [members]
        for item in items:
            if not isinstance(item, str | PeakPolicy):
                raise UsageError(where, "not a policy", got=kind_of(item))
        if not items:
            raise UsageError(where, "no policy in it", expected="at least one")
        families[label] = tuple(items)
    return families


def _name_of(policy: Any) -> str:
    """Return what the family of one policy is called: as the policy with its parameters."""
    if not isinstance(policy, str | PeakPolicy):
        raise UsageError("policies", "not a policy", got=kind_of(policy))
    return policy if isinstance(policy, str) else policy.label


def _combinations(label: str, table: Values, where: str) -> Iterator[str]:
    """Yield the policies of a table of parameters, as text: one for each combination of their values."""
    name = table.get("policy", label)
    if not isinstance(name, str) or not _PARAMETER_VALUE.fullmatch(name):
        raise UsageError(f"{where}.policy", "not the name of a policy", got=repr(name))
    values_of_parameter = {}
    for parameter, value in table.items():
        if parameter == "policy":
            continue
        if not _PARAMETER_VALUE.fullmatch(parameter):
            raise UsageError(where, "not the name of a parameter", got=repr(parameter))
        items = value if isinstance(value, list | tuple) else [value]
        texts = [_parameter_text(item, f"{where}.{parameter}") for item in items]
        if not texts:
            raise UsageError(f"{where}.{parameter}", "no value", expected="at least one")
        if len(set(texts)) < len(texts):
            raise UsageError(f"{where}.{parameter}", "a value is named twice", got=str(list(items)))
        values_of_parameter[parameter] = texts
    check_number_of_cells(math.prod(len(texts) for texts in values_of_parameter.values()))
    for combination in product(*values_of_parameter.values()):
        pairs = zip(values_of_parameter, combination, strict=True)
        parameters = ",".join(f"{parameter}={text}" for parameter, text in pairs)
        yield f"{name}:{parameters}" if parameters else name


def _parameter_text(value: Any, where: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r}"
    if isinstance(value, str) and _PARAMETER_VALUE.fullmatch(value):
        return value
    raise UsageError(
        where, "not a value of a parameter", expected="a number, or a text", got=repr(value)
    )
