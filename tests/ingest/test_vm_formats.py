"""Traces of VMs, and rows of 2019 that others joined: rows in the published shape, and what they are by hand."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.recognition import classify
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.own_data import hashed, rows

START = 1_376_314_800
"""Seconds since 1970: a multiple of 300."""
HEADER = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];\t"
    "Memory capacity provisioned [KB];\tMemory usage [KB];\tDisk read throughput [KB/s];\t"
    "Disk write throughput [KB/s];\tNetwork received throughput [KB/s];\tNetwork transmitted throughput [KB/s]"
)


def _bitbrains(*lines: tuple[float, ...]) -> str:
    """Return a file of rows of (time, cores, MHz, MHz in use, KB, KB in use)."""
    text = HEADER + "\n"
    for time, cores, capacity, used, memory, used_memory in lines:
        share = 100 * used / capacity if capacity else 0.0
        values = (time, cores, capacity, used, share, memory, used_memory, 0.1, 2.0, 0.0, 1.5)
        text += ";\t".join(str(value) for value in values) + "\n"
    return text


def _ingest(folder: Path, places: list[Path], capacity: str = "") -> Store:
    ingest(places, folder / "store", IngestOptions(jobs=1, capacity=capacity))
    return borgtrace.open(folder / "store")


VM_7 = [
    (START, 4, 10_000.0, 2_500.0, 4_194_304.0, 1_048_576.0),
    (START + 300, 4, 10_000.0, 12_000.0, 4_194_304.0, 0.0),
    # Switched off, then larger.
    (START + 600, 0, 0.0, 0.0, 0.0, 0.0),
    (START + 899, 8, 20_000.0, 5_000.0, 8_388_608.0, 2_097_152.0),
]


def _usage(store: Store) -> list[tuple[object, ...]]:
    found = rows(store, "instance_usage", "start_time, end_time, average_cpu, average_memory")
    return [(start // SECOND, end // SECOND, cpu, memory) for start, end, cpu, memory in found]


def test_a_vm_of_bitbrains_uses_a_share_of_its_clock(tmp_path: Path) -> None:
    path = tmp_path / "7.csv.gz"
    path.write_bytes(gzip.compress(_bitbrains(*VM_7).encode()))
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
    assert store.manifest.basis["zero"] == START * SECOND


def test_times_of_bitbrains_in_milliseconds_are_the_same_times(tmp_path: Path) -> None:
    path = tmp_path / "7.csv"
    in_milliseconds = [(time * 1000, *more) for time, *more in VM_7]
    path.write_text(_bitbrains(*in_milliseconds))
    store = _ingest(tmp_path, [path], "16cores,16GiB")
    assert [start for start, *_ in _usage(store)] == [600, 900, 1200, 1499]
    assert store.manifest.basis["zero"] == START * SECOND


def test_both_sets_of_bitbrains_have_vms_of_their_own(tmp_path: Path) -> None:
    """Months of rnd have the same VMs, in files that are called alike; so has fastStorage, where 7 is another one."""
    archive = tmp_path / "rnd.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("rnd/2013-7/7.csv", _bitbrains(VM_7[0]))
        packed.writestr("rnd/2013-8/7.csv", _bitbrains((START + 9000, *VM_7[0][1:])))
    other = tmp_path / "fastStorage" / "2013-8" / "7.csv"
    other.parent.mkdir(parents=True)
    other.write_text(_bitbrains(*VM_7[:2]))
    store = _ingest(tmp_path, [archive, other], "16cores,16GiB")
    counts = store.sql(
        "select collection_id, count(*) as n from instance_usage group by all order by n"
    ).to_pylist()
    assert {row["collection_id"] for row in counts} == {7, hashed("rnd/7")}
    assert [row["n"] for row in counts] == [2, 2]
    assert len(store.manifest.sources) == 3


CPU_OF_VMS = {
    "vm": pa.array([1, 1, 2], pa.int16()),
    "time": pa.array([START, START + 300, START], pa.int32()),
    "cpu_mhz": [2_600.0, 0.0, 650.0],
    "cpu_pct": [50.0, 0.0, 25.0],
}


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


@pytest.mark.parametrize(
    ("day", "percentages"),
    [
        ("20110303", [1] * 287),
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


TAIL = range(91, 100)
PERCENTILES = [*range(0, 91, 10), *TAIL]
CRF_ROWS = [
    # time, collection, instance, machine, CPU, memory, largest CPU, p0, further ones, memory limit, CPU limit
    (600, 5, 0, 9, 0.25, 0.125, 0.5, 0.0, 0.25, 0.5, 0.5),
    (900, 5, 0, 9, 0.5, 0.125, 0.75, 0.0, 0.25, 0.5, 0.5),
    (1150, 5, 0, 0, 0.5, 0.125, 0.75, -1.0, -1.0, 0.5, 0.75),
]


def _crf(folder: Path) -> Path:
    names = [f"p{percentile}_cpu_usage" for percentile in PERCENTILES]
    lines = [
        "time,unique_id,collection_id,instance_index,priority,machine_id,avg_cpu_usage,avg_memory_usage,"
        f"max_cpu_usage,{','.join(names)},memory_limit,cpu_limit"
    ]
    for (
        time,
        collection,
        instance,
        machine,
        cpu,
        memory,
        largest,
        p0,
        others,
        limit,
        cpu_limit,
    ) in CRF_ROWS:
        percentiles = [p0, *[others] * (len(PERCENTILES) - 1)]
        values = [
            time * SECOND,
            f"{collection}-{instance}",
            collection,
            instance,
            200,
            machine,
            cpu,
            memory,
            largest,
            *percentiles,
            limit,
            cpu_limit,
        ]
        lines.append(",".join(str(value) for value in values))
    path = folder / "0-600000000-1150000000.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_joined_rows_of_2019_keep_their_times_fractions_and_percentiles(tmp_path: Path) -> None:
    store = _ingest(tmp_path, [_crf(tmp_path)])
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
