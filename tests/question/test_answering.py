"""Answers of two processes: their order, what is answered where, and what happens when the second one ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.wide  # forks, and waits for them

SCRIPT = """
import multiprocessing, os, signal
from dataclasses import replace
from types import SimpleNamespace
from borgtrace.catalog import find
from borgtrace.errors import UsageError
from borgtrace.question import EngineTables, Provenance, Result
from borgtrace.question.answering import (
    answering_studies_beside, answers_when_ready, in_order, study_groups,
)

NAMES = ["machine_shapes", "usage_shapes", "sum_normality", "percentile_error", "transitions"]
ASKED = [find(name) for name in NAMES]
TABLES = EngineTables({})
HERE = str(os.getpid())
LOCAL = SimpleNamespace(layout=SimpleNamespace(is_remote=False))
REMOTE = SimpleNamespace(layout=SimpleNamespace(is_remote=True))

def answer_of(question):
    return Result(question, question.answer.empty(), Provenance(where=str(os.getpid())))

def answer(asked):
    return map(answer_of, asked)

def show(name, done, total):
    print(name, done, total)

def place_of(outcome):
    return "here" if outcome.provenance.where == HERE else "there"

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


def test_studies_that_share_work_make_a_group(run: Callable[[str], list[str]]) -> None:
    printed = run("""
for group in study_groups(map(find, ["packing_base", *NAMES, "packing_averages"])):
    print([question.name for question in group])
""")
    assert printed == [
        "['packing_base', 'packing_averages']",
        "['usage_shapes']",
        "['sum_normality', 'percentile_error']",
    ]


def test_the_second_process_answers_studies_alone(run: Callable[[str], list[str]]) -> None:
    printed = run("""
may_go_on = multiprocessing.get_context("fork").Event()

def answer_here(asked):
    # The second process has answered its first group before this one takes another.
    may_go_on.wait()
    return answer(asked)

def answer_there(asked):
    yield from answer(asked)
    may_go_on.set()

with answering_studies_beside(ASKED, LOCAL, "duckdb", lambda: answer_there) as process:
    answered = answers_when_ready(ASKED, answer_here, TABLES, process, lambda *_: None)
    for question, outcome in zip(ASKED, in_order(ASKED, answered), strict=True):
        print(question.name, outcome.question.name, place_of(outcome))
""")
    assert printed[0] == "machine_shapes machine_shapes here"
    # Whoever comes first takes the first group of studies.
    assert printed[1] in {"usage_shapes usage_shapes here", "usage_shapes usage_shapes there"}
    assert printed[2:] == [
        "sum_normality sum_normality there",
        "percentile_error percentile_error there",
        "transitions transitions here",
    ]


def test_without_a_second_process_questions_are_shown_in_their_order(
    run: Callable[[str], list[str]],
) -> None:
    printed = run("""
for question, outcome in answers_when_ready(ASKED[:3], answer, TABLES, None, show):
    print(question.name, place_of(outcome))
""")
    assert printed == [
        "machine_shapes 0 3",
        "machine_shapes here",
        "usage_shapes 1 3",
        "usage_shapes here",
        "sum_normality 2 3",
        "sum_normality here",
    ]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "1 / 0"])
def test_what_a_process_that_ends_too_early_has_left_is_answered_here(
    run: Callable[[str], list[str]], end: str
) -> None:
    printed = run(f"""
def answer_one(asked):
    yield answer_of(asked[0])
    {end}

SUMS = ASKED[2:]
with answering_studies_beside(SUMS, LOCAL, "duckdb", lambda: answer_one) as process:
    answered = answers_when_ready(SUMS, answer, TABLES, process, lambda *_: None)
    for question, outcome in zip(SUMS, in_order(SUMS, answered), strict=True):
        print(outcome.question.name, place_of(outcome))
""")
    # The group of two may have been taken here at once.
    assert printed[0] in {"sum_normality here", "sum_normality there"}
    assert printed[1:] == ["percentile_error here", "transitions here"]


def test_a_refusal_keeps_its_place(run: Callable[[str], list[str]]) -> None:
    printed = run("""
def refuse(asked):
    for question in asked:
        if question.name in ("usage_shapes", "transitions"):
            yield UsageError("--size", f"refused {question.name}")
        else:
            yield answer_of(question)

with answering_studies_beside(ASKED, LOCAL, "duckdb", lambda: refuse) as process:
    answered = answers_when_ready(ASKED, refuse, TABLES, process, lambda *_: None)
    for outcome in in_order(ASKED, answered):
        print(outcome if isinstance(outcome, UsageError) else outcome.question.name)
""")
    assert printed == [
        "machine_shapes",
        "--size: refused usage_shapes",
        "sum_normality",
        "percentile_error",
        "--size: refused transitions",
    ]


@pytest.mark.parametrize(
    ("asked", "store", "engine"),
    [
        ("ASKED", "REMOTE", "duckdb"),
        ("ASKED", "LOCAL", "local[2]"),
        ("ASKED[:1]", "LOCAL", "duckdb"),
        ("ASKED[2:4]", "LOCAL", "duckdb"),
    ],
    ids=["bucket", "cluster", "tables alone", "one group"],
)
def test_all_stays_in_one_process(
    run: Callable[[str], list[str]], asked: str, store: str, engine: str
) -> None:
    printed = run(f"""
with answering_studies_beside({asked}, {store}, "{engine}", lambda: answer) as process:
    print(process)
""")
    assert printed == ["None"]


def test_a_study_that_is_named_twice_is_answered_once(run: Callable[[str], list[str]]) -> None:
    printed = run("""
TWICE = [*ASKED, *ASKED[1:3]]
with answering_studies_beside(TWICE, LOCAL, "duckdb", lambda: answer) as process:
    answered = answers_when_ready(TWICE, answer, TABLES, process, lambda *_: None)
    print(*sorted(question.name for question, _ in answered))
""")
    assert printed == ["machine_shapes percentile_error sum_normality transitions usage_shapes"]


def test_one_core_keeps_all_in_one_process(run: Callable[[str], list[str]]) -> None:
    printed = run("""
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
with answering_studies_beside(ASKED, LOCAL, "duckdb", lambda: answer) as process:
    print(process)
""")
    assert printed == ["None"]
