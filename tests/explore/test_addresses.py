"""Addresses that other pages and commands lead to: a machine, job or task by its name, at a time."""

from __future__ import annotations

import ast
import csv
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from borgtrace.ingest import IngestOptions, ingest

from .conftest import client_of

pytestmark = pytest.mark.wide

HOUR = 3600 * 10**6
START = 600 * 10**6
# Two pods for four hours of 1 November 2026 on two nodes of 8 cores and 32 GiB; a third node has 16 and 64.
PODS = {"shop/web-7/app": "node-01", "data/etl-1/app": "node-02"}


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of names, in cores and GiB, with a calendar."""
    folder = tmp_path_factory.mktemp("own")
    lines = ["task,time,node,cpu,memory_bytes"]
    for slot in range(48):
        for task, node in PODS.items():
            lines.append(f"{task},{1793491200 + 300 * slot},{node},2.0,{4 * 2**30}")
    (folder / "usage.csv").write_text("\n".join(lines) + "\n")
    nodes = ["node,cpu,memory", "node-01,8,32Gi", "node-02,8,32Gi", "node-03,16,64Gi"]
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    ingest([folder / "usage.csv", folder / "nodes.csv"], folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def own(own_store: Path) -> TestClient:
    return client_of(own_store)


def text(html: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", html).split()))


def opened_span(html: str) -> tuple[int, int]:
    (span,) = re.findall(r'data-from="(\d+)" data-to="(\d+)"', html)
    return int(span[0]), int(span[1])


@pytest.mark.parametrize(
    ("at", "time"),
    [
        ("2026-11-01T02:05", START + 2 * HOUR + HOUR // 12),
        ("2026-11-01T03:05:00+01:00", START + 2 * HOUR + HOUR // 12),
        ("2h15m", START + 2 * HOUR + HOUR // 4),
        (str(START + 2 * HOUR), START + 2 * HOUR),
    ],
)
def test_a_machine_at_a_time(own: TestClient, at: str, time: int) -> None:
    """What `/machine/NAME?at=TIME` promises: the hour before and after, the moment marked, and what ran then."""
    answer = own.get(f"/machine/node-01?at={quote(at)}")
    assert answer.status_code == 200
    assert f'data-at="{time}"' in answer.text
    assert opened_span(answer.text) == (time - HOUR, time + HOUR)
    running = answer.text.partition('id="running"')[2]
    assert "shop/web-7/app" in text(running)
    assert "data/etl-1/app" not in text(running)


def test_the_hours_around_a_moment_end_with_the_trace(own: TestClient) -> None:
    html = own.get("/machine/node-01?at=2026-11-01T00:10").text
    assert opened_span(html) == (START, START + HOUR + HOUR // 6)
    html = own.get("/machine/node-01?at=2026-11-01T00:10&from=2026-11-01T01:00&to=2h20m").text
    assert opened_span(html) == (START + HOUR, 2 * HOUR + HOUR // 2)


@pytest.mark.parametrize("view", ["/", "/machine/node-01", "/job/shop/web-7/app", "/task/web-7/0"])
def test_every_view_of_times_takes_a_moment(own: TestClient, view: str) -> None:
    assert f'data-at="{START + HOUR}"' in own.get(f"{view}?at=2026-11-01T01:00").text
    assert "data-at" not in own.get(view).text


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("/machine/node-01", "Machine node-01"),
        ("/job/shop/web-7/app", "Job shop/web-7/app"),
        ("/job/web-7", "Job shop/web-7/app"),
        (f"/job/{quote('shop/web-7/app', safe='')}", "Job shop/web-7/app"),
        ("/task/shop/web-7/app/0", "Task shop/web-7/app"),
    ],
)
def test_things_are_found_and_called_by_their_names(
    own: TestClient, address: str, heading: str
) -> None:
    html = own.get(address).text
    (title,) = re.findall(r"<h1>(.*?)</h1>", html)
    assert title.startswith(f"{heading} (")


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/machine/node-09", 404, "machine: nothing has this name: node-09."),
        ("/machine/node-0", 400, "machine: more than one is meant: node-0, which fits 3."),
        ("/machine/node-01?at=noon", 400, "at: not a time: 'noon'."),
        ("/machine/node-01?at=2026-11-03", 400, "at: outside of the trace: 2026-11-03."),
    ],
)
def test_what_is_not_there_is_said(
    own: TestClient, address: str, status: int, message: str
) -> None:
    answer = own.get(address)
    assert answer.status_code == status
    assert message in text(answer.text)


def test_a_trace_without_a_calendar_takes_amounts_only(cell: TestClient) -> None:
    assert cell.get("/machine/7?at=10m").status_code == 200


def test_lanes_and_machines_say_what_they_are(own: TestClient) -> None:
    (machine_id,) = set(re.findall(r"Machine node-01 \((\d+)\)", own.get("/machine/node-01").text))
    assert own.get(f"/data/machine/{machine_id}/tasks.json").json()["name"] == ["shop/web-7/app"]
    heat = own.get("/data/cell/machines.json").json()
    about = dict(zip(heat["names"], heat["about"], strict=True))
    assert about == {
        "node-01": "8 cores, 32 GiB",
        "node-02": "8 cores, 32 GiB",
        "node-03": "16 cores, 64 GiB",
    }
    assert "8 cores, 32 GiB" in text(own.get("/machine/node-01").text)


def test_charts_are_drawn_in_cores_and_gib(own: TestClient, cell: TestClient) -> None:
    cpu = own.get("/data/cell/cpu.json").json()
    # 2 pods of 2 cores; the data are fractions of the largest machine, which has 16.
    assert cpu["title"] == "CPU used by tier (cores)"
    assert cpu["factor"] == 16
    assert cpu["columns"]["unknown"][0] == pytest.approx(4 / 16)
    memory = own.get("/data/cell/memory.json").json()
    assert (memory["title"], memory["factor"]) == ("Memory used by tier (GiB)", 64)
    unknown_size = cell.get("/data/cell/cpu.json").json()
    assert unknown_size["title"] == "CPU used by tier (of the largest machine)"
    assert unknown_size["factor"] == 1


def test_the_code_of_every_view_runs(own: TestClient, own_store: Path) -> None:
    for view in ("/", "/machine/node-01", "/job/shop/web-7/app", "/task/shop/web-7/app/0"):
        html = own.get(view).text
        sql, python = map(
            unescape, re.findall(r"<pre data-copy[^>]*><code>(.*?)</code>", html, re.S)
        )
        assert own.get("/data/sql.json", params={"q": sql}).status_code == 200, view
        names: dict[str, object] = {}
        exec(python.replace("store.ask", "drawn = store.ask"), names)
        store = names["store"]
        assert store.path == own_store  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ['x"); import os #', "it's \\", '"""', "{x}"])
