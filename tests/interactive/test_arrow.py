"""Answers, tables and traces in pandas, polars, DuckDB, PyArrow and Ibis, by Arrow's C interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.interactive.answer import StoreAnswer
from tests.interactive.test_interactive import path, store  # noqa: F401 - the store of two jobs, as fixtures


def in_duckdb(value: object) -> list[dict[str, Any]]:
    """Read with DuckDB, which finds the variable by its name."""
    with duckdb.connect() as connection:
        connection.register("value", value)
        return connection.sql("SELECT * FROM value").to_arrow_table().to_pylist()


READERS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "pandas": lambda value: pa.Table.from_pandas(pd.DataFrame.from_arrow(value)).to_pylist(),
    "polars": lambda value: pl.DataFrame(value).to_dicts(),
    "duckdb": in_duckdb,
    "pyarrow": lambda value: pa.table(value).to_pylist(),
    "ibis": lambda value: ibis.memtable(value).to_pyarrow().to_pylist(),
}
"""Each library, as a function that takes an object and gives the rows that it sees."""
CPU = [0.1, 0.2, 0.3]
"""Of the only task with usage."""


def close(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with their numbers rounded: 0.1 of 32 bits is not 0.1."""
    return [
        {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in row.items()
        }
        for row in rows
    ]


@pytest.fixture
def answer(store: borgtrace.Store) -> StoreAnswer:  # noqa: F811 - a fixture
    return store.ask("machine_shapes")


@pytest.mark.parametrize("library", READERS)
def test_each_library_takes_an_answer(library: str, answer: StoreAnswer) -> None:
    rows = READERS[library](answer)
    assert [row["n_at_start"] for row in rows] == [2]
    assert rows == answer.table.to_pylist()


@pytest.mark.parametrize("library", READERS)
def test_each_library_takes_a_table(library: str, store: borgtrace.Store) -> None:  # noqa: F811
    usage = store.arrow("instance_usage", ["collection_id", "start_time", "average_cpu"])
    times = (600_000_000, 900_000_000, 1_200_000_000)
    expected = [
        {"collection_id": 7, "start_time": time, "average_cpu": cpu}
        for time, cpu in zip(times, CPU, strict=True)
    ]
    # Twice: a table is no stream that is used up.
    assert close(READERS[library](usage)) == expected
    assert close(READERS[library](usage)) == expected


@pytest.mark.parametrize("library", READERS)
def test_each_library_takes_the_windows_of_a_task(
    library: str,
    store: borgtrace.Store,  # noqa: F811
) -> None:
    rows = close(READERS[library](store.trace(7)))
    assert [row["start_time"] for row in rows] == [600, 900, 1_200]
    assert [row["average_cpu"] for row in rows] == CPU


@pytest.mark.parametrize("library", READERS)
def test_each_library_takes_tasks_with_their_windows(
    library: str,
    store: borgtrace.Store,  # noqa: F811
) -> None:
    rows = READERS[library](store.traces())
    assert [row["collection_id"] for row in rows] == [7, 8]
    assert [round(float(cpu), 6) for cpu in rows[0]["average_cpu"]] == CPU
    assert list(rows[1]["average_cpu"]) == []


def test_nothing_is_copied(store: borgtrace.Store, answer: StoreAnswer) -> None:  # noqa: F811
    trace = store.trace(7)
    traces = store.traces()
    cpu = trace.average_cpu.ctypes.data
    flat = traces.average_cpu.ctypes.data
    assert pa.table(trace)["average_cpu"].chunk(0).buffers()[1].address == cpu
    lists = pa.table(traces)["average_cpu"].chunk(0)
    assert lists.values.buffers()[1].address == flat
    assert lists.buffers()[1].address == traces.offsets.ctypes.data
    frame = pl.DataFrame(trace)
    assert frame["average_cpu"].to_numpy(allow_copy=False).ctypes.data == cpu
    (own,) = answer.table["n_at_start"].chunks
    (theirs,) = pa.table(answer)["n_at_start"].chunks
    assert theirs.buffers()[1].address == own.buffers()[1].address
    assert pl.DataFrame(answer)["n_at_start"].to_numpy(allow_copy=False).ctypes.data == (
        own.buffers()[1].address
    )


def test_a_missing_value_of_a_trace_stays_nan(store: borgtrace.Store) -> None:  # noqa: F811
    memory = pa.table(store.trace(7))["average_memory"]
    assert memory.null_count == 0
    assert np.isnan(memory.to_pylist()[1])


def test_a_table_comes_batch_by_batch(tmp_path: Path) -> None:
    """250,000 rows come in three batches, and a reader that stops after the first one has read no more."""
    rows = [f"{600_000_000 + n},,{n // 10},{n % 10},,0,u,0,9,0.2,0.1,0,0" for n in range(250_000)]
    folder = tmp_path / "raw" / "task_events"
    folder.mkdir(parents=True)
    (folder / "part-00000-of-00001.csv").write_text("\n".join(rows) + "\n")
    borgtrace.ingest.ingest([tmp_path / "raw"], tmp_path / "store")
    table = borgtrace.open(tmp_path / "store").arrow("instance_events", ["collection_id"])
    with pa.RecordBatchReader.from_stream(table) as reader:
        assert reader.schema.names == ["collection_id"]
        sizes = [batch.num_rows for batch in reader]
    assert max(sizes) <= 100_000
    assert sum(sizes) == 250_000
    ids = pa.table(table)["collection_id"].to_numpy()
    # In key order.
    assert (np.diff(ids) >= 0).all()


def test_columns_keep_their_order(store: borgtrace.Store) -> None:  # noqa: F811
    table = pa.table(store.arrow("tasks", ["priority", "collection_id"]))
    assert table.to_pydict() == {"priority": [9, 1], "collection_id": [7, 8]}
    assert pa.table(store.arrow("tasks")).num_rows == 2
    assert pa.schema(store.arrow("tasks", ["priority"])) == table.schema.remove(1)


def test_unknown_names_are_refused(store: borgtrace.Store) -> None:  # noqa: F811
    with pytest.raises(
        UsageError, match=r"^name: no such table: .*got task\w*; did you mean tasks\?$"
    ):
        store.arrow("taskz")
    with pytest.raises(UsageError, match=r"^columns: no such column: .*did you mean priority"):
        store.arrow("tasks", ["prioritee"])


def test_a_hostile_name_is_no_column(store: borgtrace.Store) -> None:  # noqa: F811
    with pytest.raises(UsageError, match=r"^columns: no such column: "):
        store.arrow("tasks", ['priority" FROM tasks; DROP TABLE tasks; --'])
