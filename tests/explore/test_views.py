"""The pages: what each says, where each leads, what a wrong address gets, and names that are attacks."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from .conftest import HOSTILE, client_of

VIEWS = [
    "/",
    "/?resource=memory",
    "/machine/7",
    "/machine/8",
    "/job/100",
    "/job/200",
    "/task/100/0",
    "/task/100/1",
    "/task/200/0?window=900000000",
    "/facets",
    "/jobs",
    "/jobs?user=bob",
    "/sql",
    "/sql?q=select+1",
    "/search?q=nobody",
]


class Reader(HTMLParser):
    """Collects the elements of a page, its text and its links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.tags if tag == "a"]


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_answers_without_inline_script_or_style(cell: TestClient, path: str) -> None:
    answer = cell.get(path)
    assert answer.status_code == 200
    page = Reader(answer.text)
    assert sum(tag == "h1" for tag, _ in page.tags) == 1
    assert all(attrs.get("src") for tag, attrs in page.tags if tag == "script")
    assert not [
        tag
        for tag, attrs in page.tags
        if tag == "style" or "style" in attrs or any(n.startswith("on") for n in attrs)
    ]
    sources = [
        attrs.get("src") or attrs.get("href")
        for tag, attrs in page.tags
        if tag in ("script", "link")
    ]
    assert all(source and source.startswith(("/static/", "data:,")) for source in sources)
    for source in sources:
        if source and source.startswith("/"):
            assert cell.get(source).status_code == 200, source


def test_links_lead_from_the_cell_to_a_window_and_back(cell: TestClient) -> None:
    """Every link of every view within three steps of the first page answers."""
    seen, waiting = {"/"}, ["/"]
    for _ in range(3):
        links_of_step = set()
        for path in waiting:
            answer = cell.get(path)
            assert answer.status_code == 200, path
            if answer.headers["content-type"].startswith("text/html"):
                links = {link.partition("#")[0] or "/" for link in Reader(answer.text).links}
                links_of_step |= {f"/{link}" if link.startswith("?") else link for link in links}
        waiting = sorted(links_of_step - seen)
        seen |= links_of_step
    assert {
        "/machine/7",
        "/machine/8",
        "/job/100",
        "/task/100/0",
        "/task/200/0?window=900000000",
    } - seen <= {
        "/task/200/0?window=900000000",
        "/task/100/0",
    }  # tasks are reached through the lanes, which a browser draws


def test_a_task_and_its_window(cell: TestClient) -> None:
    page = Reader(cell.get("/task/200/0").text)
    assert "5 events and 3 usage windows" in page.text
    assert "/task/200/0?window=900000000" in page.links
    assert "/machine/8" in page.links
    window = Reader(cell.get("/task/200/0?window=900000000").text)
    assert "The window from 2011-05-01 19:05:00 EDT (0.08333 h) to " in window.text
    assert "/task/200/0?window=600000000" in window.links
    assert "/task/200/0?window=1500000000" in window.links


def test_the_jobs_of_a_group(cell: TestClient) -> None:
    assert "/job/200" in Reader(cell.get("/jobs?user=bob").text).links
    assert "/job/100" not in Reader(cell.get("/jobs?user=bob").text).links


@pytest.mark.parametrize(
    ("start", "neighbors"),
    [
        (600_000_000, [("900000000", "after")]),
        (900_000_000, [("600000000", "before"), ("1500000000", "after")]),
        (1_500_000_000, [("900000000", "before")]),
    ],
)
def test_a_window_has_neighbors_in_time(
    cell: TestClient, start: int, neighbors: list[tuple[str, str]]
) -> None:
    html = cell.get(f"/task/200/0?window={start}").text
    assert re.findall(r'window=(\d+)">Window (before|after)<', html) == neighbors
    assert not re.search("Window (before|after)", cell.get("/task/200/0").text)


def test_the_fullest_machines_stand_on_the_first_page(cell: TestClient) -> None:
    # Machine 8: .5 and .125 of its CPU, 31.25 %; machine 7: .25, .5 and .125, 29.2 %; one slot was not measured.
    # An hour is kept in steps of half a percent.
    table = cell.get("/").text.partition("<h2>The fullest machines</h2>")[2]
    cells = [
        " ".join(text.split())
        for text in re.findall(r"<td[^>]*>(.*?)</td>", table, flags=re.DOTALL)
    ]
    assert [re.sub(r"<[^>]+>", "", text) for text in cells] == ["8", "31", "7", "29"]


def test_ids_end_with_63_bits(cell: TestClient) -> None:
    assert cell.get(f"/machine/{2**63 - 1}").status_code == 404
    assert cell.get(f"/machine/{2**63}").status_code == 404
    assert cell.head("/machine/7").status_code == 200


