"""The advice: judged by hand, and kept where tasks are independent, and where they peak together."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import Study, synthetic_pool
from borgtrace.colocation.experiments.beyond.packing_advice import QUESTION, advised, factor
from borgtrace.colocation.experiments.shared.advice_words import advice
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.instances import Instances
from borgtrace.colocation.packing.trial import Evidence, PackingTrial, RunningTasks
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.simultaneous import busiest_span
from borgtrace.placement import Percentile, Request
from borgtrace.question import NotApplicable

TARGET = 0.01
SIZE = 100


def on_clock(values: np.ndarray, **more: Any) -> TaskPool:
    """Tasks of two jobs each, measured every 300 s from the start of the trace."""
    n, t = values.shape
    return TaskPool(
        offsets=np.arange(n + 1) * t,
        inst=values.ravel().astype(np.float32),
        avg=values.ravel().astype(np.float32),
        collection_id=np.arange(n),
        instance_index=np.zeros(n, np.int64),
        start=np.tile(600 + np.arange(t) * 300, n),
        seconds=np.full(n * t, 300),
        **{"source": "planted tasks", **more},
    )


def test_a_trial_packs_by_some_hours_and_judges_on_others() -> None:
    # Both tasks use .3, then .8 together: by the first hour they share a machine; it overflows in half of the second.
    values = np.full((2, 24), 0.3)
    values[:, 18:] = 0.8
    pool = on_clock(values, cpu_request=np.float32([0.6, 0.6]))
    options = ColocationOptions(
        size=2,
        realizations=4_000,
        instances=1,
    )
    trial = RunningTasks.during(pool, busiest_span(pool, 24)).trial(
        slice(0, 12), slice(12, 24), options, seed=1
    )
    ((together,), (apart,)) = trial.run(
        [Percentile(100), Request(1.0)],
        1.0,
        np.array([4, 8]),
    )
    assert together.machines == 1
    assert together.raw.tolist() == [[0, 6]]
    # Drawn independently only .3 with .3 fits: three quarters overflow.
    assert together.draws[0] / 4_000 == pytest.approx(0.75, abs=0.03)
    assert apart.machines == 2
    assert apart.raw.tolist() == [[0, 0], [0, 0]]
    assert apart.draws.tolist() == [0, 0]
    evidence = Evidence([[together]], None, 4_000, 0.5)
    assert [one.value for one in evidence.per_machine()] == [1.0, together.draws[0] / 4_000]


def test_tasks_that_fit_no_machine_count_as_one_each() -> None:
    pool = on_clock(
        np.concatenate(
            [
                np.full((1, 12), 1.4),
                np.full((2, 12), 0.4),
            ]
        )
    )
    ways = PackingTrial(
        Instances(
            pool,
            size=3,
            realizations=100,
            count=1,
        )
    ).run([Percentile(100)], 1.0, np.empty(0, np.int64))
    assert ways[0][0].machines == 2
    assert ways[0][0].n_unplaceable == 1
    assert len(ways[0][0].draws) == 1


@cache
def cell(shared: float) -> pa.Table:
    """Six days of 600 tasks that share a part of their variance, and what is advised for 100 of them."""
    pool = synthetic_pool(
        600,
        seed=2,
        shared_factor=shared,
        hours=144,
    )
    options = {
        "realizations": 200,
        "instances": 3,
        "size": SIZE,
        "target": TARGET,
        "hours": 144,
    }
    return QUESTION.run(Study(pool), **options).table


def row_of(result: pa.Table, estimator: str, parameter: float) -> dict[str, Any]:
    rows = [row for row in result.to_pylist() if row["estimator"] == estimator]
    return min(rows, key=lambda row: abs(row["parameter"] - parameter))


@pytest.mark.parametrize("shared", [0.0, 0.1, 0.4])
def test_the_promise_is_kept_on_later_hours(shared: float) -> None:
    for row in (advised(cell(shared)), factor(cell(shared))):
        assert row["q_series_high"] <= TARGET
        assert row["q_draws_high"] <= TARGET
        assert (
            row["scope"]
            == "chosen on hours 0–72, judged on hours 72–144 of 600 synthetic long tasks, seed 2"
        )


@pytest.mark.parametrize("shared", [0.0, 0.1])
def test_the_advice_saves_a_tenth_of_the_machines_of_packing_by_requests(shared: float) -> None:
    assert advised(cell(shared))["saved_request"] >= 0.1


def test_the_independence_assumption_breaks_where_tasks_peak_together() -> None:
    alone, together = (row_of(cell(shared), "gpa", TARGET) for shared in (0.0, 0.4))
    assert alone["q_series"] <= 1.5 * TARGET
    # On draws, where every task is drawn by itself, nothing of it is seen.
    assert together["q_series_low"] > TARGET
    assert together["q_draws"] <= 1.5 * TARGET
    assert advised(cell(0.4))["machines"] > advised(cell(0.0))["machines"]


@pytest.mark.parametrize("shared", [0.0, 0.1, 0.4])
def test_the_advice_is_the_first_choice_that_keeps_the_target(shared: float) -> None:
    rows = cell(shared).to_pylist()
    assert sum(row["is_advised"] for row in rows) == sum(row["is_factor"] for row in rows) == 1
    for row in rows:
        is_within = max(row["q_draws_high"], row["q_series_high"]) <= TARGET
        assert row["keeps_target"] is is_within
    chosen = [row for row in rows if row["chosen_keeps"]]
    assert all(row["chosen_q_high"] <= TARGET for row in chosen)
    # None with fewer machines keeps it in both.
    best = advised(cell(shared))
    assert best["chosen_machines"] == min(
        row["chosen_machines"] for row in chosen if row["keeps_target"]
    )


@pytest.mark.parametrize("shared", [0.0, 0.1, 0.4])
def test_every_factor_up_to_the_one_given_keeps_the_target_and_the_next_does_not(
    shared: float,
) -> None:
    ladder = sorted(
        (r for r in cell(shared).to_pylist() if r["estimator"] == "request"),
        key=lambda r: r["parameter"],
    )
    assert [row["parameter"] for row in ladder] == pytest.approx(
        [1 + 0.05 * k for k in range(len(ladder))]
    )
    assert [row["chosen_keeps"] for row in ladder] == [True] * (len(ladder) - 1) + [False]
    assert ladder[-2]["is_chosen_factor"]
    n_kept = [row["is_factor"] for row in ladder].index(True) + 1
    assert [row["keeps_target"] for row in ladder[:n_kept]] == [True] * n_kept
    assert n_kept == len(ladder) - 1 or not ladder[n_kept]["keeps_target"]
    assert ladder[-1]["chosen_q_high"] is None or ladder[-1]["chosen_q_high"] > TARGET
    assert ladder[0]["saved_request"] == ladder[0]["saved_request_low"] == 0.0


def test_without_a_clock_draws_alone_judge_and_other_tasks_choose() -> None:
    pool = replace(synthetic_pool(250, seed=6), start=None, seconds=None)
    result = QUESTION.run(
        Study(pool),
        realizations=400,
        instances=2,
        size=SIZE,
        target=TARGET,
    ).table
    row = advised(result)
    assert row["q_series"] is None
    assert row["q_series_high"] is None
    assert row["block_hours"] is None
    assert row["scope"] == (
        "chosen and judged on draws alone (the pool has no time stamps) of 250 synthetic long tasks, seed 6"
    )
    assert row["q_draws_low"] <= TARGET
    assert " on series" not in advice(result)


def test_hours_that_are_too_short_give_no_advice_but_the_nearest() -> None:
    result = QUESTION.run(
        Study(on_clock(np.full((40, 24), 0.05))),
        realizations=400,
        instances=2,
        size=20,
        target=0.01,
    ).table
    with pytest.raises(NotApplicable, match="no packing keeps the target"):
        advised(result)
    with pytest.raises(
        NotApplicable,
        match="packing by requests does not keep the target, or no requests are known",
    ):
        factor(result)
    assert sum(result["is_nearest"].to_pylist()) == 1
    assert advice(result).startswith(
        "Too little usage to judge whether a packing keeps the target; "
        "least overflow was seen with average 1.25 "
        "(target q ≤ 0.01; chosen on hours 0–0.583,"
    )
    assert "The hours are too short for an interval: fewer than 5 blocks of an hour." in advice(
        result
    )


def shown(estimator: str, parameter: float, **more: Any) -> dict[str, Any]:
    """A row of the result, by hand."""
    row: dict[str, Any] = dict.fromkeys(QUESTION.answer.names) | {
        "estimator": estimator,
        "parameter": parameter,
        "n_unplaceable": 0.0,
        "chosen_q": 0.0005,
        "chosen_q_high": 0.0008,
        "chosen_keeps": True,
        "is_advised": False,
        "is_nearest": False,
        "is_factor": False,
        "target": 0.001,
        "capacity": 1.0,
        "n_tasks": 1000,
        "n_instances": 50,
        "overlap": 0.0,
        "scope": "chosen on hours 0–24, judged on hours 24–48 of a cell",
        "block_hours": 3.0,
    }
    for name, (value, low, high) in more.pop("ends").items():
        row |= {
            name: value,
            f"{name}_low": low,
            f"{name}_high": high,
        }
    return row | more


BASE = shown(
    "request",
    1.0,
    ends={
        "machines": (80.0, 78.0, 82.0),
        "q_draws": (0.0, 0.0, 1e-6),
        "q_series": (0.0, 0.0, 2e-5),
    },
)
WAY = shown(
    "gpa",
    0.0001,
    ends={
        "machines": (60.0, 59.0, 61.0),
        "q_draws": (0.0002, 0.0001, 0.0003),
        "q_series": (0.0004, 0.0002, 0.0007),
        "saved_request": (0.25, 0.24, 0.26),
    },
)


def test_the_sentence_in_full() -> None:
    step = {name: WAY[name] for name in WAY if name.startswith(("machines", "q_"))}
    # By requests is neither the factor nor what else has a parameter of 1.
    factor = BASE | step | {"parameter": 1.35, "is_factor": True}
    rows = [
        WAY | {"is_advised": True},
        factor,
        WAY | {"estimator": "average", "parameter": 1.0},
        BASE,
    ]
    assert advice(pa.Table.from_pylist(rows)) == (
        "Pack by gpa 0.0001 (target q ≤ 0.001; chosen on hours 0–24, judged on hours 24–48 of a cell): "
        "60 [95%: 59 … 61] machines of capacity 1 for 1,000 tasks, "
        "measured q 0.0004 [95%: 0.0002 … 0.0007] on series, 0.0002 [95%: 0.0001 … 0.0003] on draws. "
        "Intervals draw blocks of 3 h, as there are fewer than 5 days. "
        "By requests: 80 [95%: 78 … 82] machines of capacity 1 for 1,000 tasks, "
        "measured q 0 [95%: 0 … 2e-05] on series, 0 [95%: 0 … 1e-06] on draws; "
        "the advice saves 25% [95%: 24% … 26%] of these machines. "
        "Overcommit factor on requests: 1.35, "
        "measured q 0.0004 [95%: 0.0002 … 0.0007] on series, 0.0002 [95%: 0.0001 … 0.0003] on draws."
    )


def test_the_sentence_where_the_choice_was_a_guess() -> None:
    """Earlier hours are half as long: what they cannot show, later ones may."""
    guessed = WAY | {"is_advised": True, "chosen_keeps": False, "chosen_q_high": 0.0012}
    start = "Pack by gpa 0.0001 (target q ≤ 0.001;"
    sentence = advice(pa.Table.from_pylist([guessed]))
    assert sentence.startswith(start)
    doubt = " on draws. Where it was chosen nothing was known to keep it: q 0.0005 [up to 0.0012]. Inter"
    assert doubt in sentence
    sentence = advice(pa.Table.from_pylist([guessed | {"chosen_q_high": None}]))
    assert "nothing was known to keep it: q 0.0005 [no interval]." in sentence


def test_the_sentence_where_nothing_keeps_the_target() -> None:
    alone = {
        "is_nearest": True,
        "n_unplaceable": 2.0,
        "overlap": 0.8,
        "block_hours": 24.0,
    }
    broken = {"q_series": 0.0011, "q_series_high": 0.0014}
    assert advice(pa.Table.from_pylist([WAY | alone | broken, BASE | broken])) == (
        "Nothing tested keeps the target by its 95% interval; nearest is gpa 0.0001 "
        "(target q ≤ 0.001; chosen on hours 0–24, judged on hours 24–48 of a cell): "
        "60 [95%: 59 … 61] machines of capacity 1 for 1,000 tasks (2.0 for tasks that fit none), "
        "measured q 0.0011 [95%: 0.0002 … 0.0014] on series, 0.0002 [95%: 0.0001 … 0.0003] on draws. "
        "Of the tasks of 50 instances, 80% are in an earlier one. "
        "By requests: 80 [95%: 78 … 82] machines of capacity 1 for 1,000 tasks, "
        "measured q 0.0011 [95%: 0 … 0.0014] on series, 0 [95%: 0 … 1e-06] on draws. "
        "No overcommit factor: not even packing by requests keeps the target by its interval."
    )
    # Without an interval more data could show either: nothing is said to break the target.
    unjudged = {"q_series": 0.0, "q_series_low": None, "q_series_high": None, "overlap": 0.0}
    sentence = advice(pa.Table.from_pylist([WAY | alone | unjudged, BASE | unjudged]))
    assert sentence.startswith(
        "Too little usage to judge whether a packing keeps the target; "
        "least overflow was seen with gpa 0.0001 (target q ≤ 0.001; "
    )
    assert sentence.endswith("To judge it: a longer trace, or a lower --slo.")
    assert (
        advice(pa.table({name: [] for name in QUESTION.answer.names}))
        == "No advice: nothing was packed."
    )


def test_the_chart_carries_the_sentence() -> None:
    result = QUESTION.run(
        Study(synthetic_pool(60, seed=3, hours=24)),
        realizations=100,
        instances=2,
        size=20,
        target=0.05,
        hours=24,
    )
    assert " ".join(result.plot().to_dict()["title"]["subtitle"]) == advice(result.table)
