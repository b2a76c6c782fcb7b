"""Recommenders beside their plain restatement: histograms, katalyst, crane, HPA."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit.recommenders import parse_recommender, recommenders
from tests.overcommit.jobs import Sample, exponential, percentile, random_rows, samples_of

MEBIBYTE = 2**20


def linear(width: float) -> Callable[[float], float]:
    return lambda value: (int(value / width) + 1) * width


def histogram(
    share: float,
    half_life: float,
    edge: Callable[[float], float],
    margin: float,
    *,
    weight: Callable[[float], float] = lambda value: 1.0,
    patience: int = 0,
    least: float = 0.0,
) -> Callable[[list[Sample]], float]:
    def recommend(seen: list[Sample]) -> float:
        if seen[-1][0] - seen[0][0] < patience:
            return math.nan
        weighed = [(slot, value, weight(value)) for slot, value, _ in seen]
        return max(margin * percentile(weighed, share, half_life, edge), least)

    return recommend


PLAIN = {
    ("vpa", "cpu"): histogram(
        0.9,
        288,
        exponential(0.01),
        1.15,
        least=0.025,
    ),
    ("koordinator", "cpu"): histogram(
        0.95,
        144,
        exponential(0.025),
        1.1,
        patience=288,
    ),
    ("koordinator", "memory"): histogram(
        0.98,
        288,
        exponential(5 * MEBIBYTE),
        1.1,
        patience=288,
    ),
    ("katalyst", "cpu"): histogram(
        0.9,
        288,
        exponential(0.01),
        1.0,
        weight=lambda v: max(v, 0.1),
        patience=288,
    ),
    ("crane", "cpu"): histogram(
        0.99,
        math.inf,
        linear(0.1),
        1.15,
        weight=lambda v: max(v, 1e-5),
    ),
    ("crane", "memory"): histogram(
        0.99,
        math.inf,
        linear(100 * MEBIBYTE),
        1.15,
        weight=lambda v: max(v, 1e-5),
    ),
    ("crane-configured", "cpu"): histogram(
        0.99,
        288,
        linear(0.1),
        1.15,
        weight=lambda v: max(v, 1e-5),
    ),
    ("crane-configured", "memory"): histogram(
        0.99,
        576,
        linear(100 * MEBIBYTE),
        1.15,
        weight=lambda v: max(v, 1e-5),
    ),
}


@pytest.mark.parametrize(("name", "resource"), PLAIN)
def test_histograms_equal_their_definition(name: str, resource: str) -> None:
    samples = samples_of(random_rows(1, 0.2 if resource == "cpu" else 3e8), resource)
    limits = recommenders()[name]().recommend(samples)
    past: dict[int, list[Sample]] = defaultdict(list)
    for i, (job, slot, value) in enumerate(
        zip(
            samples.job.tolist(),
            samples.slot.tolist(),
            samples.value.tolist(),
            strict=True,
        )
    ):
        past[job].append((slot, value, 1.0))
        np.testing.assert_allclose(
            limits[i],
            PLAIN[name, resource](past[job]),
            rtol=1e-9,
        )


def test_katalysts_memory_is_the_peak_of_each_hour_once_it_has_ended() -> None:
    # An hour of 1e8, one of 2e8 with a peak of 4e8, and a day and an hour later one of 3e8.
    values = [
        (0, 1e8),
        (11, 1e8),
        (12, 2e8),
        (20, 4e8),
        (23, 2e8),
        (300, 3e8),
        (311, 1e8),
        (312, 1e8),
        (640, 2e8),
    ]
    rows = [(0, slot, task, value / (1 + task)) for slot, value in values for task in (0, 1)] + [
        (1, 313, 5, 1e8)
    ]
    limits = recommenders()["katalyst"]().recommend(samples_of(rows, "memory"))
    edge = exponential(1e7)
    peaks = [
        (11, 1e8, 1.0),
        (23, 4e8, 1.0),
        (311, 3e8, 1.0),
        (312, 1e8, 1.0),
    ]
    # A day after the first sample is first reached by the hour that ends with slot 311.
    expected = (
        [math.nan] * 6
        + [
            percentile(
                peaks[:3],
                0.9,
                288,
                edge,
            )
        ]
        * 2
        + [percentile(peaks, 0.9, 288, edge)]
    )
    np.testing.assert_allclose(
        limits,
        [value for value in expected for _ in (0, 1)] + [math.nan],
        rtol=1e-12,
    )
    # One slot earlier the span is a slot short of a day.
    rows = [(0, slot, 0, 1e8) for slot in (0, 287, 288, 299)]
    assert np.isnan(recommenders()["katalyst"]().recommend(samples_of(rows[:2], "memory"))).all()
    assert np.isnan(
        recommenders()["katalyst"]().recommend(samples_of(rows, "memory"))
    ).tolist() == [
        True,
        True,
        True,
        False,
    ]


def test_crane_forgets_after_seven_days() -> None:
    # A peak of 2 cores in slot 0, then .35: it is gone in slot 2016, and not one slot earlier.
    rows = [(0, slot, 0, 2.0 if slot == 0 else 0.35) for slot in (0, 1, 2015, 2016, 2017)]
    limits = recommenders()["crane"]().recommend(samples_of(rows, "cpu"))
    assert limits.tolist() == pytest.approx([1.15 * upper for upper in (2.1, 2.1, 2.1, 0.4, 0.4)])
    # With a half-life, too; another job begins with nothing.
    rows += [(1, 5, 1, 0.35), (1, 3000, 1, 0.35)]
    limits = recommenders()["crane-configured"]().recommend(samples_of(rows, "cpu"))
    assert limits[2:].tolist() == pytest.approx(
        [1.15 * upper for upper in (2.1, 0.4, 0.4, 0.4, 0.4)]
    )
    # After a week without any samples only the new one is there.
    limits = recommenders()["crane"]().recommend(
        samples_of(
            [
                (0, 0, 0, 2.0),
                (0, 3, 0, 1.5),
                (0, 9000, 0, 0.35),
            ],
            "cpu",
        )
    )
    assert limits.tolist() == pytest.approx([1.15 * upper for upper in (2.1, 2.1, 0.4)])


def test_cranes_memory_samples_weigh_their_bytes() -> None:
    # math.Max(a.minSampleWeight, sampleValue): gocrane/crane, pkg/prediction/percentile/aggregate_signal.go.  Of 201
    # samples, 200 of 100 MiB and one of 3,000 MiB, the large one weighs 30 of 230: the P99 is its bucket, not 100 MiB.
    small = 100 * MEBIBYTE
    rows = [(0, slot, 0, small - 1) for slot in range(200)] + [(0, 200, 0, 30 * small - 1)]
    limits = recommenders()["crane"]().recommend(samples_of(rows, "memory"))
    assert limits[-2:].tolist() == pytest.approx([1.15 * small, 1.15 * 30 * small])


def test_crane_knows_of_a_single_sample_of_zero() -> None:
    # It weighs 1e-5, above crane's epsilon of 1e-10 (config.go): the first bucket of .1 core + 15 % from the start.
    rows = [(0, slot, 0, 0.0) for slot in range(12)]
    limits = recommenders()["crane"]().recommend(samples_of(rows, "cpu"))
    assert limits.tolist() == pytest.approx([0.115] * 12)
    # VPA's histograms are empty below 1e-4; one sample of its CPU weighs .1.
    vpa = recommenders()["vpa"]().recommend(samples_of(rows, "cpu"))
    assert vpa.tolist() == [0.025] * 12


def test_what_crane_forgets_leaves_no_rounding_behind() -> None:
    # A terabyte weighs 1e12: what stays of it after a week must not count as a bucket in use.
    values = [(0, 3e11 / 7), (1, 1e11 / 3), (2016, 2e8), (2017, 2e8), (2018, 2e8)]
    rows = [(0, slot, 0, value) for slot, value in values]
    limits = recommenders()["crane"]().recommend(samples_of(rows, "memory"))
    assert limits[-2:].tolist() == pytest.approx([1.15 * 200 * MEBIBYTE] * 2)


def test_hpa_by_hand() -> None:
    # Two tasks of .5 core. Load .8 of 1: m/m* = 1. Then 1.2: 1.5, so three replicas. Then 1.3 of 1.5: 1.083 is within
    # the tolerance. Then .3: .25, so one; another job begins with its one task, and one replica is the least.
    values = [
        (0, 0.4),
        (1, 0.6),
        (2, 0.65),
        (3, 0.15),
    ]
    rows = [(0, slot, task, value) for slot, value in values for task in (0, 1)] + [
        (1, 0, 5, 0.1),
        (1, 9, 5, 0.0),
    ]
    limits = parse_recommender("hpa").recommend(samples_of(rows, "cpu"))
    assert limits.tolist() == pytest.approx([0.5] * 2 + [0.75] * 4 + [0.25] * 2 + [0.5, 0.5])
    # A request of nothing has no utilization.
    zero = samples_of(rows[:1], "cpu")
    zero.request[:] = 0
    assert recommenders()["hpa"]().recommend(zero).tolist() == [0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "autopilot:q=1",
            "--recommender: autopilot has no such parameter: expected one of margin, large, "
            "large_margin, growth, got autopilot:q=1",
        ),
        ("autopilot:growth=1", "--recommender: growth out of range: expected 1.001 to 100, got 1"),
        (
            "autopilot:large=0",
            "--recommender: large out of range: expected above 0 and at most 1, got 0",
        ),
        (
            "autopilot-argmin:model=-1",
            "--recommender: model out of range: expected 0 to 1,000,000, got -1",
        ),
        (
            "hpa:target=0",
            "--recommender: target out of range: expected above 0 and at most 1, got 0",
        ),
        ("crane:x=1", "--recommender: crane has no such parameter: expected none, got crane:x=1"),
    ],
)
def test_a_recommender_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_recommender(text)
    assert str(caught.value).startswith(message)
