"""Job logs of Helios, Marconi100 and Fugaku: rows invented in the documented formats, and what they are by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.job_samples import F_DATA, HELIOS, PM100, PM100_START
from tests.ingest.own_data import rows


def stored(path: Path, **options: str) -> Store:
    """Ingest a file and open its store."""
    ingest([path], path.parent / "store", IngestOptions(jobs=1, capacity="16cores", **options))
    return borgtrace.open(path.parent / "store")


def events(store: Store) -> list[tuple[Any, ...]]:
    """Return job, second on the store's clock, kind, CPUs and GPUs of all events."""
    found = rows(store, "instance_events", "collection_id, time, type, cpu_request, gpu_request")
    return [(job, time // SECOND - 600, *more) for job, time, *more in found]


def test_helios(tmp_path: Path) -> None:
    log = tmp_path / "cluster_log.csv"
    log.write_text(HELIOS)
    store = stored(log, time_zone="Asia/Shanghai")
    assert store.manifest.generation == "helios"
    assert events(store) == [
        (1425511, 61, "SCHEDULE", 0.0625, 1000),
        (1425511, 61, "SUBMIT", 0.0625, 1000),
        (1425511, 61 + 36_848, "FINISH", 0.0625, 1000),
        (1425512, 87, "SCHEDULE", 1, 4000),
        (1425512, 87, "SUBMIT", 1, 4000),
        (1425512, 87 + 249, "FAIL", 1, 4000),
        (1425513, 88, "SCHEDULE", 0.0625, 1000),
        (1425513, 88, "SUBMIT", 0.0625, 1000),
        (1425513, 88 + 675_233, "KILL", 0.0625, 1000),
    ]
    assert str(store.manifest.dialect.wall_clock(600 * SECOND)) == "2020-06-09 18:40:00+08:00"


def test_pm100(tmp_path: Path) -> None:
    pq.write_table(pa.table(PM100), tmp_path / "job_table.parquet")
    store = stored(tmp_path / "job_table.parquet")
    assert store.manifest.generation == "pm100"
    assert events(store) == [
        (1, 0, "SUBMIT", 8, 4000),
        (1, 60, "SCHEDULE", 8, 4000),
        (1, 1260, "FINISH", 8, 4000),
        (2, 0, "SUBMIT", 0.25, 0),
    ]
    assert store.manifest.basis["zero"] == int(PM100_START.timestamp()) * SECOND


def test_f_data(tmp_path: Path) -> None:
    pq.write_table(pa.table(F_DATA), tmp_path / "21_03.parquet")
    store = stored(tmp_path / "21_03.parquet")
    assert store.manifest.generation == "f-data"
    found = [event[1:] for event in events(store)]
    assert sorted(found) == [
        (0, "SUBMIT", 3, None),
        (10, "SUBMIT", 6, None),
        (60, "SCHEDULE", 3, None),
        (70, "SCHEDULE", 6, None),
        (120, "FINISH", 3, None),
        (190, "FAIL", 6, None),
    ]
    assert (
        "No file says its time zone: times are taken as UTC; --time-zone says another."
        in store.manifest.notes
    )
