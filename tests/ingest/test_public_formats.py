"""Public traces that are no Google's: rows invented in the documented formats, and what they are by hand."""

from __future__ import annotations

import random

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from tests.ingest.own_data import hashed, rows


def _store(folder, files, capacity=""):
    for name, text in files.items():
        (folder / name).write_text(text)
    ingest([folder / name for name in files], folder / "store", IngestOptions(jobs=1, capacity=capacity))
    return borgtrace.open(folder / "store")


OPENB = {
    "openb_node_list_all_node.csv": "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,262144,0,\nn2,128000,524288,8,G9\n",
    "openb_pod_list_default.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "p1,64000,131072,8,1000,,LS,Succeeded,100,700,110\n"
    "p2,16000,262144,1,220,G8|G9,BE,Running,200,800,200\n"
    "p3,4000,4096,0,0,,Burstable,Pending,300,900,\n"
    "p4,4000,4096,0,0,,LS,Failed,400,500,410\n"
    "p5,4000,4096,0,0,,LS,Running,450,,460\n",
}


def test_openb_nodes_are_machines_with_gpus_as_attributes(tmp_path):
    store = _store(tmp_path, OPENB)
    assert rows(store, "machine_events", "machine_id, cpu_capacity, memory_capacity") == sorted(
        [(hashed("n1"), 0.25, 0.5), (hashed("n2"), 1.0, 1.0)]
    )
    assert rows(store, "machine_attributes", "name, value") == [
        ("gpu_model", "G9"),
        ("gpus", "0"),
        ("gpus", "8"),
        ("name", "n1"),
        ("name", "n2"),
    ]
    assert (store.manifest.basis["cores"], store.manifest.basis["bytes"]) == (128, 512 * 2**30)
    assert store.manifest.generation == "openb"


def test_openb_pods_end_as_their_phase_says(tmp_path):
    # A running or pending pod with a deletion was killed then; p3 was never scheduled, and p5 goes on.
    store = _store(tmp_path, OPENB)
    names = {hashed(f"p{n}"): f"p{n}" for n in range(1, 6)}
    found = rows(store, "instance_events", "collection_id, time, type, cpu_request, memory_request")
    assert sorted((names[job], time // SECOND - 600, kind, *asked) for job, time, kind, *asked in found) == [
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
    ]
    constraints = rows(store, "instance_constraints", "collection_id, name, relation, value")
    assert sorted((names[job], *asked) for job, *asked in constraints) == [
        ("p1", "gpu_thousandths", "GREATER_THAN_EQUAL", "8000"),
        ("p2", "gpu_model", "EQUAL", "G8|G9"),
        ("p2", "gpu_thousandths", "GREATER_THAN_EQUAL", "220"),
    ]


V1, V2 = "a" * 40 + "+/==", "b" * 40 + "+/=="
AZURE = {
    "vmtable.csv": f"{V1},s1,d1,0,600,99,20,80,Interactive,4,32\n{V2},s1,d2,300,2591700,99,20,80,Unknown,>24,>64\n",
    "vm_cpu_readings-file-1-of-195.csv": f"0,{V1},1,50,25\n300,{V1},1,100,50\n300,{V2},0,90,10\n",
}


def test_azure_percent_are_of_the_cores_of_the_vm_and_lives_at_the_edges_are_open(tmp_path):
    store = _store(tmp_path, AZURE, "64cores,256GiB")
    # 25 % of 4 cores are 1 of 64; the last buckets are 30 cores and 70 GB.
    names = {hashed(V1): "v1", hashed(V2): "v2"}
    usage = rows(store, "instance_usage", "collection_id, start_time, end_time, average_cpu, maximum_cpu")
    assert sorted((names[vm], start // SECOND, end // SECOND, *cpu) for vm, start, end, *cpu in usage) == [
        ("v1", 600, 900, 1 / 64, 2 / 64),
        ("v1", 900, 1200, 2 / 64, 4 / 64),
        ("v2", 900, 1200, 3 / 64, pytest.approx(27 / 64)),
    ]
    # v1 was there at the first instant: it began before.  v2 is there at the last: it goes on.
    events = rows(store, "instance_events", "collection_id, time, type, cpu_request, memory_request")
    assert sorted((names[vm], *more) for vm, *more in events) == [
        ("v1", 0, "SUBMIT", 4 / 64, 32 / 256),
        ("v1", 1200 * SECOND, "FINISH", 4 / 64, 32 / 256),
        ("v2", 900 * SECOND, "SUBMIT", 30 / 64, 70 / 256),
    ]
    assert rows(store, "machine_events", "*") == []


SWF = {
    "log.swf": "; Version: 2.2\n; MaxProcs: 128\n"
    " 1    10   5  100  32 -1 -1  32 -1 -1  1   7 -1  3 -1 -1 -1 -1\n"
    " 2    20  -1   -1  -1 -1 -1  -1 -1 -1 -1  -1 -1 -1 -1 -1 -1 -1\n"
    " 3    30   0   60  64 -1 -1  64 -1 -1  2   8 -1  4 -1 -1 -1 -1\n"
    " 3   100  20   40  64 -1 -1  64 -1 -1  3   8 -1  4 -1 -1 -1 -1\n"
}


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
    assert rows(store, "collection_events", "collection_id, collection_logical_name", "type = 'SUBMIT'") == [
        (1, "3"),
        (2, None),
        (3, "4"),
    ]


MUTATED = {
    "openb": (OPENB, "openb_pod_list_default.csv", "p{n},64000,131072,8,1000,,LS,Succeeded,{n},{m},{n}\n", ""),
    "azure": (AZURE, "vm_cpu_readings-file-1-of-195.csv", f"{{n}}00,{V1},1,50,25\n", "64cores,256GiB"),
    "swf": (SWF, "log.swf", "{n} {n} 5 100 32 -1 -1 32 -1 -1 1 7 -1 3 -1 -1 -1 -1\n", "128cores"),
}


@pytest.mark.parametrize(("files", "name", "line", "capacity"), MUTATED.values(), ids=MUTATED)
def test_each_of_a_thousand_mutated_lines_is_stored_or_refused(tmp_path, files, name, line, capacity):
    rng = random.Random(name)
    lines = []
    for n in range(1000):
        text = line.format(n=n + 10, m=n + 1000)[:-1]
        place = rng.randrange(len(text))
        lines.append(text[:place] + rng.choice(("", "x", "-", "9", ".", ",", '"')) + text[place + rng.choice((0, 1)) :])
    store = _store(tmp_path, files | {name: files[name] + "\n".join(lines) + "\n"}, capacity)
    entry = next(entry for entry in store.manifest.sources if entry.file == name)
    before = sum(not each.startswith(";") for each in files[name].splitlines()) - ("pod_list" in name)
    assert entry.rows_in == before + 1000 == entry.stored + entry.quarantined
    assert 100 < entry.quarantined < 900
    (kept,) = (tmp_path / "store" / "quarantine").rglob("*.parquet")
    refused = {row["source_row"] - before: row["raw"] for row in pq.read_table(kept).to_pylist()}
    # A line that is as documented is never refused, and one with a letter among its numbers always is.
    numbers = {"openb": (1, 2, 3, 4, 8, 9, 10), "azure": (0, 3, 4), "swf": range(1, 5)}[store.manifest.generation[:5]]
    for n, text in enumerate(lines):
        fields = text.split() if name.endswith(".swf") else text.split(",")
        whole = len(fields) == line.count(" " if name.endswith(".swf") else ",") + 1
        if not whole or any("x" in fields[place] for place in numbers):
            assert n in refused, text
