"""What an experiment with schedulers is: stores × schedulers with their parameters × seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from borgtrace.errors import UsageError, check_names
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
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.scheduling import PlacementPolicy, Scheduler
from borgtrace.scheduling.plan import CPI, OVERCOMMIT, RECLAIMED, RESERVATION, SIZES, parse_plan
from borgtrace.scheduling.plan import SHARE as SHARES
from borgtrace.scheduling.policies import POLICIES, as_policy
from borgtrace.scheduling.replay import RECORDED
from borgtrace.schema.bounds import SEED, SHARE, check_value, declarations_of

MOST_SCHEDULERS = 40
"""Each pair of them is compared."""
ALL = "all"
"""The tasks of all tiers together."""
Member: TypeAlias = str | Scheduler | PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class SchedulePlan:
    """Stores × schedulers with their parameters × seeds; each combination is a cell.

    Attributes
    ----------
    stores
        Folders of stores by what they are called in tables.
    schedulers
        By family, the schedulers that it consists of, as ``borgtrace simulate --policy`` names them, or as objects.
    seeds
        Of the random order in which `random` looks at machines: nothing else in a replay is random.
    tiers
        Tiers whose tasks are judged; ``all``: of all tiers together.
    factor
        Share of their requests that tasks below production take; 0 calibrates it in each store.
    plan
        What all tasks are planned with instead, such as ``gpa:0.01``.
    whole_jobs
        Whether tasks of a job that arrive together start together or not at all.
    """

    stores: Mapping[str, Path]
    schedulers: Mapping[str, Sequence[Member]]
    seeds: Annotated[Sequence[int], SEED] = (0,)
    tiers: Sequence[str] = (ALL,)
    factor: Annotated[float, SHARE] = 0.0
    plan: str = ""
    whole_jobs: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no experiment.

        Raises
        ------
        UsageError
            For an unknown scheduler, a value out of range, seeds that change nothing, or too many of anything.
        """
        own_class: Any = type(self)
        declared = declarations_of(own_class)
        for name in ("seeds", "factor"):
            check_value(name, getattr(self, name), declared[name])
        for name in ("stores", "schedulers", "seeds", "tiers"):
            if not getattr(self, name):
                raise UsageError(name, "nothing is named", expected="at least one")
        if self.plan and self.factor:
            raise UsageError(
                "factor",
                "not beside plan",
                expected="one of the two",
                got=f"plan = {self.plan}, factor = {self.factor:g}",
            )
        check_plan(self.plan)
        names = [name_of(member) for member in self.members]
        check_named_once("schedulers", names)
        if len(names) > MOST_SCHEDULERS:
            raise UsageError(
                "schedulers",
                "too many to compare each with each",
                expected=f"at most {MOST_SCHEDULERS}",
                got=str(len(names)),
            )
        check_seeds(
            self.seeds,
            changes_something=any(is_random(member) for member in self.members),
            reason="a seed draws the order in which random looks at machines, and it is not named",
            way_out="the scheduler random",
        )
        check_number_of_cells(self.n_cells)

    @property
    def members(self) -> list[Member]:
        """The schedulers of all families."""
        return [member for members in self.schedulers.values() for member in members]

    @property
    def n_cells(self) -> int:
        """Number of combinations of a store, a scheduler with its parameters and a seed."""
        return len(self.stores) * len(self.members) * len(self.seeds)


def check_plan(text: str) -> None:
    """Refuse what no task of an experiment is planned with.

    Raises
    ------
    UsageError
        It is no plan, or one that needs code of others.
    """
    if not text:
        return
    name, _, parameter = text.removesuffix(CPI).partition(":")
    known = (*SIZES, "gpa", RESERVATION, RECLAIMED, SHARES, OVERCOMMIT)
    check_names("plan", [name], known, "no plan of borgtrace")
    if name == OVERCOMMIT:
        # The code of others would have to be a part of the keys of cells.
        policies = list(POLICY_KINDS.own)
        check_names("plan", [parameter.partition(":")[0]], policies, "no policy of borgtrace")
    parse_plan(text)


def is_random(member: Member) -> bool:
    """Whether a scheduler looks at machines in random order; nothing is imported to know it."""
    if isinstance(member, str):
        name = re.split("[:+]", member)[0]
        return name in POLICIES and POLICIES[name].k > 0
    return isinstance(member, PlacementPolicy) and member.k > 0


def policy_of(member: Member) -> PlacementPolicy | None:
    """Return the policy that a member of a family is; None for what was recorded.

    Raises
    ------
    UsageError
        There is no such policy; the message names the part of the experiment.
    """
    if member == RECORDED:
        return None
    try:
        return as_policy(member)
    except UsageError as error:
        raise UsageError(
            "schedulers",
            error.what,
            expected=error.expected,
            got=error.got,
            way_out=error.way_out,
        ) from error


def name_of(member: Member) -> str:
    """Return what a scheduler of a plan is called: as it was written, or by its label."""
    return member if isinstance(member, str) else member.label


def label_of(member: Any) -> str | None:
    """Return what a scheduler is called; None for what is none."""
    is_member = isinstance(member, str | Scheduler | PlacementPolicy)
    return name_of(member) if is_member else None


def schedule_plan_of(values: Values, folder: Path | None = None) -> SchedulePlan:
    """Return the experiment with schedulers that plain values describe.

    Parameters
    ----------
    values
        By the names of the fields of :class:`SchedulePlan`.  Of a family, ``schedulers`` has a list, or a table with
        ``policy``, ``k`` and ``preempt``, each with one value or several.
    folder
        Where relative paths of stores begin; the working directory where None.

    Raises
    ------
    UsageError
        For an unknown name, or a value that is not as it must be.
    """
    check_parts(values, [field.name for field in fields(SchedulePlan)], ["stores", "schedulers"])
    plain = dict(values)
    plain["stores"] = stores_of(values["stores"], folder)
    plain["schedulers"] = families_of(
        "schedulers", values["schedulers"], "scheduler", label_of, _combinations
    )
    for name in ("seeds", "tiers"):
        if name in plain:
            plain[name] = items_of(name, plain[name], int if name == "seeds" else str)
    if not isinstance(plain.get("plan", ""), str):
        raise UsageError("plan", "not a text", got=repr(plain["plan"]))
    if not isinstance(plain.get("whole_jobs", False), bool):
        raise UsageError("whole_jobs", "neither true nor false", got=repr(plain["whole_jobs"]))
    return SchedulePlan(**plain)


def _combinations(label: str, table: Values, where: str) -> Iterator[str]:
    """Yield the schedulers of a table of parameters, as text: one for each combination of their values."""
    name = name_in_table(label, table, where)
    for parameter in table:
        if parameter not in ("policy", "k", "preempt"):
            raise UsageError(
                where,
                "not a parameter of a scheduler",
                expected="policy, k or preempt",
                got=repr(parameter),
            )
    numbers = [""]
    if "k" in table:
        numbers = [f":k={text}" for text in values_of_parameter("k", table["k"], where)]
    for number in numbers:
        for preempts in _truths(table.get("preempt", False), f"{where}.preempt"):
            yield f"{name}{number}{'+preempt' if preempts else ''}"


def _truths(value: Any, where: str) -> list[bool]:
    items = value if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, bool):
            raise UsageError(where, "neither true nor false", got=repr(item))
    if not items:
        raise UsageError(where, "no value", expected="at least one")
    return list(items)
