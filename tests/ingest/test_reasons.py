"""Every reason code is triggered by a row, and what happens to the row is what its code says."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.find.recognition import classify
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.schema.reasons import REASONS
from tests.ingest.raw import (
    ATTRIBUTES,
    CONSTRAINTS,
    EVENTS,
    HASH,
    JOBS,
    MACHINES,
    TABLES,
    USAGE,
    event_record,
    usage_record,
    write_cell,
    write_part,
    write_records,
)


def _changed(line: str, **fields: str) -> str:
    parts = line.split(",")
    for position, text in fields.items():
        parts[int(position[1:]) - 1] = text
    return ",".join(parts)


MACHINE_RECORD = {
    "time": "0",
    "machine_id": "5",
    "type": "1",
    "capacity": {"cpus": 0.5, "memory": 0.25},
}
LIST = [i / 32 for i in range(11)]
REFUSED_2011 = [
    ("wrong_column_count", "task_usage", USAGE[0] + ",7"),
    ("wrong_column_count", "job_events", JOBS[0].rsplit(",", 1)[0]),
    ("unparsable_value", "task_usage", _changed(USAGE[0], f6="0.1x")),
    ("unparsable_value", "task_usage", _changed(USAGE[0], f6="nan")),
    ("unparsable_value", "task_usage", _changed(USAGE[0], f6="1e999")),
    ("unparsable_value", "task_usage", _changed(USAGE[0], f3="1.5")),
    ("unparsable_value", "task_events", _changed(EVENTS[0], f13="2")),
    ("unparsable_value", "job_events", _changed(JOBS[0], f4="x")),
    ("unparsable_value", "job_events", _changed(JOBS[0], f5="\udcff")),
    ("integer_out_of_range", "task_usage", _changed(USAGE[0], f4="4294967296")),
    ("integer_out_of_range", "task_usage", _changed(USAGE[0], f3="-1")),
    ("integer_out_of_range", "task_usage", _changed(USAGE[0], f1="9223372036854775808")),
    ("null_in_mandatory_field", "task_events", _changed(EVENTS[0], f9="")),
    ("null_in_mandatory_field", "machine_attributes", _changed(ATTRIBUTES[0], f5="")),
    ("unknown_enum_code", "task_events", _changed(EVENTS[0], f6="9")),
    ("unknown_enum_code", "machine_events", _changed(MACHINES[0], f3="3")),
    ("unknown_enum_code", "task_constraints", _changed(CONSTRAINTS[0], f4="4")),
    ("unknown_enum_code", "job_events", _changed(JOBS[0], f6="4")),
    ("end_before_start", "task_usage", _changed(USAGE[0], f2="599000000")),
    ("negative_resource", "task_usage", _changed(USAGE[0], f7="-0.1")),
    ("negative_resource", "task_events", _changed(EVENTS[0], f10="-1")),
]
REFUSED_2019 = [
    ("unparsable_value", "instance_usage", "{not json"),
    ("unparsable_value", "instance_usage", "null"),
    ("unparsable_value", "instance_usage", usage_record(average_usage=5)),
    ("unparsable_value", "instance_usage", usage_record(start_time=1.5)),
    ("unparsable_value", "instance_usage", usage_record(cpu_usage_distribution=[*LIST[:-1], "x"])),
    ("integer_out_of_range", "instance_usage", usage_record(collection_id="9223372036854775808")),
    ("integer_out_of_range", "instance_usage", usage_record(machine_id="-2")),
    ("null_in_mandatory_field", "instance_usage", usage_record(end_time=None)),
    ("null_in_mandatory_field", "machine_events", MACHINE_RECORD | {"machine_id": "0"}),
    ("null_in_mandatory_field", "machine_events", MACHINE_RECORD | {"machine_id": "-1"}),
    ("null_in_mandatory_field", "instance_events", event_record(constraint=[{"relation": "1"}])),
    ("unknown_enum_code", "instance_events", event_record(type="11")),
    (
        "unknown_enum_code",
        "instance_events",
        event_record(constraint=[{"name": HASH, "relation": "8"}]),
    ),
    ("end_before_start", "instance_usage", usage_record(end_time="599000000")),
    ("negative_resource", "instance_usage", usage_record(assigned_memory=-0.25)),
    ("negative_resource", "instance_usage", usage_record(cpu_usage_distribution=[-1.0, *LIST[1:]])),
    ("wrong_list_length", "instance_usage", usage_record(cpu_usage_distribution=LIST[:-1])),
    ("wrong_list_length", "instance_usage", usage_record(tail_cpu_usage_distribution=LIST)),
]
COUNTED_2011 = [
    ("exact_duplicate", "task_usage", [USAGE[0], USAGE[0]]),
    ("window_over_300s", "task_usage", [_changed(USAGE[0], f2="901000000")]),
    ("cpu_above_1", "task_usage", [_changed(USAGE[0], f6="1.5", f14="2")]),
    ("mean_above_maximum", "task_usage", [_changed(USAGE[0], f6="0.5", f19="0")]),
    ("mean_above_summed_maximum", "task_usage", [_changed(USAGE[0], f6="0.5", f19="1")]),
    ("sample_out_of_range", "task_usage", [_changed(USAGE[0], f20="0.5")]),
    ("time_out_of_order", "task_usage", [_changed(USAGE[0], f1="700000000"), USAGE[0]]),
    ("after_trace_time", "task_usage", [_changed(USAGE[0], f2="18446744073709551615")]),
    ("after_trace_time", "task_events", [_changed(EVENTS[0], f1="9223372036854775807")]),
    ("unknown_machine", "task_events", [_changed(EVENTS[0], f5="6")]),
    ("orphan_instance", "task_usage", [_changed(USAGE[0], f4="7")]),
]
COUNTED_2019 = [
    ("unknown_field", usage_record(unheard_of="1", rare={"a": [1]})),
    ("unknown_field", usage_record(average_usage={"cpus": 0.1, "gpus": 0.1})),
    ("percentiles_unordered", usage_record(cpu_usage_distribution=LIST[::-1])),
    ("percentiles_empty", usage_record(tail_cpu_usage_distribution=[])),
]


def test_every_reason_has_a_row_here():
    seen = {code for code, *_ in (*REFUSED_2011, *REFUSED_2019, *COUNTED_2011, *COUNTED_2019)}
    # Google's amounts are stored and counted; those of other formats are bounded (`test_odd_numbers`).
    # Two rows at one time are a fault of converted rows (`test_repeated_rows`).
    # Series that are left out are tried in `test_series_labels` and `test_series_forms`.
    of_rows = {code for code, reason in REASONS.items() if not reason.leaves_out}
    assert seen | {"amount_out_of_range", "repeated_moment"} == of_rows


@pytest.mark.parametrize(("code", "table", "line"), REFUSED_2011)
def test_a_refused_2011_line_is_kept_with_its_reason(
    tmp_path,
    code,
    table,
    line,
):
    good = TABLES[table]
    path = write_part(tmp_path / "raw", table, good)
    path.write_bytes(
        "".join(f"{text}\n" for text in (*good, line, *good)).encode("utf-8", "surrogateescape")
    )
    entry = stage(classify(path), tmp_path / "staging")
    assert (entry.rows_in, entry.stored, entry.quarantined) == (3, 2, 1)
    assert entry.counters[code] == 1
    assert REASONS[code].quarantines
    (kept,) = (tmp_path / "staging" / "quarantine").rglob("*.parquet")
    (row,) = pq.read_table(kept).to_pylist()
    assert (row["file"], row["line"], row["source_row"]) == (path.name, 2, 1)
    assert (row["reason"], row["raw"]) == (code, line.replace("\udcff", "�"))
    # What is wrong is the one field that was changed; of a line with other fields it is the line.
    assert (row["column"] is None) == (code == "wrong_column_count")
    if row["column"] is not None:
        fields = line.replace("\udcff", "�").split(",")
        place = next(
            place for place, text in enumerate(good[0].split(",")) if text != fields[place]
        )
        raw_table = GOOGLE_2011.tables[table]
        assert row["column"] == raw_table.fields[place].name
        assert (row["value"] or "") == fields[place]


@pytest.mark.parametrize(("code", "table", "record"), REFUSED_2019)
def test_a_refused_2019_record_is_kept_with_its_reason(
    tmp_path,
    code,
    table,
    record,
):
    good = {
        "instance_usage": usage_record(),
        "instance_events": event_record(),
        "machine_events": MACHINE_RECORD,
    }[table]
    path = write_records(tmp_path / "raw", table, [good, record, good])
    entry = stage(classify(path), tmp_path / "staging")
    assert (entry.rows_in, entry.stored, entry.quarantined) == (3, 2, 1)
    assert entry.counters[code] == 1
    (kept,) = (tmp_path / "staging" / "quarantine").rglob("*.parquet")
    (row,) = pq.read_table(kept).to_pylist()
    assert (row["source_row"], row["reason"]) == (1, code)
    (stored,) = (tmp_path / "staging" / table).glob("*.parquet")
    assert pq.read_table(stored).column("source_row").to_pylist() == [0, 2]


@pytest.mark.parametrize(("code", "table", "lines"), COUNTED_2011)
def test_a_suspicious_row_is_stored_and_counted(
    tmp_path,
    code,
    table,
    lines,
):
    write_cell(tmp_path / "raw")
    write_part(tmp_path / "raw", table, lines)
    result = ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    canonical = {"task_usage": "instance_usage", "task_events": "instance_events"}[table]
    assert result.manifest.counters[canonical] == {code: 1}
    assert result.manifest.tables[canonical] == len(lines)
    assert not REASONS[code].quarantines


@pytest.mark.parametrize(("code", "record"), COUNTED_2019)
def test_a_suspicious_record_is_stored_and_counted(tmp_path, code, record):
    path = write_records(tmp_path / "raw", "instance_usage", [record])
    result = ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    assert result.manifest.counters["instance_usage"] == {code: 1}


def test_a_window_that_differs_in_one_column_is_no_duplicate(tmp_path):
    """The collection is looked at closely: start, mean CPU, memory and the sample are the same."""
    write_cell(tmp_path / "raw")
    write_part(tmp_path / "raw", "task_usage", [USAGE[0], _changed(USAGE[0], f13="0.25")])
    result = ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    assert result.manifest.counters.get("instance_usage", {}) == {}
    assert result.manifest.tables["instance_usage"] == 2
