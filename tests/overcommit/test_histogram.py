"""Decaying histograms: the cases of the Vertical Pod Autoscaler's own tests, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from borgtrace.overcommit.histogram import (
    FIRST,
    FOREVER,
    LAST,
    N_STATE,
    REFERENCE,
    TOTAL,
    Buckets,
    add,
    clear,
    find_bucket,
    percentile,
    shift,
)


@dataclass
class Histogram:
    """One histogram, as the original has it."""

    buckets: Buckets
    half_life: float = FOREVER
    weights: np.ndarray = field(init=False)
    state: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.weights = np.zeros(self.buckets.n)
        self.state = np.zeros(N_STATE)
        clear(self.weights, self.state)

    def add(
        self,
        value: float,
        weight: float = 1.0,
        time: float = 0.0,
    ) -> None:
        bucket = find_bucket(value, self.buckets)
        add(
            self.weights,
            self.state,
            bucket,
            weight,
            time,
            self.half_life,
            self.buckets,
        )

    def percentile(self, share: float) -> float:
        return float(
            percentile(
                self.weights,
                self.state,
                share,
                self.buckets,
            )
        )

    def merge(self, other: Histogram) -> None:
        if self.half_life < FOREVER:
            younger = max(self.state[REFERENCE], other.state[REFERENCE])
            for each in (self, other):
                if each.state[REFERENCE] < younger:
                    shift(
                        each.weights,
                        each.state,
                        younger,
                        self.half_life,
                        self.buckets,
                    )
        self.weights += other.weights
        self.state[TOTAL] += other.state[TOTAL]
        self.state[FIRST] = min(self.state[FIRST], other.state[FIRST])
        self.state[LAST] = max(self.state[LAST], other.state[LAST])


TEN = Buckets.linear(10.0, 1.0)
BEGIN = 342935.525
"""Hours; 1,234,567,890 s after 1970, as in the originals."""


def test_an_empty_histogram_has_percentile_zero() -> None:
    for half_life in (1.0, FOREVER):
        assert [Histogram(TEN, half_life).percentile(p) for p in (-0.5, 0.0, 0.5, 1.0, 1.5)] == [
            0.0
        ] * 5


def test_percentiles_without_decay() -> None:
    for half_life in (1.0, FOREVER):
        histogram = Histogram(TEN, half_life)
        for i in (1, 2, 3, 4):
            histogram.add(i, i, BEGIN)
        percentiles = [histogram.percentile(i / 10) for i in range(11)]
        assert percentiles == [2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5]


def test_percentiles_out_of_bounds_are_the_least_and_the_highest() -> None:
    histogram = Histogram(Buckets.linear(1.0, 0.1))
    histogram.add(0.1, 0.1)
    histogram.add(0.2, 0.1)
    assert [histogram.percentile(p) for p in (-0.1, 1.1)] == pytest.approx([0.2, 0.3], rel=1e-15)
    histogram.add(0.0, 0.1)
    histogram.add(1.0, 0.2)
    assert [histogram.percentile(p) for p in (-0.1, 1.1)] == pytest.approx([0.1, 1.0], rel=1e-15)


def test_a_heavy_sample_decays_almost_entirely() -> None:
    histogram = Histogram(TEN, 1.0)
    histogram.add(2, 1000, BEGIN)
    histogram.add(1, 1, BEGIN + 20)
    assert (histogram.percentile(0.999), histogram.percentile(1.0)) == (2, 3)


def test_beyond_2_to_the_100_the_past_is_gone() -> None:
    histogram = Histogram(TEN, 1.0)
    histogram.add(2, 1, BEGIN)
    histogram.add(1, 1, BEGIN + 101)
    assert histogram.percentile(1.0) == 2


def test_percentiles_with_decay() -> None:
    histogram = Histogram(TEN, 1.0)
    for i in (1, 2, 3, 4):
        histogram.add(i, i, BEGIN + i - 1)
    percentiles = [histogram.percentile(p) for p in (0.0, 0.02, 0.03, 0.10, 0.11, 0.34, 0.35, 1.0)]
    assert percentiles == [2, 2, 3, 3, 4, 4, 5, 5]


def test_merging_histograms_of_different_ages() -> None:
    def of(*samples: tuple[float, float]) -> Histogram:
        histogram = Histogram(TEN, 1.0)
        for value, age in samples:
            histogram.add(value, 1, BEGIN + age)
        return histogram

    one = of((1, 0), (2, 1))
    one.merge(of((2, 2), (3, 1)))
    expected = of(
        (2, 2),
        (2, 1),
        (3, 1),
        (1, 0),
    )
    shares = one.weights / one.weights.sum()
    assert shares == pytest.approx(expected.weights / expected.weights.sum(), abs=1e-15)


def test_merging_after_the_reference_was_moved() -> None:
    """101 half-lives apart: the younger one's reference is later, and the older one weighs nothing."""
    one = Histogram(TEN, 1.0)
    other = Histogram(TEN, 1.0)
    one.add(5, 1, BEGIN)
    other.add(5, 1, BEGIN)
    other.add(1, 1, BEGIN + 101)
    one.merge(other)
    assert one.percentile(1.0) == 2


def test_exponential_buckets_grow_by_five_percent() -> None:
    """VPA's CPU: 10 millicores to 1,000 cores; its edges are .01·(1.05^n − 1)/.05."""
    buckets = Buckets.exponential(1000.0, 0.01)
    assert buckets.n == math.ceil(math.log(1000 * 0.05 / 0.01 + 1) / math.log(1.05)) + 1 == 176
    histogram = Histogram(buckets)
    for value, edge in (
        (0.0, 0.01),
        (0.0099, 0.01),
        (0.0101, 0.0205),
        (1.0, 0.01 * (1.05**37 - 1) / 0.05),
    ):
        histogram = Histogram(buckets)
        histogram.add(value)
        assert histogram.percentile(0.5) == pytest.approx(edge, rel=1e-12)
    histogram = Histogram(buckets)
    histogram.add(1e6)
    assert histogram.percentile(1.0) == pytest.approx(0.01 * (1.05**175 - 1) / 0.05, rel=1e-12)


@pytest.mark.parametrize(
    ("highest", "ratio", "n"),
    [
        # Widths 1, 2 and 4: the first two end at 3, and one more takes what is above.
        (3.0, 2.0, 3),
        (3.1, 2.0, 4),
        (10.0, 1.0, 11),
        (10.5, 1.0, 12),
    ],
)
def test_buckets_reach_the_highest_value_and_one_more(
    highest: float,
    ratio: float,
    n: int,
) -> None:
    buckets = (
        Buckets.linear(highest, 1.0) if ratio == 1 else Buckets.exponential(highest, 1.0, ratio)
    )
    assert (buckets.first, buckets.ratio, buckets.n) == (1.0, ratio, n)


def test_a_merged_histogram_spans_both() -> None:
    for low, high in ((1, 8), (8, 1)):
        one = Histogram(TEN)
        other = Histogram(TEN)
        one.add(low)
        other.add(high)
        one.merge(other)
        assert (one.percentile(0.1), one.percentile(1.0)) == (2, 9)
