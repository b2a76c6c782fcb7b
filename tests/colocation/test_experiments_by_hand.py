"""Numbers of experiments on tasks and tables of a few rows, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.beyond import packing_advice, packing_replay
from borgtrace.colocation.experiments.beyond.task_correlation import histogram_rows, pairs_of
from borgtrace.colocation.experiments.packing import packing_clairvoyance, packing_rare_events
from borgtrace.colocation.experiments.packing.packing_rebalancing import falls
from borgtrace.colocation.experiments.shared.outcomes import (
    rare_overflow,
    summarize_instances,
    to_table,
)
from borgtrace.colocation.experiments.sums import percentile_error, sum_examples
from borgtrace.colocation.experiments.usage import usage_stationarity
from borgtrace.placement import Gpa
from borgtrace.question import NotApplicable
from tests.colocation.test_claims_by_hand import measured
from tests.colocation.test_packing_experiments import outcome
from tests.colocation.test_packing_past import on_clock
from tests.rows import chosen_columns


def test_pairs_within_jobs_and_across() -> None:
    found = pairs_of(
        np.array([0, 0, 1, 1, 1, 2]),
        0,
    )
    assert sorted(map(tuple, np.sort(found["within"], axis=1).tolist())) == [
        (0, 1),
        (2, 3),
        (2, 4),
        (3, 4),
    ]
    jobs = np.array([0, 0, 1, 1, 1, 2])
    across = found["across"]
    assert (jobs[across[:, 0]] != jobs[across[:, 1]]).all()
    assert set(across.ravel().tolist()) == set(range(6))
    for nobody in (
        pairs_of(np.empty(0, np.int64), 0),
        {"within": pairs_of(np.arange(3), 0)["within"]},
    ):
        assert {pairs.shape for pairs in nobody.values()} == {(0, 2)}


def test_tasks_whose_two_windows_differ() -> None:
    values = np.full((4, 24), 0.25)
    # The second half of the second task is higher than all of its first; the third has one window, the last none.
    values[1, 12:] = 0.5
    pool = on_clock(values).take(np.array([0, 1]))
    assert usage_stationarity.rejections(pool, 12, 12) == (1, 2)
    assert usage_stationarity.rejections(on_clock(values[:, :23]), 12, 12) == (0, 0)


def test_one_window_is_as_defined_and_one_as_printed() -> None:
    values = np.full((2, 24), 0.25)
    values[1, 12:] = 0.5
    rows = usage_stationarity.compute(Study(on_clock(values)), ColocationOptions())
    assert rows == [
        {
            "spacing": 12,
            "length": length,
            "n_tasks": 2,
            "rejected": 0.5,
        }
        for length in (12, 11)
    ]
    assert [claim.id for claim in usage_stationarity.QUESTION.claims] == [
        f"S1-ks-{spacing}-{length}" for spacing in (12, 24, 36) for length in (spacing, spacing - 1)
    ]


@pytest.mark.parametrize(
    ("share", "holds"),
    [
        (0.19, False),
        (0.2, True),
        (0.4, True),
        (0.41, False),
    ],
)
def test_about_a_third_is_a_fifth_to_two_fifths(share: float, holds: bool) -> None:
    table = pa.table(
        {
            "spacing": [12],
            "length": [12],
            "n_tasks": [100],
            "rejected": [share],
        }
    )
    assert (usage_stationarity.QUESTION.claims[0].judge(table).verdict == "holds") is holds


def test_the_distribution_of_correlations() -> None:
    rows = histogram_rows(np.array([-0.5, 0.0, 0.5, 0.9]))
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert max(row["share"] for row in rows) == 0.25
    assert {row["mean"] for row in rows} == {0.225}
    assert {row["n_pairs"] for row in rows} == {4}


def test_the_normal_law_beside_a_total() -> None:
    pool = on_clock(np.random.default_rng(0).random((10, 200)) / 10)
    table = sum_examples.example_of_size(pool, 10, 2000, 0)
    low, high, normal, density = (
        table[name].to_numpy() for name in ("low", "high", "normal_density", "density")
    )
    # Nearly all of both lies in the cells, and they are alike: ten uniform tasks are nearly normal.
    assert (density * (high - low)).sum() == pytest.approx(1)
    assert (normal * (high - low)).sum() == pytest.approx(1, abs=0.02)
    assert (np.abs(density - normal) * (high - low)).sum() / 2 < 0.1
    middle = (low + high) / 2
    mean = float(pool.mean().sum())
    assert abs(middle[normal.argmax()] - mean) <= (high - low)[0]


def test_the_total_of_constant_tasks_is_a_point() -> None:
    table = sum_examples.example_of_size(
        on_clock(np.full((10, 12), 0.0625)),
        10,
        50,
        0,
    )
    assert np.isfinite(table["normal_density"].to_numpy()).all()


def test_the_curve_of_gpa_stays_where_nothing_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def averages(grid: object, cells: list[Any]) -> list[dict[str, float]]:
        calls.extend(cells)
        return [
            {"q": q, "machines": m}
            for q, m in ((0.0, 30.0), (0.01, 20.0), (0.005, 19.0), (0.1, 10.0))
        ]

    monkeypatch.setattr(packing_rare_events, "mean_outcomes", averages)
    curve = packing_rare_events.gpa_curve(object(), 0.01)  # type: ignore[arg-type]
    # 1e-12 stands for none seen; a curve never falls.
    assert np.exp(curve.log_q) == pytest.approx([1e-12, 0.01, 0.01, 0.1])
    parameters = [cell.estimator.parameter for cell in calls]
    assert len(parameters) == 100
    assert parameters[0] == pytest.approx(1e-16)
    assert parameters[-1] == pytest.approx(0.03)
    assert all(isinstance(cell.estimator, Gpa) and not cell.is_rebalanced for cell in calls)
    rising = packing_rare_events.GpaCurve(
        np.log([0.001, 0.01]),
        np.array([30.0, 20.0]),
    )
    assert [rising.machines_at(q) for q in (0.0, 0.0009, 0.001, 0.01, 0.02)] == [
        None,
        None,
        30.0,
        20.0,
        None,
    ]
    assert rising.machines_at(math.sqrt(1e-5)) == pytest.approx(25)


def test_an_overflow_that_is_not_known_well_enough_is_not_compared() -> None:
    known = {
        "pool": packing_rare_events.AS_IT_IS,
        "estimator": "convolution",
        "is_rebalanced": False,
        "machines": 11.0,
    }

    def table(**found: Any) -> pa.Table:
        return pa.Table.from_pylist(
            [
                {
                    **known,
                    "target": 0.01,
                    "matched_machines": 10.0,
                    **found,
                }
            ]
        )

    assert measured(packing_rare_events, "promise-plain-pool", table(q=0.01, q_error=0.0002)) == 1.0
    for q, error in ((0.01, 0.00021), (0.0, 0.0)):
        with pytest.raises(NotApplicable) as caught:
            measured(packing_rare_events, "promise-plain-pool", table(q=q, q_error=error))
        assert str(caught.value) == "too few realizations or tasks to estimate q within 2 %"
    excess = measured(packing_rare_events, "promise-machines-pool", table(q=0.01, q_error=0.0))
    assert excess == pytest.approx(0.1)
    none = pa.Table.from_pylist(
        [
            {
                **known,
                "matched_machines": None,
                "q": 0.01,
                "q_error": 0.0,
            }
        ]
    )
    with pytest.raises(NotApplicable) as caught:
        measured(packing_rare_events, "promise-machines-pool", none)
    assert str(caught.value) == "GPA never overflows that often"


@pytest.mark.parametrize(("draws", "q"), [(3000, 0.0), (2999, 0.5)])
def test_none_seen_where_three_were_to_be_expected_refutes(draws: int, q: float) -> None:
    measure = rare_overflow(
        published=0.001,
        estimator="gpa",
        parameter=0.1,
    )
    assert measure(overflowing(draws, q)) == pytest.approx(q, abs=1e-3)


def test_none_seen_of_fewer_says_nothing() -> None:
    measure = rare_overflow(
        published=0.001,
        estimator="gpa",
        parameter=0.1,
    )
    with pytest.raises(NotApplicable) as caught:
        measure(overflowing(2999, 0.0))
    assert str(caught.value) == "none seen in 3.0e+03 draws, 3.0 expected"


def overflowing(draws: int, q: float) -> pa.Table:
    """An outcome of one machine."""
    made = replace(
        outcome("gpa:0.1", 0, 1, round(q * draws)),
        trials=draws,
    )
    return to_table([made])


def test_a_share_of_what_was_promised() -> None:
    table = pa.Table.from_pylist(
        [
            {
                "pool": pool,
                "estimator": name,
                "is_rebalanced": rebalanced,
                "q": q,
                "target": 0.01,
            }
            for pool, name, rebalanced, q in (
                (packing_rare_events.AS_IT_IS, "gpa", True, 0.02),
                (packing_rare_events.AS_IT_IS, "gpa", False, 9.0),
                (packing_rare_events.HEAVY_TAIL, "gpa", True, 8.0),
            )
        ]
    )
    assert measured(packing_rare_events, "promise-gpa-pool", table) == 2.0


def test_what_a_look_at_one_in_a_hundred_costs() -> None:
    # With all draws seen, of 1,000 each; targets below .01 do not count.
    def looked(every: dict[float, int], few: dict[float, int]) -> pa.Table:
        rows = [
            outcome(f"gpa:{parameter}", 0, 10, overflows, clairvoyance=share)
            for share, counted in ((1.0, every), (0.01, few))
            for parameter, overflows in counted.items()
        ]
        return to_table(rows, packing_clairvoyance.QUESTION.answer)

    # .12 ÷ .1 and .01 ÷ .02.
    table = looked(
        {
            0.1: 100,
            0.01: 20,
            0.001: 1000,
        },
        {
            0.1: 120,
            0.01: 10,
            0.001: 9,
        },
    )
    assert measured(packing_clairvoyance, "S1-observations-q", table) == pytest.approx(0.5)
    assert measured(packing_clairvoyance, "S1-observations-m", table) == 0.0


def test_ways_of_a_replay() -> None:
    assert [way.label for way in packing_replay.ways()] == [
        "gpa 0.1",
        "gpa 0.01",
        "gpa 0.001",
        "convolution 0.001",
        "average 1.25",
        "percentile 90",
    ]


def test_the_spread_of_fifty_tasks_over_that_of_ten() -> None:
    rows = [
        {
            "size": size,
            "percentile": level,
            "cell": 0,
            "p25": low,
            "p75": high,
            "median": 0.5 * (low + high),
        }
        for size, level, low, high in (
            (10, 99.9, -0.5, 0.5),
            (20, 99.9, 0, 9),
            (50, 99.9, -0.25, 0),
            (50, 95.0, 0, 9),
            (10, 95.0, 0, 7),
        )
    ]
    spread = next(
        claim for claim in percentile_error.QUESTION.claims if claim.id == "S1-fig6-spread"
    )
    assert spread.measure(pa.Table.from_pylist(rows)) == 0.25


def test_the_mean_of_one_instance_is_that_instance() -> None:
    row = {
        "trials": 200,
        "m": 1.25,
        "q": 0.01,
        "predicted": None,
        "m_abs": 5,
        "n_unplaceable": 2,
        "overflows": 2,
    }
    summary = summarize_instances([{**row, "n_tasks": 40}])
    expected = {
        "m_abs": 5,
        "machines": 7,
        "m": 1.25,
        "q": 0.01,
        "q_error": 0,
        "n_tasks": 40,
        "predicted": None,
    }
    assert {name: summary[name] for name in expected} == expected
    other = {
        **row,
        "trials": 600,
        "q": 0.03,
        "overflows": 18,
        "m": 1.5,
        "predicted": 0.5,
        "n_tasks": 40,
    }
    both = summarize_instances([{**row, "n_tasks": 40}, other])
    expected_columns = {
        "q": 20 / 800,
        "trials": 800,
        "predicted": 0.5,
        "m_low": 1.25,
        "m_high": 1.5,
        "q_low": 0.01,
        "q_high": 0.03,
    }
    assert chosen_columns(both, expected_columns) == expected_columns
    assert both["q_error"] == pytest.approx(0.01 / math.sqrt(2))


def test_the_fall_of_each_packing_that_overflowed() -> None:
    rows = [
        {
            "estimator": "gpa",
            "parameter": 0.1,
            "packer": "best-fit",
            "instance": k,
            "is_rebalanced": state,
            "q": q,
        }
        for k, before, after in ((0, 0.5, 0.25), (1, 0.0, 0.0), (2, 0.1, 0.2))
        for state, q in ((True, after), (False, before))
    ]
    assert [(row["instance"], row["fall"]) for row in falls(pa.Table.from_pylist(rows))] == [
        (0, 0.5),
        (2, -1.0),
    ]


def test_the_first_choice_keeps_a_target_by_the_stricter_upper_end() -> None:
    judged = {
        "q_draws": 0.001,
        "q_draws_high": 0.0005,
        "q_series": 0.002,
        "q_series_high": 0.0015,
        "target": 0.001,
        "chosen_keeps": True,
    }
    table = pa.Table.from_pylist(
        [
            {
                **judged,
                "is_first_choice": True,
                "is_chosen_factor": False,
            },
            {
                **judged,
                "q_series": None,
                "q_series_high": None,
                "is_first_choice": False,
                "is_chosen_factor": True,
            },
        ]
    )
    assert packing_advice.excess_of_first_choice(table) == pytest.approx(1.5)
    # Without a series the draws alone tell.
    assert packing_advice.excess_of_chosen_factor(table) == pytest.approx(0.5)
    first = {**judged, "is_first_choice": True, "is_chosen_factor": False}
    for unknown, reason in (
        ({"q_series_high": None}, "there is no interval to judge by"),
        ({"chosen_keeps": False}, "nothing is known to keep the target where the choice is made"),
    ):
        with pytest.raises(NotApplicable) as caught:
            packing_advice.excess_of_first_choice(pa.Table.from_pylist([first | unknown]))
        assert str(caught.value) == reason
