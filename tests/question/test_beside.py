"""Questions that a second process answers: what it sends, and what happens when it ends too early."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from borgtrace import report
from borgtrace.store import open as open_store

pytestmark = pytest.mark.wide  # kills, and pages that are computed twice

ASKED = ("machine_shapes", "usage_shapes", "queue_length", "sum_examples")
"""Two of a study between two of tables."""
SCRIPT = """
import multiprocessing, os, signal, time
from borgtrace.catalog import find
from borgtrace.errors import UsageError
from borgtrace.question import EngineTables, Provenance, Result
from borgtrace.question.beside import answering_beside

ASKED = [find("transitions"), find("machine_shapes"), find("queue_length")]
GROUPS = [[question] for question in ASKED]
TABLES = EngineTables({})

def answer_of(question):
    return Result(question, question.answer.empty(), Provenance(where=str(os.getpid())))

def answer(asked):
    return map(answer_of, asked)

def is_running(pid):
    return os.path.exists(f"/proc/{pid}")

def pid_of(sent):
    name, answer = sent
    return answer.provenance.where

"""


@pytest.fixture
def run(python: str) -> Callable[[str], list[str]]:
    """Run a script in a process without threads, and return what it prints, line by line."""

    def run_script(script: str) -> list[str]:
        ended = subprocess.run(
            [python, "-c", SCRIPT + script], capture_output=True, text=True, timeout=60, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout.splitlines()

    return run_script


def test_a_page_is_the_same_with_a_second_process(
    command: Callable[..., list[str]], cells: dict[str, Path], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        shutil.copytree(cells["2011"] / "store", tmp_path / name / "store", symlinks=True)
        shutil.rmtree(tmp_path / name / "store" / "cache", ignore_errors=True)
    alone = report.write(open_store(tmp_path / "one" / "store"), tmp_path / "one.html", ASKED)
    words = command("report", tmp_path / "two" / "store", tmp_path / "two.html", *ASKED)
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0
    assert ended.stderr.startswith("4 questions, ")
    assert "kept from before" not in ended.stderr
    assert (tmp_path / "two.html").read_bytes() == alone.path.read_bytes()
    # Both processes have kept what they answered.
    kept = [path.name for path in (tmp_path / "two" / "store" / "cache").glob("answer_*")]
    assert len(kept) == len(ASKED)


def test_answers_come_from_another_process(run: Callable[[str], list[str]]) -> None:
    printed = run("""
with answering_beside(GROUPS, lambda: answer) as process:
    pids = {pid_of(process.wait()) for question in ASKED}
    print(process.wait(), process.take_group())
print(len(pids), str(os.getpid()) in pids, any(map(is_running, pids)))
""")
    assert printed == ["None ()", "1 False False"]


def test_groups_are_taken_from_both_ends(run: Callable[[str], list[str]]) -> None:
    printed = run("""
may_answer = multiprocessing.get_context("fork").Event()

def answer_later(asked):
    may_answer.wait()
    return answer(asked)

with answering_beside(GROUPS, lambda: answer_later) as process:
    # A group is handed out as soon as it can be taken; that of the other process is the last.
    print([question.name for question in process.take_group()])
    may_answer.set()
    print(process.wait()[0])
""")
    assert printed == ["['transitions']", "queue_length"]


def test_a_refusal_is_sent(run: Callable[[str], list[str]]) -> None:
    printed = run("""
def refuse(asked):
    yield answer_of(asked[0])
    yield UsageError("--step", "too short", expected="1 s", got="0 s")
    yield answer_of(asked[2])

with answering_beside([ASKED], lambda: refuse) as process:
    for _ in ASKED:
        name, outcome = process.wait()
        print(name, outcome if isinstance(outcome, UsageError) else "answered")
""")
    assert printed == [
        "transitions answered",
        "machine_shapes --step: too short: expected 1 s, got 0 s",
        "queue_length answered",
    ]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "1 / 0"])
def test_a_process_that_ends_too_early_leaves_the_rest(
    run: Callable[[str], list[str]], end: str
) -> None:
    printed = run(f"""
def answer_one(asked):
    yield answer_of(asked[0])
    {end}

with answering_beside([ASKED[:1], ASKED[1:]], lambda: answer_one) as process:
    print(process.wait()[0], process.wait(), process.wait())
    print([question.name for question in process.take_group()], process.take_group())
""")
    assert printed == ["machine_shapes None None", "['transitions'] ()"]


def test_ctrl_c_ends_both_processes(run: Callable[[str], list[str]]) -> None:
    printed = run("""
def answer_one(asked):
    yield answer_of(asked[0])
    time.sleep(60)

began = time.monotonic()
try:
    with answering_beside([ASKED], lambda: answer_one) as process:
        pid = pid_of(process.wait())
        os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print(is_running(pid), time.monotonic() - began < 30)
""")
    assert printed == ["False True"]


def test_beside_another_thread_there_is_no_second_process(run: Callable[[str], list[str]]) -> None:
    printed = run("""
import threading

may_end = threading.Event()
threading.Thread(target=may_end.wait).start()
with answering_beside(GROUPS, lambda: answer) as process:
    print(process)
may_end.set()
with answering_beside([], lambda: answer) as process:
    print(process)
""")
    assert printed == ["None", "None"]
