"""How sure a share of overflows is: by hand, and where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.colocation.packing.intervals import (
    ConfidenceInterval,
    SeriesBlocks,
    over_instances,
    share_over_instances,
)


def test_over_instances_is_students_interval() -> None:
    # Deviation 1.290994, standard error .645497, t of three degrees of freedom 3.182446.
    interval = over_instances([0.0, 1.0, 2.0, 3.0])
    assert interval.value == 1.5
    assert round(interval.low or 0, 4) == -0.5543
    assert round(interval.high or 0, 4) == 3.5543
    assert over_instances([0.0, 1.0, 2.0, 3.0], least=0.0).low == 0.0
    assert over_instances([2.0]) == ConfidenceInterval(2.0)


def test_an_interval_without_ends_keeps_nothing() -> None:
    assert ConfidenceInterval(0.0, 0.0, 0.001).keeps(0.001)
    assert not ConfidenceInterval(0.0, 0.0, 0.0011).keeps(0.001)
    assert not ConfidenceInterval(0.0).keeps(0.5)


def test_a_share_that_was_never_seen_is_below_three_over_the_trials() -> None:
    assert share_over_instances([0, 0], [3000, 3000], 0.001) == ConfidenceInterval(0.0, 0.0, 0.0005)
    # Fewer than 3 ÷ target: seeing none is no evidence, and neither is seeing one.
    assert share_over_instances([0, 1], [1000, 1000], 0.001) == ConfidenceInterval(0.0005)
    assert share_over_instances([6, 2], [4000, 4000], 0.001).value == 0.001


@pytest.mark.parametrize(
    ("slots", "hours", "lengths"),
    [
        ([5 * 288], 24, [288] * 5),
        # Just below five days: ten half days and a rest of eleven windows, which the blocks share.
        ([5 * 288 - 1], 12, [160] * 8 + [159]),
        ([60], 1, [12] * 5),
        ([59], 0, [59]),
        # Two series have their blocks together; one of them alone would have too few.
        ([36, 36], 1, [12] * 6),
    ],
)
def test_blocks_are_the_longest_of_which_there_are_five(
    slots: list[int], hours: int, lengths: list[int]
) -> None:
    blocks = SeriesBlocks.of(slots)
    assert blocks.hours == hours
    assert np.concatenate(blocks.lengths).tolist() == lengths


def test_fewer_than_five_blocks_have_no_interval() -> None:
    short = SeriesBlocks.of([48])
    assert short.share(np.array([7]), np.array([4800]), 0.001) == ConfidenceInterval(7 / 4800)
    assert short.share(np.array([0]), np.array([4800]), 0.001) == ConfidenceInterval(0.0)


def test_instances_that_share_their_tasks_are_no_further_evidence() -> None:
    days = SeriesBlocks.of([5 * 288])
    none = np.zeros(5, np.int64)
    trials = np.full(5, 1200)
    assert days.share(none, trials, 0.001) == ConfidenceInterval(0.0, 0.0, 0.0005)
    assert days.share(none, trials, 0.001, distinct=0.4) == ConfidenceInterval(0.0)


@pytest.mark.parametrize("days", [5, 14])
def test_under_a_shock_of_the_whole_cell_days_cover_the_truth_and_instances_do_not(
    days: int,
) -> None:
    """Every machine overflows with the day's own probability, exponential with mean .02: the truth is .02."""
    rng = np.random.default_rng(1)
    slots = 288
    machines = 40
    instances = 50
    blocks = SeriesBlocks.of([slots * days])
    rounds = 200
    covered = {"days": 0, "instances": 0}
    for _ in range(rounds):
        daily = np.minimum(rng.exponential(0.02, days), 1)
        counts = rng.binomial(slots * machines, daily, (instances, days))
        trials = np.full(days, slots * machines * instances)
        share = {
            "days": blocks.share(counts.sum(axis=0), trials, 0.02),
            "instances": over_instances(counts.sum(axis=1) / (slots * machines * days)),
        }
        for name, interval in share.items():
            assert interval.low is not None
            assert interval.high is not None
            covered[name] += interval.low <= 0.02 <= interval.high
    # Days of such skew want more than five for the full 95 %; a t interval over instances is no interval at all.
    assert covered["days"] >= (0.85 if days == 5 else 0.9) * rounds
    assert covered["instances"] <= 0.25 * rounds
