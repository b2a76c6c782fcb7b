"""Logs in the Standard Workload Format with their headers, and those of Alea: what they are by hand."""

from __future__ import annotations

import gzip
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.notation import ResourceAmounts
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.conftest import real_folder
from tests.ingest.job_samples import (
    ALEA_GENERATED,
    ALEA_NODES,
    ALEA_WORKFLOWS,
    SWF_HEADER,
    SWF_JOBS,
)
from tests.ingest.own_data import hashed, rows

pytestmark = pytest.mark.wide


def log_store(folder: Path, text: str, name: str = "log.swf", **options: str) -> Store:
    """Ingest a log and open its store."""
    (folder / name).write_text(text)
    ingest([folder / name], folder / "store", IngestOptions(jobs=1, **options))
    return borgtrace.open(folder / "store")


def seconds(rows_with_time: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows with their first value, a time, in seconds since the start of the store's clock."""
    return [(time / SECOND - 600, *others) for time, *others in rows_with_time]


def test_the_header_says_clock_zone_and_machines(tmp_path: Path) -> None:
    store = log_store(tmp_path, SWF_HEADER + SWF_JOBS)
    manifest = store.manifest
    # 1027839845 is 2002-07-28 09:04:05 CEST; the clock begins at the 300 s before the first submission.
    assert manifest.time_zone == "Europe/Stockholm"
    assert str(manifest.dialect.wall_clock(600 * SECOND)) == "2002-07-28 09:00:00+02:00"
    submitted = seconds(rows(store, "instance_events", "time, collection_id", "type = 'SUBMIT'"))
    assert submitted == [(255, 1), (265, 2)]
    # 8 processors on 3 nodes: two have 3 of them, and one has 2.
    assert manifest.basis["cores"] == 3
    capacities = rows(store, "machine_events", "cpu_capacity")
    assert [cpu for (cpu,) in capacities] == pytest.approx([2 / 3, 1, 1])
    assert rows(store, "machine_attributes", "value") == [("node1",), ("node2",), ("node3",)]
    assert rows(store, "machine_events", "machine_id") == sorted(
        (hashed(f"node{n}"),) for n in (1, 2, 3)
    )


def test_amounts_of_a_processor_are_times_the_processors(tmp_path: Path) -> None:
    store = log_store(tmp_path, SWF_HEADER + SWF_JOBS)
    # 4 processors: 4 × 2048 KiB asked, the most of all rows; 4 × 1024 KiB and 4 × 25.5 s of CPU used in 100 s.
    assert store.manifest.basis["bytes"] == 4 * 2048 * 1024
    requests = rows(store, "tasks", "collection_id, cpu_request, memory_request")
    assert requests == [(1, pytest.approx(4 / 3), 1), (2, pytest.approx(2 / 3), None)]
    usage = rows(store, "instance_usage", "start_time, end_time, average_cpu, average_memory")
    used_cpu = pytest.approx(4 * 25.5 / 100 / 3)
    # From second 260 of the clock to 360, which lie in two slots of 300 s.
    assert [(start / SECOND - 600, end / SECOND - 600, *used) for start, end, *used in usage] == [
        (260, 300, used_cpu, 0.5),
        (300, 360, used_cpu, 0.5),
    ]


def test_what_the_user_says_of_machines_goes_before_the_header(tmp_path: Path) -> None:
    store = log_store(tmp_path, SWF_HEADER + SWF_JOBS, capacity="16cores,1GiB")
    assert (store.manifest.basis["cores"], store.manifest.basis["bytes"]) == (16, 2**30)
    assert rows(store, "machine_events", "machine_id") == []
    assert rows(store, "tasks", "cpu_request", "collection_id = 1") == [(0.25,)]


@pytest.mark.parametrize(
    ("header", "time_zone", "start", "cores", "n_machines", "note"),
    [
        (
            "; TimeZone: 3600\n; UnixStartTime: 1027839845\n; MaxProcs: 1,152\n",
            "Etc/GMT-1",
            "2002-07-28 08:00:00+01:00",
            1152,
            1,
            "",
        ),
        (
            "; UnixStartTime: 1027839845\n",
            "UTC",
            "2002-07-28 07:00:00+00:00",
            4,
            0,
            "No file says its time zone: times are taken as UTC; --time-zone says another.",
        ),
        (
            "; Note: nothing else\n",
            "UTC",
            "1970-01-01 00:00:00+00:00",
            4,
            0,
            "No file says when it began: its times count from 1970-01-01.",
        ),
    ],
)
def test_headers_that_say_less(
    tmp_path: Path,
    header: str,
    time_zone: str,
    start: str,
    cores: int,
    n_machines: int,
    note: str,
) -> None:
    manifest = log_store(tmp_path, header + SWF_JOBS).manifest
    assert manifest.time_zone == time_zone
    assert str(manifest.dialect.wall_clock(600 * SECOND)) == start
    assert manifest.basis["cores"] == cores
    assert manifest.tables["machine_events"] == n_machines
    assert not note or note in manifest.notes


def test_a_size_that_nobody_says_is_named_and_not_taken_for_that_of_machines(
    tmp_path: Path,
) -> None:
    store = log_store(tmp_path, SWF_JOBS)
    assert store.manifest.notes[1:3] == (
        "No file says how much CPU machines have: amounts are fractions of the largest that a row has, "
        "4 cores; --capacity says it.",
        "No file says how much memory machines have: amounts are fractions of the largest that a row has, "
        "0.0078125 GiB; --capacity says it.",
    )
    assert rows(store, "machine_events", "*") == []
    assert store.manifest.basis["unknown_sizes"] == ["cpu", "memory"]
    assert ResourceAmounts.of(store.manifest).describe() == ""


def test_times_since_1970_below_a_header_are_not_shifted(tmp_path: Path) -> None:
    line = "1 1027839855 5 100 4 -1 -1 4 -1 -1 1 7 -1 3 1 1 -1 -1\n"
    store = log_store(tmp_path, SWF_HEADER + line)
    assert str(store.manifest.dialect.wall_clock(600 * SECOND)) == "2002-07-28 09:00:00+02:00"


def test_time_zones_that_the_user_says(tmp_path: Path) -> None:
    store = log_store(tmp_path, SWF_HEADER + SWF_JOBS, time_zone="Asia/Tokyo")
    assert str(store.manifest.dialect.wall_clock(600 * SECOND)) == "2002-07-28 16:00:00+09:00"
    unknown = SWF_HEADER.replace("Europe/Stockholm", "Mars/Base")
    (tmp_path / "mars.swf").write_text(unknown + SWF_JOBS)
    with pytest.raises(SourceError) as refused:
        ingest([tmp_path / "mars.swf"], tmp_path / "mars", IngestOptions(jobs=1))
    assert str(refused.value) == (
        f"{tmp_path / 'mars.swf'}: no such time zone: expected a name such as Europe/Berlin, got Mars/Base; "
        "say --time-zone"
    )
    ingest([tmp_path / "mars.swf"], tmp_path / "mars", IngestOptions(jobs=1, time_zone="UTC"))
    with pytest.raises(
        UsageError, match=r'^--time-zone: no such time zone: got Mars/Base; try "UTC"$'
    ):
        ingest([tmp_path / "mars.swf"], tmp_path / "venus", IngestOptions(time_zone="Mars/Base"))


def test_a_time_zone_that_says_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,262144,0,\n"
    )
    with pytest.raises(UsageError) as refused:
        ingest([tmp_path], tmp_path / "store", IngestOptions(time_zone="Asia/Tokyo"))
    assert str(refused.value) == (
        "--time-zone: has no effect on openb: expected files whose times name no zone; leave it out"
    )


