"""Files for CloudSim Plus: what its readers of Google's trace of 2011 take, restated from their source as data."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass

import pytest

import borgtrace
from borgtrace.export import export_files
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from tests.export.stores import ingested, text_store
from tests.ingest.cluster_samples import AZURE

pytestmark = pytest.mark.wide

# The fields that each reader parses, in their order: MachineEventField.java, TaskEventField.java and TaskEvent.java,
# GoogleTaskUsageTraceReader.java and TaskUsage.java.  A field with "?" has a default; an empty one without it ends the
# simulation (TraceReaderAbstract.java: parseInt, parseLong, parseDouble).  "-" is not read.
FIELDS = {
    "machine_events": "double long int - double double",
    "task_events": "double - long long - int text int int double? double? double? -",
    "task_usage": "double double long long long?" + 10 * " double?",
}
PARSED = {
    "int": r"-?\d{1,9}",
    "long": r"-?\d{1,18}",
    "double": r"-?\d+(\.\d+)?",
    "text": r".*",
    "-": r".*",
    # What does not look like this is taken for the default (`getFieldDoubleValue`): exponents too.
    "double?": r"(-?\d+(\.?\d+)?)?",
    "long?": r"(-?\d+)?",
}
# TaskEventType.java: what a type asks of a task (DatacenterBrokerAbstract.java), by what its state becomes.
# LOST and updates are passed over, so there are none.
STEPS = {
    (None, 0): "frozen",
    ("frozen", 1): "running",
    ("running", 2): "paused",
    ("paused", 1): "running",
    ("running", 3): "ended",
    ("running", 4): "ended",
    ("running", 5): "ended",
    ("paused", 3): "ended",
    ("paused", 4): "ended",
    ("paused", 5): "ended",
}


def lines_of(folder, name):
    text = gzip.decompress((folder / f"{name}.csv.gz").read_bytes()).decode()
    rows = [line.split(",") for line in text.splitlines()]
    kinds = FIELDS[name].split()
    for row in rows:
        # FileReader.java: such a line is a comment.
        assert row[0][:1] not in {";", "#"}
        assert len(row) >= len(kinds)
        for text, kind in zip(row, kinds, strict=False):
            assert re.fullmatch(PARSED[kind], text), (name, row)
    times = [int(row[0]) for row in rows]
    # CloudSimEvent.java: no negative delay; a time of 2**63 - 1 would be simulated up to.
    assert times == sorted(times)
    assert all(0 <= time < 2**63 - 1 for time in times)
    return rows


@dataclass
class Cloudlet:
    """A task, as their simulation has it."""

    user: str
    job: str
    submitted: int
    ended: int = 2**63
    state: str | None = None
    since: int = 0
    length: int = 0

    def take(self, time, kind):
        """Change its state by an event."""
        if self.state == "running":
            self.length += time - self.since
        self.state = STEPS[self.state, kind]
        self.since = time
        if self.state == "ended":
            # CloudletAbstract.java: "Cloudlet length cannot be zero".
            assert self.length > 0
            self.ended = time


def check(folder):
    """Read the files as the readers do, one after the other, and count tasks."""
    there = set()
    for _, machine, kind, *_ in lines_of(folder, "machine_events"):
        # MachineEventType.java: 0 makes a host of that id, 1 removes it.
        assert (machine in there) == (kind == "1")
        there ^= {machine}
    tasks = {}
    for time, _, job, task, _, kind, user, *_ in lines_of(folder, "task_events"):
        # TaskData.java: the id is the digits of both, as a long.
        key = int(job + task)
        assert key < 2**63
        if key not in tasks:
            tasks[key] = Cloudlet(user, job, submitted=int(time))
        # BrokerManager.java: a broker for each user, so a task has one; an id is of one task.
        assert (tasks[key].user, tasks[key].job) == (user, job)
        tasks[key].take(int(time), int(kind))
    for start, end, job, task, *_ in lines_of(folder, "task_usage"):
        # What is changed must be there (`findObject`), and submitted.
        cloudlet = tasks[int(job + task)]
        assert cloudlet.submitted <= int(start) < min(int(end), cloudlet.ended)
    return len(tasks)


USER = "u=="
FILES = {
    "machine_events": [
        "0,5,0,p,0.5,0.25",
        "0,6,0,,,",
        "700000000,5,2,p,0.5,0.125",
        "800000000,5,1,,,",
        "800000000,5,0,p,0.5,0.5",
        "900000000,5,0,p,0.5,0.5",
        "950000000,7,1,,0.25,0.25",
    ],
    "job_events": [f"0,,1,0,{USER},2,n,l", f"0,,12,0,{USER},2,n,l"],
    "task_events": [
        f"0,2,1,23,,0,{USER},2,9,0.1,0.0123,,1",
        f"0,2,1,23,5,1,{USER},2,9,0.1,0.0123,,1",
        f"700000000,,1,23,5,2,{USER},2,9,0.1,0.0123,,1",
        f"700000000,,1,23,,0,{USER},2,9,0.1,0.0123,,1",
        f"710000000,,1,23,5,1,{USER},2,9,0.1,0.0123,,1",
        f"720000000,,1,23,5,8,{USER},2,9,0.2,0.0123,,1",
        f"800000000,,1,23,5,3,{USER},2,9,0.2,0.0123,,1",
        f"800000000,,1,23,,0,{USER},2,9,0.2,0.0123,,1",
        f"810000000,,1,23,5,1,{USER},2,9,0.2,0.0123,,1",
        f"900000000,1,1,23,5,6,{USER},2,9,0.2,0.0123,,1",
        f"650000000,,12,3,,0,{USER},,0,0.00001,,,",
        f"660000000,,12,3,5,1,{USER},,0,0.00001,,,",
        f"650000000,,12,4,,0,{USER},2,0,0.1,,,",
        f"655000000,,12,4,,5,{USER},2,0,0.1,,,",
        f"650000000,,12,5,,0,{USER},2,0,0.1,,,",
        f"660000000,,12,5,5,1,{USER},2,0,0.1,,,",
        f"660000000,,12,5,5,4,{USER},2,0,0.1,,,",
    ],
    "task_usage": [
        "600000000,900000000,1,23,5,0.1,0.00000001,,,,,,,,,,,,,",
        "800000000,900000000,1,23,5,0.3,,,,,,,,,,,,,,",
        "900000000,1200000000,1,23,5,0.4,,,,,,,,,,,,,,",
        "600000000,900000000,12,3,5,0.2,0,,,,,,,1.5,,,,,1,",
        "600000000,900000000,12,5,5,0.2,0,,,,,,,1.5,,,,,,",
    ],
}


def store_of(folder, files):
    for name, lines in files.items():
        n_parts = 1 if name.startswith("machine") else 500
        path = folder / "source" / name / f"part-00000-of-{n_parts:05d}.csv"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(lines) + "\n")
    return ingested(folder, ["source"])


def test_tasks_live_as_their_readers_understand_it(tmp_path):
    export_files(store_of(tmp_path, FILES), tmp_path / "out", "cloudsim")
    assert check(tmp_path / "out") == 3
    found = {name: [",".join(row) for row in lines_of(tmp_path / "out", name)] for name in FIELDS}
    # A machine without a capacity is none, one that is there is not added, and one that is not there not removed.
    assert found["machine_events"] == [
        "0,5,0,p,0.5,0.25",
        "800000000,5,1,p,0.5,0.125",
        "800000000,5,0,p,0.5,0.5",
    ]
    # 1-23 and 12-3 would both be 123.  An eviction is a pause, a failure the end: the next life is 23 + 24.
    # Two tasks of job 12 never ran for any time.
    same = f"{USER},2,9"
    assert found["task_events"] == [
        f"0,,1000000001,23,,0,{same},0.1,0.0123,,",
        f"0,,1000000001,23,5,1,{same},0.1,0.0123,,",
        f"650000000,,1000000002,3,,0,{USER},0,0,0.00001,,,",
        f"660000000,,1000000002,3,5,1,{USER},0,0,0.00001,,,",
        f"700000000,,1000000001,23,5,2,{same},0.1,0.0123,,",
        f"710000000,,1000000001,23,5,1,{same},0.1,0.0123,,",
        f"800000000,,1000000001,23,5,3,{same},0.2,0.0123,,",
        f"800000000,,1000000001,47,,0,{same},0.2,0.0123,,",
        f"810000000,,1000000001,47,5,1,{same},0.2,0.0123,,",
        f"900000000,,1000000001,47,5,5,{same},0.2,0.0123,,",
    ]
    assert found["task_usage"] == [
        "600000000,900000000,1000000001,23,5,0.1,0.00000001,,,,,,,,,,,,,",
        "650000000,900000000,1000000002,3,5,0.2,0,,,,,,,1.5,,,,,1,",
        "800000000,900000000,1000000001,47,5,0.3,,,,,,,,,,,,,,",
    ]


def test_ids_are_kept_where_no_two_tasks_share_one(tmp_path):
    files = {name: [line for line in lines if ",12," not in line] for name, lines in FILES.items()}
    export_files(store_of(tmp_path, files), tmp_path / "out", "cloudsim")
    assert {(row[2], row[3]) for row in lines_of(tmp_path / "out", "task_events")} == {
        ("1", "23"),
        ("1", "47"),
    }


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_what_a_synthetic_trace_holds_is_taken_too(tmp_path, generation):
    generate(tmp_path / "made", generation, 20, 3.0, 7)
    ingest([tmp_path / "made"], tmp_path / "store", IngestOptions(jobs=1))
    export_files(borgtrace.open(tmp_path / "store"), tmp_path / "out", "cloudsim")
    assert check(tmp_path / "out") > 100
    assert (tmp_path / "out" / "truth.json").exists()


def test_a_trace_without_starts_has_those_of_its_use(tmp_path):
    export_files(text_store(tmp_path, AZURE, "64cores,256GiB"), tmp_path / "out", "cloudsim")
    assert check(tmp_path / "out") == 2
    # v1 was there before the first instant; ids of 63 bits are too long.
    kinds = [(row[0], row[3], row[5]) for row in lines_of(tmp_path / "out", "task_events")]
    assert sorted(kinds) == [
        ("0", "0", "0"),
        ("1200000000", "0", "4"),
        ("600000000", "0", "1"),
        ("900000000", "0", "0"),
        ("900000000", "0", "1"),
    ]
    assert lines_of(tmp_path / "out", "machine_events") == []
