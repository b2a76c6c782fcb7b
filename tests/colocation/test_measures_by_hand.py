"""What experiments run, and numbers of their answers: rows in, a number out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.beyond import packing_machines, packing_memory, packing_replay
from borgtrace.colocation.experiments.packing import (
    packing_averages,
    packing_base,
    packing_capacities,
    packing_clairvoyance,
    packing_rare_events,
    packing_rebalancing,
)
from borgtrace.colocation.experiments.shared import answers
from borgtrace.colocation.experiments.usage import usage_stationarity
from borgtrace.colocation.packing.grid import GridCell
from borgtrace.placement import Gpa
from borgtrace.question import NotApplicable
from tests.colocation.answers import measured, rows
from tests.colocation.known import packing_of
from tests.colocation.observations import constant

PAPER = {
    "average 1",
    "average 1.25",
    "average 2",
    "percentile 50",
    "percentile 70",
    "percentile 90",
    "percentile 95",
    "percentile 99",
    "percentile 100",
    "cantelli 4.4",
    "cantelli 1.7",
    "cantelli 1",
    "gpa 0.1",
    "gpa 0.05",
    "gpa 0.01",
    "gpa 0.001",
}
"""Estimators of Janus & Rzadca (SoCC'17)."""


BOTH = (False, True)
PACKERS = ("best-fit", "first-fit")


@pytest.mark.parametrize(
    ("module", "what", "ways"),
    [
        (packing_base, ("packer",), {(p,) for p in PACKERS}),
        (packing_averages, ("data", "fill"), {(d, f) for d in ("inst", "avg") for f in (0.8, 1.0)}),
        (
            packing_capacities,
            ("capacity", "is_rebalanced"),
            {(c, r) for c in (0.5, 0.8, 1.0, 2.0, 5.0) for r in BOTH},
        ),
        (packing_rebalancing, ("packer", "is_rebalanced"), {(p, r) for p in PACKERS for r in BOTH}),
        (packing_clairvoyance, ("clairvoyance",), {(c,) for c in packing_clairvoyance.SEEN}),
    ],
)
def test_every_estimator_of_the_paper_is_run_in_every_way(
    module: Any, what: tuple[str, ...], ways: set[Any]
) -> None:
    cells: list[GridCell] = module.cells()
    found = [(cell.estimator.label, tuple(getattr(cell, name) for name in what)) for cell in cells]
    assert len(found) == len(set(found)) == 16 * len(ways)
    assert {label for label, _ in found} == PAPER
    assert {way for _, way in found} == ways
    # All else is as it is by default.
    plain = GridCell(Gpa(0.01))
    others = {"packer", "is_rebalanced", "data", "capacity", "clairvoyance", "fill"} - set(what)
    assert all(getattr(cell, name) == getattr(plain, name) for cell in cells for name in others)


def test_pairs_of_a_test_for_cpu_and_one_for_memory() -> None:
    memory = constant(0.25, 0.5)
    vector, *pairs = packing_memory.ways(
        constant(0.5, 0.25),
        [memory.percentile(100)],
    )
    assert vector.n_resources == 2
    assert vector.memory == "percentile 100"
    assert {way.n_resources for way in pairs} == {2}
    assert [(way.cpu, way.memory) for way in pairs] == [
        (cpu, memory)
        for cpu in ("gpa 0.001", "convolution 0.001", "average 1.25")
        for memory in ("percentile 100", "gpa 1e-05")
    ]


def test_ways_onto_unequal_machines() -> None:
    assert [way.label for way in packing_machines.ways()] == [
        "gpa 0.01",
        "gpa 0.001",
        "convolution 0.001",
        "average 1.25",
        "percentile 100",
    ]


def test_estimators_with_a_target_run_at_it() -> None:
    estimators = packing_rare_events.candidates(0.02)
    assert {estimator.parameter for estimator in estimators} == {0.02}
    assert {"gpa", "convolution"} <= {estimator.name for estimator in estimators}
    assert not {"average", "percentile", "vector-gpa"} & {
        estimator.name for estimator in estimators
    }


def judged(**overflows: int) -> pa.Table:
    """Return an answer of *packing_replay*: 200 trials of gpa .01 in two instances, half of the overflows in each."""
    return pa.Table.from_pylist(
        [
            {
                "estimator": "gpa 0.01",
                "judged_on": kind,
                "instance": k,
                "overflows": n,
                "trials": 100,
            }
            for kind, both in overflows.items()
            for k, n in enumerate((both // 2, both - both // 2))
        ]
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"shuffled": 30, "draws": 10}, 3.0),
        ({"shuffled": 5, "draws": 10}, 0.5),
        ({"shuffled": 0, "draws": 3}, 0.0),
    ],
)
def test_overflow_over_another_is_of_all_trials_together(
    found: dict[str, int], expected: float
) -> None:
    assert measured(packing_replay, "replay-drift", judged(**found)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"shuffled": 1, "draws": 0}, "no overflow to compare with"),
        ({"draws": 3}, "not among the ways of packing that were run"),
        ({"shuffled": 3}, "not among the ways of packing that were run"),
    ],
)
def test_a_ratio_needs_something_to_compare_with(found: dict[str, int], reason: str) -> None:
    with pytest.raises(NotApplicable) as caught:
        measured(packing_replay, "replay-drift", judged(**found))
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("found", "wanted", "is_same"),
    [
        # Up to 1: to a billionth; above: of the number.
        (1e-9, 0.0, True),
        (1.1e-9, 0.0, False),
        (-1e-9, 0.0, True),
        (-1.1e-9, 0.0, False),
        (1e6 + 0.0009, 1e6, True),
        (1e6 + 0.0011, 1e6, False),
        (-1e6 - 0.0009, -1e6, True),
        (None, 0.5, False),
        (1, 1.0, True),
        ("a", "a", True),
        ("a", "b", False),
        (True, True, True),
    ],
)
def test_numbers_match_to_nine_digits(found: Any, wanted: Any, is_same: bool) -> None:
    assert answers.is_same(found, wanted) is is_same


