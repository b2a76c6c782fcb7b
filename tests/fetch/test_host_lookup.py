"""Names of servers are looked up before anything else, and a lookup that takes too long counts as failed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from borgtrace.errors import SourceError
from borgtrace.fetch.host_lookup import lookup_problem
from borgtrace.fetch.session import Session


@pytest.fixture
def silent_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system that searches for names until the test ends, as it does without a network."""
    ended = threading.Event()

    def search(*_: object) -> list[object]:
        ended.wait(30)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", search)
    yield
    ended.set()


def test_a_name_without_an_address_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("https_proxy", raising=False)
    assert lookup_problem("127.0.0.1") is None
    assert "Name or service not known" in (lookup_problem("nowhere.invalid") or "")


def test_a_lookup_without_an_end_is_given_up(silent_name_server: None) -> None:
    before = time.monotonic()
    assert lookup_problem("storage.example", 0.2) == "no address within 0.2 s"
    assert time.monotonic() - before < 5


def test_a_proxy_looks_names_up(silent_name_server: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    assert lookup_problem("storage.example", 0.2) is None


def test_offline_a_fetch_gives_up_after_one_lookup(silent_name_server: None) -> None:
    problem = "no address within 4 s"
    with Session(1) as session, pytest.raises(SourceError) as refused:
        session.repeat("trace", lambda: session.check_reachable("https://storage.example/a"))
    assert str(refused.value) == (
        f"trace: gave up after 1 attempt: storage.example cannot be reached ({problem}); "
        "check the network, or name a mirror that can be reached: --base-url URL"
    )
