"""Machines of several sizes: what is in use, how many are drawn, and which ways are compared, by hand."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.beyond import packing_machines
from borgtrace.colocation.experiments.packing import packing_rare_events
from borgtrace.colocation.packing.grid import GridCell, PackingGrid
from borgtrace.colocation.packing.instances import Instances
from borgtrace.placement import Gpa, Observation
from tests.colocation.known import drawn
from tests.colocation.test_packing_past import on_clock


def test_capacity_in_use_on_unequal_machines() -> None:
    usage = np.full((2, 100), 0.3, np.float32)
    instance = drawn(usage, number=2)
    all_rows = packing_machines.pack_instance(
        instance,
        np.array([[0.5, 1.0, 1.0]]),
        0,
    )
    assert len(all_rows) == 5 * 3 * 2
    rows = [row for row in all_rows if row["estimator"] == "percentile 100"]
    assert [(row["order"], row["packer"]) for row in rows] == [
        (order, packer) for order in packing_machines.ORDERS for packer in ("first-fit", "best-fit")
    ]
    # Two machines of a half for .6: nothing overflows.
    expected = {
        "instance": 2,
        "n_machines": 2,
        "capacity": 1.0,
        "q": 0.0,
        "n_unplaceable": 0,
    }
    assert all({name: row[name] for name in expected} == expected for row in rows)
    assert [row["m"] for row in rows] == pytest.approx([1 / 0.6] * 6)
    small = packing_machines.pack_instance(
        instance,
        np.array([[0.25, 1.0, 1.0]]),
        0,
    )
    assert {
        (row["n_machines"], row["capacity"], row["m"], row["n_unplaceable"]) for row in small
    } == {(0, 0, 0, 2)}


def test_twice_as_many_machines_are_drawn_as_there_are_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []

    def machines(table: Any, count: int, seed: int) -> np.ndarray:
        calls.append((table, count, seed))
        return np.array(
            [
                [0.25, 9.0],
                [0.5, 1.0],
                [0.375, 7.0],
                [0.25, 1.0],
            ]
        )

    known = packing_machines.fit

    def fit(estimator: Any, seen: Observation, limit: float) -> Any:
        calls.append(limit)
        return known(estimator, seen, limit)

    monkeypatch.setattr(packing_machines, "machines", machines)
    monkeypatch.setattr(packing_machines, "fit", fit)
    usage = np.full((2, 100), 0.3, np.float32)
    instance = drawn(usage, number=2)
    all_rows = packing_machines.pack_instance(instance, cast(Any, "table"), 5)
    # Seeded by the instance; the largest of the machines is what estimators look at.
    assert calls == [("table", 4, 7), *[0.5] * 5]
    # .3 fits on those of .5 and of .375.
    rows = [row for row in all_rows if row["estimator"] == "percentile 100"]
    assert {(row["n_machines"], row["capacity"]) for row in rows} == {(2, 0.875)}


def test_a_way_is_matched_by_its_overflow_without_rebalancing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells: list[GridCell] = []

    def averages(grid: Any, ways: list[GridCell]) -> list[dict[str, Any]]:
        cells.extend(ways)
        return [
            {
                "estimator": "gpa",
                "is_rebalanced": cell.is_rebalanced,
                "q": 0.001 if cell.is_rebalanced else 0.01,
            }
            for cell in ways
        ]

    curve = packing_rare_events.GpaCurve(
        np.log([0.0001, 0.001, 0.01, 0.1]),
        np.array([40.0, 30.0, 20.0, 10.0]),
    )
    monkeypatch.setattr(packing_rare_events, "candidates", lambda target: [Gpa(target)])
    monkeypatch.setattr(packing_rare_events, "mean_outcomes", averages)
    monkeypatch.setattr(packing_rare_events, "gpa_curve", lambda grid, target: curve)
    # GPA learns nothing, and its outcomes are known: no instance is made.
    grid = PackingGrid(Instances(on_clock(np.ones((2, 3)))))
    rows = packing_rare_events.run_candidates("a pool", grid, grid, 0.02)
    assert [(cell.estimator.label, cell.is_rebalanced) for cell in cells] == [
        ("gpa 0.02", False),
        ("gpa 0.02", True),
    ]
    expected = {
        "estimator": "gpa",
        "pool": "a pool",
        "target": 0.02,
        "matched_machines": 20.0,
        "used": Gpa(0.02).used,
    }
    assert [{name: row[name] for name in expected} for row in rows] == [expected] * 2
    assert [(row["is_rebalanced"], row["q"]) for row in rows] == [(False, 0.01), (True, 0.001)]
    # To the end of the curve, and no further.
    assert curve.machines_at(0.1) == 10
    assert curve.machines_at(0.101) is None


def test_a_mix_is_taken_where_it_is_given() -> None:
    calls: list[Any] = []

    def pack_instance(instance: Any, kinds: np.ndarray, seed: int) -> list[Any]:
        calls.append((kinds.tolist(), seed))
        return []

    study = Study(on_clock(np.ones((2, 3))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing_machines, "pack_instance", pack_instance)
        for mix in ("", "0.5:1:2"):
            options = ColocationOptions(
                mix=mix,
                seed=3,
                instances=1,
                realizations=100,
            )
            packing_machines.compute(study, options)
    assert calls == [(study.machines().tolist(), 3), ([[0.5, 1.0, 2.0]], 3)]
