"""CPI beside other tasks, and tasks over their request, by hand."""

from __future__ import annotations

import random

import pytest

from borgtrace.analyses.interference import condition_grid, interference, over_request
from tests.analyses.tiny import answer, tiny, window
from tests.rows import chosen_columns

MACHINE = [
    {
        "time": 0,
        "machine_id": 1,
        "type": "ADD",
        "cpu_capacity": 0.5,
        "memory_capacity": 0.5,
    }
]


def test_cpi_by_tasks_and_by_cpu() -> None:
    tables = tiny(
        machine_events=MACHINE,
        instance_usage=[
            window(1, 0, 0.046875, cycles_per_instruction=1.0),  # alone, 9.4 % of the machine
            window(1, 300, 0.25, cycles_per_instruction=1.5),  # two tasks, 75 %
            window(2, 300, 0.125, cycles_per_instruction=3.0, memory_accesses_per_instruction=0.25),
            window(3, 600, 0.125, cycles_per_instruction=99.0),  # impossible
        ],
    )
    rows = {
        (row["metric"], row["condition"], row["bin"]): row
        for row in answer(interference.QUESTION, tables)
    }
    assert set(rows) == {
        ("cpi", "tasks", 1),
        ("cpi", "tasks", 2),
        ("cpi", "cpu percent", 10),
        ("cpi", "cpu percent", 75),
        ("mai", "tasks", 2),
        ("mai", "cpu percent", 75),
    }
    crowded = rows["cpi", "tasks", 2]
    expected = {
        "seconds": 600,
        "mean": 2.25,
        "deviation": 0.75,
    }
    assert chosen_columns(crowded, expected) == expected
    assert rows["cpi", "tasks", 1]["mean"] == 1.0
    # Slope 1.25 per task over a mean of (1 + 2 · 2.25)/3.
    finding = interference.QUESTION.run(tables).findings[0]
    assert float(finding.measured) == pytest.approx(1.25 / (5.5 / 3), rel=1e-3)
    assert finding.verdict == "does not hold"


@pytest.mark.parametrize("most_tasks", [1, 3, 10_000])
def test_windows_are_summed_by_grid_as_in_sql(
    most_tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several machines, one without capacity and windows without a machine; the grid needs 16 and 32 bits."""
    rng = random.Random(5)
    usage = [
        window(
            task,
            300 * slot,
            rng.choice((None, 0.0, 0.0625, 0.25, 1.0)),
            machine_id=rng.choice((None, 1, 2, 7)),
            length=rng.choice((1, 100, 300)),
            cycles_per_instruction=rng.choice((None, 0.05, 0.1, 1.3, 50.0, 51.0)),
            memory_accesses_per_instruction=rng.choice((None, 0.0, 0.013, 1.0, 1.5)),
        )
        for task in range(1, 9)
        for slot in range(5, 30)
    ]
    machines = [*MACHINE, {**MACHINE[0], "machine_id": 7, "cpu_capacity": 1.0}]

    def ask() -> list[dict[str, object]]:
        tables = tiny(machine_events=machines, instance_usage=usage)
        return answer(interference.QUESTION, tables, most_tasks=most_tasks)

    by_grid = ask()
    assert {row["condition"] for row in by_grid} == {"tasks", "cpu percent"}
    monkeypatch.setattr(condition_grid, "MOST_CELLS", 0)
    assert ask() == by_grid


def test_a_slot_of_unknown_cpu_counts_by_its_tasks_alone() -> None:
    tables = tiny(
        machine_events=MACHINE, instance_usage=[window(1, 0, None, cycles_per_instruction=1.0)]
    )
    rows = answer(interference.QUESTION, tables)
    assert [(row["condition"], row["bin"], row["seconds"]) for row in rows] == [("tasks", 1, 300)]


def test_tasks_are_counted_on_a_machine_of_unknown_capacity_too() -> None:
    tables = tiny(
        machine_events=MACHINE,
        instance_usage=[
            window(1, 0, 0.25, machine_id=2, cycles_per_instruction=1.0),
            window(2, 0, 0.25, machine_id=2, cycles_per_instruction=3.0),
            window(3, 0, 0.25, cycles_per_instruction=1.0),
        ],
    )
    rows = {
        (row["condition"], row["bin"]): (row["mean"], row["seconds"])
        for row in answer(interference.QUESTION, tables)
    }
    assert rows == {
        ("tasks", 1): (1.0, 300),
        ("tasks", 2): (2.0, 600),
        ("cpu percent", 50): (1.0, 300),
    }


def test_all_above_150_percent_is_one_bin_that_says_so() -> None:
    # .75, .76 and 2 of a machine of .5: 150 %, 152 % and 400 %.
    tables = tiny(
        machine_events=MACHINE,
        instance_usage=[
            window(1, 0, 0.75, cycles_per_instruction=1.0),
            window(1, 300, 0.76, cycles_per_instruction=2.0),
            window(1, 600, 2.0, cycles_per_instruction=4.0),
        ],
    )
    rows = answer(interference.QUESTION, tables)
    by_cpu = {row["bin"]: row["mean"] for row in rows if row["condition"] == "cpu percent"}
    assert by_cpu == {150: 1.0, 155: 3.0}
    (bins,) = [column for column in interference.QUESTION.answer.key if column.name == "bin"]
    assert "155 all above 150" in bins.doc


def test_tasks_over_their_request() -> None:
    tables = tiny(
        instance_usage=[
            window(1, 0, 0.25, 0.25, maximum_cpu=0.5, maximum_memory=0.5),
            window(
                1,
                300,
                0.75,
                0.25,
                length=100,
                maximum_cpu=1.0,
                maximum_memory=0.25,
            ),
            window(2, 0, 0.25, None, maximum_cpu=0.625),
            window(3, 0, 0.25),
        ],
        tasks=[
            {
                "collection_id": 1,
                "priority": 9,
                "cpu_request": 0.25,
                "memory_request": 0.25,
            },
            {
                "collection_id": 2,
                "priority": 9,
                "cpu_request": 0.5,
                "memory_request": 0.25,
            },
            {
                "collection_id": 3,
                "priority": 9,
                "cpu_request": 0.0,
            },
        ],
    )
    rows = {row["resource"]: row for row in answer(over_request.QUESTION, tables)}
    assert rows["cpu"] == {
        "tier": "production",
        "resource": "cpu",
        "n_tasks": 2,
        "n_over": 1,
        "n_over_150": 1,
        "n_over_200": 1,
        "n_peak_over": 2,
        "seconds": 700,
        "seconds_over": 100,
        "largest": 3.0,
    }
    expected = {
        "n_tasks": 1,
        "n_over": 0,
        "n_peak_over": 1,
    }
    assert chosen_columns(rows["memory"], expected) == expected
