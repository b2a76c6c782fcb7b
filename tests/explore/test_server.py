"""The server itself, in this process: where it listens, what it announces, and that it ends with Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket

import pytest

from borgtrace.errors import UsageError
from borgtrace.explore import server


@pytest.mark.parametrize("browser", [True, False])
def test_it_listens_on_this_machine_before_it_is_announced(
    monkeypatch: pytest.MonkeyPatch, browser: bool
) -> None:
    opened, told = list[str](), list[str]()
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(server, "application", lambda trace, token: None)

    def ready(address: str) -> None:
        told.append(address)
        port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/job/1\?to=1h&token=[\w-]{43}", address)
        assert port
        with socket.create_connection(("127.0.0.1", int(port[1]))):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        server.serve(None, 0, browser=browser, ready=ready, at="/job/1?to=1h")  # type: ignore[arg-type]
    assert len(told) == 1
    assert opened == told * browser


def test_a_port_that_is_open_is_taken_on_this_machine_alone() -> None:
    with server._listen(0) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(
            UsageError, match=f"--port: cannot be opened: got {port}: address already in use"
        ):
            server._listen(port)


@pytest.mark.parametrize("page", ["machine/7", "//evil.example/"])
def test_a_page_that_is_none_is_refused_before_anything_is_opened(page: str) -> None:
    with pytest.raises(UsageError, match="--at: not a page"):
        server.serve(None, -1, browser=False, ready=print, at=page)  # type: ignore[arg-type]
