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


def fit_bin(estimator: Estimator, observed: np.ndarray, capacity: float) -> Test:
    x = observed.astype(np.float64)
    mean = x.mean(axis=1)
    std = x.std(axis=1)
    if estimator.name == "gpa":

        def gaussian(held: list[int], k: int) -> float:
            on = [*held, k]
            mu = mean[on].sum()
            sigma = math.sqrt((std[on] ** 2).sum())
            return estimator.parameter - (1 - norm.cdf((capacity - mu) / sigma))

        return gaussian
    p = estimator.parameter
    sizes = {
        "cantelli": lambda: mean + p * std,
        "average": lambda: p * mean,
        "percentile": lambda: np.percentile(x, p, axis=1),
    }[estimator.name]()
    return lambda held, k: capacity - sizes[held].sum() - sizes[k]


def pack(test: Test, best: bool) -> list[list[int]]:
    bins: list[list[int]] = []
    for k in range(TASKS):
        rooms = [test(held, k) for held in bins]
        fitting = [b for b, room in enumerate(rooms) if room >= 0]
        if fitting:
            bins[min(fitting, key=lambda b: rooms[b]) if best else fitting[0]].append(k)
        elif test([], k) >= 0:
            bins.append([k])
    return bins


def rebalance(bins: list[list[int]], test: Test) -> None:
    last = bins[-1]
    failures = 0
    turn = 0
    while failures < 5 and any(bins[:-1]):
        held = bins[turn % (len(bins) - 1)]
        turn += 1
        if held:
            if test(last, held[0]) >= 0:
                last.append(held.pop(0))
            else:
                failures += 1


def restate(instance: Instance, cell: GridCell) -> tuple[int, float, float]:
    n = round(cell.clairvoyance * REALIZATIONS)
    observed = (instance.inst if cell.data == "inst" else instance.avg)[:, :n]
    test = fit_bin(cell.estimator, observed, cell.capacity)
    bins = pack(test, cell.packer == "best-fit")
    if cell.is_rebalanced:
        rebalance(bins, test)
    bins = [held for held in bins if held]
    judged = instance.inst[:, 0 if n == REALIZATIONS else n :].astype(np.float64)
    over = sum((judged[held].sum(axis=0) > cell.capacity).sum() for held in bins)
    placed = sorted(k for held in bins for k in held)
    bound = math.ceil(instance.inst.astype(np.float64).mean(axis=1)[placed].sum() / cell.capacity)
    return len(bins), len(bins) / bound, over / (len(bins) * judged.shape[1])


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
