"""Raw files typed in tests: lines of text to files, in any compression and split."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from borgtrace.ingest.files.sources import Format, Source
from borgtrace.schema import Dialect
from borgtrace.schema.dialects import GOOGLE_2011

HASH = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="

MACHINES = ["0,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493"]
ATTRIBUTES = [f"0,5,{HASH},1,0"]
JOBS = [f"0,,10,0,{HASH},3,{HASH},{HASH}"]
EVENTS = [f"0,,10,0,5,1,{HASH},3,9,0.125,0.07446,0.0004244,0"]
CONSTRAINTS = [f"0,10,0,1,{HASH},"]
USAGE = [
    "600000000,900000000,10,0,5,0.0015,0.067,0.075,0.0011,0.0015,0.067,2.861e-06,0.0001,0.039,0.0003,2.4,0.007,0,1,0"
]
TABLES = {
    "machine_events": MACHINES,
    "machine_attributes": ATTRIBUTES,
    "job_events": JOBS,
    "task_events": EVENTS,
    "task_constraints": CONSTRAINTS,
    "task_usage": USAGE,
}


def write_part(
    folder: Path,
    table: str,
    lines: Sequence[str],
    part: int = 0,
    *,
    compressed: bool = True,
    end: str = "\n",
) -> Path:
    """Write one part of a 2011 table under its official name."""
    path = folder / table / f"part-{part:05d}-of-00500.csv{'.gz' if compressed else ''}"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if compressed else data)
    return path


def write_cell(folder: Path) -> Path:
    """Write one row of every 2011 table."""
    for table, lines in TABLES.items():
        write_part(folder, table, lines)
    return folder


def write_records(
    folder: Path,
    table: str,
    records: Iterable[dict | str],
    shard: int = 0,
) -> Path:
    """Write one 2019 shard; records are dicts, or raw text lines."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [r if isinstance(r, str) else json.dumps(r, separators=(",", ":")) for r in records]
    path = folder / f"{table}-{shard:012d}.json.gz"
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    return path


def usage_record(**changes: object) -> dict:
    """Return a v3 usage record as BigQuery exports it, changed; None leaves a field out."""
    record = {
        "start_time": "600000000",
        "end_time": "900000000",
        "collection_id": "330587238433",
        "instance_index": "1",
        "machine_id": "23624491139",
        "alloc_collection_id": "0",
        "alloc_instance_index": "-1",
        "collection_type": "0",
        "average_usage": {"cpus": 0.25, "memory": 0.125},
        "maximum_usage": {"cpus": 0.5, "memory": 0.25},
        "random_sample_usage": {"cpus": 0.375},
        "assigned_memory": 0.25,
        "page_cache_memory": 0.0,
        "sample_rate": 1.0,
        "cpu_usage_distribution": [i / 32 for i in range(11)],
        "tail_cpu_usage_distribution": [0.3125 + i / 512 for i in range(9)],
    }
    record.update(changes)
    return {name: value for name, value in record.items() if value is not None}


def event_record(**changes: object) -> dict:
    """Return a v3 instance event, changed; None leaves a field out."""
    record = {
        "time": "700000000",
        "type": "3",
        "collection_id": "330587238433",
        "scheduling_class": "2",
        "collection_type": "0",
        "priority": "200",
        "alloc_collection_id": "0",
        "instance_index": "1",
        "machine_id": "23624491139",
        "alloc_instance_index": "-1",
        "resource_request": {"cpus": 0.5, "memory": 0.25},
    }
    record.update(changes)
    return {name: value for name, value in record.items() if value is not None}


def source_of(
    name: str,
    table: str,
    size: int,
    dialect: Dialect = GOOGLE_2011,
    kind: Format = "csv",
    **more: Any,
) -> Source:
    """Return a source of 2011 that no reader has looked at."""
    return Source(
        Path(name),
        dialect,
        table,
        kind,
        size=size,
        **{"packing": "gzip", **more},
    )
