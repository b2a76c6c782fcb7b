"""Tables of the store in the explorer: sorted by any column, filtered by click and by form, counted, exported."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import borgtrace
from borgtrace.explore.filters import OPERATORS, parse_filter
from borgtrace.schema import TABLES

from .conftest import HOSTILE

PLAIN_COLUMNS = [
    (table.name, column.name)
    for table in TABLES.values()
    for column in table.columns
    if not column.type.startswith("list")
]


def text(cell: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", "", cell).split()))


def rows(html: str) -> list[list[str]]:
    """The texts of the last table's cells, row by row."""
    body = html.rpartition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [text(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    ]


def column(client: TestClient, address: str, name: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    # Behind the answer of the SQL box stand the tables of the store.
    html = answer.text.partition("<aside>")[0]
    head = html.rpartition("<thead>")[2].partition("</thead>")[0]
    names = [
        text(cell).removesuffix(" ▲").removesuffix(" ▼")
        for cell in re.findall(r"<th[^>]*>(.*?)</th>", head, flags=re.DOTALL)
    ]
    return [row[names.index(name)] for row in rows(html)]


def links(html: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]*)"', html)]


def test_the_panel_of_tables_has_every_table_and_column(cell: TestClient) -> None:
    html = cell.get("/tables").text
    for table in TABLES.values():
        assert f'href="/tables/{table.name}"' in html
        for declared in table.columns:
            assert f"<code>{declared.name}</code>" in html
    assert "9 rows, one per event of an instance" in text(html)


@pytest.mark.parametrize(("table", "name"), PLAIN_COLUMNS)
def test_every_column_sorts_and_is_counted(cell: TestClient, table: str, name: str) -> None:
    for sort in (name, f"-{name}"):
        answer = cell.get(f"/tables/{table}?sort={sort}&count={name}")
        assert answer.status_code == 200, answer.text


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_round(cell: TestClient) -> None:
    times = ["0.1667", "0.1667", "0.1694", "0.1722", "0.1806", "0.3333", "0.3333", "0.3500", "0.5"]
    hours = [f"{float(time):.4f} h" for time in times]
    address = "/tables/instance_events"
    (link,) = (one for one in links(cell.get(address).text) if "sort=-time" in one)
    assert column(cell, address + link, "time") == hours[::-1]
    assert 'aria-sort="descending"' in cell.get(address + link).text
    (link,) = (one for one in links(cell.get(address + link).text) if one.endswith("sort=time"))
    assert column(cell, address + link, "time") == hours


def test_a_click_on_a_value_filters_and_its_chip_takes_that_back(cell: TestClient) -> None:
    page = cell.get("/tables/instance_events")
    (evicted,) = {one for one in links(page.text) if "filter=type%3Ais%3AEVICT" in one}
    html = cell.get(f"/tables/instance_events{evicted}").text
    assert "1 row of 9" in text(html)
    assert "type is EVICT" in text(html)
    (back,) = re.findall(r'<a href="([^"]*)" aria-label="Remove: type is EVICT"', html)
    assert "9 rows, one per" in text(cell.get(f"/tables/instance_events{unescape(back)}").text)


def test_counts_are_those_of_the_rows(cell: TestClient) -> None:
    html = cell.get("/tables/instance_events?count=type").text
    facet = html.partition('<div class="facets">')[2].partition("</section>")[0]
    # Six SUBMIT and SCHEDULE of two tasks that run, one of a task that waits; see the rows of the cell.
    counts = [text(item) for item in re.findall(r"<li>(.*?)</li>", facet, flags=re.DOTALL)]
    assert counts == ["SUBMIT 4", "SCHEDULE 3", "EVICT 1", "FINISH 1"]
    page_of_evictions = cell.get("/tables/instance_events?count=machine_id&filter=type:is:EVICT")
    assert "8 1" in text(page_of_evictions.text.partition('<div class="facets">')[2])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("average_cpu:is:0.25", 2),
        ("average_cpu:from:0.25", 3),
        ("average_cpu:to:0.125", 2),
        ("average_cpu:not:0.25", 3),
        ("collection_id:has:10", 2),
        ("maximum_memory:unknown:", 0),
        ("sample_rate:unknown:", 5),
        ("average_cpu:known:", 5),
        ("collection_type:is:JOB", 5),
        ("is_on_dedicated_machine:is:false", 5),
        ("start_time:from:900000000", 3),
    ],
)
def test_conditions(cell: TestClient, condition: str, expected: int) -> None:
    html = cell.get(f"/tables/instance_usage?filter={condition}").text
    assert len(rows(html)) == expected
    # The query that the page shows has the same rows.
    query = unescape(
        re.findall(r"<pre data-copy[^>]*><code>(SELECT.*?)</code>", html, re.DOTALL)[0]
    )
    answer = cell.get("/data/sql.csv", params={"q": query})
    assert len(list(csv.reader(io.StringIO(answer.text)))) == expected + 1


def test_columns_without_values_are_named_below_the_rows(cell: TestClient) -> None:
    html = cell.get("/tables/instance_usage").text
    head = html.rpartition("<thead>")[2].partition("</thead>")[0]
    assert "sample_rate" not in head
    (names,) = re.findall(r"Without a value in these rows: (.*?)\.", html)
    assert "sample_rate" in names.split(", ")
    # Whoever names a column sees it.
    sorted_html = cell.get("/tables/instance_usage?sort=sample_rate").text
    assert "sample_rate" in sorted_html.rpartition("<thead>")[2].partition("</thead>")[0]