def test_a_name_in_the_python_of_a_page_is_a_text(tmp_path: Path, name: str) -> None:
    with (tmp_path / "usage.csv").open("w") as file:
        lines = csv.writer(file)
        lines.writerow(["task", "time", "node", "cpu"])
        for slot in range(9):
            lines.writerow(["web", 1793491200 + 300 * slot, name, "1.0"])
    ingest([tmp_path / "usage.csv"], tmp_path / "store", IngestOptions(capacity="8cores"))
    client = client_of(tmp_path / "store")
    (link,) = set(re.findall(r'href="(/machine/\d+)"', client.get("/machines").text))
    html = client.get(link).text
    python = unescape(re.findall(r"<code>(import.*?)</code>", html, re.S)[0])
    (call,) = (
        node
        for node in ast.walk(ast.parse(python))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "machine"
    )
    assert ast.literal_eval(call.args[0]) == name


def test_machines_of_which_only_the_cores_are_known_are_in_the_map(tmp_path: Path) -> None:
    lines = ["task,time,node,cpu"]
    lines += [f"web-{k},{1793491200 + 300 * slot},n{k},2.0" for slot in range(3) for k in (0, 1)]
    (tmp_path / "usage.csv").write_text("\n".join(lines) + "\n")
    options = IngestOptions(capacity="8cores")
    ingest([tmp_path / "usage.csv"], tmp_path / "store", options)
    client = client_of(tmp_path / "store")
    heat = client.get("/data/cell/machines.json").json()
    assert [[value * heat["percent"] for value in row] for row in heat["cells"]] == [[25.0] * 3] * 2
    memory = client.get("/data/cell/machines.json?resource=memory").json()
    assert {value for row in memory["cells"] for value in row} == {memory["absent"]}
    assert "25" in text(client.get("/").text.partition("The fullest machines")[2])
