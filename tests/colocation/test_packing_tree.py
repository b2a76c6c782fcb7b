"""GPA First Fit over the tree, and Best Fit past full machines, are the naive loop's, bit for bit."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.fitting import Fitted, fit
from borgtrace.placement.gaussian_best_fit import gaussian_best_fit
from borgtrace.placement.gaussian_first_fit import gaussian_first_fit
from borgtrace.placement.machines import place
from borgtrace.placement.packers import BEST_FIT, FIRST_FIT
from borgtrace.placement.packing import CAPACITY_RTOL, pack_fitted, predicted_overflow


def naive(
    mean,
    variance,
    capacity,
    rho,
    packer=FIRST_FIT,
):
    fitted = Fitted(Gpa(rho), np.column_stack([mean, variance]), capacity)
    return place(fitted, packer, np.full((len(mean), 1), capacity))


def by_tree(
    mean,
    variance,
    capacity,
    rho,
):
    bins = np.empty(len(mean), np.int64)
    m = gaussian_first_fit(
        mean,
        variance,
        capacity,
        rho,
        -float(ndtri(rho)),
        bins,
    )
    return bins, m


def by_best_fit(
    mean,
    variance,
    capacity,
    rho,
):
    bins = np.empty(len(mean), np.int64)
    m = gaussian_best_fit(
        mean,
        variance,
        capacity,
        rho,
        -float(ndtri(rho)),
        bins,
    )
    return bins, m


def tasks(n, seed=0):
    rng = np.random.default_rng(seed)
    mean = np.minimum(rng.lognormal(-4.3, 1.2, n), 0.6)
    std = 0.36 * mean + 0.015 * rng.exponential(1, n)
    return mean, std**2


@pytest.mark.parametrize("rho", [0.3, 0.1, 0.01, 0.001, 1e-6, 0.7])
def test_identical_to_the_naive_loop(rho):
    mean, variance = tasks(6_000, seed=int(1e3 * rho))
    for packer, fast in ((FIRST_FIT, by_tree), (BEST_FIT, by_best_fit)):
        expected, machines = naive(mean, variance, 1.0, rho, packer)
        bins, m = fast(mean, variance, 1.0, rho)
        assert (bins == expected).all()
        assert m == len(machines)


sizes = st.sampled_from([0.0, 0.1, 0.125, 0.25, 0.3, 0.5, 0.999999, 1.0, 1.5])


@given(
    st.lists(
        st.tuples(sizes, st.sampled_from([0.0, 1e-6, 0.01, 0.04])),
        min_size=1,
        max_size=80,
    ),
    st.sampled_from([0.001, 0.1, 0.5, 0.9]),
    st.sampled_from([0.5, 1.0, 1.1]),
)
@settings(max_examples=150, deadline=None)
def test_identical_on_ties_and_edges(items, rho, capacity):
    mean, variance = (np.array(column) for column in zip(*items, strict=True))
    for packer, fast in ((FIRST_FIT, by_tree), (BEST_FIT, by_best_fit)):
        expected, machines = naive(mean, variance, capacity, rho, packer)
        bins, m = fast(mean, variance, capacity, rho)
        assert bins.tolist() == expected.tolist()
        assert m == len(machines)


def test_predictions_are_those_of_the_estimators_own_test():
    rng = np.random.default_rng(4)
    seen = Observation(
        np.minimum(
            rng.gamma(0.8, 0.06, (300, 200)),
            1,
        ).astype(np.float32)
    )
    fitted = fit(Gpa(0.01), seen)
    packing = pack_fitted(fitted)
    test = fitted.estimator.test
    capacity = np.array([CAPACITY_RTOL])
    expected = []
    for b in range(packing.n_bins):
        state = np.zeros(2)
        for i in np.flatnonzero(packing.bins == b):
            test.join(state, fitted.items[i])
        expected.append(
            np.clip(
                0.01 - test.room(state, np.zeros(2), capacity, fitted.parameters),
                0,
                1,
            )
        )
    assert predicted_overflow(packing, fitted).tolist() == expected


@pytest.mark.scale
def test_a_million_tasks():
    by_tree(*tasks(1_000), 1.0, 0.001)
    seconds = {}
    for n in (500_000, 1_000_000):
        mean, variance = tasks(n)
        start = time.perf_counter()
        by_tree(mean, variance, 1.0, 0.001)
        seconds[n] = time.perf_counter() - start
    assert (
        seconds[1_000_000] < 4
    )  # 2 s on an idle machine; benchmarks/colocation_packing.py measures
