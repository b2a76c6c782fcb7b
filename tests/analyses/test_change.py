"""Change between neighbouring slots and hours, by hand."""

from __future__ import annotations

import ibis
import pyarrow as pa
import pytest

from borgtrace.analyses.changes import hourly_change, window_change
from borgtrace.analyses.changes.relative_change import by_resource
from tests.analyses.tiny import answer, tiny, window

USAGE = [
    window(1, 0, 0.5, 0.5),
    window(1, 300, 0.625, 0.5, length=100),  # +25 %, as one slot of two windows
    window(1, 400, 0.625, 0.5, length=200),
    window(1, 900, 0.25, 0.5),  # a slot is missing: no pair
    window(2, 0, 0.0, None, machine_id=2),
    window(2, 300, 0.0, None, machine_id=2),  # nothing to nothing
    window(2, 600, 0.125, None, machine_id=2),  # nothing to something
]


def curves(rows: list[dict[str, object]]) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        (row["level"], row["resource"], row["percent"]): (row["n_pairs"], row["seconds"])
        for row in rows
    }


def test_three_levels() -> None:
    seconds_by_key = curves(answer(window_change.QUESTION, tiny(instance_usage=USAGE)))
    # Cell, slots 0 to 3: CPU .5, .625, .125, .25 → 25 %, 80 %, 100 %.
    assert {key: value for key, value in seconds_by_key.items() if key[:2] == ("cell", "cpu")} == {
        ("cell", "cpu", 25): (1, 600),
        ("cell", "cpu", 80): (1, 600),
        ("cell", "cpu", 100): (1, 600),
    }
    assert {key: value for key, value in seconds_by_key.items() if key[:2] == ("task", "cpu")} == {
        ("task", "cpu", 0): (1, 600),
        ("task", "cpu", 25): (1, 600),
        ("task", "cpu", 201): (1, 600),
    }
    assert {
        key: value for key, value in seconds_by_key.items() if key[:2] == ("machine", "cpu")
    } == {
        ("machine", "cpu", 0): (1, 600),
        ("machine", "cpu", 25): (1, 600),
        ("machine", "cpu", 201): (1, 600),
    }
    # Memory: .5, .5 in neighbouring slots; task 2 has none.
    assert seconds_by_key["task", "memory", 0] == (1, 600)
    finding = {
        finding.id: finding
        for finding in window_change.QUESTION.run(tiny(instance_usage=USAGE)).findings
    }
    assert finding["S4-fig10-cpu"].measured == "0"
    assert float(finding["S4-measure1-task"].measured) == pytest.approx(1 / 3, abs=1e-4)


def test_one_slot_has_no_change() -> None:
    result = window_change.QUESTION.run(tiny(instance_usage=USAGE[:1]))
    assert result.table.num_rows == 0
    assert [finding.reason for finding in result.findings] == ["no two consecutive periods"] * 3


def test_hours_weigh_by_the_time_measured() -> None:
    usage = [
        window(1, 0, 0.5, 0.25),
        window(1, 300, 0.25, 0.25, length=150),  # hour 0: 5/12 over 450 s
        window(1, 3600, 0.5, 0.25),  # +20 %
        window(2, 3300, 0.5),
        window(2, 3600, 0.5625),  # +12.5 %
        window(3, 0, 0.5),
        window(3, 7200, 0.5),  # no neighbouring hours
    ]
    tables = tiny(
        instance_usage=usage,
        tasks=[{"collection_id": 1, "priority": 9}, {"collection_id": 2, "priority": 2}],
    )
    rows = answer(hourly_change.QUESTION, tables)
    assert {(row["tier"], row["resource"], row["percent"], row["seconds"]) for row in rows} == {
        ("production", "cpu", 20, 750),
        ("other", "cpu", 13, 600),
        ("production", "memory", 0, 750),
    }
    finding = hourly_change.QUESTION.run(tables).findings[0]
    assert float(finding.measured) == pytest.approx(600 / 1350, rel=1e-3)


def test_a_resource_that_one_period_does_not_know_has_no_change() -> None:
    pairs = {
        "cpu": [0.5],
        "previous_cpu": [0.25],
        "memory": [0.5],
        "previous_memory": [None],
    }
    changes = by_resource(
        ibis.memtable(pa.table(pairs, pa.schema([(name, pa.float64()) for name in pairs])))
    )
    assert changes.select("resource", "change").to_pyarrow().to_pylist() == [
        {"resource": "cpu", "change": 1.0}
    ]
