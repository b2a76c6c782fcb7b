"""A killed export leaves nothing that looks whole, and the next one is as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.export import JobsLayout, export_jobs
from borgtrace.export.jobs import exporting
from tests.datasets.test_build import digest
from tests.datasets.test_faults import killed

pytestmark = pytest.mark.wide


def _export(
    ready: Any,
    folder: Path,
    out: Path,
) -> None:
    exporting.ROWS_PER_CALL = 500
    store = borgtrace.open(folder)
    ready.set()
    export_jobs(
        store,
        out,
        JobsLayout("sqlite"),
        workers=2,
    )


def test_a_killed_export_is_exported_again(synthetic_store: Path, tmp_path: Path) -> None:
    store = borgtrace.open(synthetic_store)
    export_jobs(
        store,
        tmp_path / "whole",
        JobsLayout("sqlite"),
        workers=1,
    )
    whole = digest(tmp_path / "whole")
    rng = random.Random(6)
    out = tmp_path / "out"
    for _ in range(3):
        killed(_export, rng.uniform(0.3, 2.0), synthetic_store, out)
        if out.exists():
            assert digest(out) == whole
            break
    else:
        export_jobs(
            store,
            out,
            JobsLayout("sqlite"),
            workers=1,
        )
    assert digest(out) == whole
