"""koordinator's and katalyst's formulas by hand and beside a restatement, and units that are asked for."""

from __future__ import annotations

import math

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
    for slot in sorted(machine.samples):
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


@pytest.mark.parametrize("cores", [1, 64])
def test_koordinators_peak_prediction_equals_its_definition(cores: int) -> None:
    machine = random_machine(3, n_slots=50)
    # Long lives, so that tasks grow older than a day.
    for slot in range(0, 700):
        machine.samples.setdefault(slot, {})[99] = (0.05 + 0.1 * (slot % 7 == 0), 0.5)
    machine.n_slots = 701
    peak = parse_policy("koordinator-prod", {"cores": cores}).predict(machine.block()).peak
    np.testing.assert_allclose(peak, koordinator(machine, cores), rtol=1e-12)


def test_cores_are_asked_for_and_change_the_answer() -> None:
    machine = Machine({slot: {0: (0.001, 0.5)} for slot in range(600)}, 601)
    # .001 of 64 cores is .064 cores, whose bucket ends at .025·(1.05³ − 1)/.05; of one core the first ends at .025.
    for cores, upper in ((64, 0.025 * (1.05**3 - 1) / 0.05), (1, 0.025)):
        peak = parse_policy("koordinator-prod", {"cores": cores}).predict(machine.block()).peak
        assert peak[-1] == pytest.approx(1.1 * upper / cores, rel=1e-12)
    with pytest.raises(UsageError) as caught:
        parse_policy("koordinator-prod").predict(machine.block())
    assert str(caught.value) == (
        "--cores-per-unit: the size of the largest machine is not known: expected a number above 0, got nan; "
        "state it, for example --cores-per-unit 64: histograms have buckets of cores and bytes"
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
