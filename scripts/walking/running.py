"""Runs a command as a user does: another process, no terminal to answer questions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import httpx

LIMIT_S = 900
COLUMNS = "80"
NO_PAGE = "no page"
TOO_LONG = 124
"""Exit code of a command that was stopped, as that of timeout(1)."""


@dataclass(frozen=True)
class Ended:
    """What a command printed, its exit code, and how long it ran."""

    code: int
    stdout: str
    stderr: str
    seconds: float = 0.0

    @property
    def last_line(self) -> str:
        """The last line of what it says, else of its data."""
        lines = self.stderr.strip().splitlines() or self.stdout.strip().splitlines()
        return lines[-1] if lines else ""


def run(*words: object) -> Ended:
    """Run a command with this Python."""
    before = time.monotonic()
    try:
        done = subprocess.run(
            command_line(words),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment(),
        )
    except subprocess.TimeoutExpired:
        return Ended(TOO_LONG, "", f"stopped after {LIMIT_S} s", LIMIT_S)
    seconds = round(time.monotonic() - before, 1)
    return Ended(done.returncode, done.stdout, done.stderr, seconds)


def run_explorer(*words: object) -> Ended:
    """Start the explorer, ask for its first page, and stop it as Ctrl-C does."""
    before = time.monotonic()
    server = subprocess.Popen(
        command_line(words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    page = NO_PAGE
    if address:
        page = page_at(address)
        server.send_signal(signal.SIGINT)
    stdout, stderr = server.communicate(timeout=LIMIT_S)
    seconds = round(time.monotonic() - before, 1)
    # A page that does not come is a failure of the explorer, though it stopped as it should.
    code = 1 if page.startswith(NO_PAGE) else server.returncode
    return Ended(code, f"{address}\n{page}\n{stdout}", stderr, seconds)


def page_at(address: str) -> str:
    """Return what a browser gets that opens an address: it follows the redirect and keeps the cookie."""
    try:
        with httpx.Client(follow_redirects=True, timeout=LIMIT_S) as client:
            answer = client.get(address)
            answer.raise_for_status()
    except httpx.HTTPError as error:
        return f"{NO_PAGE}: {error}"
    return f"{answer.status_code}, {len(answer.content):,} bytes"


def is_done(*words: object) -> bool:
    """Run a command that a store needs; say on stderr why it failed."""
    ended = run(*words)
    if ended.code:
        print(ended.stderr[-2000:], file=sys.stderr)
    return ended.code == 0


def command_line(words: tuple[object, ...]) -> list[str]:
    """Return the words of a process that runs a command."""
    return [sys.executable, "-m", "borgtrace", *map(str, words)]


def environment() -> dict[str, str]:
    """Return the environment of a terminal of 80 columns."""
    return {**os.environ, "COLUMNS": COLUMNS}
