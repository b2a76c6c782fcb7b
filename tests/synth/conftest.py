"""One small trace per generation, with and without faults, made once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate


class Trace:
    """A generated folder, its truth, and the store that ingest makes of it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = generate(folder / "raw", **options)
        self.truth: dict[str, Any] = json.loads((self.folder / "truth.json").read_text())
        self.path = folder / "store"
        ingest([self.folder], self.path, IngestOptions(jobs=1))


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """2011, 24 machines, 6 hours, faults planted."""
    return Trace(
        tmp_path_factory.mktemp("faulty"),
        machines=24,
        hours=6,
        seed=5,
    )


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """2011 without faults."""
    return Trace(
        tmp_path_factory.mktemp("clean"),
        machines=24,
        hours=6,
        seed=6,
        anomalies=False,
    )


@pytest.fixture(scope="session")
def clean_2019(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """2019 without faults, JSON."""
    options = {
        "generation": "2019",
        "machines": 20,
        "hours": 6,
        "seed": 7,
        "anomalies": False,
    }
    return Trace(tmp_path_factory.mktemp("clean2019"), **options)


@pytest.fixture(scope="session")
def faulty_2019(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """2019 with faults, JSON."""
    return Trace(
        tmp_path_factory.mktemp("faulty2019"),
        generation="2019",
        machines=16,
        hours=5,
        seed=8,
    )


@pytest.fixture(scope="session")
def faulty_parquet(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The same trace, Parquet."""
    options = {
        "generation": "2019",
        "machines": 16,
        "hours": 5,
        "seed": 8,
        "file_format": "parquet",
    }
    return Trace(tmp_path_factory.mktemp("faultyparquet"), **options)