@pytest.mark.parametrize(
    "text",
    [
        ";cpu;memory\n0;1;2\n1;3;4\n",
        "a b c d e f g h i j k l m n o p q r\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n",
        "1 2 3 4 5 6 7 8 9 10 99 12 13 14 15 16 17 18\n",
    ],
)
def test_other_texts_are_not_taken_for_a_log(tmp_path: Path, text: str) -> None:
    (tmp_path / "numbers.dat").write_text(text)
    try:
        store = log_store(tmp_path, text, "numbers.dat", capacity="8cores,8GiB")
    except (SourceError, UsageError):
        return
    assert store.manifest.generation != "swf"


def test_a_job_of_alea_is_on_the_nodes_of_its_cores(tmp_path: Path) -> None:
    store = log_store(tmp_path, ALEA_NODES, capacity="8cores,8KiB")
    assert store.manifest.generation == "alea"
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.stored, entry.quarantined) == (3, 3, 0)
    # Three of four cores on node 12; 4096 bytes on each node.
    events = rows(
        store,
        "instance_events",
        "collection_id, instance_index, machine_id, cpu_request, memory_request",
        "type = 'SCHEDULE'",
    )
    assert events == [
        (0, 0, 12, 0.375, 0.5),
        (0, 1, 9, 0.125, 0.5),
        (1, 0, 9, 0.125, 0.25),
        (2, 0, 9, 0.125, 0.25),
    ]
    # A negative run time is unknown, and so is the end.
    ends = rows(
        store, "instance_events", "collection_id, instance_index", "type in ('FINISH', 'KILL')"
    )
    assert ends == [(0, 0), (0, 1), (2, 0)]
    assert (
        "Machines are derived: those that rows name, each of the capacity that was given."
        in store.manifest.notes
    )


def test_workflows_of_alea(tmp_path: Path) -> None:
    store = log_store(tmp_path, ALEA_WORKFLOWS)
    assert rows(store, "collection_events", "collection_logical_name", "type = 'SUBMIT'") == [
        ("DAG-1",)
    ]
    # 3,145,728 KB on its node.
    assert store.manifest.basis["bytes"] == 3 * 2**30
    assert rows(store, "instance_usage", "*") == []


