"""Classes of service: what is promised is kept on later hours of planted tasks."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.beyond import packing_promises
from borgtrace.colocation.packing.service_classes import ServiceClasses, parse_promises, with_priors
from borgtrace.errors import UsageError
from borgtrace.placement import Observation, pack
from borgtrace.placement.estimators.promises import Promises, nested_slack
from borgtrace.question import NotApplicable
from borgtrace.question.conforming import table_of
from borgtrace.schema.dialects import DIALECTS, dialect

from .test_advice import on_clock

DAY = 288


def _normal(x: float) -> float:
    """1 − Φ(x)."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def test_the_slack_of_a_class_is_the_mean_over_its_hours() -> None:
    # Two hours: all together μ = .6 and .9, σ = .2; the strict class alone μ = .3 and .5, σ = .1.
    state = np.array([0.5, 0.03, 0.8, 0.03, 0.25, 0.005, 0.45, 0.005])
    item = np.array([0.1, 0.01, 0.1, 0.01, 0.05, 0.005, 0.05, 0.005])
    lax = (_normal(2.0) + _normal(0.5)) / 2
    strict = (_normal(7.0) + _normal(5.0)) / 2
    one = np.ones(1)
    assert nested_slack(state, item, one, np.array([2.0, 0.25, 0.5])) == pytest.approx(
        1 - lax / 0.25
    )
    assert nested_slack(state, item, one, np.array([2.0, 0.9, 1e-7])) == pytest.approx(
        1 - strict / 1e-7
    )
    # Without variance it either fits or does not.
    full = np.array([1.0, 0.0])
    empty = np.array([0.25, 0.0])
    assert nested_slack(full, empty, one, np.array([1.0, 0.5])) == -1.0
    assert nested_slack(empty, empty, one, np.array([1.0, 0.5])) == 1.0


def test_items_count_for_their_own_class_and_the_laxer_ones() -> None:
    mean = np.array([[0.5, 0.25], [0.125, 0.25]])
    variance = np.array([[0.1, 0.2], [0.3, 0.4]])
    way = Promises(
        0.001,
        (0.05, 0.001),
        mean,
        variance,
        np.array([1, 0]),
    )
    assert way.items(Observation(np.ones((2, 1), np.float32)), 1.0).tolist() == [
        [0.5, 0.1, 0.25, 0.2, 0.5, 0.1, 0.25, 0.2],
        [0.125, 0.3, 0.25, 0.4, 0.0, 0.0, 0.0, 0.0],
    ]
    assert way.parameters(1.0).tolist() == [2, 0.05, 0.001]


def test_one_class_without_hours_is_gpa() -> None:
    from borgtrace.placement import Gpa

    seen = Observation(np.random.default_rng(3).random((60, 50), np.float32) / 5)
    one = Promises(
        0.01,
        (0.01,),
        seen.mean[:, None],
        seen.variance[:, None],
        np.zeros(60, np.int64),
    )
    assert pack(one, seen).n_bins == pack(Gpa(0.01), seen).n_bins


def test_a_task_without_a_past_is_one_drawn_from_its_group() -> None:
    mean = np.array(
        [
            [0.2],
            [0.4],
            [9.0],
            [0.6],
            [9.0],
        ]
    )
    variance = np.array(
        [
            [0.1],
            [0.3],
            [9.0],
            [0.5],
            [9.0],
        ]
    )
    unseen = np.array([False, False, True, False, True])
    # Task 2 has the name of tasks 0 and 1; task 4 has a name of its own, and the job of task 3.
    name = np.array([0, 0, 0, 1, 2])
    job = np.array([5, 5, 5, 6, 6])
    means, spread = with_priors(mean, variance, unseen, name, job)
    assert means[:, 0] == pytest.approx([0.2, 0.4, 0.3, 0.6, 0.6])
    # (.1 + .3) ÷ 2 within, .1² between.
    assert spread[:, 0] == pytest.approx([0.1, 0.3, 0.21, 0.5, 0.5])
    # Nothing known of either: all three that were seen.
    means, spread = with_priors(
        mean,
        variance,
        unseen,
        np.full(5, -1),
    )
    assert means[[2, 4], 0] == pytest.approx([0.4, 0.4])
    assert spread[2, 0] == pytest.approx(0.3 + np.var([0.2, 0.4, 0.6]))
    assert mean[2, 0] == 9.0


