"""Public traces that are no Google's: rows invented in the documented formats, and what they are by hand."""

from __future__ import annotations

import random

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from tests.ingest.cluster_samples import ALIBABA, AZURE, OPENB, V1, V2
from tests.ingest.job_samples import SWF
from tests.ingest.own_data import hashed, rows


def _store(folder, files, capacity=""):
    for name, text in files.items():
        (folder / name).write_text(text)
    ingest(
        [folder / name for name in files],
        folder / "store",
        IngestOptions(jobs=1, capacity=capacity),
    )
    return borgtrace.open(folder / "store")


def test_openb_nodes_are_machines_with_gpus_as_attributes(tmp_path):
    store = _store(tmp_path, OPENB)
    assert rows(
        store,
        "machine_events",
        "machine_id, cpu_capacity, memory_capacity, gpu_capacity",
    ) == sorted(
        [
            (hashed("n1"), 0.25, 0.5, 0),
            (hashed("n2"), 1.0, 1.0, 8),
            (hashed("n3"), 1.0, 1.0, 4),
        ]
    )
    assert rows(store, "machine_attributes", "name, value") == [
        ("gpu_model", "G7"),
        ("gpu_model", "G9"),
        ("name", "n1"),
        ("name", "n2"),
        ("name", "n3"),
    ]
    assert (store.manifest.basis["cores"], store.manifest.basis["bytes"]) == (128, 512 * 2**30)
    assert store.manifest.generation == "openb"


