"""A format without tiers has one tier, named as the row of all tasks: each question has that row once."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace import catalog
from borgtrace.interactive import Store
from borgtrace.question import Question
from tests.ingest.own_data import AVERAGES, ingest_own

WITH_TIERS = [
    question
    for question in catalog.questions().values()
    if "tier" in question.answer.key_names and "power_measurements" not in question.reads
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """An hour of two tasks that have priorities and requests."""
    lines = ["task,time,cpu,request,priority"]
    for slot in range(12):
        for task, priority in (("web-1", 100), ("web-2", 200)):
            lines.append(f"{task},{300 * slot},{0.5 + slot % 3 / 4},2,{priority}")
    declaration = (
        f'{AVERAGES}cpu_request = {{ column = "request", unit = "cores" }}\npriority = "priority"\n'
    )
    folder = tmp_path_factory.mktemp("tiers")
    return ingest_own(folder, declaration, {"own.csv": "\n".join(lines) + "\n"})


@pytest.mark.parametrize("question", WITH_TIERS, ids=lambda question: question.name)
def test_there_is_one_row_of_all(question: Question, store: Store) -> None:
    # An answer whose key repeats is refused.
    answer = question.run(Path(store.path))
    tiers = set(answer.table["tier"].to_pylist())
    assert tiers <= {"all"}


def test_tasks_are_counted_once(store: Store) -> None:
    (row,) = catalog.find("task_totals").run(Path(store.path)).table.to_pylist()
    assert (row["tier"], row["n_tasks"], row["n_jobs"]) == ("all", 2, 2)
