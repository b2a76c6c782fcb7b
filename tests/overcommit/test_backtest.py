"""What a back-test counts of a recommender, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit.recommenders import Recommender, samples, table
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.store import Store
from tests.overcommit.jobs import samples_of


def test_a_back_test_by_hand() -> None:
    # Two tasks of a job over a day and two slots; .4 is recommended after slot 0 and .2 after slot 287.
    rows = [(0, slot, task, 0.1 + 0.2 * task) for slot in (0, 287, 288, 289) for task in (0, 1)]
    samples = samples_of(rows, "cpu")
    recommended = np.where(samples.slot < 287, 0.4, 0.2)
    assert samples.in_force(recommended).tolist() == pytest.approx(
        [0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2]
    )
    tally = Tally()
    tally.add(samples, recommended, np.ones(8, bool))
    # Day 0: limit .45, usage .1 .1 .3 .3, P95 .3; day 1: limit .2, P95 .3.
    assert tally.slack[0].tolist() == pytest.approx([(0.45 - 0.3) / 0.45, (0.2 - 0.3) / 0.2])
    assert tally.changes[0].tolist() == [1, 0]
    assert (tally.jobs, tally.samples, tally.short, tally.task_days, tally.short_task_days) == (
        1,
        8,
        2,
        4,
        1,
    )
    assert tally.unused == pytest.approx(2 * 0.9 + 4 * 0.2 - 4 * 0.4)


def test_changes_of_a_recommendation() -> None:
    """A change is counted on the day of the slot after which the new one is recommended, the last slot too."""
    rows = [(job, slot, job, 0.1) for job in (0, 1) for slot in (0, 1, 287, 288)]
    found = samples_of(rows, "cpu")
    tally = Tally()
    # Of job 0 the second and the last change; job 1 has none for a slot, its first is no change, and its last is.
    tally.add(found, np.array([1, 2, 2, 3, np.nan, 2, 2, 5]), np.ones(8, bool))
    assert tally.changes[0].tolist() == [1, 1, 0, 1]
    # Of the tasks of a slot the last one says what holds after it.
    tally = Tally()
    both = samples_of(
        [(job, slot, 2 * job + task, 0.1) for job in (0, 1) for slot in (3, 4) for task in (0, 1)],
        "cpu",
    )
    tally.add(both, np.array([1, 2, 3, 2, 7, 4, 6, 5]), np.ones(8, bool))
    assert tally.changes[0].tolist() == [0, 1]
    # A billionth of the larger one may be rounding; what is above is a change, to the lower side too.
    for after, n in ((1e9 - 1, 0), (1e9 - 2, 1), (1e9 + 2, 1)):
        tally = Tally()
        tally.add(samples_of(rows[:2], "memory"), np.array([1e9, after]), np.ones(2, bool))
        assert tally.changes[0].tolist() == [n], after


def test_the_row_of_a_recommender_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Jobs in slots 200 and 201, then in 150: 52 slots. Of requests of .5 core .4, .2 and .3 are not used.
    parts = [[(0, 200, 0, 0.1), (0, 201, 0, 0.3)], [(1, 150, 1, 0.2)]]
    monkeypatch.setattr(
        table, "job_samples", lambda *given: (samples_of(rows, "cpu") for rows in parts)
    )
    store = cast(Store, None)
    row = table._rows(store, [Recommender.parsed("request")], {"cpu": 2.0})[0]
    assert (row["tasks"], row["jobs"], row["machines"]) == ("all", 2, pytest.approx(0.9 / 2 / 52))
    days = Tally(
        [np.zeros(1)],
        [np.arange(101)],
        jobs=1,
        samples=1,
        task_days=1,
    )
    assert table._row(days, 1.0, 1)["changes_p99"] == 99


def test_a_recommender_is_asked_for_known_resources() -> None:
    asked = {
        "recommenders": ("vpa",),
        "resources": ("disk",),
        "cores": 1.0,
        "gib": 1.0,
    }
    with pytest.raises(UsageError) as caught:
        table.RECOMMENDERS.asked(asked)
    assert str(caught.value) == "--resource: unknown name: expected cpu or memory, got disk"


def test_a_recommendation_that_is_chosen_out_leaves_no_trace() -> None:
    tally = Tally()
    tally.add(samples_of([(0, 0, 0, 0.1)], "cpu"), np.ones(1), np.zeros(1, bool))
    assert tally == Tally()


def test_a_day_without_a_limit_has_no_slack() -> None:
    tally = Tally()
    tally.add(
        samples_of([(0, 0, 0, 0.1), (0, 288, 0, 0.1), (0, 289, 0, 0.1)], "cpu"),
        np.zeros(3),
        np.ones(3, bool),
    )
    # The request of .5 holds on the first day.
    assert tally.slack[0].tolist() == pytest.approx([0.8])
    assert (len(tally.changes[0]), tally.short) == (2, 2)


def test_jobs_are_read_whole_once_a_chunk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_CHUNK", 10)
    # Jobs 5, 6, 7 and 8 of two tasks each, with 4 + 5, 1 + 0, 20 + 1 and 2 + 2 windows: 10 are a chunk, 9 are not.
    store = SimpleNamespace(offsets=np.cumsum([0, 4, 5, 1, 0, 20, 1, 2, 2]))
    collection = np.repeat([5, 6, 7, 8], 2)
    assert list(samples._ranges(store, collection)) == [(0, 4), (4, 6), (6, 8)]  # type: ignore[arg-type]
    assert list(samples._ranges(store, collection[:0])) == []  # type: ignore[arg-type]
