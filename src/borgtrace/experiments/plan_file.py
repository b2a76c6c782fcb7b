"""Read an experiment from a TOML file, which may be anybody's: it is data, and nothing in it runs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from borgtrace.errors import SourceError, UsageError, check_names
from borgtrace.experiments.peaks.plan import PeakPlan, peak_plan_of
from borgtrace.experiments.plan_values import Values
from borgtrace.experiments.schedules.plan import SchedulePlan, schedule_plan_of
from borgtrace.extensions import Registry
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.scheduling import SCHEDULER_KINDS
from borgtrace.scheduling.replay import RECORDED
from borgtrace.storage import open_regular

ExperimentPlan: TypeAlias = PeakPlan | SchedulePlan
_LARGEST = 1 << 20
"""Bytes of a file: one of a hundred policies has a few thousand."""


def read_plan(path: str | Path) -> ExperimentPlan:
    """Return the experiment that a TOML file describes; stores are looked for beside it.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    SourceError
        It cannot be read, or is not TOML.
    UsageError
        It has an unknown name or a wrong value, or names a policy of code that the user did not name.
    """
    file = Path(path)
    try:
        with open_regular(file) as opened:
            content = opened.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise SourceError(str(file), "too large for an experiment", expected="at most 1 MiB")
        values = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower() if error.errno else str(error)
        raise SourceError(str(file), reason) from error
    # Lists in lists in lists … end in the limit of Python.
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(str(file), f"not TOML ({error})", way_out="correct the line") from error
    try:
        plan = plan_of(values, file.parent)
        check_origins(plan)
    except UsageError as error:
        raise UsageError(
            f"{file}: {error.where}",
            error.what,
            expected=error.expected,
            got=error.got,
            way_out=error.way_out,
        ) from error
    return plan


def plan_of(values: Values, folder: Path | None = None) -> ExperimentPlan:
    """Return the experiment that plain values describe: those of a TOML file, or the arguments of a call.

    Parameters
    ----------
    values
        As for :func:`borgtrace.experiments.peaks.plan.peak_plan_of`, or with ``schedulers`` in place of ``policies``
        as for :func:`borgtrace.experiments.schedules.plan.schedule_plan_of`.
    folder
        Where relative paths of stores begin; the working directory where None.

    Raises
    ------
    UsageError
        It has both, an unknown name, or a value that is not as it must be.
    """
    if "schedulers" not in values:
        return peak_plan_of(values, folder)
    if "policies" in values:
        raise UsageError(
            "schedulers",
            "an experiment compares one kind: policies save, and under schedulers tasks wait",
            expected="policies or schedulers",
            got="both",
            way_out="make two experiments of it",
        )
    return schedule_plan_of(values, folder)


def check_origins(plan: ExperimentPlan) -> None:
    """Refuse code of others that the user did not name: a file must not choose which code runs.

    Raises
    ------
    UsageError
        A policy or a scheduler is neither one of borgtrace's nor in what ``--from`` has added.
    """
    if isinstance(plan, PeakPlan):
        for family, members in plan.policies.items():
            for member in members:
                for part in str(member).split("+"):
                    name = part.partition(":")[0].strip()
                    check_origin(f"policies.{family}", name, POLICY_KINDS, POLICY_KINDS.named)
        return
    known = (RECORDED, *SCHEDULER_KINDS.named)
    for family, schedulers in plan.schedulers.items():
        for scheduler in schedulers:
            name = re.split("[:+]", str(scheduler))[0]
            check_origin(f"schedulers.{family}", name, SCHEDULER_KINDS, known)


def check_origin(where: str, name: str, kinds: Registry[Any], known: Sequence[str]) -> None:
    """Refuse a name that is unknown, or that of a package which the user did not name.

    Parameters
    ----------
    where
        The part of the experiment, for errors.
    name, kinds
        What is named, and all that have its kind.
    known
        Names that a file may use.

    Raises
    ------
    UsageError
        It is refused.
    """
    if name in kinds and name not in known:
        raise UsageError(
            where,
            f"a file may not run the code of {kinds.origin(name)}",
            got=name,
            way_out=f"name it yourself: --from {kinds.module_of(name)}",
        )
    check_names(where, [name], known, f"no such {kinds.noun}")
