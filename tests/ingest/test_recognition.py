"""What a file is, by its content: each kind of raw file, and what is none."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.build.flattened import record_of
from borgtrace.ingest.build.staged_relation import number_parts
from borgtrace.ingest.find.discovery import discover
from borgtrace.ingest.find.recognition import classify
from borgtrace.schema.dialects import DIALECTS, KAGGLE_2019
from borgtrace.store.criteria import Criteria
from borgtrace.store.manifest import SourceEntry
from tests.ingest.raw import (
    CONSTRAINTS,
    EVENTS,
    HASH,
    JOBS,
    MACHINES,
    USAGE,
    usage_record,
    write_part,
)


@pytest.mark.parametrize(
    ("lines", "table", "width"),
    [
        (MACHINES, "machine_events", 6),
        # six fields as well, but a name where a machine event has its platform
        (CONSTRAINTS, "task_constraints", 6),
        (JOBS, "job_events", 8),
        (EVENTS, "task_events", 13),
        (USAGE, "task_usage", 20),
        ([line.rpartition(",")[0] for line in USAGE], "task_usage", 19),
        (["damaged", *USAGE], "task_usage", 20),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_delimited_text_is_known_by_its_fields(
    tmp_path,
    lines,
    table,
    width,
    compressed,
):
    # a single line counts without its end; of several, one without its end may be cut off
    data = ("\r\n".join(lines) + "\r\n" * (len(lines) > 1)).encode()
    path = tmp_path / "anything"
    path.write_bytes(gzip.compress(data) if compressed else data)
    found = classify(path)
    assert (found.table, found.format, found.generation, len(found.order)) == (
        table,
        "csv",
        "2011",
        width,
    )
    assert (found.packing == "gzip", found.size, found.has_header, found.cell) == (
        compressed,
        path.stat().st_size,
        False,
        "",
    )


OWN_HEADERS = [
    "task,time,cpu,memory,machine",
    "timestamp,vm,cpu,memory_bytes,active",
    '"time","pod","cpu","memory","node"',
    "a,b,c,d,e",
]


@pytest.mark.parametrize("header", OWN_HEADERS)
@pytest.mark.parametrize("width", [5, 6, 8, 13, 19, 20])
def test_a_file_with_a_header_is_read_by_its_header(tmp_path, header, width):
    """All numbers: as many columns as a table of Google's of 2011 make no such table of it."""
    extra = [f"extra{number}" for number in range(width - 5)]
    rows = [[str(number), "1", *["0"] * (width - 2)] for number in (600, 900, 1200)]
    lines = [",".join([header, *extra]), *(",".join(row) for row in rows)]
    path = tmp_path / "part-00000-of-00001.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(SourceError, match="not part of a trace"):
        classify(path)
    # Without it, places say what they can.
    path.write_text("\n".join(lines[1:]) + "\n")
    if width in (19, 20):
        assert classify(path).table == "task_usage"


def test_a_record_with_few_names_is_what_the_file_is_called(tmp_path):
    record = {
        "time": "0",
        "machine_id": "5",
        "name": HASH,
    }
    assert classify(_write(tmp_path / "x.json", [record])).table == "machine_attributes"
    event = {
        "time": "0",
        "type": "1",
        "collection_id": "5",
    }
    assert classify(_write(tmp_path / "y.json", [event])).table == "collection_events"
    with_instance = {**event, "instance_index": "0"}
    assert classify(_write(tmp_path / "z.json", [with_instance])).table == "instance_events"
    # A name does not make a field of another table one of its own.
    assert (
        classify(_write(tmp_path / "collection_events.json", [with_instance])).table
        == "instance_events"
    )


@pytest.mark.parametrize(
    ("name", "header", "table"),
    [
        # all that power and the mapping of machines must have
        (
            "power.csv",
            "time,cell,pdu,machine_id,bad_measurement_data,bad_production_power_data",
            "power",
        ),
        (
            "machine_to_pdu_mapping.csv",
            "time,cell,pdu,machine_id,bad_measurement_data,bad_production_power_data",
            "machine_to_pdu_mapping",
        ),
        # seven columns are those of pods, four those of nodes
        (
            "x.csv",
            "sn,gpu,name,cpu_milli,memory_mib,num_gpu,gpu_milli,pod_phase,creation_time",
            "openb_pod_list",
        ),
    ],
)
def test_a_header_of_two_tables_is_what_the_file_is_called_or_has_more_of(
    tmp_path,
    name,
    header,
    table,
):
    path = tmp_path / name
    path.write_text(f"{header}\n{',' * header.count(',')}\n")
    assert classify(path).table == table


