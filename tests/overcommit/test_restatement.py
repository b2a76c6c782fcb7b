"""Every policy, the oracle and the metrics on random small machines, beside their plain restatement."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.overcommit import MachineBlock, oracle, parse_policy
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.policies import Prediction
from tests.overcommit import plain
from tests.overcommit.plain import Machine

POLICIES: dict[str, Callable[[Machine], list[float]]] = {
    "limit": lambda m: [m.limits_in(slot) for slot in sorted(m.samples)],
    "borg:phi=0.8": lambda m: [0.8 * m.limits_in(slot) for slot in sorted(m.samples)],
    "max:warmup=15m": lambda m: plain.ever(m, 3, max),
    "average:warmup=15m": lambda m: plain.ever(m, 3, statistics.fmean),
    "task-percentile:q=90,history=50m,warmup=10m": lambda m: plain.task_percentile(m, 90, 10, 2),
    "machine-percentile:q=90,history=50m,warmup=10m": lambda m: plain.machine_percentile(
        m, 90, 10, 2
    ),
    "nsigma:n=1.5,history=50m,warmup=5m": lambda m: plain.n_sigma(m, 1.5, 10, 1),
    "gpa:rho=0.05,history=50m,warmup=10m": lambda m: plain.gpa(m, 0.05, 10, 2),
    "convolution:rho=0.05,history=50m,warmup=10m": lambda m: plain.convolution(m, 0.05, 10, 2),
    "nsigma:n=1.5,history=50m,warmup=5m+gpa:rho=0.05,history=50m,warmup=10m": lambda m: list(
        map(
            max,
            plain.n_sigma(m, 1.5, 10, 1),
            plain.gpa(m, 0.05, 10, 2),
        )
    ),
}


def random_machine(seed: int, n_slots: int = 50) -> Machine:
    """Tasks that come, go, return, miss slots, change their limits; some limits are zero, some tasks last one slot."""
    draw = random.Random(seed)
    samples: dict[int, dict[int, tuple[float | None, float]]] = {}
    for task in range(8):
        limit = draw.choice([0.0, 0.25, 0.5])
        for _ in range(draw.randrange(1, 3)):
            start = draw.randrange(n_slots)
            for slot in range(start, min(n_slots, start + draw.choice([1, 5, 30]))):
                if draw.random() < 0.1:
                    limit = draw.choice([0.0, 0.125, 0.75])
                if draw.random() < 0.85 and not 20 <= slot < 24:
                    usage = None if draw.random() < 0.1 else draw.random() * 0.6
                    samples.setdefault(slot, {})[task] = (usage, limit)
    return Machine(samples, n_slots)


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_equal_their_definitions(policy: str) -> None:
    for seed in range(5):
        machine = random_machine(seed)
        prediction = parse_policy(policy).predict(machine.block())
        expected = POLICIES[policy](machine)
        np.testing.assert_allclose(prediction.peak, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.3])
def test_the_saddlepoint_equals_its_definition(rho: float) -> None:
    for seed in range(2):
        machine = random_machine(seed)
        policy = parse_policy(f"saddlepoint:rho={rho},history=50m,warmup=10m")
        prediction = policy.predict(machine.block())
        expected = plain.saddlepoint(machine, rho, 10, 2)
        np.testing.assert_allclose(prediction.peak, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rho", [0.01, 0.2])
def test_the_saddlepoint_of_long_histories_equals_its_definition(rho: float) -> None:
    # Of 48 slots: neighboring ones share what they add up of these histories.
    machine = random_machine(4, n_slots=90)
    policy = parse_policy(f"saddlepoint:rho={rho},history=4h,warmup=10m")
    prediction = policy.predict(machine.block())
    expected = plain.saddlepoint(machine, rho, 48, 2)
    np.testing.assert_allclose(prediction.peak, expected, rtol=1e-9, atol=1e-9)


def many_tasks(seed: int, n_tasks: int = 24, n_slots: int = 130) -> Machine:
    """Tasks that stay; each misses some slots, and some change their limit or leave."""
    draw = random.Random(seed)
    samples: dict[int, dict[int, tuple[float | None, float]]] = {}
    for task in range(n_tasks):
        limit = draw.choice([0.02, 0.04, 0.08])
        end = n_slots if draw.random() < 0.7 else draw.randrange(60, n_slots)
        for slot in range(end):
            if draw.random() < 0.005:
                limit = draw.choice([0.02, 0.04, 0.08])
            if draw.random() < 0.99:
                usage = draw.betavariate(2, 5) * limit
                samples.setdefault(slot, {})[task] = (usage, limit)
    return Machine(samples, n_slots)


def convolution_by_arrays(machine: Machine, rho: float, history: int, warmup: int) -> list[float]:
    """The quantile of the sum on a grid of a thousandth of the limits, one array to a task."""

    def peak(_: int, warm: dict[int, plain.History]) -> float:
        step = machine.limit_of(warm) / 1000
        mass = np.ones(1)
        for samples in warm.values():
            position = np.array([usage for _, usage, _ in samples]) / step
            cell = position.astype(int)
            own = np.bincount(cell, 1 - (position - cell), minlength=cell.max() + 2)
            own += np.bincount(cell + 1, position - cell, minlength=len(own))
            mass = np.convolve(mass, own / len(samples))
        return float(np.argmax(np.cumsum(mass) >= 1 - rho - 1e-12) * step)

    return machine.predicted(warmup, history, peak)


@pytest.mark.parametrize("rho", [0.3, 0.01, 0.0001])
def test_the_convolution_of_many_tasks_equals_its_definition(rho: float) -> None:
    """Exactly: a cell more or less would be a step."""
    machine = many_tasks(seed=1)
    prediction = parse_policy(f"convolution:rho={rho},history=8h,warmup=2h").predict(
        machine.block()
    )
    expected = convolution_by_arrays(machine, rho, 96, 24)
    np.testing.assert_allclose(prediction.peak, expected, rtol=1e-12)


@pytest.mark.parametrize("horizon", [1, 7, 30])
def test_the_oracle_equals_its_definition(horizon: int) -> None:
    for seed in range(5):
        machine = random_machine(seed)
        expected = [max(machine.futures(slot, horizon)) for slot in machine.judged(horizon)]
        block = machine.block()
        peaks = oracle(block, horizon)
        np.testing.assert_allclose(peaks, expected, rtol=1e-12, atol=1e-12)


def plain_kills(
    machine: Machine,
    slot: int,
    peak: float,
    priority: dict[int, int],
) -> int:
    """How many tasks of a slot are killed in the next one, of those that are measured there."""
    after = machine.samples.get(slot + 1, {})
    alive = []
    for task in machine.samples[slot].keys() & after.keys():
        usage, _ = after[task]
        if usage is not None:
            alive.append((priority[task], -usage))
    total = -sum(usage for _, usage in alive)
    n_killed = 0
    for _, usage in sorted(alive):
        if total - peak <= 1e-9:
            break
        total += usage
        n_killed += 1
    return n_killed


def plain_scores(
    machine: Machine,
    peaks: list[float],
    horizon: int,
    priority: dict[int, int],
) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    judged = machine.judged(horizon)
    is_seen = [machine.is_seen(slot, horizon) for slot in judged]
    for j, slot in enumerate(judged):
        if not is_seen[j]:
            continue
        sums["instants"] += 1
        futures = machine.futures(slot, horizon)
        actual = max(futures)
        peak = peaks[j]
        limits = machine.limits_in(slot)
        is_short = actual > peak + 1e-9 * actual
        above = [value - peak for value in futures if value - 1e-9 * value > peak]
        sums["violations"] += is_short
        sums["severity"] += (actual - peak) / actual if is_short else 0.0
        sums["saved"] += (limits - peak) / limits if limits > 0 else 0.0
        sums["clipped"] += peak >= limits * (1 - 1e-9)
        sums["overload"] += len(above) / horizon
        sums["excess"] += sum(above)
        sums["kills"] += plain_kills(machine, slot, peak, priority)
        measured = [usage for usage, _ in machine.samples[slot].values() if usage is not None]
        sums["judged_samples"] += len(measured)
        has_next = j + 1 < len(judged) and judged[j + 1] == slot + 1 and is_seen[j + 1]
        sums["changes"] += has_next and abs(peaks[j + 1] - peak) > 0.05 * peak
    return sums


def test_metrics_equal_their_definitions() -> None:
    names = [
        "limit",
        "borg:phi=0.4",
        "average:warmup=5m",
        "nsigma:n=1,history=50m,warmup=5m",
    ]
    n_violations = 0
    n_unseen = 0
    for seed in range(5):
        machine = random_machine(seed)
        priority = {task: random.Random(seed + task).choice([0, 4, 9]) for task in range(8)}
        block: MachineBlock = replace(machine.block(priority), resource="memory")
        predictions = [parse_policy(name).predict(block) for name in names]
        scores_of_policies = scores(block, 7, predictions)
        for score, prediction in zip(scores_of_policies, predictions, strict=True):
            expected = plain_scores(
                machine,
                prediction.peak.tolist(),
                7,
                priority,
            )
            assert len(expected) == 10
            for name, value in expected.items():
                assert score[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name
            assert score["severities"].sum() == score["instants"]
            n_violations += int(score["violations"])
            n_unseen += len(machine.judged(7)) - int(score["instants"])
    assert n_violations > 20
    assert n_unseen > 20


def test_a_task_that_is_not_measured_is_not_killed_in_its_place() -> None:
    # .6 and .3 of priority 4 and an unmeasured task of priority 0, on a machine filled to .5: one kill makes .3 of .9.
    machine = Machine(
        {
            0: {0: (0.6, 0.7), 1: (0.3, 0.4), 2: (0.1, 0.2)},
            1: {0: (0.6, 0.7), 1: (0.3, 0.4), 2: (None, 0.2)},
        },
        2,
    )
    block = replace(machine.block({0: 4, 1: 4, 2: 0}), resource="memory")
    half = Prediction(np.full(2, 0.5), 0)
    (score,) = scores(block, 1, [half])
    assert (score["kills"], score["judged_samples"], score["samples"]) == (1, 3, 5)


def as_in_googles_simulator(machine: Machine) -> tuple[Machine, Machine]:
    """The machine by steps instead of slots; and again with a new task wherever one has missed a step.

    Usage that is missing is 0, as in its align_by_time.py.
    """
    steps: dict[int, dict[int, tuple[float | None, float]]] = {}
    split: dict[int, dict[int, tuple[float | None, float]]] = {}
    lives: dict[int, int] = {}
    for step, slot in enumerate(sorted(machine.samples)):
        steps[step] = {
            task: (usage or 0.0, limit) for task, (usage, limit) in machine.samples[slot].items()
        }
        split[step] = {}
        for task, sample in steps[step].items():
            if step == 0 or task not in steps[step - 1]:
                lives[task] = lives.get(task, -1) + 1
            split[step][task * 1000 + lives[task]] = sample
    return Machine(steps, len(steps)), Machine(split, len(steps))


def rows_of_googles_oracle(machine: Machine, horizon: int) -> list[float]:
    """The oracle's rows as the simulator streams a machine's samples: fortune_teller.py and oracle.py, by slots."""
    stream = [(slot, task) for slot in sorted(machine.samples) for task in machine.samples[slot]]
    stream.append((10**9, -1))
    waiting: deque[int] = deque()
    now = stream[0][0]
    due = now + horizon
    rows = []
    for slot, _ in stream:
        if slot > now:
            waiting.append(now)
            now = slot
        if slot > due and waiting:
            judged = waiting.popleft()
            present = machine.samples[judged]
            sums = []
            for later in waiting:
                total = 0.0
                for task, (usage, _) in machine.samples[later].items():
                    if task in present:
                        total += min(usage or 0.0, present[task][1])
                sums.append(total)
            rows.append(max(sums) if sums else machine.limits_in(judged))
            due = judged + horizon + 1
    return rows


def test_googles_simulator_equals_its_definition() -> None:
    n_gaps = 0
    for seed in range(8):
        machine = random_machine(seed, n_slots=50 + 10 * seed)
        n_gaps += max(machine.samples) + 1 - min(machine.samples) - len(machine.samples)
        _, split = as_in_googles_simulator(machine)
        # A window without a value counts as one of 0.
        block = machine.block()
        block = replace(block, is_known=np.ones(len(block.all), bool), is_literal=True)
        seen = block.without_gaps().forgetful()
        for policy in (
            "nsigma:n=1.5,history=50m,warmup=5m",
            "task-percentile:q=90,history=50m,warmup=10m",
            "max:warmup=15m",
        ):
            prediction = parse_policy(policy).predict(seen)
            expected = POLICIES[policy](split)
            np.testing.assert_allclose(prediction.peak, expected, rtol=1e-12, atol=1e-12)
        for horizon in (1, 7):
            expected = rows_of_googles_oracle(machine, horizon)
            np.testing.assert_allclose(oracle(block, horizon), expected, rtol=1e-12, atol=1e-12)
    assert n_gaps > 20
