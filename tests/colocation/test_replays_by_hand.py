"""Tasks that peak together, and replays of windows: what is learned, shuffled and judged, by hand."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.beyond import packing_correlated, packing_replay
from borgtrace.colocation.experiments.packing import packing_rebalancing
from borgtrace.placement import Observation
from tests.colocation.answers import measured, options, refused, study_of
from tests.colocation.test_packing_past import on_clock
from tests.rows import chosen_columns


def test_tasks_of_a_job_apart_and_on_one_machine() -> None:
    usage = np.tile(np.float32([0.125, 0.25]), (3, 50))
    seen = Observation(usage, series=usage)
    high = np.full((3, 4), 0.375, np.float32)
    rows = packing_correlated.judge_ways(
        seen, np.array([0, 0, 1]), {"raw": high, "shuffled": usage[:, :2]}
    )
    assert [(row["estimator"], row["target"], row["is_apart"]) for row in rows[:8]] == [
        (name, target, apart)
        for name in ("gpa", "gpa-covariance")
        for target in (0.05, 0.01)
        for apart in (False, True)
    ]
    assert [row["judged_on"] for row in rows] == ["raw"] * 8 + ["shuffled"] * 8
    # .5625 of mean usage fit on one machine, which three tasks of .375 exceed at each of four moments.
    gpa = {
        (row["judged_on"], row["is_apart"]): row
        for row in rows
        if (row["estimator"], row["target"]) == ("gpa", 0.05)
    }
    together = gpa["raw", False]
    apart = gpa["raw", True]
    expected = {
        "m_abs": 1,
        "overflows": 4,
        "trials": 4,
    }
    assert chosen_columns(together, expected) == expected
    # Two of one job are on two machines.
    expected = {
        "m_abs": 2,
        "overflows": 0,
        "trials": 8,
    }
    assert chosen_columns(apart, expected) == expected


def test_the_first_half_is_learned_from_and_the_second_judges() -> None:
    values = np.full((4, 24), 0.125)
    values[:, 12:] = 0.5
    # One of four tasks is of another job; an odd slot would be judged.
    pool = on_clock(values, jobs=[3, 3, 3, 9])
    calls: list[Any] = []

    def rows_of(
        seen: Observation, jobs: np.ndarray, judged: dict[str, np.ndarray]
    ) -> list[dict[str, Any]]:
        calls.append((seen, jobs, judged))
        return [{}]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing_correlated, "judge_ways", rows_of)
        chosen_options = options(
            hours=2,
            size=3,
            instances=2,
            seed=0,
        )
        rows = packing_correlated.compute(study_of(pool), chosen_options)
    assert rows == [
        {
            "instance": k,
            "n_tasks": 3,
            "hours": 1.0,
        }
        for k in (0, 1)
    ]
    for seen, jobs, judged in calls:
        assert seen.values.shape == (3, 12)
        assert set(seen.values.ravel().tolist()) == {0.125}
        assert cast(Any, seen.series).tolist() == seen.values.tolist()
        assert {
            name: (each.shape, set(each.ravel().tolist())) for name, each in judged.items()
        } == {name: ((3, 12), {0.5}) for name in ("raw", "shuffled")}
        assert sorted(jobs.tolist()) in ([0, 0, 0], [0, 0, 1])


def test_shuffled_windows_are_of_a_seed_for_each_instance() -> None:
    values = np.arange(96, dtype=np.float64).reshape(4, 24) / 96
    pool = on_clock(values)
    for module in (packing_correlated, packing_replay):
        seeds: list[int] = []
        known = module.shuffled
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "judge_ways", lambda *asked: [{}])
            patch.setattr(
                module,
                "shuffled",
                lambda each, seed, n=seeds, old=known: n.append(seed) or old(each, seed),
            )
            chosen_options = options(
                hours=2,
                size=3,
                instances=3,
                seed=5,
                realizations=100,
            )
            module.compute(study_of(pool), chosen_options)
        assert seeds == [5, 6, 7]


def test_a_replay_packs_by_draws_and_judges_by_all() -> None:
    judged = {
        "draws": np.tile(np.float32([0.25, 0.5]), (2, 50)),
        "shuffled": np.full((2, 4), 0.5, np.float32),
        "raw": np.full((2, 4), 0.75, np.float32),
    }
    rows = packing_replay.judge_ways(judged)
    assert [row["judged_on"] for row in rows] == ["draws"] * 6 + ["shuffled"] * 6 + ["raw"] * 6
    # Sizes promise nothing.
    assert [row["target"] for row in rows[:6]] == [0.1, 0.01, 0.001, 0.001, None, None]
    average = [row for row in rows if row["estimator"] == "average 1.25"]
    # 2 · .375 · 1.25 fit on one machine, whose bound is one: at .5 each they fill it, at .75 they exceed it.
    assert [(row["m_abs"], row["m"], row["overflows"], row["trials"]) for row in average] == [
        (1, 1.0, 0, 100),
        (1, 1.0, 0, 4),
        (1, 1.0, 4, 4),
    ]


def test_a_replay_draws_from_all_windows_of_a_task() -> None:
    # Tasks of .25 that used .5 before the hours that are replayed.
    values = np.full((3, 36), 0.25)
    values[:, :12] = 0.5
    pool = on_clock(values)
    calls: list[Any] = []
    span = packing_replay.longest_busy_span(pool, 3, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            packing_replay, "longest_busy_span", lambda *given: type(span)(12, 24, span.tasks)
        )
        patch.setattr(
            packing_replay,
            "judge_ways",
            lambda judged: calls.append(judged) or [{}],
        )
        given = options(
            hours=3,
            size=2,
            instances=1,
            seed=0,
            realizations=100,
        )
        rows = packing_replay.compute(study_of(pool), given)
    assert rows == [
        {
            "instance": 0,
            "n_tasks": 2,
            "hours": 2.0,
        }
    ]
    (judged,) = calls
    assert judged["draws"].shape == (2, 100)
    assert set(judged["draws"].ravel().tolist()) == {0.25, 0.5}
    for name in ("shuffled", "raw"):
        assert judged[name].shape == (2, 24)
        assert set(judged[name].ravel().tolist()) == {0.25}


def test_the_mean_fall_is_of_two_estimators_and_best_fit() -> None:
    def table(*found: tuple[str, str, float, float]) -> pa.Table:
        return pa.Table.from_pylist(
            [
                {
                    "estimator": name,
                    "parameter": 0.1,
                    "packer": packer,
                    "instance": 0,
                    "is_rebalanced": state,
                    "q": q,
                }
                for name, packer, before, after in found
                for state, q in ((False, before), (True, after))
            ]
        )

    # .5 and .25; other estimators, First Fit, and what never overflowed are left out.
    ways = (("gpa", "best-fit", 0.5, 0.25), ("average", "best-fit", 0.5, 0.375))
    others = (
        ("cantelli", "best-fit", 0.5, 0.0),
        ("gpa", "first-fit", 0.5, 0.0),
        ("percentile", "best-fit", 0.0, 0.0),
    )
    assert measured(packing_rebalancing, "S1-rebalancing", table(*ways, *others)) == 0.375
    with refused("nothing overflowed"):
        measured(packing_rebalancing, "S1-rebalancing", table(*others))
