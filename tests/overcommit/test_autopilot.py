"""Autopilot's windows and its argmin beside their plain restatement, and the paper's worked example."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.recommenders import JobSamples, parse_recommender
from borgtrace.overcommit.recommenders.autopilot import Autopilot
from borgtrace.overcommit.rolling import moving_maximum
from tests.overcommit.jobs import Sample, exponential, percentile, random_rows, samples_of

CPU_EDGE = exponential(0.001, 1.02)
MEMORY_EDGE = exponential(1e6, 1.02)


def mean(seen: list[Sample]) -> float:
    """The mean of values whose weight halves every 12 hours."""
    now, _, _ = seen[-1]
    weights = [2.0 ** ((slot - now) / 144) for slot, _, _ in seen]
    values = [value for _, value, _ in seen]
    return float(np.average(values, weights=weights))


def load_adjusted(seen: list[Sample]) -> float:
    """The 95th percentile of values that weigh what they are."""
    weighted = [(slot, value, value) for slot, value, _ in seen]
    return percentile(weighted, 0.95, 144, CPU_EDGE)


def highest(seen: list[Sample]) -> float:
    return max(value for _, value, _ in seen)


def intermediate(seen: list[Sample]) -> float:
    return max(percentile(seen, 0.6, 576, MEMORY_EDGE), 0.5 * highest(seen))


@pytest.mark.parametrize(
    ("name", "resource", "is_serving", "statistic"),
    [
        ("autopilot", "cpu", False, mean),
        ("autopilot", "cpu", True, load_adjusted),
        ("autopilot", "memory", False, lambda seen: percentile(seen, 0.98, 576, MEMORY_EDGE)),
        ("autopilot-max", "memory", False, highest),
        ("autopilot-60", "memory", False, intermediate),
    ],
)
def test_autopilots_windows_equal_their_definition(
    name: str,
    resource: str,
    *,
    is_serving: bool,
    statistic: Callable[[list[Sample]], float],
) -> None:
    scale = 0.2 if resource == "cpu" else 3e8
    samples = samples_of(random_rows(2, scale), resource, is_serving=is_serving)
    limits = parse_recommender(name).recommend(samples)
    seen: dict[int, list[Sample]] = defaultdict(list)
    recommended: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for i in range(len(samples)):
        job = int(samples.job[i])
        slot = int(samples.slot[i])
        seen[job].append((slot, float(samples.value[i]), 1.0))
        recommended[job].append((slot, 1.15 * statistic(seen[job])))
        last_hour = [limit for at, limit in recommended[job] if at > slot - 12]
        np.testing.assert_allclose(limits[i], max(last_hour), rtol=1e-9)


def test_the_papers_example_of_load_adjustment() -> None:
    """Load 1 for nine units of time and 10 for one: P90 by time is 1, adjusted by load 10 (within a bucket, 2 %)."""
    rows = [(0, slot, 0, 10.0 if slot == 4 else 1.0) for slot in range(10)]
    samples = samples_of(rows, "cpu")
    by_time = Autopilot().percentile(samples, 0.9)
    by_load = Autopilot().percentile(samples, 0.9, samples.value)
    assert by_time[-1] == pytest.approx(1, rel=0.04)
    assert by_load[-1] == pytest.approx(10, rel=0.04)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The highest of all, of a day, of the last slot; an hour's maximum of what is recommended comes on top.
        ("autopilot-max:margin=0", [8e8, 16e8, 16e8, 16e8]),
        ("autopilot-max:margin=0,history=1d", [8e8, 16e8, 16e8, 4e8]),
        # Above .9 of the machine, 9e8, 10 % are enough, but never less in all than 1.15 · 9e8.
        (
            "autopilot-max:large=0.9",
            [
                1.15 * 8e8,
                1.1 * 16e8,
                1.1 * 16e8,
                1.1 * 16e8,
            ],
        ),
        ("autopilot-max:large=0.78", [1.15 * 7.8e8]),
        ("autopilot-max:large=0.8", [1.15 * 8e8]),
        ("autopilot:margin=0,growth=1.5", [exponential(1e6, 1.5)(8e8)]),
    ],
)
def test_what_autopilots_paper_leaves_open_is_a_parameter(
    text: str,
    expected: list[float],
) -> None:
    limits = limits_of_four_samples(text)
    assert limits[: len(expected)] == pytest.approx(expected)


def limits_of_four_samples(text: str) -> list[float]:
    rows = [
        (0, 0, 0, 8e8),
        (0, 1, 0, 16e8),
        (0, 280, 0, 4e8),
        (0, 301, 0, 4e8),
    ]
    samples = replace(samples_of(rows, "memory"), size=10e8)
    return parse_recommender(text).recommend(samples).tolist()


def test_half_the_highest_memory_of_a_history_is_half_of_a_day() -> None:
    last = limits_of_four_samples("autopilot-60:margin=0,history=1d")[3]
    assert last == pytest.approx(MEMORY_EDGE(8e8), rel=0.03)


class LastSample(Autopilot):
    """Autopilot with a statistic that is easy to know."""

    def memory(self, samples: JobSamples) -> Numbers:
        return samples.value


def test_a_large_statistic_has_the_margin_of_large_ones() -> None:
    # Of a machine of 1e9 more than 8e8 is large: + 10 %, but at least the 9.2e8 of the largest small one.
    rows = [(job, 0, job, value) for job, value in enumerate((4e8, 8e8, 8.2e8, 16e8))]
    samples = replace(samples_of(rows, "memory"), size=1e9)
    limits = LastSample(large=0.8).recommend(samples)
    assert limits.tolist() == pytest.approx([4.6e8, 9.2e8, 9.2e8, 17.6e8])


def test_the_hour_ends_after_twelve_slots() -> None:
    job = np.zeros(4, np.int64)
    slot = np.array([0, 5, 11, 12])
    value = np.array([3.0, 1.0, 2.0, 1.0])
    assert moving_maximum(job, slot, value, 12).tolist() == [3, 3, 3, 2]


EDGES = [0.01 * (1.05 ** (k + 1) - 1) / 0.05 for k in range(180)]
RATE = 1 - 2 ** (-1 / 144)


def bucket_of(value: float) -> int:
    """The bucket whose upper edge is nearest to that of a value."""
    upper = exponential(0.01)(value)
    distances = [abs(edge - upper) for edge in EDGES]
    return distances.index(min(distances))


class PlainModel:
    """One of the models that learn, over lists."""

    def __init__(
        self,
        rate: float,
        margin: float,
        weights: tuple[float, ...],
    ) -> None:
        self.rate = rate
        self.margin = margin
        self.overrun, self.underrun, self.change, _ = weights
        self.over = [0.0] * len(EDGES)
        self.under = [0.0] * len(EDGES)
        self.cost = 0.0
        self.bucket = -1
        self.limit = math.nan

    def learn(self, buckets: list[int]) -> None:
        """Learn a slot from the buckets of its samples."""
        costs = []
        for k in range(len(EDGES)):
            above = sum(bucket > k for bucket in buckets) / len(buckets)
            below = sum(bucket < k for bucket in buckets) / len(buckets)
            self.over[k] += self.rate * (above - self.over[k])
            self.under[k] += self.rate * (below - self.under[k])
            costs.append(self.overrun * self.over[k] + self.underrun * self.under[k])
        with_change = []
        for k, cost in enumerate(costs):
            with_change.append(round(cost + self.change * (k != self.bucket), 13))
        self.bucket = with_change.index(min(with_change))
        limit = EDGES[self.bucket] * (1 + self.margin)
        has_moved = not math.isnan(self.limit) and limit != self.limit
        self.limit = limit
        bucket_of_limit = next(k for k, edge in enumerate(EDGES) if limit < edge)
        cost_now = costs[bucket_of_limit] + self.change * has_moved
        self.cost += RATE * (cost_now - self.cost)


def plain_argmin(rows: list[tuple[int, float]], weights: tuple[float, ...]) -> list[float]:
    """From slots and values of one job to what holds after each slot."""
    _, _, change, model_weight = weights
    models = []
    for rate in (1 - 2 ** (-1 / 24), RATE):
        for margin in (0.0, 0.15):
            models.append(PlainModel(rate, margin, weights))
    by_slot: dict[int, list[int]] = defaultdict(list)
    for slot, value in rows:
        by_slot[slot].append(bucket_of(value))
    best = -1
    limit = math.nan
    limits = []
    for slot in sorted(by_slot):
        totals = []
        for m, model in enumerate(models):
            model.learn(by_slot[slot])
            penalty = model_weight * (m != best) + change * (model.limit != limit)
            totals.append(round(model.cost + penalty, 13))
        best = totals.index(min(totals))
        limit = models[best].limit
        limits.append(limit)
    return limits


@pytest.mark.parametrize(
    "weights",
    [
        (10.0, 1.0, 0.1, 0.05),
        (3.0, 1.0, 0.0, 0.0),
        (1.0, 2.0, 0.01, 0.0),
    ],
)
def test_autopilots_argmin_equals_its_definition(
    weights: tuple[float, float, float, float],
) -> None:
    draw = random.Random(4)
    rows = []
    for slot in range(40):
        for task in range(1 + slot % 3):
            rows.append((0, slot, task, 0.2 * draw.lognormvariate(0, 1)))
    for slot in range(3, 60):
        value = 0.4 if slot > 20 else 0.1
        rows += [(1, slot, 5, value), (1, slot, 6, value)]
    overrun, underrun, change, model = weights
    parameters = f"overrun={overrun},underrun={underrun},change={change},model={model}"
    samples = samples_of(rows, "cpu")
    recommended = parse_recommender(f"autopilot-argmin:{parameters}").recommend(samples)
    limits = set()
    for job in (0, 1):
        is_own = samples.job == job
        after_slot = dict(
            zip(
                samples.slot[is_own],
                recommended[is_own],
                strict=True,
            )
        )
        own_rows = [(slot, value) for at, slot, _, value in rows if at == job]
        expected = plain_argmin(own_rows, weights)
        np.testing.assert_allclose(list(after_slot.values()), expected, rtol=1e-9)
        limits |= set(expected)
    assert len(limits) > 3


def test_a_step_of_the_load_moves_the_argmin_once() -> None:
    """.1 core for a day, then .4: the limit follows within the hours in which overruns outweigh what was learned."""
    rows = [(0, slot, 0, 0.4 if slot >= 288 else 0.1) for slot in range(576)]
    limits = parse_recommender("autopilot-argmin").recommend(samples_of(rows, "cpu"))
    # Before: the bucket of .1; after: that of .4, with a margin of 0 or 15 %.
    assert 0.1 < limits[287] < 0.1 * 1.05 * 1.15 + 0.01
    assert 0.4 < limits[-1] < 0.4 * 1.05 * 1.15 + 0.01
    assert (np.diff(limits) >= 0).all()
    assert limits[288 + 24] > 0.4
