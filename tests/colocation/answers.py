"""What tests of experiments share: an answer as rows, studies and options, and what a claim measures of an answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study, TaskPool
from borgtrace.question import Claim, NotApplicable


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    return pa.table(columns).to_pylist()


def study_of(pool: TaskPool) -> Study:
    return Study(pool)


def options(**given: Any) -> ColocationOptions:
    return ColocationOptions(**given)


def refused(reason: str) -> Any:
    return pytest.raises(NotApplicable, match=f"^{reason}$")


def measured(module: Any, id_: str, result: pa.Table) -> Any:
    claims: tuple[Claim, ...] = module.QUESTION.claims
    return next(claim for claim in claims if claim.id == id_).measure(result)
