"""Usage that was not measured is unknown: no answer over time holds 0 for it, and no chart draws a line through it."""

from __future__ import annotations

from typing import Any

import pytest

from borgtrace.analyses.usage import machine_utilization, notebook, notebook_machines, utilization
from borgtrace.catalog import questions
from borgtrace.question import Question, Tables
from tests.analyses.tiny import answer, at, tiny, window

HOUR = 3600


@pytest.fixture(scope="module")
def tables() -> Tables:
    """One machine with events for four hours, usage in half of the first and all of the third.

    The second window of the third hour has no value.
    """
    event = {
        "collection_id": 1,
        "collection_type": "JOB",
        "priority": 200,
        "machine_id": 1,
        "cpu_request": 0.5,
        "memory_request": 0.5,
    }
    return tiny(
        "2019",
        machine_events=[
            {
                "time": 0,
                "machine_id": 1,
                "type": "ADD",
                "cpu_capacity": 1.0,
                "memory_capacity": 1.0,
            }
        ],
        instance_events=[
            {**event, "time": at(0), "type": "SUBMIT"},
            {**event, "time": at(0), "type": "SCHEDULE"},
            {**event, "time": at(4 * HOUR), "type": "FINISH"},
        ],
        instance_usage=[
            *(window(1, 300 * slot, 0.25, 0.5) for slot in range(6)),
            *(window(1, 2 * HOUR + 300 * slot, 0.5, None) for slot in range(12)),
        ],
        tasks=[{"collection_id": 1, "collection_type": "JOB", "priority": 200}],
    )


def _marks(chart: dict[str, Any]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each single view of a chart with its rows."""
    views = []
    for key in ("concat", "hconcat", "vconcat", "layer"):
        for part in chart.get(key, []):
            views += _marks(part)
    if "mark" in chart:
        views.append((chart, chart["data"]["values"]))
    return views


def _specification(question: Question, tables: Tables) -> dict[str, Any]:
    chart = question.run(tables).plot()
    assert chart is not None
    return chart.to_dict()  # type: ignore[no-any-return]


def test_hours_without_a_window_have_no_usage_and_say_how_much_was_measured(tables: Tables) -> None:
    rows = answer(utilization.QUESTION, tables)
    assert [row["measured"] for row in rows] == [0.5, 0, 1, 0]
    # Half of an hour at a quarter is an eighth of the hour.
    assert [row["cpu_used"] for row in rows] == [0.125, None, 0.5, None]
    assert [row["memory_used"] for row in rows] == [0.25, None, None, None]
    # Events are there all the time.
    assert [row["cpu_allocated"] for row in rows] == [0.5] * 4


def test_a_claim_on_use_counts_what_was_allocated_while_use_was_measured(tables: Tables) -> None:
    findings = {
        finding.id: finding.measured for finding in utilization.QUESTION.run(tables).findings
    }
    # 0.125 + 0.5 of 0.5 · (0.5 + 1).
    assert float(findings["S4-fig9-use"].split()[0]) == pytest.approx(0.8333, abs=1e-3)


def test_slots_in_which_nothing_was_measured_are_not_idle(tables: Tables) -> None:
    rows = answer(machine_utilization.QUESTION, tables)
    n_slots = {(row["resource"], row["percent"]): row["n_slots"] for row in rows}
    # Of 48 slots 18 were measured, of which 12 do not say how much memory was used.
    assert n_slots == {("cpu", 25): 6, ("cpu", 50): 12, ("memory", 50): 6}
    notebook_rows = answer(notebook_machines.QUESTION, tables)
    empty = {row["resource"]: row["literal"] for row in notebook_rows if row["percent"] == 49}
    assert empty == {"cpu": pytest.approx(1 / 3), "memory": 0}


def test_the_notebook_has_no_usage_where_windows_have_no_value(tables: Tables) -> None:
    by_hour = {row["hour"]: row for row in answer(notebook.QUESTION, tables) if row["cpu_literal"]}
    # Its clock starts 600 s before the trace, so the third hour of the trace is in its hours 2 and 3.
    assert sorted(by_hour) == [0, 2, 3]
    assert by_hour[0]["memory_literal"] == 0.25
    assert [by_hour[hour]["memory_literal"] for hour in (2, 3)] == [None, None]
    assert [by_hour[hour]["memory_corrected"] for hour in (2, 3)] == [None, None]


@pytest.mark.parametrize("question", [utilization.QUESTION, notebook.QUESTION])
def test_no_line_is_drawn_through_hours_that_were_not_measured(
    question: Question, tables: Tables
) -> None:
    n_broken = 0
    for view, rows in _marks(_specification(question, tables)):
        value = view["encoding"]["y"]["field"]
        if "allocated" in value or "capacity" in value:
            continue
        assert all(row[value] is not None for row in rows)
        # Hours 0 and 2 are in different runs, which are drawn apart.
        assert view["encoding"]["detail"]["field"] == "run"
        runs = {(row["hour"], row["run"]) for row in rows}
        for hour, run in runs:
            assert (hour + 1, run) in runs or (hour + 1, run + 1) not in runs
        n_broken += len({run for _, run in runs}) == 2
    assert n_broken


def test_the_chart_of_utilization_says_how_much_was_measured(tables: Tables) -> None:
    title = _specification(utilization.QUESTION, tables)["title"]
    assert title["subtitle"] == ["Usage was measured in 1.5 of 4 hours."]


def test_no_other_question_answers_by_hour_from_usage() -> None:
    by_hour = set()
    for name, question in questions().items():
        key_names = question.answer.key_names
        if "instance_usage" in question.reads and "hour" in key_names:
            by_hour.add(name)
    # The hours of packing_online are those of its own replay, in which every task has usage.
    assert by_hour == {"utilization", "notebook", "packing_online"}