def test_rows_by_their_values() -> None:
    table = rows(
        way=["a", "a", "b"],
        q=[0.1, 0.2, 0.1],
        n=[1, 3, 8],
    )
    assert [row["n"] for row in answers.rows_where(table, way="a")] == [1, 3]
    assert [row["n"] for row in answers.rows_where(table, way="a", q=0.2)] == [3]
    with pytest.raises(NotApplicable) as caught:
        answers.rows_where(table, "not here", way="c")
    assert str(caught.value) == "not here"


def test_a_mean_over_another_is_of_all_instances() -> None:
    table = pa.table({"packer": ["dot-product", "dot-product", "first-fit"], "m_abs": [1, 3, 8]})
    assert measured(packing_memory, "memory-dot-product", table) == 0.25


def test_percentiles_of_a_box() -> None:
    percentiles = answers.spread(np.arange(101.0))
    assert percentiles == {
        "p5": 5,
        "p25": 25,
        "median": 50,
        "p75": 75,
        "p95": 95,
        # Whiskers may reach 1.5 × 50 beyond the quartiles: all values lie within.
        "whisker_low": 0,
        "whisker_high": 100,
    }


def test_packings_judged_by_two_kinds_of_usage() -> None:
    together = packing_of([0, 0], 1)
    apart = packing_of([0, 1], 2)
    usage = {
        "high": np.float32([[0.75, 0.5, 0.5], [0.5, 0.5, 0.75]]),
        "low": np.zeros((2, 4), np.float32),
    }
    assert list(answers.replayed([together, apart], usage)) == [
        (
            0,
            {
                "judged_on": "high",
                "m_abs": 1,
                "overflows": 2,
                "trials": 3,
            },
        ),
        (
            1,
            {
                "judged_on": "high",
                "m_abs": 2,
                "overflows": 0,
                "trials": 6,
            },
        ),
        (
            0,
            {
                "judged_on": "low",
                "m_abs": 1,
                "overflows": 0,
                "trials": 4,
            },
        ),
        (
            1,
            {
                "judged_on": "low",
                "m_abs": 2,
                "overflows": 0,
                "trials": 8,
            },
        ),
    ]


def test_rejections_by_spacing_and_length() -> None:
    table = pa.table(
        {
            "spacing": [12, 12, 24],
            "length": [12, 11, 24],
            "rejected": [0.25, 0.5, 0.75],
        }
    )
    claims = {claim.id: claim.measure(table) for claim in usage_stationarity.QUESTION.claims[:3]}
    assert claims == {
        "S1-ks-12-12": 0.25,
        "S1-ks-12-11": 0.5,
        "S1-ks-24-24": 0.75,
    }
