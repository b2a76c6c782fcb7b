"""Folders that name columns, as Hive and Spark partition tables."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.own_data import hashed, rows


def _csv(table):
    lines = [",".join(table.column_names)]
    lines += [",".join(str(value) for value in row.values()) for row in table.to_pylist()]
    return ("\n".join(lines) + "\n").encode()


def _json(table):
    return pa.array([str(row).replace("'", '"') + "\n" for row in table.to_pylist()])


def _parquet(table):
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


WRITERS = {
    "part-0.csv": _csv,
    "part-0.parquet": _parquet,
    "part-0.json": lambda table: "".join(_json(table).to_pylist()).encode(),
}


def _ingested(folder, store):
    ingest([folder], store, IngestOptions(jobs=1, capacity="8cores"))
    return Store.open(store)


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_of_each_cluster_tells_its_tasks_from_those_of_others(tmp_path, name):
    for cluster, cpu in (("a", 2), ("b", 4)):
        folder = tmp_path / "usage" / f"cluster={cluster}" / "date=2026-11-01"
        folder.mkdir(parents=True)
        times = [1793491200, 1793491500, 1793491800]
        table = pa.table({"pod": ["web"] * 3, "timestamp": times, "cpu": [cpu, 1, cpu]})
        (folder / name).write_bytes(WRITERS[name](table))
    (tmp_path / "usage" / "_SUCCESS").write_bytes(b"")
    store = _ingested(tmp_path / "usage", tmp_path / "store")
    # 00:00 is 600 s; 8 cores are 1.
    assert rows(store, "instance_usage", "collection_id, start_time, average_cpu") == sorted(
        (hashed(f"{cluster}/web"), (600 + 300 * step) * SECOND, cores / 8)
        for cluster, cpu in (("a", 2), ("b", 4))
        for step, cores in enumerate((cpu, 1, cpu))
    )
    assert [note for note in store.manifest.notes if "folders" in note] == [
        "columns in the names of folders that are not read: date"
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_folders_of_hours_are_the_times_of_rows_without_one(tmp_path, name):
    for hour, cpu in (("00", 2), ("01", 4), ("02", 1)):
        folder = tmp_path / "usage" / "date=2026-11-01" / f"hour={hour}"
        folder.mkdir(parents=True)
        table = pa.table({"pod": ["web"], "cpu": [cpu]})
        (folder / name).write_bytes(WRITERS[name](table))
    store = _ingested(tmp_path / "usage", tmp_path / "store")
    # An hour is cut into twelve windows.
    hours = "min(start_time), max(end_time), average_cpu, count(*)"
    assert rows(store, "instance_usage", hours, "true GROUP BY average_cpu") == [
        (600 * SECOND, 4200 * SECOND, 0.25, 12),
        (4200 * SECOND, 7800 * SECOND, 0.5, 12),
        (7800 * SECOND, 11400 * SECOND, 0.125, 12),
    ]
