"""Sums of disk, caches and assigned memory by tier: by hand, and the same from compiled code as from SQL."""

from __future__ import annotations

import random
from typing import Any

import pytest

from borgtrace.analyses.usage import quantity_sums
from borgtrace.analyses.usage.other_resources import QUANTITY_SUMS, QUESTION, compiled_quantity_sums
from borgtrace.engine import to_arrow
from borgtrace.question.shared_tables import LeftToSQLError
from tests.analyses.tiny import Row, answer, tiny, window

TASKS: list[Row] = [
    {"collection_id": 1, "priority": 0, "disk_request": 0.25},
    {"collection_id": 2, "priority": 9, "disk_request": 0.0},
    {"collection_id": 3, "priority": None, "disk_request": None},
]


@pytest.fixture(autouse=True)
def _few_windows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantity_sums, "LEAST_ROWS", 1)


def test_shares_and_means_by_hand() -> None:
    tables = tiny(
        tasks=TASKS,
        instance_usage=[
            window(1, 0, 0.5, 0.5, mean_disk_space=0.5, page_cache_memory=0.25),
            window(1, 300, 0.5, 0.25, length=100, mean_disk_space=0.125),
            # In the alloc set's own row, and too short to weigh anything.
            window(1, 600, 0.5, 0.5, mean_disk_space=9.0, alloc_collection_id=8),
            window(1, 900, 0.5, 0.5, length=0.5, mean_disk_space=9.0),
            # No event names this task.
            window(7, 0, 0.5, 0.5),
        ],
    )
    rows = {
        (row["tier"], row["quantity"]): row
        for row in answer(QUESTION, tables)
        if row["quantity"] in ("mean_disk_space", "page_cache_memory")
    }
    assert set(rows) == {
        (tier, quantity)
        for tier in ("free", "unknown")
        for quantity in ("mean_disk_space", "page_cache_memory")
    }
    disk = rows["free", "mean_disk_space"]
    assert (disk["n_windows"], disk["missing"], disk["largest"]) == (2, 0.0, 0.5)
    assert disk["mean"] == (0.5 * 300 + 0.125 * 100) / 400
    # Over a disk request of 0.25 that holds for all 400 s.
    assert disk["relative"] == (0.5 * 300 + 0.125 * 100) / (0.25 * 400)
    cache = rows["free", "page_cache_memory"]
    assert (cache["missing"], cache["mean"], cache["relative"]) == (0.5, 0.25, 0.5)
    unknown = rows["unknown", "mean_disk_space"]
    assert (unknown["n_windows"], unknown["missing"]) == (1, 1.0)
    assert (unknown["mean"], unknown["largest"], unknown["relative"]) == (None, None, None)


def random_window(draw: random.Random) -> Row:
    values = {
        name: draw.choice([None, 0.0, draw.random() * 3])
        for name in ("assigned_memory", "page_cache_memory", "mean_disk_space", "mean_disk_io_time")
    }
    return window(
        draw.randrange(1, 5),
        draw.randrange(0, 10**6) / 10,
        draw.random(),
        draw.choice([None, draw.random()]),
        length=draw.choice([0, 0.9, 1, 150.5, 300, 1000]),
        alloc_collection_id=draw.choice([None, None, 3]),
        **values,
    )


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_compiled_sums_give_the_answer_of_sql(
    generation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(5)
    rows = [random_window(draw) for _ in range(400)]
    answers: list[list[dict[str, Any]]] = []
    for least in (1, 1000):
        monkeypatch.setattr(quantity_sums, "LEAST_ROWS", least)
        answers.append(answer(QUESTION, tiny(generation, tasks=TASKS, instance_usage=rows)))
    assert answers[0] == answers[1]
    assert len(answers[0]) >= 4


def test_tables_have_the_columns_of_sql() -> None:
    tables = tiny(tasks=TASKS, instance_usage=[window(1, 0, 0.5, 0.5, mean_disk_space=0.5)])
    (part,) = compiled_quantity_sums(tables)
    rows = part.read_all()
    of_sql = to_arrow(QUANTITY_SUMS.build(tables))
    assert set(rows.column_names) == set(of_sql.column_names)
    assert {name: rows.schema.field(name).type for name in rows.column_names} == {
        name: of_sql.schema.field(name).type for name in rows.column_names
    }


def test_sums_beyond_64_bits_are_left_to_sql() -> None:
    # 2³⁵ machines for 300 s in 2⁻²⁰ are 2⁶³·².
    tables = tiny(tasks=TASKS, instance_usage=[window(1, 0, 0.5, 0.5, mean_disk_space=2.0**35)])
    with pytest.raises(LeftToSQLError):
        list(compiled_quantity_sums(tables))
