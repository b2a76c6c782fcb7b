"""Who is let in: this machine's browser with the cookie, on the explorer's own pages; nobody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import borgtrace
from borgtrace.explore.application import application
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.pyramid import pyramid
from tests.rows import chosen_columns

from .conftest import BASE, TOKEN


@pytest.fixture
def stranger(cell_store: Path) -> TestClient:
    """A client of a server that nobody has opened yet."""
    opened = borgtrace.open(cell_store)
    return TestClient(
        application(ExploredStore(opened, pyramid(opened)), TOKEN),
        base_url=BASE,
        follow_redirects=False,
    )


PATHS = [
    "/",
    "/machine/7",
    "/sql?q=select+1",
    "/data/cell/cpu.json",
    "/static/explore.js",
    "/nothing",
]


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_told(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "Open the address that borgtrace explore printed." in answer.text
    # Neither of the trace nor of what it holds.
    assert "2011" not in answer.text
    assert "machine" not in answer.text.lower()


def test_the_token_is_exchanged_for_a_cookie_once(stranger: TestClient, cell_store: Path) -> None:
    answer = stranger.get(f"/machine/7?from=1h&token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/machine/7?from=1h"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/").status_code == 200
    # The same address in the same browser, as from its history, still leads in.
    assert stranger.get(f"/?token={TOKEN}").status_code == 303
    other = TestClient(stranger.app, base_url=BASE, follow_redirects=False)
    second = other.get(f"/?token={TOKEN}")
    assert second.status_code == 403
    assert "This token was used already." in second.text


def test_the_way_from_the_token_never_leads_to_another_machine(stranger: TestClient) -> None:
    answer = stranger.get(f"{BASE}//evil.example/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/evil.example/")


def test_a_wrong_token_is_refused_and_spends_nothing(stranger: TestClient) -> None:
    assert stranger.get("/?token=guess").status_code == 403
    assert stranger.get("/?token=").status_code == 403
    assert stranger.get(f"/?token={TOKEN}").status_code == 303


def test_a_wrong_cookie_is_refused(stranger: TestClient) -> None:
    name = stranger.get(f"/?token={TOKEN}").headers["set-cookie"].partition("=")[0]
    stranger.cookies.clear()
    assert stranger.get("/", headers={"cookie": f"{name}=guess"}).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "0.0.0.0",
        "",
        "10.0.0.1:8321",
    ],
)
def test_a_name_that_is_not_this_machines_is_refused(cell: TestClient, host: str) -> None:
    """DNS rebinding: the attacker's name points to 127.0.0.1, and the browser sends that name."""
    answer = cell.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "This address is not this machine" in answer.text


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:65535", "[::1]:8321", "[::1]"]
)
def test_this_machine_on_any_port_is_accepted(cell: TestClient, host: str) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in cell.cookies.items())
    assert cell.get("/", headers={"host": host, "cookie": cookie}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8321"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_origin_is_refused(cell: TestClient, headers: dict[str, str]) -> None:
    answer = cell.get("/data/cell/cpu.json", headers=headers)
    assert answer.status_code == 403
    assert "Another page asked for this." in answer.text


def test_a_link_on_another_page_does_not_spend_the_token(stranger: TestClient) -> None:
    assert (
        stranger.get(f"/?token={TOKEN}", headers={"sec-fetch-site": "cross-site"}).status_code
        == 403
    )
    assert stranger.get(f"/?token={TOKEN}").status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": BASE},
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
)
def test_its_own_pages_are_accepted(cell: TestClient, headers: dict[str, str]) -> None:
    assert cell.get("/data/cell/cpu.json", headers=headers).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_sent(cell: TestClient, method: str) -> None:
    answer = cell.request(method, "/sql")
    assert answer.status_code == 405
    assert "The explorer only reads." in answer.text


@pytest.mark.parametrize(
    "path",
    [
        *PATHS,
        "/machine/9",
        "/data/cell/none.json",
    ],
)
def test_every_answer_has_the_headers(cell: TestClient, path: str) -> None:
    headers = cell.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    expected = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }
    assert chosen_columns(headers, expected) == expected
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pages.py",
        "/static/%2e%2e/pages.py",
        "/static/..%2f..%2f__init__.py",
        "/static//etc/passwd",
    ],
)
def test_only_files_of_the_page_are_served(cell: TestClient, path: str) -> None:
    assert cell.get(path).status_code == 404


VALUES = {
    "machine": "7",
    "table": "tasks",
    "job": "100",
    "task": "0",
    "name": "cpu",
    "form": "json",
}
"""Values for the places in an address."""


def every_path(app: Starlette) -> list[str]:
    """An address of each route: pages, data and files."""
    paths = []
    for route in app.routes:
        if isinstance(route, Mount):
            paths.append(f"{route.path}/explore.js")
        elif isinstance(route, Route):
            paths.append(re.sub(r"\{(\w+)(?::path)?\}", lambda place: VALUES[place[1]], route.path))
    return paths


STRANGERS = {
    "another name of this machine": {"host": "evil.example:8321"},
    "another page": {"origin": "http://evil.example"},
    "a page of another port": {"origin": "http://127.0.0.1:9999"},
    "a frame or a script of another site": {"sec-fetch-site": "cross-site"},
    "somebody without the cookie": {"cookie": ""},
}


@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS)
def test_every_route_refuses_strangers(cell: TestClient, headers: dict[str, str]) -> None:
    assert isinstance(cell.app, Starlette)
    paths = every_path(cell.app)
    assert len(paths) >= 15
    cookie = "; ".join(f"{name}={value}" for name, value in cell.cookies.items())
    for path in [*paths, "/no/such/page"]:
        answer = cell.get(path, headers={"cookie": cookie} | headers)
        assert (path, answer.status_code) == (path, 403)
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_every_route_answers_its_own_pages(cell: TestClient) -> None:
    """That the paths above lead somewhere at all; not every chart has the name."""
    assert isinstance(cell.app, Starlette)
    answers = {path: cell.get(path).status_code for path in every_path(cell.app)}
    assert set(answers.values()) <= {200, 400}, answers


def test_no_socket_is_opened(cell: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), cell.websocket_connect("/"):
        pass
