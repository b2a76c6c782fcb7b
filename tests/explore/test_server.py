"""The server itself, in this process: where it listens, what it announces, and that it ends with Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.explore import server
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.pyramid import pyramid
from borgtrace.explore.server import listen, listen_as_before, serve


@pytest.fixture
def explored(cell_store: Path) -> ExploredStore:
    opened = borgtrace.open(cell_store)
    return ExploredStore(opened, pyramid(opened))


@pytest.mark.parametrize("browser", [True, False])
def test_it_listens_on_this_machine_before_it_is_announced(
    explored: ExploredStore, monkeypatch: pytest.MonkeyPatch, browser: bool
) -> None:
    opened: list[str] = []
    announced: list[str] = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)

    def ready(address: str) -> None:
        announced.append(address)
        port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/job/1\?to=1h&token=[\w-]{43}", address)
        assert port
        with socket.create_connection(("127.0.0.1", int(port[1]))):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        serve(
            explored,
            0,
            browser=browser,
            ready=ready,
            at="/job/1?to=1h",
        )
    assert len(announced) == 1
    assert opened == (announced if browser else [])


def test_a_port_that_is_open_is_taken_on_this_machine_alone() -> None:
    with listen(0) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        message = f"--port: cannot be opened: got {port}: address already in use"
        with pytest.raises(UsageError, match=message):
            listen(port)


@pytest.mark.parametrize("page", ["machine/7", "//evil.example/"])
def test_a_page_that_is_none_is_refused_before_anything_is_opened(
    explored: ExploredStore, page: str
) -> None:
    with pytest.raises(UsageError, match="--at: not a page"):
        serve(
            explored,
            -1,
            browser=False,
            ready=print,
            at=page,
        )


def test_a_store_has_a_port_of_its_own_while_it_is_free(tmp_path: Path) -> None:
    with listen_as_before(tmp_path / "store") as first:
        port = first.getsockname()[1]
        # Another explorer of the same store takes a free one.
        with listen_as_before(tmp_path / "store") as second:
            assert second.getsockname()[1] != port
    with listen_as_before(tmp_path / "store") as again:
        assert again.getsockname()[1] == port
    with listen_as_before(tmp_path / "other") as other:
        assert other.getsockname()[1] != port
    assert 20_000 <= port < 30_000
