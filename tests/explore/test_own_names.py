"""Pages of a cluster that its owner names: names and cores wherever a thing is met, and no raw id alone."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from borgtrace.schema.time import TRACE_START
from tests.explore.conftest import client_of
from tests.ingest.own_data import hashed
from tests.notation.cluster import named_cluster

NODE = hashed("node-01")
DB = hashed("shop/db/main")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client_of(named_cluster(tmp_path_factory.mktemp("named")).path)


def text_of(page: str) -> str:
    """Return what is read on a page, without its scripts and the same query in SQL and Python."""
    main = page[page.index("<main") :]
    main = re.sub(r"<details class=\"source\">.*?</details>", "", main, flags=re.S)
    words = re.sub(r"<[^>]+>", " ", main)
    return re.sub(r"\s+", " ", words)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        # Two users begin so, each with what it runs.
        ("bo", ["user bob 1 job, 1 task", "user bobby 1 job, 1 task"]),
        (
            "node",
            [
                f"machine node-01 ({NODE}) 16 cores, 64 GiB",
                f"machine node-02 ({hashed('node-02')}) 8 cores, 32 GiB",
            ],
        ),
        (
            "web-0/",
            [
                f"job shop/web-0/app ({hashed('shop/web-0/app')}) "
                "1 task of alice named web from 2026-11-01 00:00 UTC (0 h)",
                f"job shop/web-0/log ({hashed('shop/web-0/log')}) "
                "1 task of alice named web from 2026-11-01 00:00 UTC (0 h)",
            ],
        ),
    ],
)
def test_a_search_says_what_tells_its_results_apart(
    pages: TestClient, words: str, found: list[str]
) -> None:
    answer = text_of(pages.get("/search", params={"q": words}).text)
    for result in found:
        assert result in answer


def test_a_job_is_found_by_a_part_of_its_name_once(pages: TestClient) -> None:
    answer = pages.get("/search", params={"q": "main"}, follow_redirects=False)
    # Both end so.
    assert answer.status_code == 200
    answer = pages.get("/search", params={"q": "db/m"}, follow_redirects=False)
    assert answer.headers["location"] == f"/job/{DB}"


def test_a_job_lists_its_siblings_by_name_and_by_user(pages: TestClient) -> None:
    page = text_of(pages.get("/job/web-01").text)
    assert "2 other jobs of the logical name web ." in page.replace("web.", "web .")
    assert "2 other jobs of the user alice ." in page
    assert "shop/web-0/app" in page
    # The user of this one has no other job.
    db = text_of(pages.get("/job/db").text)
    assert "1 other job of the logical name db" in db
    assert "of the user" not in db


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/machine/node-01", [f"Machine node-01 ({NODE})", "16 cores", "64 GiB"]),
        ("/job/db", [f"Job shop/db/main ({DB})", "CPU", "db"]),
        (
            "/task/db/0",
            [f"Task shop/db/main ({DB}:0)", "Job shop/db/main", "node-01", "cores", "GiB"],
        ),
        (
            f"/task/db/0?window={TRACE_START}",
            [
                "The window from 2026-11-01 00:00:00 UTC (0 h) to 2026-11-01 00:05:00 UTC (0.08333 h)",
                "average CPU (cores) 1 ",
                "average memory (GiB) 2 ",
                "machine ID node-01",
            ],
        ),
        ("/machines", ["node-01", "node-02", "cores", "GiB"]),
        ("/jobs", ["shop/db/main", "alice", "2026-11-01 00:00 UTC (0 h)"]),
    ],
)
def test_pages_say_names_and_cores(pages: TestClient, path: str, expected: list[str]) -> None:
    page = text_of(pages.get(path).text)
    for words in expected:
        assert words in page
    # An id stands in brackets behind its name, if at all.
    assert not re.search(r"(?<![(\d])\d{16,}", page)


def test_machines_are_in_the_order_of_their_names(pages: TestClient) -> None:
    page = text_of(pages.get("/machines").text)
    assert page.index("node-01") < page.index("node-02")
    page = text_of(pages.get("/machines?sort=-machine_id").text)
    assert page.index("node-02") < page.index("node-01")
