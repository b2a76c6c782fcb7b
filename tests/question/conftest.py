"""Small stores that every question is run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from borgtrace.errors import EngineError
from borgtrace.question import EngineTables, Tables


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
def spark_tables(cells: dict[str, Path]) -> Iterator[dict[str, Tables]]:
    """The synthetic cells on Spark's local threads."""
    try:
        yield {
            generation: EngineTables.of(cell / "store", "local[2]")
            for generation, cell in cells.items()
        }
    except EngineError as error:
        pytest.skip(f"Spark is not there: {error}")
