"""Jobs of Microsoft's Philly: invented rows, and what they are by hand; and real rows."""

from __future__ import annotations

import csv
import json
import lzma
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from tests.conftest import real_folder
from tests.ingest.job_samples import PHILLY_JOBS, PHILLY_MACHINES
from tests.ingest.own_data import hashed, rows


def test_attempts_and_the_gpus_of_their_machines(tmp_path: Path) -> None:
    (tmp_path / "cluster_job_log").write_text(json.dumps(PHILLY_JOBS, indent=1))
    (tmp_path / "cluster_machine_list").write_text(PHILLY_MACHINES)
    paths = [tmp_path / "cluster_job_log", tmp_path / "cluster_machine_list"]
    ingest(paths, tmp_path / "store", IngestOptions(jobs=1, time_zone="America/Los_Angeles"))
    store = borgtrace.open(tmp_path / "store")
    one, two, three = map(hashed, ("app_1", "app_2", "app_3"))
    m1, m2 = hashed("m1"), hashed("m2")
    found = rows(
        store,
        "instance_events",
        "collection_id, instance_index, time, type, machine_id, gpu_request",
    )
    events = [(job, number, time // SECOND - 600, *more) for job, number, time, *more in found]
    expected = [
        (one, 0, 0, "SUBMIT", None, 2000),
        (one, 0, 60, "SCHEDULE", m1, 2000),
        # Another attempt follows: the log does not say why this one ended.
        (one, 0, 120, "EVICT", m1, 2000),
        (one, 0, 120, "SUBMIT", None, 1000),
        (one, 0, 300, "SCHEDULE", m1, 1000),
        (one, 0, 900, "FINISH", m1, 1000),
        (one, 1, 120, "SUBMIT", None, 3000),
        (one, 1, 300, "SCHEDULE", m2, 3000),
        (one, 1, 900, "FINISH", m2, 3000),
        (two, 0, 10, "SUBMIT", None, None),
        (three, 0, 20, "SUBMIT", None, 1000),
        (three, 0, 80, "SCHEDULE", m2, 1000),
    ]
    assert sorted(events, key=str) == sorted(expected, key=str)
    assert rows(store, "machine_events", "machine_id, gpu_capacity, cpu_capacity") == sorted(
        [(m1, 2, None), (m2, 8, None)]
    )
    # 07:00 in California, in summer, is 14:00 in UTC.
    assert store.manifest.basis["zero"] == 1_507_557_600 * SECOND
    assert rows(
        store, "collection_events", "collection_logical_name", f"collection_id = {two}"
    ) == [("ee9e8c",)]


def test_what_is_no_job_is_refused(tmp_path: Path) -> None:
    jobs = [
        PHILLY_JOBS[0],
        {**PHILLY_JOBS[1], "jobid": None},
        {**PHILLY_JOBS[1], "status": "Sleeping"},
        "text",
    ]
    (tmp_path / "cluster_job_log").write_text(json.dumps(jobs))
    ingest([tmp_path / "cluster_job_log"], tmp_path / "store", IngestOptions(jobs=1))
    (entry,) = borgtrace.open(tmp_path / "store").manifest.sources
    assert (entry.rows_in, entry.stored) == (6, 3)
    assert entry.counters == {"unparsable_value": 2, "unknown_enum_code": 1}


def test_a_log_that_ends_early_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster_job_log").write_text(json.dumps(PHILLY_JOBS)[:-3])
    with pytest.raises(SourceError, match="not a whole log"):
        ingest([tmp_path / "cluster_job_log"], tmp_path / "store", IngestOptions(jobs=1))


# A row of each in the README's columns, and one of a machine that was off.
UTILIZATION = {
    "cluster_gpu_util": "time,machineId,gpu0_util,gpu1_util\n2017-10-03 00:08:00 PDT,m1,60.8,NA,\n",
    "cluster_cpu_util": "time,machine_id,cpu_util\n2017-11-27 00:04:00 PST,m1,31.845\n",
    "cluster_mem_util": "time,machine_id,mem_total,mem_free\n2017-10-03 00:06:00 PDT,m1,NA,NA\n",
}


def test_use_of_whole_machines_is_named_as_not_read(tmp_path: Path) -> None:
    files = {"cluster_job_log": json.dumps(PHILLY_JOBS), **UTILIZATION}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ingest([tmp_path], tmp_path / "store", IngestOptions(jobs=1))
    manifest = borgtrace.open(tmp_path / "store").manifest
    assert len(manifest.sources) == 1
    assert [note for note in manifest.notes if "is not read" in note] == [
        f"{tmp_path}/{name}: {name} of philly is not read: means of whole machines are no use of tasks."
        for name in sorted(UTILIZATION)
    ]


@pytest.mark.parametrize("name", UTILIZATION)
def test_use_of_whole_machines_alone_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(UTILIZATION[name])
    with pytest.raises(SourceError) as refused:
        ingest([tmp_path / name], tmp_path / "store", IngestOptions(jobs=1))
    assert str(refused.value) == (
        f"{tmp_path / name}: {name} of philly is not read: expected its other tables, "
        "got means of whole machines are no use of tasks; leave it out"
    )


@pytest.mark.wide
def test_real_rows(trace: Path, tmp_path: Path) -> None:
    """82,247 jobs of 15 virtual clusters, 3,521,082,502 s of GPUs: counted by hand from the raw lines."""
    path = real_folder(trace, "philly") / "philly.csv.xz"
    with lzma.open(path, "rt") as file:
        jobs = list(csv.DictReader(file))
    gpu_seconds = sum(float(job["duration"]) * int(job["num_gpus"]) for job in jobs)
    assert (len(jobs), gpu_seconds) == (82_247, 3_521_082_502)
    ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.stored) == (82_247, 82_247)
    assert store.manifest.tables["tasks"] == 82_247
    of_cluster = Counter(job["cluster"] for job in jobs)
    found = rows(
        store,
        "collection_events",
        "collection_logical_name, count(*)",
        "type = 'SUBMIT' group by collection_logical_name",
    )
    assert (len(found), dict(found)) == (15, of_cluster)
    ((stored_gpu_seconds,),) = (
        store.sql(
            """
        select sum((e.time - s.time) / 1e6 * e.gpu_request / 1000) as seconds
        from instance_events e join instance_events s using (collection_id)
        where s.type = 'SCHEDULE' and e.type = 'FINISH'
        """
        )
        .to_pandas()
        .itertuples(index=False)
    )
    assert stored_gpu_seconds == gpu_seconds
    first = min(datetime.fromisoformat(job["timestamp"]) for job in jobs)
    assert (
        store.manifest.dialect.wall_clock(store.manifest.time_range["instance_events"][0]).replace(
            tzinfo=None
        )
        == first
    )