def test_a_job_names_its_user_and_its_siblings(cell: TestClient) -> None:
    page = Reader(cell.get("/job/200").text)
    assert "1 instance." in page.text
    assert "/jobs?user=bob" in page.links
    assert "No other job of the store has its name or user." in page.text


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("100:1", "/task/100/1"),
        (" 200/0 ", "/task/200/0"),
        ("200", "/job/200"),
        ("8", "/machine/8"),
        ("bo", "/jobs?user=bob"),
        ("logi", "/job/200"),
    ],
)
def test_a_search_with_one_meaning_leads_there(cell: TestClient, words: str, target: str) -> None:
    answer = cell.get("/search", params={"q": words}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, target)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "999",
        "100:7",
        "nobody",
        "9" * 30,
        "%",
        "_",
        "'",
    ],
)
def test_a_search_for_what_is_not_there_says_so(cell: TestClient, words: str) -> None:
    answer = cell.get("/search", params={"q": words})
    assert answer.status_code == 200
    assert "Try the id of a job or machine" in answer.text


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/machine/9", 404, "machine: not in this store: 9."),
        ("/machine/seven", 404, "machine: nothing has this name: seven."),
        (
            "/machine/99999999999999999999",
            404,
            "machine: nothing has this name: 99999999999999999999.",
        ),
        ("/job/150", 404, "job: no task of it is in this store: 150."),
        ("/task/100/5", 404, "task: not in this store: instance 5."),
        ("/task/200/0?window=1", 404, "window: not one of this task in this store: 1 µs."),
        ("/task/200/0?window=soon", 400, "window: not a time: 'soon'."),
        ("/?resource=disk", 400, "resource: unknown: 'disk'."),
        ("/machinez", 404, "There is no page /machinez."),
    ],
)
def test_a_wrong_address_gets_a_page_that_helps(
    cell: TestClient,
    path: str,
    status: int,
    message: str,
) -> None:
    answer = cell.get(path)
    page = Reader(answer.text)
    assert answer.status_code == status
    assert message in page.text
    assert "/" in page.links
    assert any(re.fullmatch(r"/(machine|job|task)/.*", link) for link in page.links)


@pytest.mark.parametrize(
    ("path", "examples"),
    [
        ("/machine/seven", ["/machine/7"]),
        # A letter is missing.
        ("/machin/7", ["/machine/7"]),
        ("/task/1", ["/task/100/0"]),
        # Two are near enough: /machine/ is the third.
        ("/jack/", ["/job/100", "/task/100/0"]),
        ("/zzzzzz", ["/machine/7", "/job/100", "/task/100/0"]),
    ],
)
def test_a_wrong_address_gets_examples_of_what_was_meant(
    cell: TestClient, path: str, examples: list[str]
) -> None:
    listed = cell.get(path).text.partition("<ul>")[2].partition("</ul>")[0]
    assert Reader(listed).links == [*examples, "/"]


def test_two_hundred_wrong_addresses_get_a_page_that_helps(cell: TestClient) -> None:
    draw = random.Random(0)
    starts = [
        "/",
        "/machine/",
        "/job/",
        "/task/",
        "/task/100/",
        "/data/",
        "/data/cell/",
        "/data/machine/7/",
        "/facets/",
        "/static/",
        "/sql/",
    ]
    for _ in range(200):
        length = draw.randint(1, 12)
        path = draw.choice(starts) + quote(
            "".join(draw.choice("abcxyz 019-.:é%<'\"&;\\") for _ in range(length)) + "q", safe=""
        )
        answer = cell.get(path)
        assert 400 <= answer.status_code < 500, (path, answer.status_code)
        if path.startswith("/data/") and answer.headers["content-type"] == "application/json":
            assert answer.json()["error"], path
        else:
            assert "/" in Reader(answer.text).links, path
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "query", ["from=x", "from=2h&to=1h", "to=0", "from=99d", "first=-1", "first=x"]
)
def test_a_wrong_range_is_refused(cell: TestClient, query: str) -> None:
    answer = cell.get(f"/data/cell/machines.json?{query}")
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


@pytest.fixture(scope="module")
def hostile(hostile_store: Path) -> TestClient:
    return client_of(hostile_store)


# Fifty names of each attack differ by their number alone.
@pytest.mark.parametrize("n", [50, pytest.param(500, marks=pytest.mark.scale)])
def test_hostile_names_show_as_text(hostile: TestClient, n: int) -> None:
    assert len(set(HOSTILE)) == 500
    for number, name in enumerate(HOSTILE[:n], 1001):
        # The link of its user leads to its job, whatever is in the name.
        listed = Reader(hostile.get("/jobs", params={"user": name}).text)
        assert f"/job/{number}" in listed.links
        assert listed.text.count(name) >= 3  # what was asked for, the user, the job's name
        assert {tag for tag, _ in listed.tags} <= KNOWN_TAGS


@pytest.mark.parametrize("number", range(1001, 1011))
def test_a_job_of_a_hostile_name(hostile: TestClient, number: int) -> None:
    page = Reader(hostile.get(f"/job/{number}").text)
    assert page.text.count(HOSTILE[number - 1001]) >= 3  # user, name, logical name
    assert {tag for tag, _ in page.tags} <= KNOWN_TAGS


_TAGS = """html head meta title link script body a p strong code header nav form label input button main h1 h2 div
span dl dt dd section table thead tbody tr th td figure figcaption noscript small
aside details summary pre output"""
KNOWN_TAGS = set(_TAGS.split())


@pytest.mark.parametrize("path", ["/facets", "/jobs", "/search?q='", "/sql?q=select+*+from+tasks"])
def test_hostile_names_show_as_text_in_lists(hostile: TestClient, path: str) -> None:
    page = Reader(hostile.get(path).text)
    assert {tag for tag, _ in page.tags} <= KNOWN_TAGS | {"ul", "li", "textarea"}
    assert "'; DROP TABLE tasks; --" in page.text


@pytest.mark.parametrize("name", HOSTILE[:10])
def test_hostile_questions_show_as_text(hostile: TestClient, name: str) -> None:
    for path in ("/search", "/sql"):
        page = Reader(hostile.get(path, params={"q": name}).text)
        assert {tag for tag, _ in page.tags} <= KNOWN_TAGS | {"ul", "li", "textarea"}
    assert hostile.get("/data/sql.json", params={"q": name}).status_code == 400
