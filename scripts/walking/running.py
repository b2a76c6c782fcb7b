"""Runs a command as a user does: another process, no terminal to answer questions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass

LIMIT_S = 900
COLUMNS = "80"


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
    done = subprocess.run(
        command_line(words),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )
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
    page = ""
    if address:
        with urllib.request.urlopen(address, timeout=LIMIT_S) as answer:
            page = f"{answer.status} {len(answer.read()):,} bytes"
        server.send_signal(signal.SIGINT)
    stdout, stderr = server.communicate(timeout=LIMIT_S)
    seconds = round(time.monotonic() - before, 1)
    return Ended(server.returncode, f"{address}\n{page}\n{stdout}", stderr, seconds)


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
