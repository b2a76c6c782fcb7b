"""Workloads for OpenDC in the store: rows invented in the documented schema, worked out by hand."""

from __future__ import annotations

import datetime
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from tests.ingest.cluster_samples import OPENDC_FRAGMENTS, OPENDC_START, OPENDC_TASKS
from tests.ingest.own_data import rows


def _store(folder, tasks, fragments):
    for name, columns in (("tasks", tasks), ("fragments", fragments)):
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    places = [folder / "tasks.parquet", folder / "fragments.parquet"]
    ingest(places, folder / "store", IngestOptions(jobs=1, capacity="16cores,16GB"))
    return borgtrace.open(folder / "store")


def test_a_task_lives_from_its_submission_for_its_duration(tmp_path):
    store = _store(tmp_path, OPENDC_TASKS, OPENDC_FRAGMENTS)
    assert store.manifest.generation == "opendc"
    # 8,000,000 KB are half of 16 GB.
    assert rows(
        store,
        "instance_events",
        "collection_id, time, type, cpu_request, memory_request",
    ) == [
        (7, 600 * SECOND, "SCHEDULE", 0.25, 0.5),
        (7, 600 * SECOND, "SUBMIT", 0.25, 0.5),
        (7, 690 * SECOND, "FINISH", 0.25, 0.5),
        (9, 690 * SECOND, "SCHEDULE", 0.125, 0.25),
        (9, 690 * SECOND, "SUBMIT", 0.125, 0.25),
        (9, 750 * SECOND, "FINISH", 0.125, 0.25),
    ]


def test_fragments_follow_each_other_and_are_a_share_of_the_clock_of_their_task(tmp_path):
    store = _store(tmp_path, OPENDC_TASKS, OPENDC_FRAGMENTS)
    # A core of task 7 has 2,500 MHz, one of task 9 3,000: 2,500 of 10,000 MHz are one core of four, of 16 in all.
    assert rows(store, "instance_usage", "collection_id, start_time, end_time, average_cpu") == [
        (7, 600 * SECOND, 630 * SECOND, 0.0625),
        (7, 630 * SECOND, 660 * SECOND, 0.0),
        (7, 660 * SECOND, 690 * SECOND, pytest.approx(0.3)),
        (9, 690 * SECOND, 750 * SECOND, 0.125),
    ]


def test_names_and_numbers_without_a_unit_of_time_are_read_too(tmp_path):
    # The first version of the schema has texts for ids; some writers leave the time a plain number.
    older = OPENDC_TASKS | {
        "id": ["7", "a"],
        "submission_time": [OPENDC_START * 1000, (OPENDC_START + 90) * 1000],
    }
    store = _store(
        tmp_path,
        older,
        OPENDC_FRAGMENTS | {"id": ["7", "7", "a", "7"], "cpu_count": [4, 4, 2, 4]},
    )
    names = rows(store, "collection_events", "time, collection_name", "type = 'SUBMIT'")
    assert names == [(600 * SECOND, "7"), (690 * SECOND, "a")]
    assert store.sql(
        "select sum(end_time - start_time) // 1000000 as s from instance_usage"
    ).to_pylist() == [{"s": 150}]


@pytest.mark.parametrize("n_rows", [300, pytest.param(1_000, marks=pytest.mark.scale)])
def test_each_changed_row_is_stored_or_refused(tmp_path, n_rows):
    rng = random.Random(14)
    tasks, fragments = pa.table(OPENDC_TASKS).to_pylist()[:1], []
    wrong = {
        "id": [None],
        "duration": [None, -1],
        "cpu_usage": [
            None,
            -0.5,
            float("nan"),
            float("inf"),
        ],
    }
    faulty = {
        "submission_time": [None],
        "cpu_count": [None, -1],
        "mem_capacity": [None, -1],
        "duration": [None, -1],
    }
    refused = {"tasks": 0, "fragments": 0}
    for _ in range(n_rows):
        for name, good, kinds in (("tasks", tasks[0], faulty), ("fragments", None, wrong)):
            row = dict(
                good
                or {
                    "id": 7,
                    "duration": 1000,
                    "cpu_usage": 100.0,
                }
            )
            if rng.random() < 0.5:
                column = rng.choice(sorted(kinds))
                row[column] = rng.choice(kinds[column])
                refused[name] += 1
            (tasks if name == "tasks" else fragments).append(row)
    schema = pa.table(OPENDC_TASKS).schema
    columns = {name: [row[name] for row in tasks] for name in schema.names}
    typed = {name: pa.array(values, schema.field(name).type) for name, values in columns.items()}
    store = _store(
        tmp_path,
        typed,
        {name: [row[name] for row in fragments] for name in fragments[0]},
    )
    found = {entry.file.removesuffix(".parquet"): entry for entry in store.manifest.sources}
    assert {name: found[name].quarantined for name in refused} == refused
    assert [found[name].stored for name in refused] == [
        n_rows + 1 - refused["tasks"],
        n_rows - refused["fragments"],
    ]
    assert isinstance(tasks[0]["submission_time"], datetime.datetime)