def test_the_first_record_that_fits_tells(tmp_path):
    path = _write(
        tmp_path / "usage.json",
        [
            {"strange": 1},
            "[1]",
            "{broken",
            usage_record(),
        ],
    )
    found = classify(path, cell="b")
    assert (found.table, found.format, found.cell) == ("instance_usage", "json", "b")


@pytest.mark.parametrize(
    ("folder", "cell"),
    [
        ("clusterdata_2019_c", "c"),
        ("clusterdata_2019_archive", ""),
        ("clusterdata_2019_z", ""),
        ("other", ""),
    ],
)
def test_the_folder_of_a_bucket_says_the_cell(tmp_path, folder, cell):
    (tmp_path / folder).mkdir()
    assert classify(_write(tmp_path / folder / "u.json", [usage_record()])).cell == cell


def test_parquet_is_known_by_its_columns(tmp_path):
    path = tmp_path / "shard.parquet.gz"
    pq.write_table(
        pa.table(
            {
                "time": [0],
                "type": [1],
                "machine_id": [5],
            }
        ),
        path,
    )
    found = classify(path)
    # called .gz, but it is not
    assert (found.table, found.format, found.packing) == ("machine_events", "parquet", "")
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert (classify(path).table, classify(path).packing) == ("machine_events", "gzip")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty: expected a file of a published format"),
        (b" \n\n", "the file is empty"),
        (
            b"1,2,3,4,5,6,7\n",
            "no line names the columns: expected a first line such as task,time,cpu; .* got '1,2,3,4,5,6,7'",
        ),
        (b"x" * 50, f"got '{'x' * 40}…'"),
        (b"x" * 40, f"got '{'x' * 40}'"),
        (b'{"a": 1, "b": 2}\n', "not part of a trace: .* got 'a, b'"),
        (b"{broken\n", "not part of a trace: .* got 'no records'"),
        (b"PAR1 and nothing else", "damaged Parquet file"),
        (b"\x1f\x8b and nothing else", "gzip data is damaged"),
    ],
)
def test_what_is_no_trace_is_said_so(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=message):
        classify(path)


def test_a_folder_is_searched_whole_and_in_order(tmp_path):
    for part in (2, 1):
        write_part(tmp_path / "deep" / "er", "task_usage", USAGE, part)
    write_part(tmp_path, "machine_events", MACHINES)
    for name in (
        "README",
        "SHA256SUM",
        "notes.md",
        "part-00003.csv.gz.part",
        "truth.parquet",
        ".hidden",
    ):
        (tmp_path / name).write_text("no data")
    (tmp_path / "wrong.csv").write_text("no data")
    found = discover([tmp_path])
    assert [(source.table, source.part) for source in found.sources] == [
        ("machine_events", 0),
        ("task_usage", 1),
        ("task_usage", 2),
    ]
    assert [fault.where for fault in found.faults] == [str(tmp_path / "wrong.csv")]
    assert (found.generation, found.cell, found.synthetic) == ("2011", "", None)


def test_words_within_the_texts_of_a_flattened_row_stay_as_they_are():
    """The hash of a real user holds "nan", and one in 6,000 hashes does."""
    row = {
        "constraint": "[{'name': '047t6CIOpqSnan1npwiz', 'value': 'aNone1. 2', 'relation': None}]",
        "average_usage": "{'cpus': nan, 'memory': 0.5}",
        "cpu_usage_distribution": "[0.5,nan]",
    }
    flattened, tables = KAGGLE_2019.flattened, KAGGLE_2019.tables
    found = json.loads(record_of(flattened, tables["instance_events"], row))
    assert found["constraint"] == [
        {
            "name": "047t6CIOpqSnan1npwiz",
            "value": "aNone1. 2",
            "relation": None,
        }
    ]
    found = json.loads(record_of(flattened, tables["instance_usage"], row))
    assert found == {
        "average_usage": {"cpus": None, "memory": 0.5},
        "cpu_usage_distribution": [0.5, None],
    }