def _planted(swing: float, *, days: int = 4, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of a common daily rhythm and independent normal noise, with priorities of 2011: 9 for every third."""
    rng = np.random.default_rng(11)
    level = rng.uniform(0.01, 0.03, (n, 1))
    begin_of_hour = np.arange(days * DAY) // 12 * 12
    phase = 2 * np.pi * begin_of_hour / DAY
    noise = rng.normal(0, 0.004, (n, days * DAY))
    values = level * (1 + swing * np.sin(phase)) + noise
    is_production = np.arange(n) % 3 == 0
    return np.clip(values, 0, None), np.where(is_production, 9, 0)


def _answer(values: np.ndarray, priority: np.ndarray, promises: str) -> pa.Table:
    pool = on_clock(values, priority=priority, generation="2011")
    options = ColocationOptions(
        size=len(values),
        instances=1,
        hours=values.shape[1] // 12,
        promises=promises,
    )
    rows = packing_promises.compute(Study(pool), options)
    return table_of(rows, packing_promises.QUESTION.answer.table("promises"))


def test_classes_keep_their_promises_on_later_hours_of_a_daily_rhythm_and_gpa_does_not() -> None:
    answer = _answer(*_planted(0.5), "production=0.99,free=0.9")
    rows = {(row["way"], row["tier"]): row for row in answer.to_pylist()}
    assert {tier for _, tier in rows} == {"production", "free"}
    assert {(row["n_of_tier"], row["target"]) for row in rows.values()} == {(200, 0.01), (400, 0.1)}
    assert {(row["hours"], row["n_tasks"], row["classes"]) for row in rows.values()} == {
        (24.0, 600, "priorities")
    }
    for tier in ("production", "free"):
        row = rows["classes by hour", tier]
        assert row["q"] <= 1.1 * row["target"]
    # All hours alike: the rhythm that all tasks share looks like the noise of each, and every peak overflows.
    assert rows["classes", "free"]["q"] > 2 * 0.1
    assert rows["gpa, the strictest for all", "free"]["q"] > 10 * 0.01
    assert packing_promises.QUESTION.claims[0].judge(answer).verdict == "holds"
    machines = {way: rows[way, "free"]["m_abs"] for way in packing_promises.WAYS}
    assert packing_promises.QUESTION.claims[1].judge(answer).measured == format(
        machines["classes"] / machines["gpa, the strictest for all"], ".4g"
    )


def test_without_a_rhythm_gpa_keeps_its_promise_and_classes_take_fewer_machines() -> None:
    answer = _answer(*_planted(0.0), "production=0.999,free=0.9")
    rows = {(row["way"], row["tier"]): row for row in answer.to_pylist()}
    strict = rows["gpa, the strictest for all", "free"]
    assert strict["q"] <= 1.5 * 0.001
    assert rows["classes", "free"]["m_abs"] < strict["m_abs"]
    assert rows["classes", "free"]["q"] <= 1.1 * 0.1
    assert rows["classes", "production"]["q"] <= 0.001
    # Classes apart keep to themselves: each of their machines has one class, and together they are more.
    apart = rows["separate machines", "free"]
    assert apart["m_abs"] >= rows["classes", "free"]["m_abs"]
    assert apart["q"] <= 1.1 * 0.1
    assert packing_promises.QUESTION.claims[2].judge(answer).verdict == "holds"


def test_less_than_two_days_have_no_hours_of_the_day() -> None:
    values, priority = _planted(0.0, days=1, n=40)
    answer = _answer(values, priority, "production=0.99")
    assert set(answer["way"].to_pylist()) == set(packing_promises.WAYS[:3])
    assert set(answer["hours"].to_pylist()) == {12.0}
    assert (
        packing_promises.QUESTION.claims[0].judge(answer).reason
        == "the tasks run for less than two days"
    )


def test_the_answer_says_what_was_kept_and_what_is_needed() -> None:
    common = {
        "instance": 0,
        "n_tasks": 9,
        "hours": 24.0,
    }
    rows = [
        {
            "way": way,
            "tier": tier,
            "target": target,
            "q": q,
            **common,
        }
        for way, tier, target, q in (
            ("classes", "production", 0.001, 0.008),
            ("classes by hour", "free", 0.05, 0.01),
            ("classes by hour", "production", 0.001, 0.0005),
        )
    ]
    assert packing_promises.answer_in_words(pa.Table.from_pylist(rows)) == (
        "Packed as classes by hour, and judged on 24 later hours: free 0.99 of the time (0.95 promised), "
        "production 0.9995 of the time (0.999 promised). "
        "No interval: all instances share these hours, so that of others nothing is known."
    )
    assert packing_promises.answer_in_words(pa.Table.from_pylist(rows[:1])) == (
        "Packed as classes, and judged on 24 later hours: production 0.992 of the time (0.999 promised). "
        "No interval: all instances share these hours, so that of others nothing is known. "
        "Moments by the hour of the day need tasks that run for two days, these run for 48 h."
    )


def test_classes_are_tiers_or_jobs_at_random() -> None:
    pool = on_clock(
        np.full((6, 4), 0.1), priority=np.array([9, 0, 4, -1, 11, 1]), generation="2011"
    )
    classes = ServiceClasses.of(pool, "production=0.999,other=0.99", 0)
    assert classes.names == ("other", "production")
    assert classes.targets == (0.01, 0.001)
    # A tier without a promise has the laxest.
    assert classes.rank.tolist() == [1, 0, 0, 0, 1, 0]
    drawn = ServiceClasses.of(
        on_clock(np.full((200, 4), 0.1)),
        "production=0.999,free=0.99",
        0,
    )
    assert drawn.origin == "jobs at random"
    assert 70 < drawn.rank.sum() < 130


@pytest.mark.parametrize("name", DIALECTS)
def test_default_promises_blame_no_option(name: str) -> None:
    pool = on_clock(np.full((6, 4), 0.1), generation=name)
    tiers = {tier.name for tier in dialect(name).tiers}
    if {"production", "free"} <= tiers:
        classes = ServiceClasses.of(pool, ColocationOptions.promises, 0)
        assert classes.names == ("free", "production")
        return
    with pytest.raises(NotApplicable) as caught:
        ServiceClasses.of(pool, ColocationOptions.promises, 0)
    assert str(caught.value) == (
        "the default promises (production=0.999,free=0.95) are for tiers that this trace does not have; "
        f"it has {', '.join(tier.name for tier in dialect(name).tiers)}"
    )


@pytest.mark.parametrize(
    "text", ["production", "production=1", "=0.9", "free=0.9,free=0.5", "free=x", "free=0.9,", ""]
)
def test_what_is_no_promise_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_promises(text)
    part = next(p for p in reversed(text.split(",")) if p != "free=0.9")
    expected = "TIER=SHARE, each tier once, shares above 0 and below 1"
    assert str(caught.value) == (
        f"--slo: not a promise: expected {expected}, got {part!r}; try production=0.999,free=0.95"
    )


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(UsageError, match="--slo"):
        ServiceClasses.of(
            on_clock(np.full((2, 4), 0.1)),
            "batch=0.9",
            0,
        )
