"""Engines and files that the contract suite shares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace import engine
from borgtrace.schema import TABLES, Column
from borgtrace.schema.arrow import arrow_schema
from tests.wide import SPARK

# The constant itself: pytest knows a parameter by its identity, and starts Spark again for another text like it.
on_spark = pytest.mark.parametrize("con", [SPARK], indirect=True)

VALUES = {
    "int64": [
        0,
        -5,
        2**63 - 1,
        2**53 + 1,
    ],
    "int32": [
        0,
        -1,
        2**31 - 1,
        7,
    ],
    "float32": [0.0, 0.1, 2.861e-06, 6.633],
    "float64": [
        0.0,
        0.1,
        1e-300,
        2**53 + 2.0,
    ],
    "string": ["", "4Ljgw1sq=", "naïve 'quote' \\ \"x\"", "−1"],
    "enum": ["SUBMIT", "SCHEDULE", "KILL", "SUBMIT"],
    "bool": [True, False, True, False],
    "list<float32>": [
        [],
        [0.1] * 11,
        [0.25, 0.5],
        [1.0],
    ],
    "list<int64>": [
        [],
        [2**53 + 1],
        [1, 2, 3],
        [-1],
    ],
}


def column_values(column: Column) -> list[object]:
    """Four telling values of a column's type, and a NULL where it may be NULL."""
    return [*VALUES[column.type], None if column.nullable else VALUES[column.type][1]]


def sample(name: str) -> pa.Table:
    table = TABLES[name]
    return pa.table(
        {column.name: column_values(column) for column in table.columns},
        schema=arrow_schema(table),
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Each table in two Parquet files, below a directory whose name needs care."""
    root = tmp_path_factory.mktemp("a store [1] {x}*, it's")
    paths: dict[str, list[str]] = {}
    for name in TABLES:
        rows, folder = sample(name), root / name
        folder.mkdir()
        for part, piece in enumerate((rows.slice(0, 3), rows.slice(3))):
            pq.write_table(piece, folder / f"part-{part:05d}.parquet")
        paths[name] = [str(path) for path in sorted(folder.iterdir())]
    return paths


@pytest.fixture(scope="session", params=["duckdb", SPARK])
def con(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[object]:
    """Each engine in turn."""
    if request.param == SPARK:
        request.getfixturevalue("spark")
        yield engine.connect(SPARK, memory="1GB")
        return
    spill: Path = tmp_path_factory.mktemp("spill")
    backend = engine.connect(request.param, memory="1GB", temp_directory=spill / "x")
    yield backend
    backend.disconnect()
