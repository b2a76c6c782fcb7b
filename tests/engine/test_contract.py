"""One contract for all engines: a canonical table reads the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace import engine
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.schema import TABLES
from borgtrace.schema.arrow import arrow_schema

from .conftest import sample


def _key(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=_key)


@pytest.mark.parametrize("name", list(TABLES))
def test_table_reads_equal(con: Any, files: dict[str, list[str]], name: str) -> None:
    table = engine.read_table(con, TABLES[name], files[name])
    result = engine.to_arrow(table)
    assert table.schema() == ibis_schema(TABLES[name])
    assert [field.type for field in result.schema] == [
        field.type for field in arrow_schema(TABLES[name])
    ]
    assert _rows(result) == _rows(sample(name))


@pytest.mark.parametrize("name", list(TABLES))
def test_no_files_give_an_empty_table_of_the_right_types(con: Any, name: str) -> None:
    table = engine.read_table(
        con,
        TABLES[name],
        [],
        name=f"no_{name}",
    )
    result = engine.to_arrow(table)
    assert table.schema() == ibis_schema(TABLES[name])
    assert result.num_rows == 0
    assert [field.type for field in result.schema] == [
        field.type for field in arrow_schema(TABLES[name])
    ]


def test_missing_file_is_an_engine_error(con: Any) -> None:
    from borgtrace.errors import EngineError

    with pytest.raises(EngineError, match="cannot read machine_events") as caught:
        engine.to_arrow(
            engine.read_table(
                con, TABLES["machine_events"], ["/nowhere/machine_events/part-00000.parquet"]
            )
        )
    assert caught.value.way_out == "check the store with: borgtrace verify /nowhere"


def test_expression_over_two_tables_is_equal(con: Any, files: dict[str, list[str]]) -> None:
    events = engine.read_table(con, TABLES["instance_events"], files["instance_events"])
    usage = engine.read_table(con, TABLES["instance_usage"], files["instance_usage"])
    joined = events.join(usage.select("collection_id", "average_cpu"), "collection_id")
    result = engine.to_arrow(joined.group_by("type").agg(n=joined.count()).order_by("type"))
    # collection ids 0, −5, 2⁶³−1, 2⁵³+1 and −5 again: the pair of −5 matches itself four times
    assert result.to_pylist() == [
        {"type": "KILL", "n": 1},
        {"type": "SCHEDULE", "n": 4},
        {"type": "SUBMIT", "n": 2},
    ]


def test_integers_beside_null_keep_their_last_digit(con: Any, files: dict[str, list[str]]) -> None:
    events = engine.read_table(con, TABLES["instance_events"], files["instance_events"])
    assert (
        engine.to_arrow(events.select("machine_id"))["machine_id"].to_pylist().count(2**53 + 1) == 1
    )


def test_rows_in_memory_come_back_as_a_table_and_in_batches(con: Any) -> None:
    for values in ([9], [1, 2, 3]):  # the later table replaces the earlier one
        few = engine.put_table(con, "few", pa.table({"a": values}))
    assert sorted(engine.to_arrow(few)["a"].to_pylist()) == [1, 2, 3]
    assert sum(batch.num_rows for batch in engine.to_batches(few, 2)) == 3
    joined = few.join(ibis.memtable({"a": [2, 3, 4]}), "a")
    assert sorted(engine.to_arrow(joined)["a"].to_pylist()) == [2, 3]


def test_a_column_that_files_of_an_earlier_version_lack_is_null(con: Any, tmp_path: Path) -> None:
    old = tmp_path / "part-00000.parquet"
    pq.write_table(sample("machine_events").drop_columns(["platform_id"]), old)
    rows = engine.to_arrow(
        engine.read_table(
            con,
            TABLES["machine_events"],
            [str(old)],
            name="old",
        )
    ).to_pylist()
    expected = [row | {"platform_id": None} for row in sample("machine_events").to_pylist()]
    assert sorted(rows, key=_key) == sorted(expected, key=_key)
