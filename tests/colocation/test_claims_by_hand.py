"""What claims measure, and where charts write names, on tables of a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.beyond import (
    packing_machines,
    packing_online,
    packing_promises,
    packing_replay,
    task_correlation,
)
from borgtrace.colocation.experiments.packing import (
    packing_capacities,
    packing_rare_events,
)
from borgtrace.colocation.experiments.shared import dot_names, overflow_charts
from borgtrace.colocation.experiments.shared.outcomes import to_table
from borgtrace.colocation.experiments.sums import percentile_error, sum_examples, sum_normality
from borgtrace.colocation.experiments.usage import colocation_preparation, relative_difference
from borgtrace.colocation.packing.advice import saved_machines
from borgtrace.colocation.packing.service_classes import ServiceClasses
from borgtrace.colocation.packing.trial import Evidence, JudgedPacking
from borgtrace.colocation.sums.normality import CRITICAL
from borgtrace.colocation.sums.sample_sums import SampleSums
from borgtrace.colocation.tasks.pool import PreparationStep
from borgtrace.placement import Observation
from borgtrace.question.conforming import table_of
from tests.colocation.answers import measured
from tests.colocation.known import KnownGrid
from tests.colocation.test_packing_experiments import outcome
from tests.colocation.test_packing_past import on_clock
from tests.rows import chosen_columns


def test_shares_and_counts_of_the_preparation() -> None:
    steps = (
        PreparationStep("that never used CPU", 3, 300),
        PreparationStep("fewer than 24 windows", 285, 297),
        PreparationStep("averages above the whole machine, replaced", 13, 9000, "windows"),
    )
    pool = on_clock(np.ones((2, 3)), steps=steps)
    answer = colocation_preparation.compute(Study(pool), ColocationOptions())
    result = table_of(answer, colocation_preparation.QUESTION.answer.table("answer"))
    assert result["step"].to_pylist() == [1, 2, 3]
    assert measured(colocation_preparation, "S1-zero", result) == 0.01
    assert measured(colocation_preparation, "S1-short-tasks", result) == 285 / 297
    assert measured(colocation_preparation, "S1-above-one", result) == 13


def test_overflow_over_capacities() -> None:
    # Of 10 machines with 100 draws each; what is not rebalanced is not asked for.
    rows = [
        outcome("gpa:0.001", 0, 10, overflows, capacity=capacity, is_rebalanced=is_rebalanced)
        for capacity, is_rebalanced, overflows in (
            (0.5, True, 8),
            (0.5, False, 500),
            (5.0, True, 2),
            (5.0, False, 1),
        )
    ]
    rows += [
        outcome("gpa:0.01", 0, 10, 15, capacity=1.0),
        outcome("gpa:0.1", 0, 10, 120, capacity=1.0),
    ]
    rows += [
        outcome("average:1.25", 0, 10, n, capacity=c) for c, n in ((0.5, 300), (1.0, 60), (5.0, 30))
    ]
    result = to_table(rows, packing_capacities.QUESTION.answer)
    # 15 ÷ 1,000 of .01; at .001 the promise is broken eightfold, which does not count.
    assert measured(packing_capacities, "S1-capacity-gpa", result) == pytest.approx(1.5)
    assert measured(packing_capacities, "S1-capacity-trend", result) == pytest.approx(4)
    assert measured(packing_capacities, "S1-capacity-average", result) == pytest.approx(10)


def test_convolution_beside_its_promise() -> None:
    known = {
        "pool": packing_rare_events.AS_IT_IS,
        "estimator": "convolution",
        "target": 0.01,
        "q_error": 0.0,
    }
    result = pa.Table.from_pylist(
        [
            {
                **known,
                "is_rebalanced": r,
                "q": q,
            }
            for r, q in ((False, 0.0102), (True, 0.008))
        ]
    )
    assert measured(packing_rare_events, "promise-plain-pool", result) == pytest.approx(1.02)
    assert measured(packing_rare_events, "promise-rebalanced-pool", result) == pytest.approx(0.8)
    claims = {claim.id: claim for claim in packing_rare_events.QUESTION.claims}
    for q, verdict in (
        (0.84, "does not hold"),
        (0.86, "holds"),
        (1.01, "holds"),
        (1.03, "does not hold"),
    ):
        table = pa.Table.from_pylist(
            [
                {
                    **known,
                    "is_rebalanced": False,
                    "q": 0.01 * q,
                }
            ]
        )
        assert claims["promise-plain-pool"].judge(table).verdict == verdict, q


def test_convolution_in_real_time() -> None:
    rows = [
        {
            "estimator": "convolution 0.001",
            "judged_on": kind,
            "overflows": n,
            "trials": 10_000,
        }
        for kind, n in (("raw", 5), ("draws", 70))
    ]
    assert measured(packing_replay, "replay-promise", pa.Table.from_pylist(rows)) == pytest.approx(
        0.5
    )


def test_the_largest_median_of_high_percentiles() -> None:
    rows = [
        {
            "size": size,
            "percentile": level,
            "median": median,
        }
        for size, level, median in ((10, 99.9, -0.25), (20, 99.9, -0.125), (10, 95.0, 0.5))
    ]
    assert measured(percentile_error, "S1-fig6-under", pa.Table.from_pylist(rows)) == -0.125


def test_the_middle_of_the_quartiles() -> None:
    rows = [
        {
            "n_samples": 15,
            "p25": -0.25,
            "p75": 0.5,
        },
        {
            "n_samples": 20,
            "p25": 0.0,
            "p75": 9.0,
        },
    ]
    assert measured(
        relative_difference, "S1-fig1-symmetric", pa.Table.from_pylist(rows)
    ) == pytest.approx(1 / 3)


def test_samples_of_weighted_windows() -> None:
    # Constant usage of five and of ten windows: any mean is the average, of as many samples as there are windows.
    pool = on_clock(
        np.repeat([[0.5], [0.25]], 10, axis=1),
        is_weighted=True,
    ).take(np.array([0, 1]))
    shorter = pool.during(0, 10).during(0, 5)
    for kept, known in ((pool, 10), (shorter, 5)):
        relative = relative_difference.differences(kept)
        sizes = np.array(relative_difference.SIZES)
        assert relative[:, sizes <= known] == pytest.approx(0)
        assert np.isnan(relative[:, sizes > known]).all()


def test_a_sample_may_be_the_whole_pool() -> None:
    pool = on_clock(np.random.default_rng(0).random((10, 24)) / 10)
    result = sum_examples.compute(Study(pool), ColocationOptions(realizations=100))
    assert set(result["size"].to_pylist()) == {10}


def test_a_total_at_the_critical_value_is_not_rejected() -> None:
    at = CRITICAL["Stephens 1974"]
    sums = SampleSums(
        size=10,
        mean=np.array([0.25, 0.75]),
        std=np.ones(2),
        normality=np.array([at, np.nextafter(at, 1)]),
        percentiles=np.ones((2, 3)),
    )
    row = sum_normality.rejection_rates(sums, 100)
    expected = {
        "rejected_1974": 0.5,
        "mean_usage": 0.5,
        "n_samples": 2,
    }
    assert chosen_columns(row, expected) == expected


def test_tasks_that_never_change_correlate_with_nobody() -> None:
    wave = np.tile([0.25, 0.5], 12)
    pool = on_clock(
        np.stack([wave, wave, np.full(24, 0.25)]),
        jobs=[7, 7, 7],
    )
    rows = task_correlation.compute(Study(pool), ColocationOptions(hours=2))
    assert {(row["scope"], row["n_pairs"], round(row["mean"], 9)) for row in rows} == {
        ("within", 1, 1.0)
    }
    # The pairs of a job do not depend on its number.
    assert task_correlation.pairs_of(np.array([1, 1]), 0)["within"].tolist() == [[0, 1]]


def test_machines_as_they_come_largest_and_smallest_first() -> None:
    inventory = np.array(
        [
            [0.5, 1.0],
            [1.0, 0.25],
            [0.25, 0.5],
        ]
    )
    capacities = [
        packing_machines.in_order(inventory, order).tolist() for order in packing_machines.ORDERS
    ]
    assert capacities == [
        [0.5, 1.0, 0.25],
        [1.0, 0.5, 0.25],
        [0.25, 0.5, 1.0],
    ]


def test_ways_of_the_online_comparison() -> None:
    plain = ["gpa 0.01", "gpa 0.001", "convolution 0.001", "average 1.25", "percentile 95"]
    pool = on_clock(np.ones((1, 3)))
    asking = on_clock(
        np.ones((1, 3)),
        cpu_request=np.float32([0.5]),
    )
    for tasks, more in ((pool, []), (asking, ["gpa 0.01", "request 1"])):
        assert [way.estimator.label for way in packing_online.ways(tasks)] == plain + more


def test_classes_on_machines_of_their_own_are_numbered_one_after_the_other() -> None:
    # Without variance as many fit as fill a machine.  The lax class needs two, the last of which is filled from the
    # first; then comes the strict one, of which one task is too large.
    mean = np.array(
        [
            [0.5],
            [0.5],
            [0.75],
            [2.0],
            [0.5],
        ]
    )
    rank = np.array([0, 0, 1, 1, 0])
    classes = ServiceClasses(("lax", "strict"), (0.1, 0.01), rank, "by hand")
    moments = packing_promises.HourlyMoments(mean, np.zeros_like(mean))
    seen = Observation(np.repeat(mean, 4, axis=1).astype(np.float32))
    apart = packing_promises.pack_separately(moments, classes, seen)
    assert apart.bins.tolist() == [1, 0, 2, -1, 1]
    assert apart.rows.tolist() == [[1.0]] * 3
    assert apart.machines.tolist() == [0, 1, 2]


def test_hours_of_the_day_repeat_after_24(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = []
    known = packing_promises.moments_by_hour

    def moments(values: Any, of_day: Any) -> Any:
        hours.append(of_day)
        return known(values, of_day)

    monkeypatch.setattr(packing_promises, "moments_by_hour", moments)
    pool = on_clock(
        np.random.default_rng(0).random((8, 3 * 288)) / 20,
        priority=np.zeros(8, int),
        generation="2011",
    )
    packing_promises.QUESTION.run(
        Study(pool),
        size=8,
        instances=1,
        hours=72,
    )
    # Two days are learned: each hour has twelve slots of both.
    assert np.bincount(hours[-1]).tolist() == [24] * 24


def test_an_instance_without_machines_says_nothing_of_the_draws() -> None:
    known = {
        "instance": [0, 1],
        "n_tasks": [80, 80],
        "clairvoyance": [1.0, 1.0],
    }
    table = pa.table(
        {
            **known,
            "m_abs": [4, 0],
            "trials": [800, 0],
        }
    )
    assert overflow_charts.scale_of(table).startswith("2 instances of 80 tasks with 200 draws each")
    nothing = outcome("gpa:0.1", 0, 0, 0)
    assert KnownGrid([nothing]).mean_quality(nothing.cell) == 0.0


def using(*machines: int) -> Evidence:
    """What a trial says of instances that take so many machines."""
    draws = np.zeros(0, np.int64)
    raw = np.zeros((0, 0), np.int64)
    trial = [JudgedPacking(n, 0, draws, raw) for n in machines]
    return Evidence(
        [trial],
        blocks=None,
        realizations=1,
        target=0.1,
    )


def test_one_machine_instead_of_one_saves_none() -> None:
    saved = saved_machines(using(1, 3), using(1, 4))
    assert saved is not None
    assert saved.value == pytest.approx(0.125)


def apart(*names: tuple[float, float, str, str]) -> list[str]:
    rows = [
        {
            "m": m,
            "shown_q": q,
            "side": side,
            "name": name,
        }
        for m, q, side, name in names
    ]
    return [row["name"] for row in dot_names.without_overlaps(rows)]


def test_names_in_a_chart_are_left_out_where_they_would_touch() -> None:
    # The chart is as wide as the values and as high as their powers of ten, however close these are.
    assert apart((1.0, 0.1, "above", "aaa"), (1.1, 0.1, "above", "bbb")) == ["aaa", "bbb"]
    assert apart((1.0, 1e-12, "above", "aaa"), (1.0, 2e-12, "above", "bbb")) == ["aaa", "bbb"]
    # At one place the second is written over the first, unless it stands on the other side of its dots.
    assert apart((1.0, 0.1, "left", "aaa"), (1.0, 0.1, "left", "bbb")) == ["aaa"]
    assert apart((1.0, 0.1, "left", "aaaaaa"), (1.0, 0.1, "right", "bbbbbb")) == [
        "aaaaaa",
        "bbbbbb",
    ]
