"""A question in a file of the user's: asked, listed, put on the page, and what is wrong with it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.extensions.conftest import Run
from tests.extensions.own_code import write

QUESTION = '''"""How many tasks are there?

Tasks, counted by kind of collection.
"""

import altair as alt

from borgtrace import Question
from borgtrace.question import Answer, Column, charts

ANSWER = Answer(
    grain="kind of collection",
    key=[Column("collection_type", "string", "id", "Kind of collection.")],
    columns=[Column("n_tasks", "int64", "count", "Its tasks.")],
)


def compute(tables):
    tasks = tables.tasks
    return tasks.group_by("collection_type").agg(n_tasks=tasks.count())


def chart(answer):
    bars = charts.base(answer.to_pylist(), "Tasks").mark_bar()
    return bars.encode(x=alt.X("n_tasks:Q"), y=alt.Y("collection_type:N"))


QUESTION = Question(
    name="NAME", doc=__doc__, answer=ANSWER, compute=compute, chart=chart, reads=["tasks"]
)
'''


@pytest.fixture
def identifier(name: str) -> str:
    return name.replace("-", "_")


@pytest.fixture
def question(tmp_path: Path, identifier: str) -> Path:
    return write(tmp_path, "own.py", QUESTION.replace("NAME", identifier))


def test_it_is_asked_where_no_name_is_given(store: Path, question: Path, run: Run) -> None:
    code, out, err = run("analyze", store, "--from", question, "--json")
    assert code == 0, err
    # The cell of the tests has three tasks, all of jobs.
    assert sum(row["n_tasks"] for row in json.loads(out)["rows"]) == 3


def test_its_answer_says_which_file_it_was_made_with(
    store: Path, question: Path, identifier: str, run: Run
) -> None:
    code, out, err = run("analyze", store, "--from", question, "--json")
    assert code == 0, err
    digest = hashlib.sha256(question.read_bytes()).hexdigest()
    source = {"source": "own.py", "sha256": digest}
    assert json.loads(out)["provenance"]["extensions"] == {identifier: source}


def test_the_list_has_it(question: Path, identifier: str, run: Run) -> None:
    code, out, _ = run("analyze", "--list", "--from", question)
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith(f"{identifier} ")]
    assert line.endswith(f"How many tasks are there? (from {question})")


def test_the_page_has_it(
    store: Path, question: Path, identifier: str, tmp_path: Path, run: Run
) -> None:
    page = tmp_path / "page.html"
    code, _, err = run("report", store, page, identifier, "--from", question)
    assert code == 0, err
    assert "How many tasks are there?" in page.read_text(encoding="utf-8")


def test_its_own_line_is_named_where_it_fails(
    store: Path, tmp_path: Path, name: str, run: Run
) -> None:
    text = QUESTION.replace("NAME", name.replace("-", "_")).replace(
        "tasks.count()", "tasks.total()"
    )
    file = write(tmp_path, "own.py", text)
    code, out, err = run("analyze", store, "--from", file)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == (
        f"borgtrace: {file}:20: the code of this extension failed: "
        "got AttributeError: 'Table' object has no attribute 'total'"
    )


@pytest.mark.wide
def test_a_question_without_a_method_is_named_by_the_check(
    tmp_path: Path, name: str, run: Run
) -> None:
    text = QUESTION.replace("NAME", name.replace("-", "_"))
    text = text.replace("\n\nTasks, counted by kind of collection.\n", "")
    file = write(tmp_path, "own.py", text)
    code, _, err = run("check", file)
    assert code == 1
    assert err == (
        f"question {name.replace('-', '_')}: the docstring has no text below its first line: it must "
        "say how the answer is computed\n"
    )
