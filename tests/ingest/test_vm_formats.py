"""Traces of VMs, and rows of 2019 that others joined: rows in the published shape, and what they are by hand."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.recognition import classify
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.cluster_samples import (
    ALIBABA_2017,
    BITBRAINS_START,
    CPU_OF_VMS,
    OPENDC_21_META,
    OPENDC_21_TRACE,
    OPENDC_2020_META,
    OPENDC_2020_TRACE,
    PAI,
    USER,
    VM_7,
    bitbrains,
    crf_text,
    packing_database,
    parquet_of,
)
from tests.ingest.own_data import hashed, ingest_own, rows

pytestmark = pytest.mark.wide


def _ingest(folder: Path, places: list[Path], capacity: str = "") -> Store:
    ingest(places, folder / "store", IngestOptions(jobs=1, capacity=capacity))
    return borgtrace.open(folder / "store")


def _usage(store: Store) -> list[tuple[object, ...]]:
    found = rows(store, "instance_usage", "start_time, end_time, average_cpu, average_memory")
    return [(start // SECOND, end // SECOND, cpu, memory) for start, end, cpu, memory in found]


def test_a_vm_of_bitbrains_uses_a_share_of_its_clock(tmp_path: Path) -> None:
    path = tmp_path / "7.csv.gz"
    path.write_bytes(gzip.compress(bitbrains(*VM_7).encode()))
    store = _ingest(tmp_path, [path], "16cores,16GiB")
    # 2,500 of 10,000 MHz are one core of four, of 16 in all; 1,048,576 KB are 1 GiB.
    assert _usage(store) == [
        (600, 900, 1 / 16, 1 / 16),
        (900, 1200, pytest.approx(4.8 / 16), 0),
        (1200, 1499, None, 0),
        (1499, 1799, 2 / 16, 2 / 16),
    ]
    # Its name is a number, and so its id.
    events = rows(
        store, "instance_events", "collection_id, time, type, cpu_request, memory_request"
    )
    assert [(vm, time // SECOND, *more) for vm, time, *more in events] == [
        (7, 600, "SCHEDULE", 0.25, 0.25),
        (7, 600, "SUBMIT", 0.25, 0.25),
        (7, 1200, "UPDATE_RUNNING", 0, 0),
        (7, 1499, "UPDATE_RUNNING", 0.5, 0.5),
    ]
    assert store.manifest.basis["zero"] == BITBRAINS_START * SECOND


def test_times_of_bitbrains_in_milliseconds_are_the_same_times(tmp_path: Path) -> None:
    path = tmp_path / "7.csv"
    in_milliseconds = [(time * 1000, *more) for time, *more in VM_7]
    path.write_text(bitbrains(*in_milliseconds))
    store = _ingest(tmp_path, [path], "16cores,16GiB")
    assert [start for start, *_ in _usage(store)] == [600, 900, 1200, 1499]
    assert store.manifest.basis["zero"] == BITBRAINS_START * SECOND


def test_both_sets_of_bitbrains_have_vms_of_their_own(tmp_path: Path) -> None:
    """Months of rnd have the same VMs, in files that are called alike; so has fastStorage, where 7 is another one."""
    archive = tmp_path / "rnd.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("rnd/2013-7/7.csv", bitbrains(VM_7[0]))
        packed.writestr("rnd/2013-8/7.csv", bitbrains((BITBRAINS_START + 9000, *VM_7[0][1:])))
    other = tmp_path / "fastStorage" / "2013-8" / "7.csv"
    other.parent.mkdir(parents=True)
    other.write_text(bitbrains(*VM_7[:2]))
    store = _ingest(tmp_path, [archive, other], "16cores,16GiB")
    counts = store.sql(
        "select collection_id, count(*) as n from instance_usage group by all order by n"
    ).to_pylist()
    assert {row["collection_id"] for row in counts} == {7, hashed("rnd/7")}
    assert [row["n"] for row in counts] == [2, 2]
    assert len(store.manifest.sources) == 3


def test_cpu_in_megahertz_is_a_share_of_the_largest_machine(tmp_path: Path) -> None:
    path = tmp_path / "vms.parquet"
    pq.write_table(pa.table(CPU_OF_VMS), path)
    store = _ingest(tmp_path, [path], "10400MHz")
    assert rows(store, "instance_usage", "collection_id, start_time, average_cpu") == [
        (1, 600 * SECOND, 0.25),
        (1, 900 * SECOND, 0),
        (2, 600 * SECOND, 0.0625),
    ]
    with pytest.raises(UsageError) as error:
        _ingest(tmp_path / "other", [path], "16cores")
    assert str(error.value) == (
        "--capacity: CPU in use is in MHz, and nothing says how many the cores of the largest machine have together; "
        "add --capacity 41600MHz, or 16cores,41600MHz,128GiB, with the size of yours"
    )


def _planetlab(folder: Path, day: str, name: str, percentages: list[int]) -> Path:
    path = folder / day / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{percentage}\n" for percentage in percentages))
    return path


def test_a_file_of_planetlab_is_a_day_of_a_vm(tmp_path: Path) -> None:
    _planetlab(tmp_path / "raw", "20110303", "host_a_org", [25] + [0] * 286 + [100])
    _planetlab(tmp_path / "raw", "20110304", "host_a_org", [50] * 288)
    _planetlab(tmp_path / "raw", "20110303", "host_b_org", [1] * 288)
    store = _ingest(tmp_path, [tmp_path / "raw"])
    first = rows(
        store,
        "instance_usage",
        "start_time, end_time, average_cpu",
        f"collection_id = {hashed('host_a_org')}",
    )
    assert len(first) == 576
    assert first[0] == (600 * SECOND, 900 * SECOND, 0.25)
    # The last 5 minutes of a day end where the next day begins.
    assert first[287] == ((600 + 287 * 300) * SECOND, (600 + 86_400) * SECOND, 1)
    assert first[288] == ((600 + 86_400) * SECOND, (900 + 86_400) * SECOND, 0.5)
    # 3 March 2011, 00:00 UTC.
    assert store.manifest.basis["zero"] == 1_299_110_400 * SECOND


def test_a_file_of_planetlab_may_lack_its_last_line_feed(tmp_path: Path) -> None:
    path = _planetlab(tmp_path, "20110303", "host_a_org", [1] * 288)
    path.write_text(path.read_text().rstrip())
    assert classify(path).dialect.name == "planetlab"


@pytest.mark.parametrize(
    ("day", "percentages"),
    [
        ("20110303", [1] * 286),
        ("20110303", [1] * 289),
        ("20110303", [1] * 287 + [101]),
        ("20111303", [1] * 288),
        ("numbers", [1] * 288),
    ],
    ids=["short", "long", "101 %", "no day", "no folder of a day"],
)
def test_numbers_alone_make_no_file_of_planetlab(
    tmp_path: Path, day: str, percentages: list[int]
) -> None:
    path = _planetlab(tmp_path, day, "host_a_org", percentages)
    with pytest.raises(SourceError, match="not part of a trace"):
        classify(path)


def test_joined_rows_of_2019_keep_their_times_fractions_and_percentiles(tmp_path: Path) -> None:
    path = tmp_path / "0-600000000-1150000000.csv"
    path.write_text(crf_text())
    store = _ingest(tmp_path, [path])
    columns = (
        "start_time, end_time, machine_id, average_cpu, average_memory, maximum_cpu, "
        "cpu_usage_distribution, tail_cpu_usage_distribution"
    )
    found = rows(store, "instance_usage", columns)
    # The last percentile is the maximum.
    assert [(start // SECOND, end // SECOND, *more) for start, end, *more in found] == [
        (600, 900, 9, 0.25, 0.125, 0.5, [0, *[0.25] * 9, 0.5], [0.25] * 9),
        (900, 1150, 9, 0.5, 0.125, 0.75, [0, *[0.25] * 9, 0.75], [0.25] * 9),
        (1150, 1450, None, 0.5, 0.125, 0.75, None, None),
    ]
    events = rows(
        store, "instance_events", "time, type, cpu_request, memory_request, priority, machine_id"
    )
    assert [(time // SECOND, *more) for time, *more in events] == [
        (600, "SCHEDULE", 0.5, 0.5, 200, 9),
        (600, "SUBMIT", 0.5, 0.5, 200, None),
        (1150, "UPDATE_RUNNING", 0.75, 0.5, 200, None),
    ]
    assert store.manifest.generation == "crf-2019"


def _packing(folder: Path, tables: tuple[str, ...] = ("vm", "vmType")) -> Path:
    path = folder / "packing_trace_zone_a_v1.sqlite"
    path.write_bytes(packing_database(tables))
    return path


def test_a_packing_trace_has_lives_and_the_shares_of_types(tmp_path: Path) -> None:
    store = _ingest(tmp_path, [_packing(tmp_path)])
    day = 86_400 * SECOND
    # A type that takes half of one kind of machine takes a quarter of the larger one.  What was there at the start
    # began before the trace; a VM without an end goes on.  High priority is 0 in the files.
    assert rows(
        store,
        "instance_events",
        "collection_id, time, type, cpu_request, memory_request, priority, user",
    ) == [
        (1, 0, "SCHEDULE", 0.25, 0.125, 1, "50"),
        (1, 0, "SUBMIT", 0.25, 0.125, 1, "50"),
        (1, 600 * SECOND + day // 2, "FINISH", 0.25, 0.125, 1, "50"),
        (2, 600 * SECOND + day // 4, "SCHEDULE", 0.25, 0.125, 0, "50"),
        (2, 600 * SECOND + day // 4, "SUBMIT", 0.25, 0.125, 0, "50"),
        (3, 600 * SECOND + day, "SCHEDULE", 1.0, None, 1, "51"),
        (3, 600 * SECOND + day, "SUBMIT", 1.0, None, 1, "51"),
        (3, 600 * SECOND + 3 * day // 2, "FINISH", 1.0, None, 1, "51"),
    ]
    stored = {entry.raw_table: entry.stored for entry in store.manifest.sources}
    assert stored == {"vm": 3, "vmType": 3}


def test_requests_without_the_table_of_types_are_said_to_be_unknown(tmp_path: Path) -> None:
    store = _ingest(tmp_path, [_packing(tmp_path, ("vm",))])
    assert rows(store, "instance_events", "count(cpu_request), count(*)") == [(0, 8)]
    assert store.manifest.notes == ("Requests of tasks are unknown: vmType says them.",)


VM = "a" * 40 + "+/=="


@pytest.mark.parametrize(
    ("cores", "memory", "dialect"),
    [
        ("1", "1.75", "azure-2017"),
        ("2", "3.5", "azure-2017"),
        ("8", "14", "azure-2017"),
        ("2", "4", "azure-2019"),
        (">24", ">64", "azure-2019"),
    ],
)
def test_tables_of_vms_of_two_years_are_told_by_their_memory(
    tmp_path: Path, cores: str, memory: str, dialect: str
) -> None:
    path = tmp_path / "vmtable.csv"
    path.write_text(f"{VM},s1,d1,0,600,99,20,80,Interactive,{cores},{memory}\n")
    assert classify(path).dialect.name == dialect


def test_readings_of_two_years_are_told_by_their_number_of_files_or_asked_about(
    tmp_path: Path,
) -> None:
    for n_files, dialect in ((125, "azure-2017"), (195, "azure-2019")):
        path = tmp_path / f"vm_cpu_readings-file-7-of-{n_files}.csv"
        path.write_text(f"0,{VM},1,50,25\n")
        assert classify(path).dialect.name == dialect
    path = tmp_path / "readings.csv"
    path.write_text(f"0,{VM},1,50,25\n")
    with pytest.raises(SourceError, match="--dialect azure-2017 or --dialect azure-2019"):
        classify(path)


def test_vms_of_2017_have_exact_cores_and_memory(tmp_path: Path) -> None:
    table = tmp_path / "vmtable.csv"
    table.write_text(f"{VM},s1,d1,300,900,99,20,80,Interactive,2,3.5\n")
    readings = tmp_path / "vm_cpu_readings-file-1-of-125.csv"
    readings.write_text(f"300,{VM},1,50,25\n600,{VM},1,100,50\n")
    store = _ingest(tmp_path, [table, readings], "16cores,56GiB")
    assert rows(store, "instance_events", "distinct cpu_request, memory_request") == [
        (2 / 16, 3.5 / 56)
    ]
    assert rows(store, "instance_usage", "average_cpu, maximum_cpu") == [
        (0.5 / 16, 1 / 16),
        (1 / 16, 2 / 16),
    ]


def _write_tables(folder: Path, tables: Mapping[str, Mapping[str, Any]]) -> None:
    for name, columns in tables.items():
        (folder / f"{name}.parquet").write_bytes(parquet_of(columns))


def test_workloads_of_opendc_before_2_1_are_in_megahertz(tmp_path: Path) -> None:
    _write_tables(tmp_path, {"meta": OPENDC_2020_META, "trace": OPENDC_2020_TRACE})
    places = [tmp_path / "meta.parquet", tmp_path / "trace.parquet"]
    store = _ingest(tmp_path, places, "16cores,41600MHz,16GB")
    assert [row[:3] for row in _usage(store)] == [(600, 900, 0.0625), (900, 1200, 0)]
    assert rows(store, "instance_events", "distinct cpu_request, memory_request") == [(0.25, 0.5)]


def test_fragments_of_opendc_2_1_end_at_their_timestamp(tmp_path: Path) -> None:
    _write_tables(tmp_path, {"meta": OPENDC_21_META, "trace": OPENDC_21_TRACE})
    places = [tmp_path / "meta.parquet", tmp_path / "trace.parquet"]
    store = _ingest(tmp_path, places, "16cores,16GB")
    assert [row[:3] for row in _usage(store)] == [(600, 800, 0.125), (900, 1200, 0.0625)]


def test_tasks_of_alibaba_2017_request_for_each_instance(tmp_path: Path) -> None:
    path = tmp_path / "batch_task.csv"
    path.write_text(ALIBABA_2017)
    store = _ingest(tmp_path, [path], "64cores")
    found = rows(store, "collection_events", "collection_name, time, type, collection_logical_name")
    assert [(name, time // SECOND, *more) for name, time, *more in found] == [
        ("15/64", 11_318, "SUBMIT", "15"),
        ("15/64", 13_497, "FINISH", "15"),
        ("4/7", 0, "SUBMIT", "4"),
        ("4/8", 900, "SUBMIT", "4"),
        ("4/8", 1500, "FAIL", "4"),
    ]


@pytest.fixture(name="pai")
def pai_store(tmp_path: Path) -> Store:
    for name, text in PAI.items():
        (tmp_path / name).write_text(text)
    return _ingest(tmp_path, [tmp_path])


def test_workers_of_pai_request_what_their_task_does_for_each(pai: Store) -> None:
    events = rows(
        pai,
        "instance_events",
        "instance_index, time, type, cpu_request, memory_request, gpu_request, user",
    )
    # Times count from 900 s, when the job was submitted: 600 s in the store.
    assert [(index, time // SECOND, *more) for index, time, *more in events] == [
        (0, 600, "SUBMIT", 0.5, 0.5, 500, USER),
        (0, 700, "SCHEDULE", 0.5, 0.5, 500, USER),
        (0, 1600, "FINISH", 0.5, 0.5, 500, USER),
        (1, 600, "SUBMIT", 0.5, 0.5, 500, USER),
        (1, 900, "SCHEDULE", 0.5, 0.5, 500, USER),
        (1, 1700, "FAIL", 0.5, 0.5, 500, USER),
    ]
    assert pai.manifest.time_zone == "Asia/Shanghai"


def test_sensors_of_pai_are_means_over_the_life_of_a_worker(pai: Store) -> None:
    found = rows(
        pai,
        "instance_usage",
        "instance_index, start_time, end_time, average_cpu, average_memory, maximum_memory",
    )
    assert [
        (index, start // SECOND, end // SECOND, *more) for index, start, end, *more in found
    ] == [
        # Cut at each five minutes.
        (0, 700, 900, 0.25, 0.125, 0.25),
        (0, 900, 1200, 0.25, 0.125, 0.25),
        (0, 1200, 1500, 0.25, 0.125, 0.25),
        (0, 1500, 1600, 0.25, 0.125, 0.25),
        (1, 900, 1200, 0.125, 0.0625, 0.125),
        (1, 1200, 1500, 0.125, 0.0625, 0.125),
        (1, 1500, 1700, 0.125, 0.0625, 0.125),
    ]
    entries = {entry.raw_table: entry for entry in pai.manifest.sources}
    sensors = entries["pai_sensor_table"]
    assert (sensors.rows_in, sensors.stored, sensors.skipped) == (4, 3, 1)


def test_tables_of_pai_that_are_not_read_are_named(pai: Store, tmp_path: Path) -> None:
    notes = [note for note in pai.manifest.notes if "is not read" in note]
    assert notes == [
        f"{tmp_path}/pai_group_tag_table.csv: pai_group_tag_table of alibaba-pai-2020 is not read: "
        "tags of jobs have no place in a store.",
        f"{tmp_path}/pai_machine_metric.csv: pai_machine_metric of alibaba-pai-2020 is not read: "
        "means of whole machines over the life of a worker are no use of tasks.",
    ]


def test_published_names_above_a_table_without_a_header_are_its_header(tmp_path: Path) -> None:
    path = tmp_path / "pai_machine_spec.csv"
    text = PAI["pai_machine_spec.csv"]
    path.write_text("machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n" + text)
    store = _ingest(tmp_path, [path])
    assert rows(store, "machine_events", "cpu_capacity, memory_capacity, gpu_capacity") == [
        (1, 1, 2)
    ]
    assert store.manifest.sources[0].rows_in == 1


SHARES = """
clock = "relative"
step = "300s"
[usage]
task = "task"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "percent_of_request", kind = "average" }
memory = { column = "memory", unit = "percent_of_request", kind = "average" }
cpu_request = { column = "requested_cpu", unit = "cores" }
[tasks]
task = "task"
start = { column = "start", unit = "s" }
memory_request = { column = "requested_memory", unit = "GiB" }
"""


def test_a_row_of_usage_may_say_one_request_and_a_row_of_its_task_the_other(tmp_path: Path) -> None:
    files = {
        "usage.csv": "task,time,cpu,memory,requested_cpu\nweb,0,50,25,4\nweb,300,50,50,8\n",
        "tasks.csv": "task,start,requested_memory\nweb,0,16\n",
    }
    store = ingest_own(tmp_path, SHARES, files, "16cores,64GiB")
    assert rows(store, "instance_usage", "start_time, average_cpu, average_memory") == [
        (600 * SECOND, 2 / 16, 4 / 64),
        (900 * SECOND, 4 / 16, 8 / 64),
    ]
