"""Small stores that every question is run on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from borgtrace.question import EngineTables, Tables
from tests.wide import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _build(folder: Path, generation: str, machines: int, hours: float) -> Path:
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.synth import generate

    generate(folder / "raw", generation, machines, hours, 1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Synthetic cells by generation: a folder with ``raw`` and ``store`` (12 machines, six hours)."""
    return {
        generation: _build(tmp_path_factory.mktemp(f"cell{generation}"), generation, 12, 6.0)
        for generation in ("2011", "2019")
    }


@pytest.fixture(scope="session")
def tiny_cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One machine, one hour."""
    return {
        generation: _build(tmp_path_factory.mktemp(f"tiny{generation}"), generation, 1, 1.0)
        for generation in ("2011", "2019")
    }


@pytest.fixture(scope="session")
def duckdb_tables(cells: dict[str, Path]) -> dict[str, Tables]:
    """The synthetic cells on DuckDB, opened once: questions share what they derive."""
    return {generation: EngineTables.of(cell / "store") for generation, cell in cells.items()}


@pytest.fixture(scope="session")
def spark_tables(spark: SparkSession, cells: dict[str, Path]) -> dict[str, Tables]:
    """The synthetic cells on Spark's local threads."""
    return {
        generation: EngineTables.of(cell / "store", SPARK) for generation, cell in cells.items()
    }
