"""Read an experiment from a TOML file, which may be anybody's: it is data, and nothing in it runs."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from borgtrace.errors import SourceError, UsageError, check_names
from borgtrace.experiments.plan import ExperimentPlan, plan_of
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.storage import open_regular

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


def check_origins(plan: ExperimentPlan) -> None:
    """Refuse policies of others that the user did not name: a file must not choose which code runs.

    Raises
    ------
    UsageError
        A policy is neither one of borgtrace's nor in what ``--from`` has added.
    """
    for family, members in plan.policies.items():
        for member in members:
            for part in str(member).split("+"):
                name = part.partition(":")[0].strip()
                if name in POLICY_KINDS and name not in POLICY_KINDS.named:
                    raise UsageError(
                        f"policies.{family}",
                        f"a file may not run the code of {POLICY_KINDS.origin(name)}",
                        got=name,
                        way_out=f"name it yourself: --from {POLICY_KINDS.module_of(name)}",
                    )
                check_names(f"policies.{family}", [name], POLICY_KINDS.named, "no such policy")
