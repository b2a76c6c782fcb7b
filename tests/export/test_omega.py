"""Files for Google's cluster-scheduler-simulator, by hand and by the rules of its readers.

`DistCache.buildDist` and `PrefillJobListsCache.getOrLoadJobs` in `CoreClusterSimulation.scala` (b882f26), restated.
"""

from __future__ import annotations

import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.export import export_files
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from tests.ingest.raw import write_part

S = 1_000_000
GIB = 2.0**30


def _event(
    time,
    job,
    kind,
    task=0,
    grade=0,
    priority=0,
    cpu="0.5",
    memory="0.25",
):
    fields = [time * S, "", job, task, "", kind, "bob", grade, priority, cpu, memory, 0.001, 0]
    return ",".join(map(str, fields))


SUBMIT, SCHEDULE, EVICT, FINISH, KILL = 0, 1, 2, 4, 5
HIGH, BATCH = {"grade": 3, "priority": 9}, {"grade": 2, "priority": 0}
SERVICE = {"grade": 2, "priority": 10}
EVENTS = [
    # Two tasks are there and end; the second asks for half as much.
    *(_event(0, 100, kind, **HIGH) for kind in (SUBMIT, SCHEDULE)),
    *(
        _event(
            0,
            100,
            kind,
            1,
            **HIGH,
            cpu="0.25",
            memory="0.125",
        )
        for kind in (SUBMIT, SCHEDULE)
    ),
    # One is there to the end, one asks for nothing, one waits.
    *(_event(0, 200, kind) for kind in (SUBMIT, SCHEDULE)),
    *(
        _event(
            0,
            700,
            kind,
            cpu="",
            memory="",
        )
        for kind in (SUBMIT, SCHEDULE)
    ),
    _event(0, 800, SUBMIT),
    _event(650, 300, SUBMIT, **SERVICE),
    _event(660, 300, SCHEDULE, **SERVICE),
    *(_event(700, 400, SUBMIT, task, **BATCH) for task in (0, 1)),
    _event(700, 100, FINISH, **HIGH),
    _event(710, 400, SCHEDULE, **BATCH),
    # It is evicted and runs again: the job goes on.
    _event(720, 400, EVICT, **BATCH),
    _event(725, 400, SUBMIT, **BATCH),
    _event(730, 400, SCHEDULE, **BATCH),
    _event(750, 400, SCHEDULE, 1, **BATCH),
    _event(760, 300, FINISH, **SERVICE),
    _event(790, 400, FINISH, 1, **BATCH),
    _event(800, 400, FINISH, **BATCH),
    _event(900, 500, SUBMIT, **BATCH),
    _event(900, 100, KILL, 1, **HIGH),
    _event(1000, 600, SUBMIT, **SERVICE),
    _event(1010, 600, KILL, **SERVICE),
]


def _files(folder):
    return {path.name: path.read_text().splitlines() for path in sorted(folder.glob("*.log"))}


def test_jobs_that_arrive_are_distributions_and_those_that_are_there_a_list(tmp_path):
    write_part(
        tmp_path / "raw",
        "task_events",
        EVENTS,
        compressed=False,
    )
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    export_files(store, tmp_path / "out", "omega", (64.0, 256 * GIB))
    assert _files(tmp_path / "out") == {
        # 0.75 of 64 cores and 0.375 of 256 GiB; a job's end is that of its last task, 300 s into the trace.
        "init_cluster_state.log": [
            "11 0.000000 100 1 3 2 48.000000 103079215104",
            "11 0.000000 200 0 0 1 32.000000 68719476736",
            "12 300.000000 100 1 3 0",
        ],
        # Batch: 400 at 700 s, 500 at 900 s; service: 300 at 650 s, 600 at 1000 s.
        "interarrival_cmb.log": ["2011 cmb-new 0 200.000000", "2011 cmb-new 1 350.000000"],
        "csizes_cmb.log": [
            "2011 cmb-new 1 1",
            "2011 cmb-new 0 2",
            "2011 cmb-new 0 1",
            "2011 cmb-new 1 1",
        ],
        # 500 has not ended and 600 never ran.
        "runtimes_cmb.log": ["2011 cmb-new 1 100.000000", "2011 cmb-new 0 90.000000"],
    }


def test_their_readers_take_what_is_made_of_a_cell(tmp_path):
    generate(
        tmp_path / "raw",
        machines=40,
        hours=3,
        seed=1,
    )
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    export_files(
        borgtrace.open(tmp_path / "store"),
        tmp_path / "out",
        "omega",
        (64.0, 256 * GIB),
    )
    files = _files(tmp_path / "out")
    there = set()
    for line in files.pop("init_cluster_state.log"):
        fields = line.split(" ")
        assert fields[0] in ("11", "12")
        float(fields[1])
        assert int(fields[4]) in range(4)
        if fields[0] == "11":
            assert len(fields) == 8
            assert float(fields[6]) / int(fields[5]) > 0
            assert float(fields[7]) / int(fields[5]) > 0
            there.add(fields[2])
        else:
            assert len(fields) == 6
            assert fields[2] in there
    assert there
    for name, lines in files.items():
        fields = [line.split(" ") for line in lines]
        assert {len(each) for each in fields} == {4}, name
        assert {each[2] for each in fields} <= {"0", "1"}, name
        # A job has a task, and one without length would be drawn again for ever if all were such.
        assert min(float(each[3]) for each in fields) >= (
            0 if name.startswith("interarrival") else 1e-6
        )


def test_the_size_of_the_largest_machine_is_asked_for(tmp_path):
    write_part(
        tmp_path / "raw",
        "task_events",
        EVENTS,
        compressed=False,
    )
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    with pytest.raises(UsageError, match="nothing says how much the largest machine has") as caught:
        export_files(borgtrace.open(tmp_path / "store"), tmp_path / "out", "omega")
    assert "add --capacity 64cores,256GiB" in str(caught.value)
