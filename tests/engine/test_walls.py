"""Every connection that looks at foreign data reaches nothing beside it, loads nothing, and keeps its settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from borgtrace.engine import guard
from borgtrace.ingest.build.sorting_limits import sorting_connection, within_reach
from tests.architecture.test_outputs import modules_with

Opener = Callable[[Path], duckdb.DuckDBPyConnection]
OPENERS: dict[str, Opener] = {
    "a foreign file": lambda folder: guard.open_file(folder / "inside" / "file.csv"),
    "values of a file": lambda folder: guard.open_values(),
    "a table of tasks": lambda folder: guard.open_tasks(pa.table({"a": [1]})),
    "a store that is read": lambda folder: guard.open_store(folder / "inside", {}),
    "a store that is built": lambda folder: sorting_connection(
        "200MB", 1, within_reach(folder / "inside")
    ),
}
STATEMENTS = [
    "COPY (SELECT 1) TO '{folder}/written.csv'",
    "COPY (SELECT 1) TO '{folder}/inside/../written.csv'",
    "EXPORT DATABASE '{folder}/written'",
    "ATTACH '{folder}/written.db'",
    "SELECT * FROM read_text('{folder}/secret')",
    "SELECT * FROM read_csv('{folder}/inside/../secret')",
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM glob('{folder}/*')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
    "SET threads = 2",
    "SET enable_external_access = true",
    "SET allowed_directories = ['/']",
    "RESET lock_configuration",
    "PRAGMA enable_profiling = 'json'",
]


@pytest.mark.parametrize("opener", OPENERS)
def test_no_connection_reaches_further(opener: str, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret.csv").write_text("a\nsecret\n")
    with OPENERS[opener](tmp_path) as connection:
        for statement in STATEMENTS:
            with pytest.raises(duckdb.Error):
                connection.execute(statement.format(folder=tmp_path)).fetchall()
    present = sorted(path.name for path in tmp_path.iterdir())
    assert present == ["inside", "secret", "secret.csv"]


def test_connections_come_from_here() -> None:
    """What else opens one: for each the reason why no foreign text can be in its SQL."""
    assert modules_with(
        "embedded.raw_connection", "duckdb.connect", "borgtrace.engine.embedded.raw_connection"
    ) == {
        "engine/__init__.py",  # questions: whole queries that Ibis writes over declared columns
        "engine/embedded.py",  # claims: whole queries of questions over their answers
        "engine/guard.py",
        "engine/task_tables.py",  # parts of these in tasks of Spark; locked
        "engine/typed_sql.py",  # runs nothing; locked
        "ingest/build/sorting_limits.py",  # locked where it is opened
        "store/ibis_tables.py",  # the user's own connection in Python
        "synth/truth.py",  # our own trace
    }
