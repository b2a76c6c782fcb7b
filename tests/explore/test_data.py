"""The data of every chart, by hand, from the rows of the cell."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.ingest.raw import HASH
from tests.rows import chosen_columns

S = 1_000_000
TIMES = [
    600 * S,
    900 * S,
    1200 * S,
    1500 * S,
]


def columns(client: TestClient, path: str) -> dict[str, list[Any]]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()["columns"]


def test_what_the_cell_used_and_held(cell: TestClient) -> None:
    cpu = columns(cell, "/data/cell/cpu.json")
    assert cpu["time"] == TIMES
    # In the third slot nothing was measured in the whole cell.
    assert cpu["production"] == [0.125, 0.25, None, 0]
    assert cpu["free"] == [
        0.5,
        0.25 * 150 / 300,
        None,
        0.0625,
    ]
    # Requests of running tasks: 0.25 from 650 s on; 0.125 from 620 to 1200 s and from 1260 s on.
    slots = [
        (0.25 * 250 + 0.125 * 280) / 300,
        0.375,
        0.25 + 0.125 * 240 / 300,
        0.375,
    ]
    assert cpu["allocated"] == pytest.approx(slots, abs=1e-7)
    assert cpu["capacity"] == [1.5, 1.5, 1.5, 0.5]
    memory = columns(cell, "/data/cell/memory.json")
    assert memory["free"] == [0.25, 0.125, None, 0.03125]


def test_a_part_of_the_trace(cell: TestClient) -> None:
    cpu = columns(cell, "/data/cell/cpu.json?from=300s&to=900s")
    assert (cpu["time"], cpu["production"]) == (TIMES[1:3], [0.25, None])


def test_the_queue(cell: TestClient) -> None:
    pending = columns(cell, "/data/cell/pending.json")
    assert pending["time"] == TIMES
    assert pending["pending"] == [1, 1, 1, 1]
    # Three wait between 610 and 620 s; two between 1200 and 1260 s.
    assert pending["pending_max"] == [3, 1, 2, 1]
    running = columns(cell, "/data/cell/running.json")
    assert running["running"] == [2, 2, 2, 2]


def test_how_full_each_machine_was(cell: TestClient) -> None:
    heat = cell.get("/data/cell/machines.json").json()
    assert heat["times"] == TIMES
    assert heat["machines"] == ["8", "7"]  # 31.25 % on the mean, and 29.2 %
    # Machine 7 has half a CPU; machine 8 is not there from 1500 s on; in the third slot nothing was measured.
    assert (heat["percent"], heat["absent"]) == (0.5, 255)
    assert heat["cells"] == [[100, 25, 255, 255], [50, 100, 255, 25]]
    memory = cell.get("/data/cell/machines.json?resource=memory").json()
    assert memory["cells"] == [[50, 50, 255, 25], [50, 25, 255, 255]]
    assert cell.get("/data/cell/machines.json?first=1&last=2").json()["machines"] == ["7"]


def test_a_machine(cell: TestClient) -> None:
    cpu = columns(cell, "/data/machine/7/cpu.json")
    drawn = [series["column"] for series in cell.get("/data/machine/7/cpu.json").json()["series"]]
    assert drawn == ["free", "production", "requested", "capacity"]
    expected = {
        "production": [0.125, 0.25, None, 0],
        "free": [0, 0, None, 0.0625],
        "requested": [0, 0.25, 0.25, 0.375],
        "capacity": [0.5] * 4,
    }
    assert chosen_columns(cpu, expected) == expected
    assert columns(cell, "/data/machine/8/cpu.json")["capacity"] == [1, 1, 1, 0]
    tasks = cell.get("/data/machine/7/tasks.json").json()
    expected = {
        "collection_id": [100, 200],
        "start": [650 * S, 1260 * S],
        "begin": [600 * S, 1200 * S],
        "end": [1800 * S, None],
        "end_type": ["FINISH", None],
        "tier": ["production", "free"],
    }
    assert chosen_columns(tasks, expected) == expected


def test_a_part_of_a_machines_and_a_jobs_time(cell: TestClient) -> None:
    span = "from=300s&to=900s"
    cpu = columns(cell, f"/data/machine/7/cpu.json?{span}")
    assert (cpu["time"], cpu["production"]) == (TIMES[1:3], [0.25, None])
    assert (cpu["requested"], cpu["capacity"]) == ([0.25, 0.25], [0.5, 0.5])
    # In these two slots no task of the free tier used anything there.
    assert "free" not in cpu
    job = columns(cell, f"/data/job/200/cpu.json?{span}")
    assert (job["used"], job["requested"]) == ([0.125, None], [0.125, 0])


def test_memory_of_a_machine_and_a_job(cell: TestClient) -> None:
    memory = columns(cell, "/data/machine/7/memory.json")
    expected = {
        "production": [0.0625, 0.0625, None, 0],
        "requested": [0, 0.125, 0.125, 0.1875],
        "capacity": [0.25] * 4,
    }
    assert chosen_columns(memory, expected) == expected
    assert columns(cell, "/data/job/200/memory.json")["used"] == [0.25, 0.125, None, 0.03125]
    tasks = cell.get("/data/machine/7/tasks.json").json()
    assert (tasks["cpu_request"], tasks["memory_request"]) == ([0.25, 0.125], [0.125, 0.0625])
    assert (tasks["machine_id"], tasks["instance_index"]) == ([7, 7], [0, 0])


def test_a_job(cell: TestClient) -> None:
    cpu = columns(cell, "/data/job/200/cpu.json")
    assert cpu["used"] == [0.5, 0.125, None, 0.0625]
    assert cpu["requested"] == [0, 0.125, 0, 0.125]
    tasks = cell.get("/data/job/200/tasks.json").json()
    assert tasks["machine_id"] == [8, 7]
    assert tasks["end_type"] == ["EVICT", None]
    waiting = cell.get("/data/job/100/tasks.json").json()
    assert waiting["instance_index"] == [0, 1]
    assert waiting["start"] == [650 * S, None]


def test_a_task(cell: TestClient) -> None:
    cpu = columns(cell, "/data/task/200/0/cpu.json")
    expected = {
        "time": [
            600 * S,
            900 * S,
            1500 * S,
        ],
        "end": [
            900 * S,
            1050 * S,
            1800 * S,
        ],
        "average_cpu": [0.5, 0.25, 0.0625],
    }
    assert chosen_columns(cpu, expected) == expected
    assert cpu["maximum_cpu"] == pytest.approx([0.6, 0.5, 0.1])
    assert cpu["request"] == [0.125] * 3
    events = cell.get("/data/task/200/0/events.json").json()
    assert events["type"] == ["SUBMIT", "SCHEDULE", "EVICT", "SUBMIT", "SCHEDULE"]


def test_groups_and_their_jobs(cell: TestClient) -> None:
    users = cell.get("/data/facets/users.json").json()
    assert (users["user"][1], users["n_jobs"], users["n_tasks"]) == ("bob", [1, 1], [2, 1])
    # 0.5 · 300 s + 0.25 · 150 s + 0.0625 · 300 s, in hours.
    assert users["cpu_hours"][1] == pytest.approx((150 + 37.5 + 18.75) / 3600)
    assert cell.get("/data/facets/priorities.json").json()["priority"] == [0, 9]
    constraints = cell.get("/data/facets/constraints.json").json()
    assert (constraints["name"], constraints["n_jobs"], constraints["n_tasks"]) == (
        [HASH],
        [1],
        [2],
    )
    assert cell.get("/data/jobs.json?user=bob").json()["collection_id"] == [200]
    assert cell.get("/data/jobs.json?priority=9").json()["collection_id"] == [100]
    assert cell.get(f"/data/jobs.json?name={quote(HASH)}&value=b").json()["collection_id"] == [100]
    assert cell.get(f"/data/jobs.json?name={quote(HASH)}&value=c").json()["collection_id"] == []


def test_sql(cell: TestClient) -> None:
    query = "select collection_id, average_cpu from instance_usage where machine_id = 7 order by start_time"
    assert cell.get("/data/sql.json", params={"q": query}).json()["average_cpu"] == [
        0.125,
        0.25,
        0.0625,
    ]
    lines = cell.get("/data/sql.csv", params={"q": query}).text.splitlines()
    assert [line.replace('"', "") for line in lines] == [
        "collection_id,average_cpu",
        "100,0.125",
        "100,0.25",
        "200,0.0625",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "drop table tasks",
        "select 1; select 2",
        "copy tasks to '/tmp/x'",
        "select * from read_csv('/etc/passwd')",
        "",
        "selec",
    ],
)
def test_sql_is_guarded(cell: TestClient, query: str) -> None:
    for path in ("/data/sql.json", "/data/sql.csv"):
        answer = cell.get(path, params={"q": query})
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"].startswith("query: ")


@pytest.mark.parametrize(
    "path",
    [
        "/data/cell/cpu",
        "/data/cell/pending",
        "/data/cell/machines",
        "/data/machine/7/memory",
        "/data/machine/7/tasks",
        "/data/job/200/cpu",
        "/data/job/200/tasks",
        "/data/task/200/0/memory",
        "/data/task/200/0/events",
        "/data/facets/users",
        "/data/jobs",
    ],
)
def test_every_csv_has_what_its_json_has(cell: TestClient, path: str) -> None:
    answer = json.loads(cell.get(f"{path}.json").text)
    rows = list(csv.reader(io.StringIO(cell.get(f"{path}.csv").text)))
    if path.endswith("machines"):
        assert rows[0] == ["time", "first_machine_id", "n_machines", "percent"]
        assert rows[1] == ["600000000", "8", "1", "50"]
        assert len(rows) == 1 + 8
        return
    columns_of_json = answer.get("columns", answer)
    assert rows[0] == list(columns_of_json)
    assert len(rows) == 1 + len(next(iter(columns_of_json.values())))
    first = [column[0] for column in columns_of_json.values()]
    assert [
        float(text) if text else None
        for text, value in zip(rows[1], first, strict=True)
        if isinstance(value, float | int)
    ] == [pytest.approx(value, rel=1e-6) for value in first if isinstance(value, float | int)]
