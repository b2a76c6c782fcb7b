"""What things are called: by their own names where a store has them, by ids where it does not."""

from __future__ import annotations

from pathlib import Path

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.notation import Names, line_of_name, short_name
from borgtrace.store import Store
from tests.ingest.own_data import hashed, ingest_own
from tests.ingest.raw import EVENTS, JOBS, MACHINES, write_part


def test_own_names_stand_first(cluster: Store) -> None:
    names = Names(cluster)
    node = hashed("node-01")
    job = hashed("shop/db/main")
    assert names.machine(node) == "node-01"
    assert names.machine_and_id(node) == f"node-01 ({node})"
    assert names.job(job) == "shop/db/main"
    assert names.job_and_id(job) == f"shop/db/main ({job})"
    # Its job has this task alone.
    assert names.task(job, 0) == "shop/db/main"
    assert names.jobs([job, 5]) == {job: "shop/db/main", 5: "5"}


def test_tasks_of_one_job_are_told_apart(tmp_path: Path) -> None:
    declaration = """\
clock = "relative"
step = "5m"
[usage]
task = "job"
instance = "index"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "cores", kind = "average" }
"""
    usage = "job,index,time,cpu\nsort,0,0,1\nsort,3,0,1\n"
    store = ingest_own(tmp_path, declaration, {"own.csv": usage})
    assert Names(store).task(hashed("sort"), 3) == "sort:3"
    assert Names(store).task(hashed("sort"), 0) == "sort:0"


def test_a_published_trace_calls_things_by_their_ids(tmp_path: Path) -> None:
    tables = {"machine_events": MACHINES, "job_events": JOBS, "task_events": EVENTS}
    for table, lines in tables.items():
        write_part(tmp_path / "raw", table, lines)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    names = Names(Store.open(tmp_path / "store"))
    assert (names.machine(5), names.machine_and_id(5)) == ("5", "5")
    assert (names.job(10), names.job_and_id(10), names.task(10, 0)) == ("10", "10", "10:0")


def test_only_hashes_are_cut() -> None:
    # The name of a job of 2011, and the SHA-1 of the empty text.
    assert short_name("KRTzcRzuT60cS+R7tXuLDIJxr6GYJE0d1mqVZzHsnCE=") == "KRTzcRzu"
    assert short_name("da39a3ee5e6b4b0d3255bfef95601890afd80709") == "da39a3ee"
    assert short_name("a-very-long-name-of-a-deployment-in-production") == (
        "a-very-long-name-of-a-deployment-in-production"
    )


def test_a_name_stays_on_its_line_and_harmless() -> None:
    assert line_of_name("web\n7\t\x1b[2J") == "web\\n7\\t\\u001b[2J"
