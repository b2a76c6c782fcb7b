"""Records that DuckDB's readers take, which the validating reader would take as well, only slower."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.files.raw_layout import NeedsValidation, raw_layout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.read import sample_checks
from borgtrace.ingest.read.json_lines import read_json_lines
from borgtrace.ingest.read.parquet import read_parquet
from borgtrace.ingest.read.text_fields import field_type
from borgtrace.schema import DIALECTS
from borgtrace.schema.dialects import GOOGLE_2019

LAYOUT = raw_layout(GOOGLE_2019, "machine_attributes")
LINE = b'{"time":"5","machine_id":"7","name":"a","value":"b"}\n'


def records(path: Path, text: bytes) -> list[pa.Table]:
    path.write_bytes(text)
    return list(read_json_lines(Source(path, GOOGLE_2019, "machine_attributes", "json"), LAYOUT))


def test_clean_lines_need_no_validation(tmp_path: Path) -> None:
    (chunk,) = records(tmp_path / "x.json", LINE + LINE.replace(b'"7"', b'"8"'))
    assert chunk.column("time").to_pylist() == [5, 5]
    assert chunk.column("machine_id").to_pylist() == [7, 8]
    assert chunk.column("value").to_pylist() == ["b", "b"]


@pytest.mark.parametrize(
    "text",
    [
        b"\n" + LINE,  # DuckDB skips it, and it is the very first byte
        LINE.replace(b'"a"', b'"\\u0061"'),
        LINE.replace(b'"7"', b"7"),
    ],
)
def test_lines_that_duckdb_would_forgive_are_validated(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(NeedsValidation):
        records(tmp_path / "x.json", LINE * 2 + text if text[:1] != b"\n" else text)


def test_a_shard_may_lack_a_column_that_none_of_its_rows_fills(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(
        pa.table(
            {
                "time": [5, 6],
                "machine_id": [7, 8],
                "name": ["a", "c"],
            }
        ),
        path,
    )
    (chunk,) = read_parquet(Source(path, GOOGLE_2019, "machine_attributes", "parquet"), LAYOUT)
    assert chunk.column("machine_id").to_pylist() == [7, 8]
    assert chunk.column("name").to_pylist() == ["a", "c"]
    assert chunk.column("value").to_pylist() == [None, None]


def test_samples_are_numbered_on_from_buffer_to_buffer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample_checks, "MOST_SAMPLES", 2)
    labels = {"__name__": "container_cpu_usage_seconds_total", "pod": "p", "container": "c"}
    result = [
        {"metric": labels | {"node": node}, "values": [[1 + place, "1"] for place in range(3)]}
        for node in ("a", "b")
    ]
    path = tmp_path / "cpu.json"
    path.write_text(
        json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    )
    stage(classify(path), tmp_path / "staging")
    (samples,) = (tmp_path / "staging" / "samples").glob("*.parquet")
    rows = pq.read_table(samples).to_pydict()
    assert rows["source_row"] == [0, 1, 2, 3, 4, 5]
    assert rows["time"] == [1_000_000, 2_000_000, 3_000_000] * 2


def test_a_number_in_another_unit_is_read_as_a_double() -> None:
    """Its column is an integer, but half a second is 500,000 microseconds."""
    layout = raw_layout(DIALECTS["prometheus"], "container_cpu_usage_seconds_total")
    assert {field.raw.name: field_type(field) for field in layout.fields if field.is_scaled}[
        "time"
    ] == "DOUBLE"
