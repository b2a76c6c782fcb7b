"""Questions that are asked together read usage windows once for each step, and answer as each does alone."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.catalog import questions
from borgtrace.errors import UsageError
from borgtrace.question import EngineTables, with_subjects
from tests.analyses.tiny import tiny, window

PASSING = [question for question in questions().values() if question.passes is not None]
NAMES = ["window_change", "change_sketch", "reservation", "sampling_period", "interference"]


def cell() -> EngineTables:
    """Return a cell of 12 tasks in 40 slots, some of them without a value, with two lengths and two tiers."""
    rng = random.Random(7)
    usage = [
        window(
            task,
            300 * slot,
            rng.choice((None, 0.0, 0.1, 0.2, 0.3)),
            rng.choice((None, 0.0, 0.125, 0.25)),
            sampled_cpu=rng.choice((None, 0.1, 0.4)),
            cycles_per_instruction=1.5,
        )
        for task in range(1, 13)
        for slot in range(40)
        if rng.random() < 0.9
    ]
    tasks = [
        {
            "collection_id": task,
            "instance_index": 0,
            "collection_type": "JOB",
            "priority": 9 if task % 2 else 0,
            "cpu_request": 0.25,
            "memory_request": 0.25,
            "seconds": 1200.0 * task,
        }
        for task in range(1, 12)
    ]
    machines = [{"machine_id": 1, "type": "ADD", "cpu_capacity": 1.0, "memory_capacity": 1.0}]
    return tiny(instance_usage=usage, tasks=tasks, machine_events=machines)


class ScannedTables:
    """Counts how often windows are read from tables."""

    def __init__(self, tables: EngineTables, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tables = tables
        self.columns: list[set[str]] = []
        fetch_batches = EngineTables.fetch_batches

        def counted(asked: EngineTables, expr: Any, *more: Any, **named: Any) -> Any:
            # Sums of machines are no windows.
            if "collection_id" in expr.columns:
                self.columns.append(set(expr.columns))
            return fetch_batches(asked, expr, *more, **named)

        monkeypatch.setattr(EngineTables, "fetch_batches", counted)


def answers(tables: EngineTables, parameters: dict[str, Any] | None = None) -> dict[str, pa.Table]:
    """Return the answers of all questions that make passes, asked together."""
    rows = {}
    for question, subject in with_subjects(PASSING, tables, parameters):
        own = {k: v for k, v in (parameters or {}).items() if k in question.parameters}
        rows[question.name] = question.run(subject, **own).table
    return rows


def test_these_questions_make_passes() -> None:
    assert [question.name for question in PASSING] == NAMES


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"alpha": 0.05, "half_life": 600.0, "periods": (2, 5)},
    ],
    ids=["as they are", "with parameters"],
)
def test_questions_asked_together_answer_as_alone_in_two_scans(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One scan for all first steps; one for replaying with learned margins and for values near quantiles."""
    alone = {}
    for question in PASSING:
        own = {k: v for k, v in parameters.items() if k in question.parameters}
        alone[question.name] = question.run(cell(), **own).table
        assert alone[question.name].num_rows
    scanned = ScannedTables(cell(), monkeypatch)
    together = answers(scanned.tables, parameters)
    assert {name: together[name].equals(alone[name]) for name in NAMES} == dict.fromkeys(
        NAMES, True
    )
    first, second = scanned.columns
    assert {"average_cpu", "average_memory", "sampled_cpu", "machine_id"} <= first
    assert "sampled_cpu" not in second


def test_a_question_alone_reads_what_it_needs_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = ScannedTables(cell(), monkeypatch)
    by_name = questions()
    by_name["sampling_period"].run(scanned.tables)
    assert len(scanned.columns) == 1
    assert "average_memory" not in scanned.columns[0]
    by_name["reservation"].run(scanned.tables)
    assert len(scanned.columns) == 3  # margins are learned, then replayed
    # An answer for other parameters is not the one that is kept.
    fast = by_name["reservation"].run(scanned.tables, half_life=60.0).table
    assert fast.equals(by_name["reservation"].run(cell(), half_life=60.0).table)
    assert not fast.equals(by_name["reservation"].run(cell()).table)


def test_results_are_dropped_with_the_last_question_that_reads_them() -> None:
    tables = cell()
    n_kept = []
    for question, subject in with_subjects(PASSING, tables):
        n_kept.append(len(tables.passes.results))
        question.run(subject)
    # Before each question; at the first nothing was read, and each scan leaves those of later questions alone.
    assert n_kept == [0, 4, 4, 2, 1]


def test_a_wrong_value_is_said_when_its_question_is_asked() -> None:
    subjects = with_subjects(PASSING, cell(), {"half_life": 0.0})
    for name in NAMES[:2]:
        question, subject = next(subjects)
        assert question.name == name
        assert question.run(subject).table.num_rows
    question, subject = next(subjects)
    with pytest.raises(UsageError):
        question.run(subject, half_life=0.0)


def test_tables_of_some_tasks_know_nothing_of_the_whole() -> None:
    tables = cell()
    question = questions()["window_change"]
    whole = question.run(tables).table
    part = question.run(tables.filter("priority = 9")).table
    assert not part.equals(whole)
    assert question.run(tables).table.equals(whole)
