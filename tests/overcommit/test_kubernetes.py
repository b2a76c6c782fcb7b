"""koordinator's and katalyst's formulas by hand and beside a restatement, and units that are asked for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit import parse_policy
from borgtrace.overcommit.histogram import size_of_unit
from borgtrace.overcommit.policies import NodePolicy
from tests.overcommit.plain import Machine
from tests.overcommit.test_restatement import random_machine

ONE = Machine({0: {0: (0.2, 0.5), 1: (0.1, 0.25)}}, 10)
"""A machine of capacity 1 whose tasks request .75 and use .3."""


@pytest.mark.parametrize(
    ("policy", "peak"),
    [
        ("koordinator-batch", 1 - (0.6 - 0.3)),
        ("koordinator-batch:cpu=0.2", 1.0),
        ("koordinator-batch:calculate=request", 1.0),
        ("koordinator-batch:calculate=request,cpu=0.8", 1 - (0.8 - 0.75)),
        ("koordinator-batch:calculate=maxUsageRequest,cpu=0.8", 1 - (0.8 - 0.75)),
        # u/R = .4 = ℓ: r = (.6 − .3)/.4 + .75 = 1.5.
        ("katalyst-realtime", 0.75 / 1.5),
        ("katalyst-realtime:most=1.2", 0.75 / 1.2),
        # (.3 − .3)/.4 + .75 = .75 is below 1: nothing is overcommitted.
        ("katalyst-realtime:cpu=0.3", 0.75),
    ],
)
def test_formulas_by_hand(policy: str, peak: float) -> None:
    assert parse_policy(policy).predict(ONE.block()).peak == pytest.approx([peak], rel=1e-12)


CORES = 16
MEMORY = 32
"""Cores and GiB of the machine in katalyst's own test, overcommitmentaware/realtime/realtime_test.go: TestUpdate."""


@pytest.mark.parametrize(
    ("resource", "tasks", "ratio"),
    [
        # Low usage: ((16 · .6 − 1)/max(1/4, .4) + 4)/16, which the original rounds to 1.6; 1.17 of memory.
        ("cpu", [(0.5, 2), (0.5, 2)], 1.59375),
        ("memory", [(1, 4), (1, 4)], 37.5 / 32),
        # High usage: ((9.6 − 5)/.625 + 8)/16 is below 1.
        ("cpu", [(3, 4), (2, 4)], 1.0),
        ("memory", [(7, 8), (6, 8)], 1.0),
        # No request.
        ("cpu", [(3, 0), (2, 0)], 1.0),
        # No metrics: 1.75 and 1.25 in katalyst, where a pod without metrics uses nothing; here it may use its limit.
        ("cpu", [(None, 2), (None, 2)], 1.0),
        ("memory", [(None, 4), (None, 4)], 1.0),
    ],
)
def test_the_realtime_ratio_of_katalysts_own_cases(
    resource: str, tasks: list[tuple[float | None, float]], ratio: float
) -> None:
    size = CORES if resource == "cpu" else MEMORY
    present: dict[int, tuple[float | None, float]] = {}
    for task, (usage, request) in enumerate(tasks):
        present[task] = (None if usage is None else usage / size, request / size)
    block = replace(Machine({0: present}, 1).block(), resource=resource)
    policy = parse_policy("katalyst-realtime:most=10")
    assert isinstance(policy, NodePolicy)
    terms = policy.terms(block)
    assert terms["overcommit ratio"].tolist() == pytest.approx([ratio], rel=1e-12)


def edge(value: float) -> float:
    """Upper edge of koordinator's CPU bucket, in cores."""
    bucket = 0 if value < 0.025 else int(math.log(value * 0.05 / 0.025 + 1) / math.log(1.05))
    return 0.025 * (1.05 ** (bucket + 1) - 1) / 0.05


def percentile(samples: list[tuple[int, float]], now: int) -> float:
    """P95 of samples (slot, cores) whose weight halves every 144 slots; a bucket lighter than 1e-4 is left out."""
    by_edge: dict[float, float] = {}
    for slot, value in samples:
        by_edge[edge(value)] = by_edge.get(edge(value), 0.0) + 2.0 ** ((slot - now) / 144)
    total = 0.0
    threshold = 0.95 * sum(by_edge.values())
    for upper in sorted(by_edge):
        total += by_edge[upper]
        if total >= threshold:
            return upper
    return max(by_edge)


