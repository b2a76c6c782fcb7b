"""Autopilot's windows and its argmin beside their plain restatement, and the paper's worked example."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.recommenders import JobSamples, parse_recommender, recommenders
from borgtrace.overcommit.recommenders.autopilot import Autopilot
from borgtrace.overcommit.rolling import moving_maximum
from tests.overcommit.jobs import Sample, exponential, percentile, random_rows, samples_of


def hourly(
    values: dict[int, list[tuple[int, float]]],
    job: int,
    slot: int,
) -> float:
    return max(value for at, value in values[job] if at > slot - 12)


@pytest.mark.parametrize(
    ("name", "resource", "is_serving"),
    [
        ("autopilot", "cpu", False),
        ("autopilot", "cpu", True),
        ("autopilot", "memory", False),
        ("autopilot-max", "memory", False),
        ("autopilot-60", "memory", False),
    ],
)
def test_autopilots_windows_equal_their_definition(
    name: str,
    resource: str,
    *,
    is_serving: bool,
) -> None:
    scale = 0.2 if resource == "cpu" else 3e8
    samples = samples_of(random_rows(2, scale), resource, is_serving=is_serving)
    found = recommenders()[name]().recommend(samples)
    past: dict[int, list[Sample]] = defaultdict(list)
    recommended: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for i, (job, slot, value) in enumerate(
        zip(
            samples.job.tolist(),
            samples.slot.tolist(),
            samples.value.tolist(),
            strict=True,
        )
    ):
        past[job].append((slot, value, value))
        ones = [(at, each, 1.0) for at, each, _ in past[job]]
        weights = [2.0 ** ((at - slot) / 144) for at, _, _ in ones]
        highest = max(each for _, each, _ in ones)
        statistic = {
            ("cpu", False): sum(w * row[1] for w, row in zip(weights, ones, strict=True))
            / sum(weights),
            ("cpu", True): percentile(
                past[job],
                0.95,
                144,
                exponential(0.001, 1.02),
            ),
            ("autopilot", "memory"): percentile(ones, 0.98, 576, exponential(1e6, 1.02)),
            ("autopilot-max", "memory"): highest,
            ("autopilot-60", "memory"): max(
                percentile(ones, 0.6, 576, exponential(1e6, 1.02)), 0.5 * highest
            ),
        }[("cpu", is_serving) if resource == "cpu" else (name, resource)]
        recommended[job].append((slot, 1.15 * statistic))
        np.testing.assert_allclose(
            found[i],
            hourly(recommended, job, slot),
            rtol=1e-9,
        )


def test_the_papers_example_of_load_adjustment() -> None:
    """Load 1 for nine units of time and 10 for one: P90 by time is 1, adjusted by load 10 (within a bucket, 2 %)."""
    samples = samples_of([(0, slot, 0, 10.0 if slot == 4 else 1.0) for slot in range(10)], "cpu")
    by_time, by_load = (
        Autopilot().percentile(samples, 0.9, weight)[-1] for weight in (1.0, samples.value)
    )
    assert (by_time, by_load) == (pytest.approx(1, rel=0.04), pytest.approx(10, rel=0.04))


def test_what_autopilots_paper_leaves_open_is_a_parameter() -> None:
    rows = [(0, slot, 0, value) for slot, value in ((0, 8e8), (1, 16e8), (280, 4e8), (301, 4e8))]
    found = replace(samples_of(rows, "memory"), size=10e8)

    def limits(text: str) -> list[float]:
        return parse_recommender(text).recommend(found).tolist()

    # The highest of all, of a day, of the last slot; an hour's maximum of what is recommended comes on top.
    assert limits("autopilot-max:margin=0") == pytest.approx([8e8, 16e8, 16e8, 16e8])
    assert limits("autopilot-max:margin=0,history=1d") == pytest.approx([8e8, 16e8, 16e8, 4e8])
    assert limits("autopilot-60:margin=0,history=1d")[3] == pytest.approx(
        exponential(1e6, 1.02)(8e8), rel=0.03
    )
    # Above .9 of the machine, 9e8, 10 % are enough, but never less in all than 1.15 · 9e8.
    assert limits("autopilot-max:large=0.9") == pytest.approx(
        [
            1.15 * 8e8,
            1.1 * 16e8,
            1.1 * 16e8,
            1.1 * 16e8,
        ]
    )
    assert limits("autopilot-max:large=0.78")[0] == pytest.approx(1.15 * 7.8e8)
    assert limits("autopilot-max:large=0.8")[0] == pytest.approx(1.15 * 8e8)
    wide = exponential(1e6, 1.5)(8e8)
    assert limits("autopilot:margin=0,growth=1.5")[0] == pytest.approx(wide)


class _Told(Autopilot):
    def memory(self, samples: JobSamples) -> Numbers:
        return samples.value


def test_a_large_statistic_has_the_margin_of_large_ones() -> None:
    # Of a machine of 1e9 more than 8e8 is large: + 10 %, but at least the 9.2e8 of the largest small one.
    values = (4e8, 8e8, 8.2e8, 16e8)
    found = replace(
        samples_of([(job, 0, job, value) for job, value in enumerate(values)], "memory"), size=1e9
    )
    assert _Told(large=0.8).recommend(found).tolist() == pytest.approx(
        [4.6e8, 9.2e8, 9.2e8, 17.6e8]
    )


def test_the_hour_ends_after_twelve_slots() -> None:
    job = np.zeros(4, np.int64)
    slot = np.array([0, 5, 11, 12])
    assert moving_maximum(
        job,
        slot,
        np.array([3.0, 1.0, 2.0, 1.0]),
        12,
    ).tolist() == [3, 3, 3, 2]


def argmin(
    rows: list[tuple[int, float]],
    overrun: float,
    underrun: float,
    change: float,
    model: float,
) -> list[float]:
    """Slots and values of one job; what holds after each slot."""
    edge = exponential(0.01)
    rate = 1 - 2 ** (-1 / 144)
    edges = [0.01 * (1.05 ** (k + 1) - 1) / 0.05 for k in range(180)]
    models = [(d, margin) for d in (1 - 2 ** (-1 / 24), rate) for margin in (0.0, 0.15)]
    over = [[0.0] * len(edges) for _ in models]
    under = [[0.0] * len(edges) for _ in models]
    costs = [0.0] * 4
    limits = [math.nan] * 4
    raw = [-1] * 4
    best = -1
    limit = math.nan
    found = []
    for slot in sorted({at for at, _ in rows}):
        values = [
            edges.index(min(edges, key=lambda e, v=v: abs(e - edge(v))))
            for at, v in rows
            if at == slot
        ]
        totals = []
        for m, (d, margin) in enumerate(models):
            for k in range(len(edges)):
                over[m][k] = (1 - d) * over[m][k] + d * sum(value > k for value in values) / len(
                    values
                )
                under[m][k] = (1 - d) * under[m][k] + d * sum(value < k for value in values) / len(
                    values
                )
            cost = [overrun * o + underrun * u for o, u in zip(over[m], under[m], strict=True)]
            picked = [round(c + change * (k != raw[m]), 13) for k, c in enumerate(cost)]
            raw[m] = picked.index(min(picked))
            new = edges[raw[m]] * (1 + margin)
            moved = not math.isnan(limits[m]) and new != limits[m]
            limits[m] = new
            held = next(k for k, e in enumerate(edges) if new < e)
            costs[m] = (1 - rate) * costs[m] + rate * (cost[held] + change * moved)
            totals.append(costs[m] + model * (m != best) + change * (new != limit))
        best = min(range(4), key=lambda m: round(totals[m], 13))
        limit = limits[best]
        found.append(limit)
    return found


@pytest.mark.parametrize(
    "weights", [(10.0, 1.0, 0.1, 0.05), (3.0, 1.0, 0.0, 0.0), (1.0, 2.0, 0.01, 0.0)]
)
def test_autopilots_argmin_equals_its_definition(
    weights: tuple[float, float, float, float],
) -> None:
    draw = random.Random(4)
    rows = [
        (0, slot, task, 0.2 * draw.lognormvariate(0, 1))
        for slot in range(40)
        for task in range(1 + slot % 3)
    ]
    rows += [
        (1, slot, task + 5, 0.1 + 0.3 * (slot > 20)) for slot in range(3, 60) for task in range(2)
    ]
    names = ("overrun", "underrun", "change", "model")
    text = "autopilot-argmin:" + ",".join(
        f"{name}={value}" for name, value in zip(names, weights, strict=True)
    )
    found = samples_of(rows, "cpu")
    recommended = parse_recommender(text).recommend(found)
    limits = set()
    for job in (0, 1):
        after = {
            slot: value
            for at, slot, value in zip(
                found.job,
                found.slot,
                recommended,
                strict=True,
            )
            if at == job
        }
        expected = argmin([(slot, value) for at, slot, _, value in rows if at == job], *weights)
        np.testing.assert_allclose(
            [after[slot] for slot in sorted(after)],
            expected,
            rtol=1e-9,
        )
        limits |= set(expected)
    assert len(limits) > 3


def test_a_step_of_the_load_moves_the_argmin_once() -> None:
    """.1 core for a day, then .4: the limit follows within the hours in which overruns outweigh what was learned."""
    rows = [(0, slot, 0, 0.1 + 0.3 * (slot >= 288)) for slot in range(576)]
    found = parse_recommender("autopilot-argmin").recommend(samples_of(rows, "cpu"))
    # Before: the bucket of .1; after: that of .4, with a margin of 0 or 15 %.
    assert 0.1 < found[287] < 0.1 * 1.05 * 1.15 + 0.01
    assert 0.4 < found[-1] < 0.4 * 1.05 * 1.15 + 0.01
    assert (np.diff(found) >= 0).all()
    assert found[288 + 24] > 0.4
