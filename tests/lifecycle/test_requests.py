"""What a task asks for: the values in force, wherever they are read.

Job 9 of the store below ran two tasks on one machine when the trace began.  Their SUBMIT rows at time 0 are stale, as
37,566 of the real trace are: they ask for other amounts than the SCHEDULE rows, and for machines of their own.  Task 2
waits then and is never scheduled.  So whoever reads a request must find that of SCHEDULE.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from borgtrace.analyses.quality import caveats
from borgtrace.catalog import find
from borgtrace.export import export_files
from borgtrace.lifecycle.by_machine import METRICS, machine_usage
from borgtrace.question import EngineTables
from borgtrace.scheduling.workload import read_tasks
from borgtrace.store import Store
from tests.export.stores import ingested
from tests.ingest.raw import write_part
from tests.lifecycle.lives import life, rows, tables

Members = dict[str, tuple[Callable[[Store], Any], Any]]
STALE = "u,2,9,0.5,0.4,0.5"
IN_FORCE = "u,2,9,0.125,0.25,0.25"
LINES = {
    "machine_events": ["0,5,0,p,1,1"],
    "job_events": ["0,,9,0,u,2,n,l"],
    "task_events": [
        *(f"0,2,9,{task},5,0,{STALE},1" for task in (0, 1)),
        f"0,2,9,2,,0,{IN_FORCE},0",
        *(f"0,,9,{task},5,1,{IN_FORCE},0" for task in (0, 1)),
        *(f"900000000,,9,{task},5,4,{IN_FORCE},0" for task in (0, 1)),
        f"900000000,,9,2,,5,{IN_FORCE},0",
    ],
    "task_usage": [
        f"600000000,900000000,9,{task},5,0.1,0.1,,,,,,0.125,0.1,,,,1.0,0,0.1" for task in (0, 1)
    ],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("stale")
    for name, lines in LINES.items():
        write_part(folder / "raw", name, lines)
    return ingested(folder, ["raw"])


def answer_of(store: Store, name: str) -> list[dict[str, Any]]:
    tables = EngineTables.of(store)
    answer_rows: list[dict[str, Any]] = find(name).run(tables).table.to_pylist()
    return answer_rows


def in_attempts(store: Store) -> Any:
    attempts = EngineTables.of(store).instance_attempts
    return [
        (row["cpu_request"], row["memory_request"], row["needs_different_machine"])
        for row in rows(attempts, "instance_index")
    ]


def in_index_of_tasks(store: Store) -> Any:
    query = "select cpu_request, memory_request, disk_request from tasks order by instance_index"
    return [tuple(row.values()) for row in store.sql(query).to_pylist()]


def in_usage_by_machine(store: Store) -> Any:
    tables = EngineTables.of(store)
    usage = machine_usage(
        store,
        tables.instance_events,
        tables.instance_attempts,
        METRICS["average_cpu"],
        METRICS["average_memory"],
    )
    terms = usage.terms[usage.rows(0)["term"]]
    # Terms are read one machine at a time; the two tasks share one.
    return {(float(term["cpu"]), float(term["memory"])) for term in terms}


def by_scheduler(store: Store) -> Any:
    """What compact and simulate place: sizes in 2⁻²⁰ and anti-affinity."""
    tasks = read_tasks(EngineTables.of(store))
    return (tasks.sizes / 2**20).tolist(), tasks.is_apart.tolist()


def limits_judged(store: Store) -> Any:
    return answer_of(store, "placement_limits")


def mixed_requests(store: Store) -> Any:
    (counts,) = caveats.mixed_requests(EngineTables.of(store)).to_pyarrow().to_pylist()
    return counts


def disk_space_of_request(store: Store) -> Any:
    """Used 0.125 of a request of 0.25."""
    shares = {row["quantity"]: row for row in answer_of(store, "other_resources")}
    return round(shares["mean_disk_space"]["relative"], 6)


def requests_in_swf(store: Store) -> Any:
    """The eighth field: processors that were asked for, of 8 on the largest machine."""
    out = Path(store.path).parent / "swf"
    export_files(store, out, "swf", (8.0, 2.0**30))
    lines = (out / "jobs.swf").read_text().splitlines()
    return [line.split()[7] for line in lines if not line.startswith(";")]


def requests_in_cloudsim(store: Store) -> Any:
    """The requests of each event of a task, SUBMIT (0) among them."""
    out = Path(store.path).parent / "cloudsim"
    export_files(store, out, "cloudsim")
    text = gzip.decompress((out / "task_events.csv.gz").read_bytes()).decode()
    fields = [line.split(",") for line in text.splitlines()]
    return {(int(row[5]), *row[9:12]) for row in fields}


OF_TASK = (0.125, 0.25)
MEMBERS: Members = {
    "attempts": (in_attempts, [(*OF_TASK, False)] * 3),
    "index of tasks": (in_index_of_tasks, [(*OF_TASK, 0.25)] * 3),
    "usage by machine": (in_usage_by_machine, {OF_TASK}),
    "compact and simulate": (by_scheduler, ([[0.125, 0.25]] * 3, [False] * 3)),
    # No task with the flag runs, so that no start is judged.
    "placement_limits": (limits_judged, []),
    # Of one job with two tasks at time 0, none; and no job is new.
    "data_quality": (
        mixed_requests,
        {
            "mixed_requests_at_start__n": 0,
            "mixed_requests_at_start__of": 1,
            "mixed_requests__n": 0,
            "mixed_requests__of": 0,
        },
    ),
    "other_resources": (disk_space_of_request, 0.5),
    "export --layout swf": (requests_in_swf, ["1"] * 3),
    "export --layout cloudsim": (
        requests_in_cloudsim,
        {(code, "0.125", "0.25", "0.25") for code in (0, 1, 4)},
    ),
}


@pytest.mark.parametrize("member", MEMBERS)
def test_a_stale_submit_is_read_nowhere(member: str, store: Store) -> None:
    read, expected = MEMBERS[member]
    assert read(store) == expected


@pytest.mark.parametrize(
    ("text", "requests", "in_force"),
    [
        ("SUBMIT 0 SCHEDULE 0 KILL 9", (0.5, 0.125, 0.25), 0.125),
        # What never ran has the request of its end, which follows all updates.
        ("SUBMIT 5 UPDATE_PENDING 6 KILL 9", (0.5, 0.25, 0.25), 0.25),
        ("SUBMIT 5 KILL 9", (0.5, 0.75), 0.75),
        ("SUBMIT 5 KILL 9", (0.5, None), 0.5),
        ("SUBMIT 5", (0.5,), 0.5),
    ],
)
def test_the_request_in_force_of_an_attempt(
    text: str, requests: tuple[float | None, ...], in_force: float
) -> None:
    events = life(text)
    for event, request in zip(events, requests, strict=True):
        event["cpu_request"] = request
    (attempt,) = rows(tables(events).instance_attempts, "attempt")
    assert attempt["cpu_request"] == in_force