def test_a_flattened_row_becomes_the_records_it_was_joined_from():
    flattened, tables = KAGGLE_2019.flattened, KAGGLE_2019.tables
    row = {
        "time": "5.0",
        "instance_events_type": "",
        "machine_id": "-1",
        "user": "1.5",
        "resource_request": "{'cpus': 0.5, 'memory': None}",
        "constraint": "[{'name': 'a', 'relation': 0} {'name': 'b'}]",
        "cpu_usage_distribution": "[1. 0.5\n 2e-05]",
        "tail_cpu_usage_distribution": "[0. 2.]",
        "start_time": "7",
    }
    assert json.loads(record_of(flattened, tables["instance_events"], row)) == {
        "time": "5",
        # the column was renamed: it is always there, and refused where it is empty
        "type": "",
        "machine_id": "-1",
        "resource_request": {"cpus": 0.5, "memory": None},
        "constraint": [{"name": "a", "relation": 0}, {"name": "b"}],
    }
    assert json.loads(record_of(flattened, tables["instance_usage"], row)) == {
        "start_time": "7",
        "machine_id": "-1",
        "cpu_usage_distribution": [1.0, 0.5, 2e-05],
        "tail_cpu_usage_distribution": [0.0, 2.0],
    }
    assert json.loads(record_of(flattened, tables["collection_events"], row))["user"] == "1.5"


def test_parts_without_a_number_come_after_those_with_one_by_content():
    def entry(
        name,
        part,
        sha256,
        table="task_usage",
    ):
        return SourceEntry(
            name,
            name,
            "instance_usage",
            table,
            "csv",
            1,
            sha256,
            part,
            None,
            1,
            1,
            0,
        )

    ledger = [
        entry("late", None, "b"),
        entry("third", 3, "z"),
        entry("early", None, "a"),
        entry("alone", None, "c", "machine_events"),
    ]
    assert number_parts(ledger) == {
        "third": 3,
        "early": 4,
        "late": 5,
        "alone": 0,
    }


@pytest.mark.parametrize(
    "wanted",
    [
        {"fraction": 0.0},
        {"fraction": 1.01},
        {"fraction": -0.5},
        {"time": (5, 5)},
        {"time": (6, 5)},
    ],
)
def test_a_cut_that_makes_no_sense_is_refused(wanted):
    with pytest.raises(UsageError):
        Criteria(**wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        {"fraction": 1.0},
        {"fraction": 0.001},
        {"time": (0, 1)},
        {"jobs": (1, 2)},
    ],
)
def test_a_cut_that_makes_sense(wanted):
    Criteria(**wanted)


def _write(path, records):
    path.write_text(
        "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records)
    )
    return path


NAMED_TABLES = [
    (known, raw, kind)
    for known in DIALECTS.values()
    for raw in known.tables.values()
    for kind in sorted({"csv", "json", "parquet"} & set(known.formats))
    if not raw.is_positional
]


def _named_columns(path, kind, names):
    if kind == "csv":
        path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    elif kind == "json":
        path.write_text(json.dumps(dict.fromkeys(names, "1")) + "\n")
    else:
        pq.write_table(pa.table({name: ["1"] for name in names}), path)


@pytest.mark.parametrize(
    ("known", "raw", "kind"),
    NAMED_TABLES,
    ids=[f"{known.name}-{raw.name}-{kind}" for known, raw, kind in NAMED_TABLES],
)
def test_names_of_columns_tell_each_table_of_each_format(tmp_path, known, raw, kind):
    """All of its columns, and those alone that every row must have."""
    for chosen in (raw.names, raw.mandatory):
        nested = dict.fromkeys(name.split(".")[0] for name in chosen)
        whole = chosen if kind == "csv" or raw.marks else nested
        whole = dict.fromkeys([*whole, *raw.marks[:1]])
        _named_columns(tmp_path / f"file.{kind}", kind, list(whole))
        source = classify(tmp_path / f"file.{kind}")
        assert (source.dialect.name, source.table) == (known.name, raw.name)


def test_a_file_that_fits_two_formats_is_asked_about(tmp_path, monkeypatch):
    known = DIALECTS["openb"]
    monkeypatch.setitem(DIALECTS, "twin", replace(known, name="twin"))
    raw = next(raw for raw in known.tables.values() if not raw.is_positional)
    path = tmp_path / "file.csv"
    _named_columns(path, "csv", raw.names)
    with pytest.raises(SourceError) as error:
        classify(path)
    columns = ", ".join(raw.mandatory)
    assert str(error.value) == (
        f"{path}: fits more than one format: got openb ({raw.name} has {columns}); "
        f"twin ({raw.name} has {columns}); say which one it is: --dialect openb or --dialect twin"
    )
    assert classify(path, only=known).dialect is known
