"""Real files of every format that lie beside the project: what each is taken for, and counts by another reading."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import duckdb
import pytest

import borgtrace
from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.recognition import recognize
from borgtrace.store import Store
from tests.conftest import real_folder
from tests.rows import chosen_columns

pytestmark = pytest.mark.wide

RECOGNIZED = {
    "bitbrains/*.csv.gz": ("bitbrains", "vm"),
    "bitbrains-1250/bitbrains-1250.parquet": ("bitbrains-cpu", "vms"),
    "cell-a-2019/json/*": ("2019", "machine_events"),
    "cell-a-2019/parquet/*": ("2019", "machine_events"),
    "clusterdata-2011-2/job_events/*": ("2011", "job_events"),
    "clusterdata-2011-2/machine_attributes/*": ("2011", "machine_attributes"),
    "clusterdata-2011-2/machine_events/*": ("2011", "machine_events"),
    "clusterdata-2011-2/task_events/*": ("2011", "task_events"),
    "clusterdata-2011-2/task_usage/*": ("2011", "task_usage"),
    "clusterdata-2019/collection_events*": ("2019", "collection_events"),
    "clusterdata-2019/instance_events*": ("2019", "instance_events"),
    "clusterdata-2019/instance_usage*": ("2019", "instance_usage"),
    "clusterdata-2019/machine_attributes*": ("2019", "machine_attributes"),
    "clusterdata-2019/machine_events*": ("2019", "machine_events"),
    "joined-2011/job_events.csv": ("2011", "job_events"),
    "joined-2011/machine_events.csv": ("2011", "machine_events"),
    "joined-2011/task_events.csv": ("2011", "task_events"),
    "joined-2011/task_usage.csv": ("2011", "task_usage"),
    "kaggle-2019/*.csv": ("kaggle-2019", "kaggle"),
    "openb/openb_node_list_*": ("openb", "openb_node_list"),
    "openb/openb_pod_list_[cdg]*": ("openb", "openb_pod_list"),
    "philly/philly.csv.xz": ("philly", "philly_jobs"),
    "sacct/sacct-output-v1.txt.gz": ("sacct", "sacct"),
    "swf/RICC-2010-2.swf.xz": ("swf", "swf"),
    "swf/wagap-2013.swf.gz": ("alea", "alea"),
    "usage-2019/crf_instance_usage.parquet": ("crf-2019", "crf_instance_usage"),
}
"""Patterns of real files, with the format and the table of each."""
OF_NO_FORMAT = (
    # An instance of a packing problem, readings without times, a list of addresses, and a description.
    "azure/packing_10000_24_1.txt.gz",
    "azure/v1_cpu_40_vms.parquet",
    "cell-a-2019/cell_a_file_list.txt.gz",
    "clusterdata-2011-2/schema.csv",
    # Rebuilt by others, with columns of their own; usage of machines, not of tasks.
    "kaggle-2019/borg_2019_reconstructed.parquet",
    "machines-2011/usage_12580_machines.parquet",
    # Orders of pods, and pods without their times.
    "openb/openb_arrivals.csv.gz",
    "openb/openb_pod_list_multigpu20.csv.gz",
    "swf/wagap-2013.swf.machines",
)
"""Real files that no format describes: refused, never guessed to be one."""


def _real_files(trace: Path) -> list[Path]:
    return sorted(path for path in trace.rglob("*") if path.is_file() and path.name != "README.md")


def test_every_real_file_is_what_it_is_and_nothing_is_asked(trace: Path) -> None:
    expected = {}
    for pattern, table in RECOGNIZED.items():
        expected |= {path: {table} for path in trace.glob(pattern)}
    expected |= {trace / name: set() for name in OF_NO_FORMAT if (trace / name).exists()}
    files = _real_files(trace)
    recognized = {}
    for path in files:
        try:
            sources = recognize(path).sources
        except BorgtraceError:
            sources = []
        recognized[path] = {(source.dialect.name, source.table) for source in sources}
    assert recognized == expected
    assert len(files) > 100


def test_a_list_of_pods_without_times_is_told_which_columns_it_lacks(trace: Path) -> None:
    path = real_folder(trace, "openb") / "openb_pod_list_multigpu20.csv.gz"
    (fault,) = recognize(path).faults
    assert str(fault) == (
        f"{path}: columns of openb_pod_list (openb) are missing: expected pod_phase, creation_time, "
        "got name, cpu_milli, memory_mib, num_gpu, gpu_milli; "
        "fetch the whole table, or describe the file: borgtrace dialect sniff FILE"
    )


def _store(folder: Path, place: Path, capacity: str = "") -> Store:
    result = ingest([place], folder / "store", IngestOptions(jobs=1, capacity=capacity))
    assert result.manifest is not None
    assert sum(entry.quarantined for entry in result.manifest.sources) == 0
    return borgtrace.open(folder / "store")


def test_vms_of_bitbrains_by_another_reading(trace: Path, tmp_path: Path) -> None:
    folder = real_folder(trace, "bitbrains")
    store = _store(tmp_path, folder, "32cores,256GiB")
    for path in folder.glob("*.csv.gz"):
        with gzip.open(path, "rt") as file:
            rows = list(csv.reader(file, delimiter=";"))[1:]
        vm = int(path.name.split(".")[0])
        # Cores in use: MHz, of what all cores have together.
        cores = [float(row[1]) * float(row[3]) / float(row[2]) for row in rows if float(row[2])]
        memory = [float(row[6]) * 1024 / (256 * 2**30) for row in rows]
        (found,) = store.sql(
            "select count(*) as n, count(average_cpu) as n_cpu, sum(average_cpu) * 32 as cores, "
            f"sum(average_memory) as memory from instance_usage where collection_id = {vm}"
        ).to_pylist()
        assert (found["n"], found["n_cpu"]) == (len(rows), len(cores))
        expected = {
            "cores": sum(cores),
            "memory": sum(memory),
        }
        assert chosen_columns(found, expected) == pytest.approx(expected, rel=1e-05)


def test_joined_rows_of_2019_by_another_reading(trace: Path, tmp_path: Path) -> None:
    path = real_folder(trace, "usage-2019") / "crf_instance_usage.parquet"
    store = _store(tmp_path, path)
    query = """
        SELECT
            count(*),
            count(DISTINCT unique_id),
            sum(avg_cpu_usage),
            sum(avg_memory_usage),
            min(time),
            max(time),
            count(*) FILTER (p0_cpu_usage >= 0),
            count(*) FILTER (machine_id = 0)
        FROM read_parquet($1)
    """
    expected = duckdb.execute(query, [str(path)]).fetchall()[0]
    (found,) = store.sql(
        "select count(*) as n, count(distinct (collection_id, instance_index)) as tasks, sum(average_cpu) as cpu, "
        "sum(average_memory) as memory, min(start_time) as first, max(start_time) as last, "
        "count(cpu_usage_distribution) as lists, count(*) filter (machine_id is null) as homeless from instance_usage"
    ).to_pylist()
    n, tasks, cpu, memory, first, last, lists, homeless = found.values()
    # Published: 78,135 rows of 44 tasks, 9 of them on no machine.
    assert (n, tasks, homeless) == (78_135, 44, 9) == (expected[0], expected[1], expected[7])
    assert (first, last, lists) == expected[4:7]
    assert (cpu, memory) == (
        pytest.approx(expected[2], rel=1e-6),
        pytest.approx(expected[3], rel=1e-6),
    )


def test_all_vms_of_bitbrains_by_another_reading(trace: Path, tmp_path: Path) -> None:
    """The rows of 250 of the 1,250 VMs, in the file's own form; all of them take half a minute more."""
    path = real_folder(trace, "bitbrains-1250") / "bitbrains-1250.parquet"
    part = tmp_path / "vms.parquet"
    rows_sql = "SELECT * FROM read_parquet($1) WHERE vm % 5 = 0"
    duckdb.execute(f"COPY ({rows_sql}) TO '{part}' (FORMAT parquet)", [str(path)])
    store = _store(tmp_path, part, "86400MHz")
    expected = duckdb.execute(
        f"SELECT count(*), count(DISTINCT vm), sum(cpu_mhz::DOUBLE) FROM ({rows_sql})", [str(path)]
    ).fetchall()[0]
    (found,) = store.sql(
        "select count(*) as n, count(distinct collection_id) as vms, sum(average_cpu) * 86400 as mhz "
        "from instance_usage"
    ).to_pylist()
    assert (found["n"], found["vms"]) == expected[:2]
    assert found["mhz"] == pytest.approx(expected[2], rel=1e-6)
    # Published: 11,221,800 rows of 1,250 VMs.
    whole = "SELECT count(*), count(DISTINCT vm) FROM read_parquet($1)"
    assert duckdb.execute(whole, [str(path)]).fetchall()[0] == (11_221_800, 1250)
