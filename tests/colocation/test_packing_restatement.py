"""m and q said again in plain NumPy and SciPy, after Algorithm 1 and §5.1 of the paper, on 20 instances."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from borgtrace.colocation.packing.grid import GridCell, judge_instance
from borgtrace.colocation.packing.instances import Instance
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.registry import parse_estimator

INSTANCES = 20
TASKS = 120
REALIZATIONS = 500
SEEN = 0.6
Test = Callable[
    [list[int], int], float
]  # (tasks on the machine, newcomer) → FitBin; negative: does not fit


def draw(number: int) -> Instance:
    rng = np.random.default_rng([9, number])
    mean = rng.gamma(0.6, 0.05, (TASKS, 1))
    inst = np.minimum(
        rng.gamma(1.2, mean / 1.2, (TASKS, REALIZATIONS)),
        1,
    ).astype(np.float32)
    avg = np.minimum(
        rng.gamma(4.0, mean / 4.0, (TASKS, REALIZATIONS)),
        1,
    ).astype(np.float32)
    return Instance(number, np.arange(TASKS), inst, lambda column: avg)


def room_test(estimator: Estimator, observed: np.ndarray, capacity: float) -> Test:
    usage = observed.astype(np.float64)
    mean = usage.mean(axis=1)
    std = usage.std(axis=1)
    parameter = estimator.parameter

    def gaussian(members: list[int], task: int) -> float:
        together = [*members, task]
        mu = mean[together].sum()
        sigma = math.sqrt((std[together] ** 2).sum())
        overflow = 1 - norm.cdf((capacity - mu) / sigma)
        return parameter - overflow

    def room_of(sizes: np.ndarray) -> Test:
        return lambda members, task: capacity - sizes[members].sum() - sizes[task]

    match estimator.name:
        case "gpa":
            return gaussian
        case "cantelli":
            return room_of(mean + parameter * std)
        case "average":
            return room_of(parameter * mean)
        case _:
            return room_of(np.percentile(usage, parameter, axis=1))


def pack(test: Test, is_best_fit: bool) -> list[list[int]]:
    bins: list[list[int]] = []
    for task in range(TASKS):
        rooms = [test(members, task) for members in bins]
        fitting = [number for number, room in enumerate(rooms) if room >= 0]
        if fitting:
            first = fitting[0]
            tightest = min(fitting, key=lambda number: rooms[number])
            bins[tightest if is_best_fit else first].append(task)
        elif test([], task) >= 0:
            bins.append([task])
    return bins


def rebalance(bins: list[list[int]], test: Test) -> None:
    last = bins[-1]
    failures = 0
    turn = 0
    while failures < 5 and any(bins[:-1]):
        members = bins[turn % (len(bins) - 1)]
        turn += 1
        if members:
            if test(last, members[0]) >= 0:
                last.append(members.pop(0))
            else:
                failures += 1


def restate(instance: Instance, cell: GridCell) -> tuple[int, float, float]:
    n_seen = round(cell.clairvoyance * REALIZATIONS)
    usage = instance.inst if cell.data == "inst" else instance.avg
    test = room_test(cell.estimator, usage[:, :n_seen], cell.capacity)
    bins = pack(test, cell.packer == "best-fit")
    if cell.is_rebalanced:
        rebalance(bins, test)
    bins = [members for members in bins if members]
    first = 0 if n_seen == REALIZATIONS else n_seen
    judged = instance.inst[:, first:].astype(np.float64)
    n_overflows = 0
    for members in bins:
        totals = judged[members].sum(axis=0)
        n_overflows += (totals > cell.capacity).sum()
    placed = sorted(task for members in bins for task in members)
    means = instance.inst.astype(np.float64).mean(axis=1)
    bound = math.ceil(means[placed].sum() / cell.capacity)
    n_trials = len(bins) * judged.shape[1]
    return len(bins), len(bins) / bound, n_overflows / n_trials


CELLS = [
    GridCell(
        parse_estimator(text),
        packer=packer,
        is_rebalanced=is_rebalanced,
        data=data,
        capacity=c,
        clairvoyance=e,
    )
    for text in (
        "gpa:0.1",
        "gpa:0.001",
        "cantelli:1.7",
        "average:1.25",
        "percentile:90",
        "percentile:100",
    )
    for packer, is_rebalanced, data, c, e in (
        ("best-fit", True, "inst", 1.0, 1.0),
        ("first-fit", False, "inst", 1.0, 1.0),
        ("first-fit", True, "avg", 0.8, SEEN),
        ("best-fit", False, "avg", 2.0, SEEN),
    )
]


@pytest.mark.parametrize("number", range(INSTANCES))
def test_m_exactly_and_q_within_1e_4(number: int) -> None:
    instance = draw(number)
    for outcome in judge_instance(instance, CELLS):
        m_abs, m, q = restate(instance, outcome.cell)
        assert (outcome.m_abs, outcome.m) == (m_abs, m), outcome.cell
        assert abs(outcome.q - q) <= 1e-4, outcome.cell
