"""The files of 2011: names, widths, order, checksums, schema."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.synth.options import part_bounds
from tests.synth.reading import read_lines, read_rows


def test_parts_have_the_names_widths_and_order_of_the_real_ones(faulty: Any) -> None:
    parts = len(part_bounds(8)) - 1
    for table, raw in GOOGLE_2011.tables.items():
        number = 1 if raw.parts == 1 else parts
        names = sorted(p.name for p in (faulty.folder / table).iterdir())
        assert names == [f"part-{i:05d}-of-{number:05d}.csv.gz" for i in range(number)]
        rows = read_rows(faulty.folder, table)
        assert {len(row) for row in rows} == {len(raw.fields)}
        times = [int(row[0]) for row in rows]
        assert times == sorted(times)
        assert len(rows) == faulty.truth["rows"][table]


def test_tables_are_cut_at_the_same_times(faulty: Any) -> None:
    bounds = faulty.truth["bounds"]
    for table in ("job_events", "task_events", "task_constraints", "task_usage"):
        for i, path in enumerate(sorted((faulty.folder / table).iterdir())):
            times = [int(line.split(",")[0]) for line in read_lines(path)]
            low = 0 if i == 0 else bounds[i]
            assert all(low <= time < bounds[i + 1] for time in times)


def test_checksums_and_schema(faulty: Any) -> None:
    for line in (faulty.folder / "SHA256SUM").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((faulty.folder / name).read_bytes()).hexdigest() == digest


def test_schema_is_the_official_one(faulty: Any, trace: Path) -> None:
    official = (trace / "clusterdata-2011-2" / "schema.csv").read_text()
    assert (faulty.folder / "schema.csv").read_text() == official


def test_gzip_carries_no_time(faulty: Any) -> None:
    for path in faulty.folder.glob("*/*.gz"):
        assert path.read_bytes()[4:8] == b"\0\0\0\0"
