"""A format that no code knows: CSV with a header, another unit, another zero, words for codes, an unused field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.dialects import DIALECTS, Dialect, RawField, RawTable

CLOCK = {"scale": 1_000_000, "offset": 600_000_000}
HEADER = "cpu_percent,note,ts,job,task,event,node\n"
RIGHT = ["50,first,0,7,0,new,\n", "50,,1.5,7,0,start,3\n", "12.5,x,2,7,1,new,\n"]
WRONG = {
    "50,,x,7,0,new,\n": "unparsable_value",
    "50,,3,7,0,gone,\n": "unknown_enum_code",
    "-1,,3,7,0,new,\n": "negative_resource",
    "50,,-601,7,0,new,\n": "integer_out_of_range",
    "50,,1e30,7,0,new,\n": "integer_out_of_range",
    "1e300,,3,7,0,new,\n": "unparsable_value",
    "50,,3,,0,new,\n": "null_in_mandatory_field",
    "50,3,7,0,new,\n": "wrong_column_count",
}
ROWS = [
    {
        "time": 600_000_000,
        "instance_index": 0,
        "type": "SUBMIT",
        "machine_id": None,
        "cpu_request": 0.5,
    },
    {
        "time": 601_500_000,
        "instance_index": 0,
        "type": "SCHEDULE",
        "machine_id": 3,
        "cpu_request": 0.5,
    },
    {
        "time": 602_000_000,
        "instance_index": 1,
        "type": "SUBMIT",
        "machine_id": None,
        "cpu_request": 0.125,
    },
]


@pytest.fixture(autouse=True)
def acme(monkeypatch):
    """Register a format for the time of a test."""
    raw = RawTable(
        "task_log",
        "instance_events",
        (
            RawField(
                "ts",
                "time",
                is_mandatory=True,
                **CLOCK,
            ),
            RawField("job", "collection_id", is_mandatory=True),
            RawField("task", "instance_index", is_mandatory=True),
            RawField("event", "type", is_mandatory=True),
            RawField("node", "machine_id"),
            RawField("cpu_percent", "cpu_request", scale=0.01),
            RawField("note", ""),
        ),
    )
    acme = Dialect(
        name="acme-2024",
        trace="acme-2024",
        title="Acme cluster trace 2024",
        formats=("csv",),
        tables={raw.name: raw},
        codes={"event_type": {"new": "SUBMIT", "start": "SCHEDULE"}},
        tie_order="file",
        shards="time",
        tiers=(("all", 0, 2**31 - 1),),
        origin=datetime(
            2024,
            3,
            1,
            tzinfo=UTC,
        ),
        span=timedelta(days=7),
        time_zones={"": "UTC"},
        anomalies={},
        publication=None,
    )
    monkeypatch.setitem(DIALECTS, acme.name, acme)


def _rows(store):
    query = "select time, instance_index, type, machine_id, cpu_request from instance_events order by time"
    return borgtrace.open(store).sql(query).to_pylist()


def test_the_fast_reader_gives_canonical_rows(tmp_path):
    (tmp_path / "log.csv").write_text(HEADER + "".join(RIGHT))
    result = ingest([tmp_path / "log.csv"], tmp_path / "store", IngestOptions(jobs=1))
    assert _rows(tmp_path / "store") == ROWS
    assert (result.manifest.generation, result.manifest.time_zone) == ("acme-2024", "UTC")


@pytest.mark.parametrize(("line", "reason"), WRONG.items())
def test_the_validating_reader_gives_the_same_rows_and_refuses_the_wrong_one(
    tmp_path,
    line,
    reason,
):
    (tmp_path / "log.csv").write_text(HEADER + RIGHT[0] + line + "".join(RIGHT[1:]))
    ingest([tmp_path / "log.csv"], tmp_path / "store", IngestOptions(jobs=1))
    assert _rows(tmp_path / "store") == ROWS
    (kept,) = (tmp_path / "store" / "quarantine").rglob("*.parquet")
    (refused,) = pq.read_table(kept).to_pylist()
    assert (refused["file"], refused["line"], refused["source_row"]) == ("log.csv", 3, 1)
    assert (refused["reason"], refused["raw"]) == (reason, line.strip())
    # The value of the column that is named, whichever it is.
    if refused["column"] is not None:
        names = HEADER.strip().split(",")
        fields = line.strip("\n").split(",")
        assert fields[names.index(refused["column"])] == (refused["value"] or "")
