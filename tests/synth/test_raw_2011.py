"""The files of 2011: names, widths, order, checksums, schema."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.synth.options import part_bounds
from tests.synth.reading import read_lines, read_rows


@pytest.mark.parametrize("table", GOOGLE_2011.tables)
def test_parts_have_the_names_widths_and_order_of_the_real_ones(table: str, faulty: Any) -> None:
    raw = GOOGLE_2011.tables[table]
    n_parts = 1 if raw.parts == 1 else len(part_bounds(6)) - 1
    expected = [f"part-{part:05d}-of-{n_parts:05d}.csv.gz" for part in range(n_parts)]
    folder = faulty.folder / table
    assert sorted(path.name for path in folder.iterdir()) == expected
    rows = read_rows(faulty.folder, table)
    assert {len(row) for row in rows} == {len(raw.fields)}
    times = [int(row[0]) for row in rows]
    assert times == sorted(times)
    assert len(rows) == faulty.truth["rows"][table]


@pytest.mark.parametrize("table", ["job_events", "task_events", "task_constraints", "task_usage"])
def test_tables_are_cut_at_the_same_times(table: str, faulty: Any) -> None:
    bounds = faulty.truth["bounds"]
    paths = sorted((faulty.folder / table).iterdir())
    for part, path in enumerate(paths):
        first = 0 if part == 0 else bounds[part]
        for line in read_lines(path):
            time, _, _ = line.partition(",")
            assert first <= int(time) < bounds[part + 1]


def test_checksums(faulty: Any) -> None:
    lines = (faulty.folder / "SHA256SUM").read_text().splitlines()
    assert lines
    for line in lines:
        digest, name = line.split("  ")
        content = (faulty.folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest


def test_schema_is_the_official_one(faulty: Any, trace: Path) -> None:
    official = trace / "clusterdata-2011-2" / "schema.csv"
    written = faulty.folder / "schema.csv"
    assert written.read_text() == official.read_text()


def test_gzip_carries_no_time(faulty: Any) -> None:
    for path in faulty.folder.glob("*/*.gz"):
        header = path.read_bytes()[:10]
        assert header[4:8] == b"\0\0\0\0"