def koordinator(machine: Machine, cores: float) -> list[float]:
    peaks = []
    past: list[tuple[int, float]] = []
    first: dict[int, int] = {}
    for slot in range(max(machine.samples) + 1):
        if slot not in machine.samples:
            # updateModel(priorityUID, 0, 0) where no pod of the class is there: koordlet's predict_server.go.
            past.append((slot, 0.0))
            continue
        now = machine.samples[slot]
        by_task = 0.0
        used = [usage for usage, _ in now.values() if usage is not None]
        for task, (usage, limit) in now.items():
            if usage is not None:
                first.setdefault(task, slot)
            if usage is None or slot - first[task] < 288:
                by_task += limit
            else:
                rows = [
                    (at, value * cores) for at, value, _ in machine.history(task, slot, math.inf)
                ]
                by_task += min(limit, 1.1 * percentile(rows, slot) / cores)
        by_class = 0.0
        if used:
            past.append((slot, sum(used) * cores))
            by_class = 1.1 * percentile(past, slot) / cores
        peaks.append(min(max(by_task, by_class), sum(limit for _, limit in now.values())))
    return peaks


def test_koordinators_peak_prediction_equals_its_definition() -> None:
    cores = 64
    machine = random_machine(3, n_slots=50)
    # Long lives, so that tasks grow older than a day.
    for slot in range(0, 700):
        machine.samples.setdefault(slot, {})[99] = (0.05 + 0.1 * (slot % 7 == 0), 0.5)
    machine.n_slots = 701
    peak = parse_policy("koordinator-prod", {"cores": cores}).predict(machine.block()).peak
    np.testing.assert_allclose(peak, koordinator(machine, cores), rtol=1e-12)


def test_a_slot_without_production_is_a_sample_of_zero() -> None:
    """koordinator's training() updates the class with 0 where it has no pods, while koordlet runs on the node."""
    samples: dict[int, dict[int, tuple[float | None, float]]] = {}
    for slot in range(10):
        samples[slot] = {0: (0.5, 1.0)}
    samples[100] = {1: (None, 1.0)}
    samples[200] = {2: (0.01, 1.0)}
    machine = Machine(samples, 201)
    policy = parse_policy("koordinator-prod", {"cores": 1})
    assert isinstance(policy, NodePolicy)

    def last_peak(absent: range) -> float:
        block = replace(machine.block(), absent_slots=np.array(absent, np.int64))
        return float(policy.terms(block)["peak of their sum"][-1])

    used = [(slot, 0.5) for slot in range(10)] + [(200, 0.01)]
    # Without zeros the P95 is .5; of 200 samples (slot 100 is not measured) ten are too few to be above it.
    zeros = [(slot, 0.0) for slot in range(10, 200) if slot != 100]
    assert last_peak(range(10, 200)) == pytest.approx(1.1 * edge(0.5))
    assert percentile(used, 200) == edge(0.5)
    assert last_peak(range(0)) == pytest.approx(1.1 * percentile(sorted(used + zeros), 200))
    assert last_peak(range(0)) == pytest.approx(1.1 * 0.025)


def test_cores_are_asked_for_and_change_the_answer() -> None:
    machine = Machine({slot: {0: (0.001, 0.5)} for slot in range(600)}, 601)
    # .001 of 64 cores is .064 cores, whose bucket ends at .025·(1.05³ − 1)/.05; of one core the first ends at .025.
    for cores, upper in ((64, 0.025 * (1.05**3 - 1) / 0.05), (1, 0.025)):
        peak = parse_policy("koordinator-prod", {"cores": cores}).predict(machine.block()).peak
        assert peak[-1] == pytest.approx(1.1 * upper / cores, rel=1e-12)
    with pytest.raises(UsageError) as caught:
        parse_policy("koordinator-prod").predict(machine.block())
    assert str(caught.value) == (
        "--cores-per-unit: the size of the largest machine is not known: expected a number above 0, got none; "
        "histograms have buckets of cores and bytes, so state both sizes, for example "
        "--cores-per-unit 64 --gib-per-unit 256"
    )


def test_units_are_cores_and_bytes() -> None:
    assert (size_of_unit("cpu", 3.5, 0.0), size_of_unit("memory", 0.0, 0.5)) == (3.5, 536_870_912)


def test_the_last_term_of_an_explanation_is_the_prediction() -> None:
    for text in ("koordinator-batch", "koordinator-prod:cores=64", "katalyst-realtime"):
        policy = parse_policy(text)
        block = random_machine(1).block()
        assert isinstance(policy, NodePolicy)
        name, values = list(policy.terms(block).items())[-1]
        assert name == "predicted peak"
        np.testing.assert_array_equal(values, policy.predict(block).peak)
