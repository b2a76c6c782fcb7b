"""What a back-test counts of a recommender, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit.recommenders import parse_recommender
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.overcommit.recommenders.samples import JobSamples, ranges_of_jobs
from borgtrace.overcommit.recommenders.table import (
    RecommenderBacktest,
    RecommenderOptions,
    summarize,
)
from tests.overcommit.jobs import samples_of
from tests.overcommit.rows import assert_row


def tally_of(samples: JobSamples, recommended: list[float]) -> Tally:
    """Return the sums of all jobs."""
    tally = Tally()
    tally.add(
        samples,
        np.array(recommended, float),
        np.ones(len(samples), bool),
    )
    return tally


def test_a_back_test_by_hand() -> None:
    # Two tasks of a job over a day and two slots; .4 is recommended after slot 0 and .2 after slot 287.
    rows = []
    for slot in (0, 287, 288, 289):
        rows += [(0, slot, 0, 0.1), (0, slot, 1, 0.3)]
    samples = samples_of(rows, "cpu")
    recommended = np.where(samples.slot < 287, 0.4, 0.2)
    limits = samples.in_force(recommended).tolist()
    assert limits == pytest.approx([0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2])
    tally = tally_of(samples, recommended.tolist())
    # Day 0: limit .45, usage .1 .1 .3 .3, P95 .3; day 1: limit .2, P95 .3.
    assert tally.slack[0].tolist() == pytest.approx([(0.45 - 0.3) / 0.45, (0.2 - 0.3) / 0.2])
    assert tally.changes[0].tolist() == [1, 0]
    assert tally.jobs == 1
    assert tally.samples == 8
    assert tally.short == 2
    assert tally.task_days == 4
    assert tally.short_task_days == 1
    assert tally.unused == pytest.approx(2 * 0.9 + 4 * 0.2 - 4 * 0.4)


ROWS = [(job, slot, job, 0.1) for job in (0, 1) for slot in (0, 1, 287, 288)]


def test_a_change_is_counted_on_the_day_of_the_slot_after_which_it_is_recommended() -> None:
    # Of job 0 the second and the last change; job 1 has none for a slot, its first is no change, and its last is.
    recommended = [
        1,
        2,
        2,
        3,
        np.nan,
        2,
        2,
        5,
    ]
    tally = tally_of(samples_of(ROWS, "cpu"), recommended)
    assert tally.changes[0].tolist() == [1, 1, 0, 1]


def test_the_last_task_of_a_slot_says_what_holds_after_it() -> None:
    rows = []
    for job in (0, 1):
        for slot in (3, 4):
            rows += [(job, slot, 2 * job, 0.1), (job, slot, 2 * job + 1, 0.1)]
    tally = tally_of(samples_of(rows, "cpu"), [1, 2, 3, 2, 7, 4, 6, 5])
    assert tally.changes[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("after", "n"),
    [
        (1e9 - 1, 0),
        (1e9 - 2, 1),
        (1e9 + 2, 1),
    ],
)
def test_a_billionth_of_the_larger_one_may_be_rounding(after: float, n: int) -> None:
    tally = tally_of(samples_of(ROWS[:2], "memory"), [1e9, after])
    assert tally.changes[0].tolist() == [n]


def test_the_row_of_a_recommender_by_hand() -> None:
    backtest = RecommenderBacktest([parse_recommender("request")], {"cpu": 2.0})
    # Jobs in slots 200 and 201, then in 150: 52 slots. Of requests of .5 core .4, .2 and .3 are not used.
    backtest.add([samples_of([(0, 200, 0, 0.1), (0, 201, 0, 0.3)], "cpu")])
    backtest.add([samples_of([(1, 150, 1, 0.2)], "cpu")])
    row = backtest.rows()[0]
    assert_row(
        row,
        tasks="all",
        jobs=2,
        machines=pytest.approx(0.9 / 2 / 52),
    )


def test_changes_have_a_99th_percentile() -> None:
    days = Tally(
        slack=[np.zeros(1)],
        changes=[np.arange(101)],
        jobs=1,
        samples=1,
        task_days=1,
    )
    assert summarize(days, 1.0, 1)["changes_p99"] == 99


def test_a_recommender_is_asked_for_known_resources() -> None:
    with pytest.raises(UsageError) as caught:
        RecommenderOptions(
            recommenders=("vpa",),
            resources=("disk",),
            cores=1.0,
            gib=1.0,
        )
    assert str(caught.value) == "--resource: unknown name: expected cpu or memory, got disk"


def test_a_recommendation_that_is_chosen_out_leaves_no_trace() -> None:
    tally = Tally()
    tally.add(
        samples_of([(0, 0, 0, 0.1)], "cpu"),
        np.ones(1),
        np.zeros(1, bool),
    )
    assert tally == Tally()


def test_a_day_without_a_limit_has_no_slack() -> None:
    samples = samples_of(
        [
            (0, 0, 0, 0.1),
            (0, 288, 0, 0.1),
            (0, 289, 0, 0.1),
        ],
        "cpu",
    )
    tally = tally_of(samples, [0, 0, 0])
    # The request of .5 holds on the first day.
    assert tally.slack[0].tolist() == pytest.approx([0.8])
    assert len(tally.changes[0]) == 2
    assert tally.short == 2


def test_jobs_are_read_whole_once_a_chunk_is_full() -> None:
    # Jobs 5, 6, 7 and 8 of two tasks each, with 4 + 5, 1 + 0, 20 + 1 and 2 + 2 windows: 10 are a chunk, 9 are not.
    offsets = np.cumsum([0, 4, 5, 1, 0, 20, 1, 2, 2])
    collection = np.repeat([5, 6, 7, 8], 2)
    assert list(ranges_of_jobs(offsets, collection, chunk=10)) == [
        (0, 4),
        (4, 6),
        (6, 8),
    ]
    assert list(ranges_of_jobs(offsets, collection[:0], chunk=10)) == []
