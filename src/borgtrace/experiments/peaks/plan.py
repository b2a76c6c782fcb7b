"""What an experiment with peak policies is: stores × policies with parameters × seeds, and how they are judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from borgtrace.errors import UsageError
from borgtrace.experiments.plan_values import (
    Values,
    check_named_once,
    check_number_of_cells,
    check_parts,
    check_seeds,
    families_of,
    items_of,
    name_in_table,
    stores_of,
    values_of_parameter,
)
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

MOST_FAMILIES = 40
"""Families of policies; each pair of them is compared."""


@dataclass(frozen=True, kw_only=True)
class PeakPlan:
    """Stores × peak policies with their parameters × seeds; each combination is a cell.

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
            For a policy that is named twice, a value out of range, seeds that change nothing, or more than 100,000
            cells.
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
        check_seeds(
            self.seeds,
            changes_something=bool(self.machines),
            reason="a seed draws a sample of machines, and all are taken",
            way_out="machines = N",
        )
        members = [member for family in self.policies.values() for member in family]
        check_named_once("policies", [name_of(member) for member in members])
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


def peak_plan_of(values: Values, folder: Path | None = None) -> PeakPlan:
    """Return the experiment with peak policies that plain values describe.

    Parameters
    ----------
    values
        By the names of the fields of :class:`PeakPlan`. Stores may be a list of folders, then called as these
        are; of a family, ``policies`` has a table of parameters, each with one value or several, or a list of
        policies; horizons are times such as ``"2h"``.
    folder
        Where relative paths of stores begin; the working directory where None.

    Raises
    ------
    UsageError
        For an unknown name, or a value that is not as it must be.
    """
    check_parts(values, [field.name for field in fields(PeakPlan)], ["stores", "policies"])
    plain = dict(values)
    plain["stores"] = stores_of(values["stores"], folder)
    plain["policies"] = families_of(
        "policies", values["policies"], "policy", label_of, _combinations
    )
    if isinstance(plain.get("horizon"), str):
        plain["horizon"] = parse_time(plain["horizon"], "horizon")
    for name in ("seeds", "resources", "tasks", "metrics"):
        if name in plain:
            plain[name] = items_of(name, plain[name], int if name == "seeds" else str)
    for name in ("machines", "horizon"):
        if isinstance(plain.get(name), float | bool):
            raise UsageError(name, "not a whole number", got=repr(plain[name]))
    return PeakPlan(**plain)


def name_of(member: str | PeakPolicy) -> str:
    """Return what a policy of a plan is called: as it was written, or by its label."""
    return member if isinstance(member, str) else member.label


def label_of(member: Any) -> str | None:
    """Return what a policy is called; None for what is none."""
    return name_of(member) if isinstance(member, str | PeakPolicy) else None


def _combinations(label: str, table: Values, where: str) -> Iterator[str]:
    """Yield the policies of a table of parameters, as text: one for each combination of their values."""
    name = name_in_table(label, table, where)
    texts_of = {
        parameter: values_of_parameter(parameter, value, where)
        for parameter, value in table.items()
        if parameter != "policy"
    }
    check_number_of_cells(math.prod(len(texts) for texts in texts_of.values()))
    for combination in product(*texts_of.values()):
        pairs = zip(texts_of, combination, strict=True)
        parameters = ",".join(f"{parameter}={text}" for parameter, text in pairs)
        yield f"{name}:{parameters}" if parameters else name