def test_the_form_leads_to_an_address_that_can_be_kept(cell: TestClient) -> None:
    form = "/tables/tasks?filter=priority:is:0&do=filter&column=user&operator=is&value=bob"
    answer = cell.get(form, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == (
        "/tables/tasks?filter=priority%3Ais%3A0&filter=user%3Ais%3Abob"
    )
    counted = cell.get("/tables/tasks?do=count&column=end_type", follow_redirects=False)
    assert counted.headers["location"] == "/tables/tasks?count=end_type"


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/tables/taskz", 404, "table: no such table in this store: taskz."),
        ("/tables/tasks?sort=nothing", 400, "sort: no such column: 'nothing'."),
        ("/tables/tasks?filter=nothing:is:1", 400, "filter: no such column: nothing."),
        ("/tables/tasks?filter=priority:like:1", 400, "filter: no such condition: like."),
        ("/tables/tasks?filter=priority:is:x", 400, "priority: not a value of this column: 'x'."),
        ("/tables/tasks?filter=seconds:is:inf", 400, "seconds: not a value of this column: 'inf'."),
        ("/tables/tasks?count=nothing", 400, "count: no such column: nothing."),
        ("/jobs?sort=nothing", 400, "sort: no such column: 'nothing'."),
        ("/facets?sort-users=nothing", 400, "sort-users: no such column: 'nothing'."),
    ],
)
def test_a_wrong_address_says_what_is_wrong(
    cell: TestClient, address: str, status: int, message: str
) -> None:
    answer = cell.get(address)
    assert answer.status_code == status
    assert message in text(answer.text)


def test_long_tables_are_read_page_by_page(hostile_store_client: TestClient) -> None:
    seen: list[str] = []
    address = "/tables/tasks?count="
    for _ in range(6):
        html = hostile_store_client.get(address).text
        seen += [row[0] for row in rows(html)]
        following = re.findall(r'<a href="([^"]*)" rel="next"', html)
        if not following:
            break
        address = f"/tables/tasks{unescape(following[0])}"
    assert seen == [str(1000 + number) for number in range(len(HOSTILE) + 1)]
    (before,) = re.findall(r'<a href="([^"]*)" rel="prev"', html)
    assert "start=400" in before


def test_hostile_values_are_filtered_by_what_they_are(hostile_store_client: TestClient) -> None:
    for number in (0, 1, 2, 4, 7, 9):
        name = HOSTILE[number]
        address = f"/tables/tasks?filter={quote(f'user:is:{name}')}"
        answer = hostile_store_client.get(address)
        assert [row[0] for row in rows(answer.text)] == [str(1001 + number)], name
        # What the page shows as SQL means the same.
        (query,) = re.findall(
            r"<pre data-copy[^>]*><code>(SELECT.*?)</code>", answer.text, re.DOTALL
        )
        rows_of_query = hostile_store_client.get("/data/sql.json", params={"q": unescape(query)})
        assert rows_of_query.json()["collection_id"] == [1001 + number]


@pytest.mark.parametrize("value", ["it's", 'a "b"', "x\\ny", "üé\u202e", '"""', "{x}"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_condition_survives_its_address(value: str, operator: str) -> None:
    condition = parse_filter(TABLES["tasks"], f"user:{operator}:{value}")
    assert parse_filter(TABLES["tasks"], condition.address) == condition


def test_the_python_of_a_table_gives_its_rows(
    cell: TestClient, cell_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = cell.get("/tables/instance_events?filter=type:is:SCHEDULE&sort=-time").text
    python = unescape(re.findall(r"<code>(import.*?)</code>", html, re.DOTALL)[0])
    names: dict[str, object] = {}
    *lines, last = python.split("\nstore.")
    exec("\n".join(lines), names)
    store = names["store"]
    assert isinstance(store, borgtrace.Store)
    assert store.path == cell_store
    answer = eval(f"store.{last}", names)
    assert [row["time"] for row in answer.to_pylist()] == [1260000000, 650000000, 620000000]


def test_jobs_machines_groups_and_answers_sort(cell: TestClient) -> None:
    assert column(cell, "/jobs", "job") == ["100", "200"]
    assert column(cell, "/jobs?sort=-user", "job") == ["200", "100"]
    assert column(cell, "/machines?sort=-cpu_capacity", "machine") == ["8", "7"]
    assert column(cell, "/machines?sort=percent_cpu_used", "machine") == ["7", "8"]
    query = quote("SELECT priority FROM tasks -- all")
    assert column(cell, f"/sql?q={query}&sort=-priority", "priority") == ["9", "9", "0"]
    users = cell.get("/facets?sort-users=n_tasks").text.partition('id="priorities"')[0]
    assert [row[1:3] for row in rows(users)] == [["1", "1"], ["1", "2"]]
    # EXPLAIN has rows of no table.
    assert 'title="Sort by' not in cell.get("/sql?q=EXPLAIN+SELECT+1").text


def test_jobs_say_their_own_order_only_where_they_have_it(cell: TestClient) -> None:
    assert "All jobs, those with the most tasks first" in text(cell.get("/jobs").text)
    assert "most tasks" not in text(cell.get("/jobs?sort=user").text)
    assert "user bob, those with the most tasks first" in text(cell.get("/jobs?user=bob").text)
