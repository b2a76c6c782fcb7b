"""``borgtrace explore``: an address on stdout, a port on this machine alone, Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

Words = Callable[..., list[str]]


@pytest.fixture
def explore(command: Words, cell_store: Path) -> Words:
    return lambda *words: command("explore", cell_store, "--no-browser", *words)


@pytest.fixture
def running(explore: Words) -> Iterator[Any]:
    with subprocess.Popen(
        explore(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.send_signal(signal.SIGINT)


def test_it_serves_until_it_is_interrupted(running: Any) -> None:
    address = running.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", address)
    with httpx.Client(follow_redirects=True, timeout=60) as client:
        page = client.get(address)
        assert page.status_code == 200
        assert "token" not in str(page.url)
        assert client.get(f"{page.url}machine/7").status_code == 200
    port = page.url.port
    with socket.socket() as other:
        # On this machine's own address only, which 127.0.0.2 is not.
        assert other.connect_ex(("127.0.0.2", port)) != 0
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0
    assert out == ""
    assert err.splitlines() == ["Press Ctrl-C to stop.", "Stopped."]


def test_a_port_that_is_taken_is_named(explore: Words) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            explore("--port", port),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    message = f"got {port}: address already in use; choose another, or 0 for a free one"
    assert done.stderr == f"borgtrace: --port: cannot be opened: {message}\n"


@pytest.mark.parametrize("page", ["machine/7", "//evil.example/"])
def test_a_page_that_is_none_is_refused(explore: Words, page: str) -> None:
    done = subprocess.run(
        explore("--at", page),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    message = f"expected an address as the explorer shows it, /machine/7, got {page!r}"
    assert done.stderr.endswith(f"borgtrace: --at: not a page: {message}\n")


def test_it_begins_with_a_page(explore: Words) -> None:
    words = explore("--at", "/job/100?to=1h")
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        answer = httpx.get(process.stdout.readline().strip(), follow_redirects=True, timeout=60)
        process.send_signal(signal.SIGINT)
    assert answer.url.raw_path == b"/job/100?to=1h"
    assert "Job 100" in answer.text
