"""``borgtrace analyze`` with a second process for studies: the same output, whatever becomes of that process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from borgtrace.cli import main

pytestmark = pytest.mark.wide  # kills, and answers that are computed twice

ASKED = ("machine_shapes", "usage_shapes", "sum_examples", "queue_length", "usage_deviation")
"""Three of studies, between two of tables."""
SETTINGS = ("--set", "realizations=200")
# A fork ends after this time; that it has no handler for it is what Python begins with.
KILLED = """
import os, signal, sys

os.register_at_fork(after_in_child=lambda: signal.setitimer(signal.ITIMER_REAL, {seconds}))
from borgtrace.cli import main

main(sys.argv[3:])
"""


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep a command in one process: beside a thread it makes no second one."""
    may_end = threading.Event()
    thread = threading.Thread(target=may_end.wait)
    thread.start()
    yield
    may_end.set()
    thread.join()


def without_seconds(out: str, err: str) -> tuple[list[Any], str]:
    """Return what a command with --json has said, apart from how long it took."""
    answers = [json.loads(line) for line in out.splitlines()]
    for answer in answers:
        del answer["provenance"]["seconds"]
    # Whoever runs first compiles, and says so.
    said = re.sub(r"First run: compiling.*\n", "", err)
    return answers, re.sub(r"\(\d+\.\d s\)", "(… s)", said)


@pytest.fixture
def alone(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[Any], str]]:
    """Run ``borgtrace analyze --json`` in one process; returns exit code, answers and messages."""

    def run_alone(*words: str | Path) -> tuple[int, list[Any], str]:
        with no_fork(), pytest.raises(SystemExit) as ended:
            main(["analyze", *map(str, words), "--json"])
        return (int(ended.value.code or 0), *without_seconds(*capfd.readouterr()))

    return run_alone


def in_two(words: list[str]) -> tuple[int, list[Any], str]:
    """Run a command line with ``--json`` of a process without threads; returns as the fixture `alone`."""
    ended = subprocess.run(
        [*words, "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    return (ended.returncode, *without_seconds(ended.stdout, ended.stderr))


def test_two_processes_answer_as_one(
    alone: Callable[..., tuple[int, list[Any], str]],
    command: Callable[..., list[str]],
    cells: dict[str, Path],
) -> None:
    words = [cells["2011"] / "store", *ASKED, *SETTINGS, "--where", "priority < 9"]
    code, answers, messages = alone(*words)
    assert in_two(command("analyze", *words)) == (code, answers, messages)
    assert code == 0
    assert [answer["recipe"] for answer in answers] == list(ASKED)


def test_a_question_that_is_refused_ends_the_command_in_its_place(
    alone: Callable[..., tuple[int, list[Any], str]],
    command: Callable[..., list[str]],
    cells: dict[str, Path],
) -> None:
    too_many = ("--set", "size=1000000", "--set", "realizations=100000")
    asked = ("machine_shapes", "packing_memory", "queue_length", "usage_deviation")
    words = [cells["2011"] / "store", *asked, *too_many]
    code, answers, messages = alone(*words)
    assert in_two(command("analyze", *words)) == (code, answers, messages)
    assert code == 2
    # What was answered before it is printed, and nothing after it.
    assert [answer["recipe"] for answer in answers] == ["machine_shapes"]
    assert "--size: too many draws at once" in messages


@pytest.mark.parametrize("seconds", ["0.001", "0.5"])
def test_a_process_that_is_killed_is_not_missed(
    alone: Callable[..., tuple[int, list[Any], str]],
    python: str,
    cells: dict[str, Path],
    seconds: str,
) -> None:
    words = [cells["2011"] / "store", *ASKED, *SETTINGS]
    code, answers, messages = alone(*words)
    script = KILLED.format(seconds=seconds)
    command_line = [python, "-c", script, "analyze", *map(str, words)]
    assert in_two(command_line) == (code, answers, messages)
    assert code == 0


def test_ctrl_c_leaves_no_process_and_what_was_answered(cells: dict[str, Path]) -> None:
    command_line = [sys.executable, "-m", "borgtrace", "analyze", str(cells["2011"] / "store")]
    asked = ["machine_shapes", "packing_base", "packing_advice"]
    process = subprocess.Popen(
        [*command_line, *asked, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (first["recipe"], out) == ("machine_shapes", "")
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("borgtrace: interrupted: answers that were written stay")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_time_limit_ends_both_processes(
    command: Callable[..., list[str]], cells: dict[str, Path]
) -> None:
    asked = ("packing_base", "packing_advice", "machine_shapes")
    words = command("analyze", cells["2011"] / "store", *asked, "--timeout", "1s")
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 7
    assert "query: stopped after 1 s" in ended.stderr