def test_openb_pods_end_as_their_phase_says(tmp_path):
    # A running or pending pod with a deletion was killed then; p3 was never scheduled.  p5 goes on: so does p6, which
    # is there at the last instant.
    store = _store(tmp_path, OPENB)
    names = {hashed(f"p{n}"): f"p{n}" for n in range(1, 7)}
    found = rows(store, "instance_events", "collection_id, time, type, cpu_request, memory_request")
    assert sorted(
        (names[job], time // SECOND - 600, kind, *asked) for job, time, kind, *asked in found
    ) == [
        ("p1", 100, "SUBMIT", 0.5, 0.25),
        ("p1", 110, "SCHEDULE", 0.5, 0.25),
        ("p1", 700, "FINISH", 0.5, 0.25),
        ("p2", 200, "SCHEDULE", 0.125, 0.5),
        ("p2", 200, "SUBMIT", 0.125, 0.5),
        ("p2", 800, "KILL", 0.125, 0.5),
        ("p3", 300, "SUBMIT", 0.03125, 0.0078125),
        ("p3", 900, "KILL", 0.03125, 0.0078125),
        ("p4", 400, "SUBMIT", 0.03125, 0.0078125),
        ("p4", 410, "SCHEDULE", 0.03125, 0.0078125),
        ("p4", 500, "FAIL", 0.03125, 0.0078125),
        ("p5", 450, "SUBMIT", 0.03125, 0.0078125),
        ("p5", 460, "SCHEDULE", 0.03125, 0.0078125),
        ("p6", 470, "SUBMIT", 0.03125, 0.0078125),
        ("p6", 480, "SCHEDULE", 0.03125, 0.0078125),
    ]
    constraints = rows(store, "instance_constraints", "collection_id, name, relation, value")
    assert sorted((names[job], *asked) for job, *asked in constraints) == [
        ("p2", "gpu_model", "NOT_EQUAL", "G7"),
        ("p4", "gpu_model", "EQUAL", "G9"),
    ]
    asked = {names[job]: gpus for job, gpus in rows(store, "tasks", "collection_id, gpu_request")}
    assert asked == {
        "p1": 8000,
        "p2": 220,
        "p3": 0,
        "p4": 1000,
        "p5": 0,
        "p6": 0,
    }


def test_azure_percent_are_of_the_cores_of_the_vm_and_lives_at_the_edges_are_open(tmp_path):
    store = _store(tmp_path, AZURE, "64cores,256GiB")
    # 25 % of 4 cores are 1 of 64; the last buckets are 30 cores and 70 GB.
    names = {hashed(V1): "v1", hashed(V2): "v2"}
    usage = rows(
        store,
        "instance_usage",
        "collection_id, start_time, end_time, average_cpu, maximum_cpu",
    )
    assert sorted(
        (names[vm], start // SECOND, end // SECOND, *cpu) for vm, start, end, *cpu in usage
    ) == [
        ("v1", 600, 900, 1 / 64, 2 / 64),
        ("v1", 900, 1200, 2 / 64, 4 / 64),
        ("v2", 900, 1200, 3 / 64, pytest.approx(27 / 64)),
    ]
    # v1 was there at the first instant: it began before.  v2 is there at the last: it goes on.
    events = rows(
        store,
        "instance_events",
        "collection_id, time, type, cpu_request, memory_request",
    )
    assert sorted((names[vm], *more) for vm, *more in events) == [
        ("v1", 0, "SUBMIT", 4 / 64, 32 / 256),
        ("v1", 1200 * SECOND, "FINISH", 4 / 64, 32 / 256),
        ("v2", 900 * SECOND, "SUBMIT", 30 / 64, 70 / 256),
    ]
    assert rows(store, "machine_events", "*") == []


def test_a_log_of_jobs_has_attempts_and_no_times_where_it_says_minus_one(tmp_path):
    store = _store(tmp_path, SWF, "128cores")
    assert rows(store, "instance_events", "collection_id, time, type, cpu_request, user") == [
        (1, 610 * SECOND, "SUBMIT", 0.25, "7"),
        (1, 615 * SECOND, "SCHEDULE", 0.25, "7"),
        (1, 715 * SECOND, "FINISH", 0.25, "7"),
        (2, 620 * SECOND, "SUBMIT", None, None),
        (3, 630 * SECOND, "SCHEDULE", 0.5, "8"),
        (3, 630 * SECOND, "SUBMIT", 0.5, "8"),
        (3, 690 * SECOND, "EVICT", 0.5, "8"),
        (3, 700 * SECOND, "SUBMIT", 0.5, "8"),
        (3, 720 * SECOND, "SCHEDULE", 0.5, "8"),
        (3, 760 * SECOND, "FINISH", 0.5, "8"),
    ]
    assert rows(
        store,
        "collection_events",
        "collection_id, collection_logical_name",
        "type = 'SUBMIT'",
    ) == [
        (1, "3"),
        (2, None),
        (3, "4"),
    ]


def test_alibaba_machines_have_cores_and_shares_of_memory(tmp_path):
    store = _store(tmp_path, ALIBABA)
    # A time of 0 is before the trace; a machine that is listed again is no new one.
    found = rows(store, "machine_events", "machine_id, time, type, cpu_capacity, memory_capacity")
    assert sorted(
        (time, kind, *size) for machine, time, kind, *size in found if machine == hashed("m_1")
    ) == [
        (0, "ADD", 1.0, 1.0),
        (7800 * SECOND, "UPDATE", 1.0, None),
    ]
    assert (hashed("m_2"), 4200 * SECOND, "ADD", 0.5, 0.5) in found
    assert (store.manifest.basis["cores"], "bytes" in store.manifest.basis) == (96, False)


def test_alibaba_containers_are_there_from_their_first_row_and_later_rows_update_them(tmp_path):
    store = _store(tmp_path, ALIBABA)
    names = {hashed("c_1"): "c_1", hashed("c_2"): "c_2"}
    found = rows(
        store,
        "instance_events",
        "collection_id, time, type, machine_id, cpu_request, memory_request",
    )
    events = [(names[job], time // SECOND, *more) for job, time, *more in found if job in names]
    m1, m2 = hashed("m_1"), hashed("m_2")
    assert sorted(events, key=lambda each: each[:3]) == [
        ("c_1", 0, "SCHEDULE", m1, pytest.approx(4 / 96), pytest.approx(0.015)),
        ("c_1", 0, "SUBMIT", None, pytest.approx(4 / 96), pytest.approx(0.015)),
        ("c_1", 1100, "UPDATE_RUNNING", m1, pytest.approx(8 / 96), pytest.approx(0.03)),
        ("c_2", 700, "SCHEDULE", m2, 0.125, None),
        ("c_2", 700, "SUBMIT", None, 0.125, None),
    ]
    # 25 % of the 8 cores that c_1 requests last; a window ends with the next one, and after 300 s at the latest.
    columns = (
        "collection_id, start_time, end_time, average_cpu, average_memory, cycles_per_instruction"
    )
    usage = rows(store, "instance_usage", columns)
    assert sorted(
        (names[job], start // SECOND, end // SECOND, *used) for job, start, end, *used in usage
    ) == [
        ("c_1", 610, 620, pytest.approx(2 / 96), pytest.approx(0.015), 1.5),
        ("c_1", 620, 920, None, None, None),
        ("c_2", 1200, 1500, 0.0625, None, None),
    ]
    logical = rows(
        store,
        "collection_events",
        "collection_name, collection_logical_name",
        "type = 'SUBMIT'",
    )
    assert logical[-2:] == [("j_1/task_Nzg==", "j_1"), ("j_2/M2", "j_2")]
    assert ("c_1", "app_7") in logical


def test_alibaba_tasks_of_a_job_wait_for_those_that_their_names_say(tmp_path):
    store = _store(tmp_path, ALIBABA)
    tasks = {hashed(f"j_1/{name}"): name for name in ("M1", "R2_1", "M5_1_2_9", "task_Nzg==")}
    found = rows(
        store,
        "collection_events",
        "collection_id, time, type, start_after_collection_ids",
    )
    # No row is about a task 9, and j_2's task 2 is of another job.
    assert sorted(
        (tasks[job], time // SECOND, kind, sorted(tasks[each] for each in after or []))
        for job, time, kind, after in found
        if job in tasks
    ) == [
        ("M1", 700, "SCHEDULE", []),
        ("M1", 700, "SUBMIT", []),
        ("M1", 1000, "FINISH", []),
        ("M5_1_2_9", 0, "SUBMIT", ["M1", "R2_1"]),
        ("R2_1", 1000, "SCHEDULE", ["M1"]),
        ("R2_1", 1000, "SUBMIT", ["M1"]),
        ("R2_1", 1100, "FAIL", ["M1"]),
        ("task_Nzg==", 1050, "SCHEDULE", []),
        ("task_Nzg==", 1050, "SUBMIT", []),
    ]


def test_alibaba_rows_of_an_instance_are_its_attempts_with_the_request_of_its_task(tmp_path):
    store = _store(tmp_path, ALIBABA)
    # ins_7 comes before ins_9.  Its averages span its life: they are no windows of use.
    found = rows(
        store,
        "instance_events",
        "instance_index, time, type, machine_id, cpu_request, memory_request",
        f"collection_id = {hashed('j_1/M1')}",
    )
    request = (pytest.approx(1 / 96), pytest.approx(0.005))
    m1, m2 = hashed("m_1"), hashed("m_2")
    assert [(each[0], each[1] // SECOND, *each[2:]) for each in found] == [
        (0, 700, "SCHEDULE", m1, *request),
        (0, 700, "SUBMIT", None, *request),
        (0, 990, "FINISH", m1, *request),
        (1, 700, "SCHEDULE", m1, *request),
        (1, 700, "SUBMIT", None, *request),
        (1, 750, "FAIL", m1, *request),
        (1, 760, "SCHEDULE", m2, *request),
        (1, 760, "SUBMIT", None, *request),
        (1, 1000, "FINISH", m2, *request),
    ]
    assert not rows(store, "instance_usage", "*", f"collection_id = {hashed('j_1/M1')}")
    before = rows(store, "instance_events", "time, type", f"collection_id = {hashed('j_2/M2')}")
    assert before == [
        (0, "SCHEDULE"),
        (0, "SUBMIT"),
        (650 * SECOND, "FINISH"),
    ]


MUTATED = {
    "alibaba-machines": (ALIBABA, "machine_meta.csv", "m_{n},{n},1,7,96,100,USING\n", ""),
    "alibaba-containers": (
        ALIBABA,
        "container_meta.csv",
        "c_{n},m_1,{n},app_7,started,400,800,1.5\n",
        "",
    ),
    "alibaba-usage": (ALIBABA, "container_usage.csv", "c_2,m_2,{n},25,50,1.5,,,,,3\n", ""),
    "alibaba-tasks": (ALIBABA, "batch_task.csv", "M{n}_1,2,j_1,1,Terminated,{n},{m},100,0.5\n", ""),
    "alibaba-instances": (
        ALIBABA,
        "batch_instance.csv",
        "ins_{n},M1,j_1,1,Failed,{n},{m},m_1,1,2,90,95,0.1,0.2\n",
        "",
    ),
    "openb-nodes": (OPENB, "openb_node_list_all_node.csv", "n{n}_,32000,262144,8,G9\n", ""),
    "openb": (
        OPENB,
        "openb_pod_list_default.csv",
        "p{n},64000,131072,8,1000,,LS,Succeeded,{n},{m},{n}\n",
        "",
    ),
    "azure-vms": (
        AZURE,
        "vmtable.csv",
        "{n}+/==,s1,d1,{n},{m},99,20,80,Interactive,>24,>64\n",
        "64cores,256GiB",
    ),
    "azure": (
        AZURE,
        "vm_cpu_readings-file-1-of-195.csv",
        f"{{n}}00,{V1},1,50,25\n",
        "64cores,256GiB",
    ),
    "swf": (SWF, "log.swf", "{n} {n} 5 100 32 -1 -1 32 -1 -1 1 7 -1 3 -1 -1 -1 -1\n", "128cores"),
}


# Places of numbers, which are read: the others may hold anything.
NUMBERS = {
    "openb_pod_list_default.csv": (1, 2, 3, 4, 8, 9, 10),
    "openb_node_list_all_node.csv": (1, 2, 3),
    "vm_cpu_readings-file-1-of-195.csv": (0, 3, 4),
    "vmtable.csv": (3, 4, 9, 10),
    "log.swf": range(1, 5),
    "machine_meta.csv": (1, 4, 5),
    "container_meta.csv": (2, 5, 7),
    "container_usage.csv": (2, 3, 4, 5),
    "batch_task.csv": (5, 6, 7, 8),
    "batch_instance.csv": (5, 6),
}


@pytest.mark.parametrize("n_lines", [300, pytest.param(1_000, marks=pytest.mark.scale)])
@pytest.mark.parametrize(("files", "name", "line", "capacity"), MUTATED.values(), ids=MUTATED)
def test_each_mutated_line_is_stored_or_refused(
    tmp_path,
    files,
    name,
    line,
    capacity,
    n_lines,
):
    rng = random.Random(name)
    lines = []
    for n in range(n_lines):
        text = line.format(n=n + 10, m=n + 1000)[:-1]
        place = rng.randrange(len(text))
        lines.append(
            text[:place]
            + rng.choice(("", "x", "-", "9", ".", ",", '"'))
            + text[place + rng.choice((0, 1)) :]
        )
    store = _store(tmp_path, files | {name: files[name] + "\n".join(lines) + "\n"}, capacity)
    entry = next(entry for entry in store.manifest.sources if entry.file == name)
    before = sum(not each.startswith(";") for each in files[name].splitlines()) - name.startswith(
        "openb"
    )
    assert entry.rows_in == before + n_lines == entry.stored + entry.quarantined
    assert 0.1 < entry.quarantined / n_lines < 0.9
    (kept,) = (tmp_path / "store" / "quarantine").rglob("*.parquet")
    refused = {row["source_row"] - before: row["raw"] for row in pq.read_table(kept).to_pylist()}
    # A line that is as documented is never refused, and one with a letter among its numbers always is.
    numbers = NUMBERS[name]
    for n, text in enumerate(lines):
        fields = text.split() if name.endswith(".swf") else text.split(",")
        whole = len(fields) == line.count(" " if name.endswith(".swf") else ",") + 1
        if not whole or any("x" in fields[place] for place in numbers):
            assert n in refused, text
