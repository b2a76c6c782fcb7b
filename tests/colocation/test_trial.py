"""A trial of ways of packing: what it learns from, what it judges on, and what its evidence says."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing import trial as module
from borgtrace.colocation.packing.instances import Instance, Instances
from borgtrace.colocation.packing.intervals import (
    ConfidenceInterval,
    SeriesBlocks,
    share_over_instances,
)
from borgtrace.colocation.packing.trial import Evidence, JudgedPacking, PackingTrial, RunningTasks
from borgtrace.colocation.tasks.simultaneous import BusySpan
from borgtrace.placement import Average, Observation, Packing
from tests.colocation.known import packing_of
from tests.colocation.test_packing_past import on_clock


def judged(draws: list[int], raw: list[list[int]] | None = None, alone: int = 0) -> JudgedPacking:
    series = np.array(raw) if raw else np.empty((len(draws), 0), np.int64)
    return JudgedPacking(
        len(draws) + alone,
        alone,
        np.array(draws, np.int64),
        series,
    )


def test_machines_are_those_in_use_and_one_for_each_task_that_fits_none() -> None:
    # Rebalancing has emptied the second bin.
    packing = packing_of([0, 0, 2, -1, -1], 3)
    packing_judged = JudgedPacking.of(
        packing,
        np.array([1, 9, 2]),
        np.array(
            [
                [1, 2],
                [9, 9],
                [3, 4],
            ]
        ),
    )
    assert packing_judged.machines == 4
    assert packing_judged.n_unplaceable == 2
    assert packing_judged.draws.tolist() == [1, 2]
    assert packing_judged.raw.tolist() == [[1, 2], [3, 4]]


FRESH = np.float32(
    [
        [0.5, 0.5, 1.5, 0.5],
        [0.5, 0.75, 0.5, 0.5],
        [0.25, 0.25, 0.25, 2],
    ]
)


def two_alike() -> Instances:
    """Two instances of three tasks: the last, the first and the second of the series."""
    usage = np.full((3, 4), 0.5, np.float32)
    kept = {}
    for number in range(2):
        kept[number] = Instance(
            number,
            tasks=np.array([2, 0, 1]),
            drawn=usage,
            draw=lambda column, salt=0: FRESH,
        )
    return Instances(on_clock(usage), count=2, kept=kept)


SERIES = np.float32(
    [
        [0.5, 0.6, 0.5, 0.5, 0.5],
        [2, 0.25, 0.25, 2, 2],
        [0.5, 0.5, 0.5, 0.75, 0.25],
    ]
)


@pytest.mark.parametrize("has_series", [False, True])
def test_ways_are_judged_on_draws_and_block_by_block(has_series: bool) -> None:
    instances = two_alike()
    trial = PackingTrial(instances, None, SERIES if has_series else None)
    assert trial.slots == (5 if has_series else 0)
    first, second = trial.run(
        [Average(1), Average(2)],
        1.0,
        np.array([3, 2]),
    )
    assert len(first) == 2
    assert len(second) == 2
    assert instances.kept == {}
    # Two of .5 fit on the first machine; rebalancing moves the first task to the second.  At twice that one fits each.
    assert [(one.machines, one.n_unplaceable, one.draws.tolist()) for one in first] == [
        (2, 0, [0, 2])
    ] * 2
    assert [(one.machines, one.draws.tolist()) for one in second] == [(3, [1, 0, 1])] * 2
    # Task 0 alone, and tasks 2 and 1 together: 2.5, .75, .75 and 2.75, 2.25.
    assert first[0].raw.tolist() == ([[0, 0], [1, 2]] if has_series else [[], []])
    assert second[0].raw.tolist() == (
        [
            [0, 0],
            [0, 0],
            [1, 2],
        ]
        if has_series
        else [
            [],
            [],
            [],
        ]
    )


def test_what_was_learned_is_of_the_tasks_of_an_instance() -> None:
    calls = []

    def packed(estimator: Any, seen: Observation, *, capacity: float) -> Packing:
        calls.append((estimator, seen.series, capacity))
        return packing_of([0, 0, 0], 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "pack", packed)
        for learned in (None, SERIES):
            PackingTrial(two_alike(), learned).run(
                [Average(1)],
                0.5,
                np.array([], np.int64),
            )
    series = [each for _, each, _ in calls]
    assert [each is None for each in series] == [True, True, False, False]
    assert cast(Any, series[2]).tolist() == SERIES[[2, 0, 1]].tolist()
    assert {capacity for _, _, capacity in calls} == {0.5}


def test_earlier_hours_are_learned_from_and_later_ones_judge() -> None:
    values = np.arange(24, dtype=np.float32).reshape(3, 8) / 32
    pool = on_clock(values, start=[4, 4, 4])
    running = RunningTasks.during(
        pool,
        BusySpan(5, 6, np.array([0, 2])),
    )
    assert running.first == 5
    assert len(running.tasks) == 2
    assert running.inst.tolist() == values[[0, 2], 1:7].tolist()
    options = ColocationOptions(
        size=7,
        realizations=100,
        instances=3,
    )
    trial = running.trial(
        slice(0, 2),
        slice(3, 6),
        options,
        11,
    )
    assert cast(Any, trial.learned).tolist() == values[[0, 2], 1:3].tolist()
    assert cast(Any, trial.judged).tolist() == values[[0, 2], 4:7].tolist()
    made = trial.instances
    assert made.size == 7
    assert made.realizations == 100
    assert made.count == 3
    assert made.seed == 11
    # Windows of the slots themselves: 5 and 6; 8, 9 and 10.
    assert made.pool.slots().tolist() == [5, 6] * 2
    assert cast(Any, made.judging).slots().tolist() == [8, 9, 10] * 2
    assert made.pool.inst.tolist() == values[[0, 2], 1:3].ravel().tolist()


def evidence(
    *trials: list[JudgedPacking],
    blocks: SeriesBlocks | None = None,
    target: float = 0.1,
    **more: Any,
) -> Evidence:
    return Evidence(trials, blocks, more.pop("realizations", 100), target, **more)


def test_machines_are_a_mean_over_trials() -> None:
    way = evidence(
        [
            judged([0] * 2, alone=1),
            judged([0] * 5),
        ],
        [judged([0] * 4), judged([0] * 6)],
    )
    assert way.machines.tolist() == [3.5, 5.5]


def test_overflow_on_draws_is_a_mean_over_instances() -> None:
    # Of the first instance 6 of 3 machines × 1,000 draws, in both trials together; of the second none of 4,000.
    trials = (
        [
            judged([1, 2]),
            judged([0]),
        ],
        [judged([3]), judged([0] * 3)],
    )
    interval = evidence(*trials, realizations=1_000, target=0.001).on_draws
    # Standard error .001, and t of one degree of freedom 12.706.
    assert interval.value == pytest.approx(0.001)
    assert interval.low == 0.0
    assert interval.high == pytest.approx(0.001 + 0.0127062, abs=1e-7)
    # 7,000 draws are too few to see .0004 three times.
    assert evidence(*trials, realizations=1_000, target=0.0004).on_draws == ConfidenceInterval(
        pytest.approx(0.001)
    )


def test_overflow_on_series_is_of_all_machines_and_slots() -> None:
    # Two series of three hours: two machines in the first, one in the second.
    blocks = SeriesBlocks.of([36, 36])
    trials = (
        [
            judged(
                [0, 0],
                [[1, 0, 0], [0, 2, 0]],
            )
        ],
        [judged([0], [[0, 0, 3]])],
    )
    interval = evidence(*trials, blocks=blocks, target=0.1).on_series
    # 6 of 2 × 36 + 36.
    assert interval is not None
    assert interval.value == pytest.approx(6 / 108)
    assert interval.low is not None
    # 108 trials, or 54 of tasks of their own: 3 ÷ .05 are 60.
    halves = evidence(
        *trials,
        blocks=blocks,
        target=0.05,
        distinct=0.5,
    ).on_series
    assert halves == ConfidenceInterval(pytest.approx(6 / 108))
    assert evidence(*trials).on_series is None


@pytest.mark.parametrize(
    ("series", "draws", "stricter"),
    [
        (ConfidenceInterval(0.1, 0.0, 0.2), ConfidenceInterval(0.2, 0.1, 0.3), "draws"),
        (ConfidenceInterval(0.1, 0.0, 0.4), ConfidenceInterval(0.2, 0.1, 0.3), "series"),
        # Where an end is unknown nothing is sure.
        (ConfidenceInterval(0.1), ConfidenceInterval(0.2, 0.1, 0.3), "series"),
        (ConfidenceInterval(0.1, 0.0, 0.4), ConfidenceInterval(0.0), "draws"),
        (ConfidenceInterval(0.1), ConfidenceInterval(0.2), "draws"),
        (ConfidenceInterval(0.2, 0.0, 0.3), ConfidenceInterval(0.1, 0.0, 0.3), "series"),
        (None, ConfidenceInterval(0.1), "draws"),
        (ConfidenceInterval(0.0, 0.0, 0.0), ConfidenceInterval(0.2, 0.1, 0.3), "draws"),
    ],
)
def test_the_stricter_is_the_one_with_the_higher_end(
    series: ConfidenceInterval | None, draws: ConfidenceInterval, stricter: str
) -> None:
    way = evidence([judged([0])])
    vars(way).update(on_series=series, on_draws=draws)
    assert way.stricter is (series if stricter == "series" else draws)


@pytest.mark.parametrize(
    ("high", "keeps"),
    [
        (0.1, True),
        (0.1001, False),
        (None, False),
    ],
)
def test_a_target_is_kept_where_the_upper_end_is(high: float | None, keeps: bool) -> None:
    way = evidence([judged([0])])
    vars(way).update(on_series=None, on_draws=ConfidenceInterval(0.0, 0.0, high))
    assert way.keeps is keeps


def test_the_worst_machine_on_draws_is_a_mean_over_instances() -> None:
    # Shares .05 and .1 (which is not above .1); .2, .1 and .3; an instance without machines tells nothing.
    way = evidence(
        [
            judged([5, 10]),
            judged([20, 10, 30]),
            judged([]),
        ],
        [judged([99])],
    )
    above, worst = way.per_machine()
    # 0 and ⅔; .1 and .3: both intervals reach below 0, where no share is.
    assert above.value == pytest.approx(1 / 3)
    assert above.low == 0.0
    assert worst.value == pytest.approx(0.2)
    assert worst.low == 0.0
    # Standard errors ⅓ and .1, and t of one degree of freedom 12.706.
    assert above.high == pytest.approx(1 / 3 + 12.7062 / 3, abs=1e-4)
    assert worst.high == pytest.approx(1.47062, abs=1e-5)
    assert evidence([judged([]), judged([])]).per_machine() == (
        ConfidenceInterval(0.0),
        ConfidenceInterval(0.0),
    )


def test_the_worst_machine_on_series_is_of_the_first_trial() -> None:
    blocks = SeriesBlocks.of([60])
    # In each of five hours one slot of twelve, and two: 1 ÷ 12 is the target, which is not exceeded.
    first = [
        judged([0], [[1] * 5]),
        judged([0], [[2] * 5]),
    ]
    way = evidence(
        first,
        [judged([0], [[12] * 5])],
        blocks=blocks,
        target=5 / 60,
    )
    above, worst = way.per_machine()
    # Every resample says the same.
    assert above == ConfidenceInterval(0.5, 0.5, 0.5)
    assert worst == ConfidenceInterval(*[pytest.approx(1 / 6)] * 3)
    # Of hours that differ resamples do: one of five slots more or less.
    _, worst = evidence(
        [judged([0], [[10, 0, 0, 0, 0]])],
        blocks=blocks,
    ).per_machine()
    assert worst.value == pytest.approx(1 / 6)
    assert worst.low == 0.0
    assert worst.high is not None
    assert 1 / 3 <= worst.high <= 5 / 6
    assert evidence([judged([])], blocks=blocks).per_machine() == (
        ConfidenceInterval(0.0),
        ConfidenceInterval(0.0),
    )


@pytest.mark.parametrize(
    ("trials", "distinct", "found"),
    [
        # 3 ÷ .001 are 3,000.
        (600, 1.0, ConfidenceInterval(0.0, 0.0, 0.001)),
        (599, 1.0, ConfidenceInterval(0.0)),
        (1_200, 0.5, ConfidenceInterval(0.0, 0.0, 0.001)),
        (1_199, 0.5, ConfidenceInterval(0.0)),
        (0, 1.0, ConfidenceInterval(0.0)),
    ],
)
def test_none_seen_in_three_thousand_is_below_one_in_a_thousand(
    trials: int, distinct: float, found: ConfidenceInterval
) -> None:
    days = SeriesBlocks.of([5 * 288])
    assert days.share(np.zeros(5, np.int64), np.full(5, trials), 0.001, distinct) == found


@pytest.mark.parametrize(
    ("trials", "is_enough"),
    [([1_000, 2_000], True), ([1_000, 1_999], False)],
)
def test_three_thousand_draws_tell_of_one_in_a_thousand(trials: list[int], is_enough: bool) -> None:
    interval = share_over_instances([0, 0], trials, 0.001)
    assert interval == (
        ConfidenceInterval(0.0, 0.0, 0.001) if is_enough else ConfidenceInterval(0.0)
    )


def test_a_single_draw_is_all_of_an_instance() -> None:
    # One of one, and none of none.
    assert share_over_instances([1, 0], [1, 0], 0.001) == ConfidenceInterval(0.5)
    assert SeriesBlocks.of([60]).share(
        np.array([1, 0, 0, 0, 0]), np.array([1, 0, 0, 0, 0]), 0.5
    ) == ConfidenceInterval(1.0)


def test_a_resample_of_one_trial_is_that_trial() -> None:
    # All trials overflow, and the last block has none: it is drawn four of five times, and never five.
    blocks = SeriesBlocks.of([60])
    assert blocks.times[:, 4].max() == 4
    interval = blocks.share(
        np.array([1, 1, 1, 1, 0]),
        np.array([1, 1, 1, 1, 0]),
        1.0,
    )
    assert interval == ConfidenceInterval(1.0, 1.0, 1.0)


def test_blocks_are_drawn_from_a_stream_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    known = np.random.default_rng

    def spy(seed: Any) -> Any:
        calls.append(seed)
        return known(seed)

    monkeypatch.setattr(np.random, "default_rng", spy)
    assert SeriesBlocks.of([60], seed=3).times.shape == (1_000, 5)
    assert calls == [[3, 8]]


def test_resampled_blocks_are_expanded_percentiles() -> None:
    blocks = SeriesBlocks.of([60], seed=3)
    assert blocks.hours == 1
    assert blocks.n == 5
    assert blocks.times.shape == (1_000, 5)
    assert set(blocks.times.sum(axis=1)) == {5}
    # √(5 ÷ 4) · 2.776 (t of four degrees of freedom) are 3.104 deviations: .095 % on either side of a thousand.
    interval = blocks.interval(7.0, np.arange(1_000.0))
    assert interval.value == 7.0
    assert round(interval.low or 0, 1) == 1.0
    assert round(interval.high or 0, 1) == 998.0
    # One overflow in the first hour alone: as often as that hour is drawn.
    share = blocks.share(
        np.array([1, 0, 0, 0, 0]),
        np.full(5, 12),
        0.1,
    )
    assert share.value == 1 / 60
    assert share.low == 0.0
    assert share.high == pytest.approx(float(blocks.times[:, 0].max()) / 60, rel=0.2)
    # As two series of other lengths and another seed are drawn anew.
    assert (SeriesBlocks.of([60], seed=4).times != blocks.times).any()


@pytest.mark.parametrize(
    ("slots", "hours", "lengths"),
    [
        # Both must have a block: the second is shorter than three hours.
        ([6 * 36, 35], 1, [12] * 18 + [18, 17]),
        ([4 * 36, 36], 3, [36] * 5),
        ([60, 11], 0, [60, 11]),
        ([5 * 72], 6, [72] * 5),
    ],
)
def test_each_series_has_a_block(slots: list[int], hours: int, lengths: list[int]) -> None:
    blocks = SeriesBlocks.of(slots)
    assert blocks.hours == hours
    assert np.concatenate(blocks.lengths).tolist() == lengths
    assert blocks.n == len(lengths)
