"""The pool: moments, draws, selection; what it refuses."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.tasks.pool import LEVELS, TaskPool
from borgtrace.errors import UsageError


def make(windows: list[list[float]], **more: object) -> TaskPool:
    """A pool of tasks (7, 0), (7, 1), … with these instantaneous usages; averages are ten times as large."""
    flat = np.float32([value for task in windows for value in task])
    n = len(windows)
    return TaskPool(
        offsets=np.cumsum([0, *map(len, windows)]),
        inst=flat,
        avg=10 * flat,
        collection_id=np.full(n, 7),
        instance_index=np.arange(n),
        source="by hand",
        **more,  # type: ignore[arg-type],
    )


THREE = [
    [0, 1, 2, 3],
    [5, 5],
    [0.25],
]


def test_moments_by_hand() -> None:
    pool = make(THREE)
    assert pool.mean().tolist() == [1.5, 5, 0.25]
    np.testing.assert_allclose(
        pool.std(),
        [np.sqrt(1.25), 0, 0],
    )
    np.testing.assert_allclose(
        pool.std("avg"),
        [10 * np.sqrt(1.25), 0, 0],
        rtol=1e-6,
    )


def test_weighted_moments_by_hand() -> None:
    pool = make(
        [[0, 3], [1]],
        seconds=np.array([100, 200, 300]),
        is_weighted=True,
    )
    assert pool.mean().tolist() == [2, 1]
    np.testing.assert_allclose(
        pool.std() ** 2,
        [(100 * 4 + 200 * 1) / 300, 0],
    )


def test_seconds_weigh_nothing_unless_asked() -> None:
    assert make([[0, 3]], seconds=np.array([100, 200])).mean().tolist() == [1.5]


def test_inst_and_avg_are_of_the_same_window() -> None:
    inst, avg = (
        make(THREE).draw(
            np.array([0, 2]),
            500,
            3,
            column,
        )
        for column in ("inst", "avg")
    )
    np.testing.assert_array_equal(avg, 10 * inst)
    assert set(inst[0].tolist()) == {0, 1, 2, 3}
    assert inst.dtype == avg.dtype == np.float32


@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "seconds": np.array([1, 2, 3, 4, 5, 6, 7]),
            "is_weighted": True,
        },
    ],
)
def test_draws_belong_to_the_task(more: dict[str, object]) -> None:
    """Not to the block, the order, the number of realizations, or the pool it is taken into."""
    pool = make(THREE, **more)
    every = pool.draw(np.arange(3), realizations=200, seed=5)
    np.testing.assert_array_equal(
        pool.draw(np.array([2, 0]), 200, seed=5),
        every[[2, 0]],
    )
    np.testing.assert_array_equal(
        pool.draw(np.arange(3), 50, seed=5),
        every[:, :50],
    )
    np.testing.assert_array_equal(
        pool.take(np.array([0])).draw(np.array([0]), 200, seed=5), every[:1]
    )
    assert (pool.draw(np.array([0]), 200, seed=6) != every[0]).any()


@settings(deadline=None)  # the first example compiles
@given(
    st.lists(
        st.lists(st.floats(0, 1, width=32), min_size=1, max_size=9),
        min_size=1,
        max_size=6,
    ),
    st.integers(-5, 2**70),
)
def test_every_draw_is_a_window_of_its_task(windows: list[list[float]], seed: int) -> None:
    pool = make(windows)
    drawn = pool.draw(np.arange(len(pool)), 30, seed)
    for i, own in enumerate(windows):
        assert set(drawn[i].tolist()) <= set(own)
    part = pool.take(np.arange(len(pool))[::-1])
    again = part.draw(np.arange(len(pool)), 30, seed)
    np.testing.assert_array_equal(again[::-1], drawn)


def test_one_thread_draws_what_two_draw() -> None:
    pool = make(THREE)
    two = pool.draw(np.arange(3), 1000, seed=1)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        one = pool.draw(np.arange(3), 1000, seed=1)
    finally:
        numba.set_num_threads(before)
    assert one.tobytes() == two.tobytes()


@pytest.mark.wide
def test_percentiles_replace_the_sampled_second() -> None:
    """A window whose usage is uniform on (0, 1), though its one sampled second was 0.5."""
    pool = make([[0.5]], quantiles=np.float32([LEVELS]))
    drawn = pool.draw(np.array([0]), 5000, seed=2)
    assert stats.kstest(drawn[0], "uniform").pvalue > 1e-3
    assert (pool.draw(np.array([0]), 5000, seed=2, column="avg") == 5).all()


@pytest.mark.parametrize("is_weighted", [False, True])
def test_percentiles_and_averages_are_of_the_same_window(is_weighted: bool) -> None:
    """Percentiles of window k lie in (k, k + 1), its average is 10 k."""
    quantiles = np.float32([LEVELS * 0.9 + k + 0.05 for k in range(4)])
    pool = make(
        [[0, 1, 2, 3]],
        quantiles=quantiles,
        seconds=np.array([10, 20, 30, 40]),
        is_weighted=is_weighted,
    )
    drawn = pool.draw(np.array([0]), 2000)
    np.testing.assert_array_equal(
        np.floor(drawn), pool.draw(np.array([0]), 2000, column="avg") / 10
    )
    counts = np.bincount(drawn[0].astype(int), minlength=4)
    expected = np.array([200, 400, 600, 800]) if is_weighted else np.full(4, 500)
    assert stats.chisquare(counts, expected).pvalue > 1e-3


def test_take_keeps_what_belongs_to_a_task() -> None:
    pool = make(
        THREE,
        start=np.arange(7),
        memory=np.arange(7, dtype=np.float32),
        priority=np.array([9, 0, 2]),
    )
    part = pool.take(np.array([2, 0]))
    assert part.offsets.tolist() == [0, 1, 5]
    assert part.inst.tolist() == [0.25, 0, 1, 2, 3]
    assert part.start is not None
    assert part.start.tolist() == [6, 0, 1, 2, 3]
    assert part.priority is not None
    assert part.priority.tolist() == [2, 9]
    assert part.instance_index.tolist() == [2, 0]
    assert part.seconds is None


def test_sample_is_without_replacement_and_at_most_all() -> None:
    pool = make([[1.0]] * 50)
    some = pool.sample(20, seed=1)
    assert len(set(some.tolist())) == 20
    assert (some == pool.sample(20, seed=1)).all()
    assert pool.sample(1000).tolist() == list(range(50))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.sample(0), "tasks: not a sample size: expected at least 1, got 0"),
        (
            lambda p: p.draw(np.array([3])),
            "tasks: index outside the pool: expected 0 … 2, got 3 … 3",
        ),
        (
            lambda p: p.draw(np.array([-1])),
            "tasks: index outside the pool: expected 0 … 2, got -1 … -1",
        ),
        (
            lambda p: p.draw(np.array([0]), 0),
            "realizations: not a number of draws: expected at least 1, got 0",
        ),
        (
            lambda p: p.draw(np.array([0]), column="memory"),
            "by hand: no memory was observed; build the pool from a store that has it",
        ),
    ],
)
def test_refuses(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as error:
        call(make(THREE))
    assert str(error.value) == message


def test_synthetic_pool_says_so_and_is_prepared() -> None:
    pool = synthetic_pool(300, seed=4)
    assert pool.is_synthetic
    assert pool.source == "300 synthetic long tasks, seed 4"
    assert pool.n_windows.min() >= 24
    assert np.maximum.reduceat(pool.inst, pool.offsets[:-1]).min() > 0
    assert pool.avg.max() <= 1
    assert pool.start is not None
    assert pool.start[0] == 600
    assert len(
        np.unique(np.column_stack((pool.collection_id, pool.instance_index)), axis=0)
    ) == len(pool)
