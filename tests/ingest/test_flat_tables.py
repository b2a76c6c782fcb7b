"""Tables of 2019 with flat columns, as pandas and BigQuery write them: the same store as of nested records."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.recognition import classify
from tests.ingest.own_data import rows

USAGE: list[dict[str, Any]] = [
    {
        "start_time": 600_000_000,
        "end_time": 900_000_000,
        "collection_id": 330_587_238_433,
        "instance_index": number,
        "machine_id": 23_624_491_139,
        "collection_type": 0,
        "average_usage": {"cpus": 0.25, "memory": 0.125},
        "maximum_usage": {"cpus": 0.5, "memory": 0.25},
        "random_sample_usage": {"cpus": 0.375, "memory": None},
        "cpu_usage_distribution": [number / 16] * 11,
        "tail_cpu_usage_distribution": [number / 16] * 9,
    }
    for number in range(3)
]
EVENTS: list[dict[str, Any]] = [
    {
        "time": 600_000_000,
        "type": 3,
        "collection_id": 330_587_238_433,
        "instance_index": number,
        "machine_id": 23_624_491_139,
        "resource_request": {"cpus": 0.5, "memory": 0.25},
    }
    for number in range(3)
]
MACHINES: list[dict[str, Any]] = [
    {"time": 0, "machine_id": 5 + number, "type": 1, "capacity": {"cpus": 0.5, "memory": 1.0}}
    for number in range(3)
]
TABLES = {"instance_usage": USAGE, "instance_events": EVENTS, "machine_events": MACHINES}


def _flat(record: dict[str, Any], joint: str) -> dict[str, Any]:
    flat = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}{joint}{inner}": amount for inner, amount in value.items()}
        else:
            flat[name] = value
    return flat


def _as_csv(records: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _as_parquet(records: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), file)
    return file.getvalue()


def _as_feather(records: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pyarrow.feather.write_feather(pa.Table.from_pylist(records), file)
    return file.getvalue()


def _as_json(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


WRITERS = {"csv": _as_csv, "parquet": _as_parquet, "feather": _as_feather, "json": _as_json}


def _digest(folder: Path, name: str, content: bytes) -> str:
    folder.mkdir()
    (folder / name).write_bytes(content)
    result = ingest([folder / name], folder / "store", IngestOptions(jobs=1))
    assert result.manifest is not None
    (entry,) = result.manifest.sources
    assert (entry.stored, entry.quarantined, entry.counters) == (3, 0, {})
    assert result.manifest.generation == "2019"
    return result.manifest.digest


@pytest.mark.parametrize("joint", [".", "_", "__"])
@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("table", TABLES)
def test_flat_columns_make_the_store_of_nested_records(
    tmp_path: Path, table: str, ending: str, joint: str
) -> None:
    nested = _digest(tmp_path / "nested", f"{table}-0.json", _as_json(TABLES[table]))
    flat = [_flat(record, joint) for record in TABLES[table]]
    # Not by its name alone.
    assert _digest(tmp_path / "flat", f"mine.{ending}", WRITERS[ending](flat)) == nested


def test_columns_that_no_table_has_are_named(tmp_path: Path) -> None:
    """BigQuery calls fields of several records ``cpus``, ``cpus_1`` …: nothing says which is which."""
    records = []
    for record in USAGE:
        flat = {name: value for name, value in record.items() if not isinstance(value, dict)}
        records.append({**flat, "cpus": 0.25, "cpus_1": 0.5})
    path = tmp_path / "instance_usage.parquet"
    path.write_bytes(_as_parquet(records))
    result = ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    assert result.manifest is not None
    assert result.manifest.notes == (
        "instance_usage.parquet: not read, as instance_usage has none: cpus, cpus_1.",
    )
    store = borgtrace.open(tmp_path / "store")
    assert rows(store, "instance_usage", "count(average_cpu)") == [(0,)]


def test_a_table_without_flat_columns_is_that_of_2019(tmp_path: Path) -> None:
    for table, records in TABLES.items():
        path = tmp_path / f"{table}.parquet"
        path.write_bytes(_as_parquet(records))
        assert classify(path).dialect.name == "2019"


@pytest.mark.parametrize("ending", WRITERS)
def test_two_spellings_of_a_column_are_refused(tmp_path: Path, ending: str) -> None:
    records = [{**_flat(record, "."), "average_usage_cpus": 0.5} for record in USAGE]
    path = tmp_path / f"instance_usage.{ending}"
    path.write_bytes(WRITERS[ending](records))
    with pytest.raises(SourceError) as error:
        classify(path)
    assert "two columns have one name: got " in str(error.value)
    assert "average_usage_cpus" in str(error.value)


def test_lists_that_are_no_json_are_refused_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "instance_usage.csv"
    path.write_text(
        "start_time,end_time,collection_id,instance_index,average_usage.cpus,cpu_usage_distribution\n"
        "600000000,900000000,5,0,0.5,[0.1 0.2]\n600000000,900000000,5,1,0.5,[]\n"
    )
    result = ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    assert (result.staged[0].stored, result.staged[0].quarantined) == (1, 1)
