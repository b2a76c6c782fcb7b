"""Files that simulators and other tools read: what formats can hold comes back equal."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.export import CLOCK, export_files
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from tests.export.stores import ingested, opendc_store, text_store
from tests.ingest.cluster_samples import OPENDC_FRAGMENTS, OPENDC_START, OPENDC_TASKS
from tests.ingest.job_samples import SWF
from tests.ingest.own_data import AVERAGES, ingest_own

pytestmark = pytest.mark.wide

TABLES = ("machine_events", "collection_events", "instance_events", "instance_usage")


def exported_and_ingested(folder, layout, store, capacity=""):
    """Export a store and ingest what was written."""
    out = folder / layout
    export_files(store, out, layout)
    options = IngestOptions(jobs=1, capacity=capacity)
    ingest([out], folder / "again", options)
    return borgtrace.open(folder / "again")


def rows_of(store, table):
    # Without where rows come from: their files and lines are others.
    query = f"select * exclude (source_part, source_row) from {table} order by all"
    return store.sql(query).to_pylist()


def test_a_workload_for_opendc_comes_back_equal(tmp_path):
    store = opendc_store(tmp_path, OPENDC_TASKS, OPENDC_FRAGMENTS)
    again = exported_and_ingested(tmp_path, "opendc", store, "16cores,16GB")
    assert [rows_of(again, name) for name in TABLES] == [rows_of(store, name) for name in TABLES]
    assert len(rows_of(again, "instance_usage")) == 4


def test_files_for_opendc_have_the_types_and_the_order_that_its_reader_requires(tmp_path):
    out = tmp_path / "out"
    export_files(opendc_store(tmp_path, OPENDC_TASKS, OPENDC_FRAGMENTS), out, "opendc")
    tasks = pq.read_table(out / "tasks.parquet")
    fragments = pq.read_table(out / "fragments.parquet")
    # TaskSchemas.kt and FragmentSchemas.kt: all fields but the name are required.
    required = [(field.name, str(field.type)) for field in tasks.schema if not field.nullable]
    assert required == [
        ("id", "int32"),
        ("submission_time", "timestamp[ms, tz=UTC]"),
        ("duration", "int64"),
        ("cpu_count", "int32"),
        ("cpu_capacity", "double"),
        ("mem_capacity", "int64"),
    ]
    assert [str(field.type) for field in fragments.schema] == ["int32", "int64", "double"]
    # A core has one clock for all: 4,800 of 4,000 MHz are more than the four cores of task 7, as its source says.
    assert tasks["cpu_capacity"].to_pylist() == [4 * CLOCK, 2 * CLOCK]
    cores_used = [usage / CLOCK for usage in fragments["cpu_usage"].to_pylist()]
    assert cores_used == pytest.approx([1, 0, 4.8, 2])
    # EfficientWorkloadLoader: fragments of a task follow each other, tasks and fragments in one order.
    assert fragments["id"].to_pylist() == [7, 7, 7, 9]
    milliseconds = tasks["submission_time"].cast(pa.int64())
    assert milliseconds.to_pylist() == [OPENDC_START * 1000, (OPENDC_START + 90) * 1000]


def test_gaps_are_fragments_without_use_and_no_fragment_has_no_length(tmp_path):
    usage = "task,time,cpu\nweb,0,2\nweb,900,4\nweb,1000,8\n"
    store = ingest_own(tmp_path, AVERAGES, {"own.csv": usage})
    out = tmp_path / "out"
    export_files(store, out, "opendc", (8.0, 2.0**30))
    fragments = pq.read_table(out / "fragments.parquet")
    # The window of 900 s ends where the next one begins.
    assert fragments["duration"].to_pylist() == [300_000, 600_000, 100_000, 300_000]
    cores_used = [usage / CLOCK for usage in fragments["cpu_usage"].to_pylist()]
    assert cores_used == pytest.approx([2, 0, 4, 8])
    (task,) = pq.read_table(out / "tasks.parquet").to_pylist()
    # A name has an id of 63 bits, so its place is its number.
    assert task["id"] == 1
    assert task["duration"] == 1_300_000
    # Without a request it asks for the most that it used.
    assert task["cpu_count"] == 8
    assert task["mem_capacity"] == 0


def test_a_log_of_jobs_comes_back_equal(tmp_path):
    store = text_store(tmp_path, SWF, "128cores")
    again = exported_and_ingested(tmp_path, "swf", store, "128cores")
    assert [rows_of(again, name) for name in TABLES[:3]] == [
        rows_of(store, name) for name in TABLES[:3]
    ]
    # Fields that the store does not hold are -1: average CPU time, memory, requested time, group, queue and so on.
    assert (tmp_path / "swf" / "jobs.swf").read_text() == (
        "; Version: 2.2\n; MaxProcs: 128\n; UnixStartTime: 0\n"
        "1 10 5 100 32 -1 -1 32 -1 -1 1 7 -1 3 -1 -1 -1 -1\n"
        "2 20 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
        "3 30 0 60 64 -1 -1 64 -1 -1 2 8 -1 4 -1 -1 -1 -1\n"
        "3 100 20 40 64 -1 -1 64 -1 -1 3 8 -1 4 -1 -1 -1 -1\n"
    )


NAME = "n" * 43 + "="
FILES_2011 = {
    "machine_events": "0,5,0,p,0.5,0.25\n",
    "machine_attributes": "0,5,a,,0\n7,5,a,,1\n",
    "job_events": "0,,9,0,u,2,n,l\n800000000,,9,4,u,2,n,l\n",
    "task_events": "0,2,9,0,,0,u,2,9,0.1,0.0123,1e-05,1\n800000000,,9,0,5,4,u,2,9,,,,\n",
    "task_constraints": f"0,9,0,0,{NAME},\n0,9,0,2,{NAME},3\n",
    "task_usage": "600000000,900000000,9,0,5,0.1,0.02,,,,,,,,,1.5,,1.0,1,0.125\n",
}


def test_files_of_2011_come_back_as_they_were(tmp_path):
    for name, text in FILES_2011.items():
        is_single = name.startswith("machine")
        file_name = "part-00000-of-00001" if is_single else "part-00007-of-00500"
        path = tmp_path / "source" / name / f"{file_name}.csv.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(text.encode()))
    store = ingested(tmp_path, ["source"])
    again = exported_and_ingested(tmp_path, "raw", store)
    assert again.digest == store.digest
    written = {
        path.parent.name: gzip.decompress(path.read_bytes()).decode()
        for path in (tmp_path / "raw").rglob("*.gz")
    }
    assert written == FILES_2011
    assert (tmp_path / "raw" / "task_usage" / "part-00007-of-00500.csv.gz").exists()


def test_parts_are_cut_from_one_pass_over_their_table(tmp_path, monkeypatch):
    for part, rows in ((3, 2), (0, 1), (499, 3)):
        lines = [
            f"{600 + row}000000,900000000,{9 - row},0,5,0.1,,,,,,,,,,,,,,\n" for row in range(rows)
        ]
        path = tmp_path / "source" / "task_usage" / f"part-{part:05d}-of-00500.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(lines).encode()))
    ingest([tmp_path / "source"], tmp_path / "store", IngestOptions(jobs=1))
    store, asked = borgtrace.open(tmp_path / "store"), []
    stream = store.stream
    monkeypatch.setattr(
        store, "stream", lambda query, parameters: asked.append(query) or stream(query, parameters)
    )
    monkeypatch.setattr(store, "sql", None)
    done = export_files(store, tmp_path / "raw", "raw")
    # Six tables, of which usage alone has rows; collections 9, 8, 7 lie in another order in the store.
    assert (len(asked), done.files, done.rows) == (6, 3, 6)
    # It has no index of tasks.
    assert (done.path, done.tasks) == (tmp_path / "raw", 0)
    for path in (tmp_path / "source").rglob("*.gz"):
        again = tmp_path / "raw" / path.relative_to(tmp_path / "source")
        assert gzip.decompress(again.read_bytes()) == gzip.decompress(path.read_bytes())


EVENT = {
    "time": "5",
    "type": "0",
    "collection_id": "9",
    "collection_type": "0",
    "instance_index": "0",
}
WINDOW = {
    "start_time": "600000000",
    "end_time": "900000000",
    "collection_id": "9",
    "instance_index": "0",
}
FILES_2019 = {
    "machine_events": [
        {
            "time": "0",
            "machine_id": "5",
            "type": "1",
            "capacity": {"cpus": 0.5, "memory": 0.25},
            "platform_id": "p",
        },
        {
            "time": "7",
            "machine_id": "5",
            "type": "3",
            "switch_id": "s",
            "missing_data_reason": "1",
        },
    ],
    "machine_attributes": [
        {
            "time": "0",
            "machine_id": "5",
            "name": "a",
            "value": "",
            "deleted": False,
        },
        {
            "time": "7",
            "machine_id": "5",
            "name": "a",
            "deleted": True,
        },
    ],
    "collection_events": [
        {
            "time": "5",
            "type": "0",
            "collection_id": "8",
            "collection_type": "1",
            "user": 'a"\\é',
            "priority": "200",
        }
        | {
            "max_per_machine": "1",
            "max_per_switch": "2",
            "vertical_scaling": "0",
            "scheduler": "1",
        },
        {
            "time": "5",
            "type": "0",
            "collection_id": "9",
            "collection_type": "0",
            "start_after_collection_ids": ["1", "2"],
        }
        | {
            "scheduling_class": "2",
            "missing_type": "1",
            "alloc_collection_id": "8",
            "parent_collection_id": "7",
        }
        | {"collection_name": "n", "collection_logical_name": "l"},
    ],
    "instance_events": [
        EVENT
        | {
            "resource_request": {"cpus": 0.1, "memory": 1e-07},
            "constraint": [{"name": "a", "relation": "0"}],
        },
        EVENT
        | {
            "type": "3",
            "machine_id": "5",
            "alloc_collection_id": "8",
            "alloc_instance_index": "0",
        },
        EVENT
        | {
            "type": "6",
            "time": "6",
            "machine_id": "-1",
            "priority": "103",
        }
        # In an order that is not that of their names.
        | {
            "constraint": [
                {
                    "name": "b",
                    "relation": "3",
                    "value": "",
                },
                {
                    "name": "a",
                    "relation": "1",
                    "value": "x,y",
                },
            ]
        },
    ],
    "instance_usage": [
        WINDOW
        | {
            "collection_type": "0",
            "average_usage": {"cpus": 0.3},
            "maximum_usage": {"memory": 1e-08},
        },
        WINDOW
        | {
            "start_time": "900000000",
            "end_time": "1200000000",
            "machine_id": "-1",
            "collection_type": "0",
        }
        | {
            "random_sample_usage": {"cpus": 0.7},
            "assigned_memory": 0.1,
            "page_cache_memory": 0.2,
            "sample_rate": 1.0,
        }
        | {"cycles_per_instruction": 3.5, "memory_accesses_per_instruction": 0.01}
        | {
            "cpu_usage_distribution": [n / 10 for n in range(11)],
            "tail_cpu_usage_distribution": [],
        },
    ],
}


def _read_2019(folder):
    return {
        path.name.split("-")[0]: list(
            map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        )
        for path in folder.rglob("*.gz")
    }


def test_files_of_2019_come_back_as_they_were(tmp_path):
    bucket = tmp_path / "clusterdata_2019_c"
    bucket.mkdir()
    for name, records in FILES_2019.items():
        text = "".join(json.dumps(record) + "\n" for record in records)
        (bucket / f"{name}-000000000007.json.gz").write_bytes(gzip.compress(text.encode()))
    ingest([bucket], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    assert not sum(entry.quarantined for entry in store.manifest.sources)
    again = exported_and_ingested(tmp_path, "raw", store)
    assert again.manifest.content == store.manifest.content
    assert (again.digest, again.manifest.cell) == (store.digest, "c")
    assert _read_2019(tmp_path / "raw") == FILES_2019
    assert (
        tmp_path / "raw" / "clusterdata_2019_c" / "instance_usage-000000000007.json.gz"
    ).exists()


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_files_of_a_synthetic_store_come_back_and_say_so(tmp_path, generation):
    generate(tmp_path / "made", generation, 2, 1.0, 7)
    ingest([tmp_path / "made"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    again = exported_and_ingested(tmp_path, "raw", store)
    assert again.manifest.content == store.manifest.content
    assert again.manifest.is_synthetic
    assert again.manifest.synthetic["seed"] == 7


def test_what_cannot_be_written_is_an_error_with_the_way_out(tmp_path):
    store = text_store(tmp_path, SWF, "128cores")
    with pytest.raises(UsageError) as error:
        export_files(store, tmp_path / "raw", "raw")
    assert str(error.value) == (
        "--layout raw: raw files are those of Google's traces: expected a store of 2011 or 2019, "
        "got Log in the Standard Workload Format; --layout jobs writes files of any store"
    )
    with pytest.raises(UsageError) as error:
        export_files(store, tmp_path / "opendc", "opendc")
    assert str(error.value) == (
        "--capacity: nothing says how much the largest machine has; "
        "add --capacity 64cores,256GiB, with the size of yours"
    )
    assert not (tmp_path / "opendc").exists()
    # Where it may not write at all is said first.
    with pytest.raises(UsageError) as error:
        export_files(store, tmp_path / "store", "opendc")
    assert str(error.value).startswith(
        f"{tmp_path / 'store'}: holds something else: expected a new folder, got "
    )
