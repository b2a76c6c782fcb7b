"""Stores that the tests of datasets share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.store import Store

from .stores import ArrayStore, array_store


@pytest.fixture
def small() -> ArrayStore:
    """Two hundred tasks of 1 to 60 windows, in memory."""
    return array_store([int(k) for k in np.random.default_rng(3).integers(1, 61, 200)])


@pytest.fixture(scope="session")
def synthetic_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a synthetic cell of 20 machines and 4 hours (below a second)."""
    from borgtrace import synth
    from borgtrace.ingest import IngestOptions, ingest

    folder = tmp_path_factory.mktemp("datasets")
    synth.generate(
        folder / "raw",
        machines=20,
        hours=4,
        seed=1,
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.fixture
def store(synthetic_store: Path) -> Store:
    """The synthetic store, opened."""
    return borgtrace.open(synthetic_store)
