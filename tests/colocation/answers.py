"""What tests of experiments share: an answer as rows, a study that is only a pool, and what a claim measures of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from borgtrace.colocation import Study
from borgtrace.question import Claim, NotApplicable


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    return pa.table(columns).to_pylist()


def study_of(pool: Any) -> Study:
    return cast(Study, SimpleNamespace(pool=lambda options: pool))


def options(**given: Any) -> Any:
    return SimpleNamespace(**given)


def refused(reason: str) -> Any:
    return pytest.raises(NotApplicable, match=f"^{reason}$")


def measured(module: Any, id_: str, result: pa.Table) -> Any:
    claims: tuple[Claim, ...] = module.QUESTION.claims
    return next(claim for claim in claims if claim.id == id_).measure(result)