def test_generated_logs_of_alea_have_gpus_and_a_clock(tmp_path: Path) -> None:
    store = log_store(tmp_path, ALEA_GENERATED, capacity="336cores")
    manifest = store.manifest
    assert (manifest.generation, manifest.sources[0].raw_table) == ("alea", "alea_generated")
    # 1735689600 is midnight of 1 January 2025 in UTC.
    assert str(manifest.dialect.wall_clock(600 * SECOND)) == "2025-01-01 00:00:00+00:00"
    columns = "time, collection_id, type, cpu_request, gpu_request, user"
    assert seconds(rows(store, "instance_events", columns)) == [
        (60, 1, "SUBMIT", 1, 6000, "0"),
        (65, 1, "SCHEDULE", 1, 6000, "0"),
        (90, 2, "SCHEDULE", pytest.approx(1 / 7), 0, "4"),
        (90, 2, "SUBMIT", pytest.approx(1 / 7), 0, "4"),
        (390, 2, "FINISH", pytest.approx(1 / 7), 0, "4"),
        (665, 1, "FINISH", 1, 6000, "0"),
    ]
    # Neither memory nor CPU time was measured.
    assert rows(store, "instance_usage", "*") == []
    assert rows(store, "tasks", "distinct memory_request") == [(None,)]


OWNERS = "alice staff lammps q_1d part {before} -1"
NAMED = {
    "alea": ("1 1793491500 0 60 1 1 1 1 90 4096 1 {owners} {{9}} q_1d 1:ppn=1\n", "-1"),
    "alea_workflows": ("1 1793491500 0 60 1 -1 1 1 90 4096 1 {owners} DAG-1 1\n", "3&4"),
    "alea_generated": ("1 1793491500 0 60 1 -1 1 1 90 4096 1 {owners} 0 60 all:1x1\n", "-1"),
    "swf": ("1 1793491500 0 60 1 -1 1 1 90 4096 1 {owners}\n", "-1"),
}


@pytest.mark.parametrize("table", NAMED)
def test_names_where_the_format_has_numbers_change_no_format(tmp_path: Path, table: str) -> None:
    line, before = NAMED[table]
    store = log_store(tmp_path, line.format(owners=OWNERS.format(before=before)))
    (entry,) = store.manifest.sources
    assert (entry.raw_table, entry.rows_in, entry.stored) == (table, 1, 1)
    assert rows(store, "collection_events", "distinct user") == [("alice",)]


def test_all_jobs_of_wagap(trace: Path, tmp_path: Path) -> None:
    """17,900 jobs, none refused: counted by hand from the raw lines."""
    path = real_folder(trace, "swf") / "wagap-2013.swf.gz"
    with gzip.open(path, "rt") as file:
        jobs = [line.split() for line in file]
    nodes = [dict(Counter(job[18].strip("{}").split(","))) for job in jobs]
    ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.quarantined, len(jobs)) == (17_900, 0, 17_900)
    n_events = dict(rows(store, "instance_events", "type, count(*)", "true group by type"))
    assert n_events["SCHEDULE"] == sum(map(len, nodes))
    n_ended = sum(len(on) for on, job in zip(nodes, jobs, strict=True) if int(job[3]) >= 0)
    assert n_events["FINISH"] == n_ended
    names = {int(node) for on in nodes for node in on}
    assert rows(store, "machine_events", "machine_id") == sorted((name,) for name in names)
    # The last job was submitted at second 1364682183, on 30 March 2013.
    first, _ = store.manifest.time_range["collection_events"]
    assert store.manifest.basis["zero"] // SECOND + first // SECOND - 600 == int(jobs[0][1])


@pytest.mark.scale
def test_all_jobs_of_ricc(trace: Path, tmp_path: Path) -> None:
    """447,794 jobs on 1,024 nodes of 8 processors, the last of which ends when the header says that the log does."""
    log = tmp_path / "ricc.swf"
    with lzma.open(real_folder(trace, "swf") / "RICC-2010-2.swf.xz", "rt") as file:
        log.write_text(file.read())
    ingest([log], tmp_path / "store", IngestOptions())
    manifest = borgtrace.open(tmp_path / "store").manifest
    (entry,) = manifest.sources
    assert (entry.rows_in, entry.stored) == (447_794, 447_794)
    assert manifest.tables["tasks"] == 447_794
    assert manifest.tables["machine_events"] == 1024
    assert manifest.basis["cores"] == 8
    _, last = manifest.time_range["instance_events"]
    # EndTime: Thu Sep 30 23:58:08 JST 2010.
    assert str(manifest.dialect.wall_clock(last)) == "2010-09-30 23:58:08+09:00"
