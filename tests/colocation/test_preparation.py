"""Preparation: each step by hand, both generations, both readers, and what cannot be prepared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from borgtrace.colocation import prepare_pool
from borgtrace.colocation.tasks import preparation
from borgtrace.colocation.tasks.pool import PreparationStep
from borgtrace.colocation.tasks.pool_windows import PoolWindows
from borgtrace.colocation.tasks.preparation import prepare
from borgtrace.errors import UsageError
from borgtrace.question import NotApplicable, Tables
from borgtrace.store.traces import Traces
from tests.analyses.tiny import at, tiny

DECILES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
TAIL = [0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99]


def task(number: int, windows: int, **more: Any) -> dict[str, Any]:
    """A row of ``tasks``: `windows` of 300 s, nothing failed."""
    counts = dict.fromkeys(("n_evict", "n_fail", "n_kill", "n_lost"), 0)
    known = {
        "n_windows": windows,
        "seconds": 300.0 * windows,
        "max_sampled_cpu": 0.5,
    }
    return {
        "collection_id": number,
        "collection_type": "JOB",
        **counts,
        **known,
        **more,
    }


def usage(
    number: int, sampled: Sequence[float | None], length: int = 300, **more: Any
) -> list[dict[str, Any]]:
    """Consecutive windows of task `number`; the average is .25 unless given."""
    return [
        {
            "collection_id": number,
            "start_time": at(300 * k),
            "end_time": at(300 * k + length),
            "sampled_cpu": cpu,
            "average_cpu": 0.25,
            "average_memory": 0.125,
            **more,
        }
        for k, cpu in enumerate(sampled)
    ]


def cell(generation: str = "2011") -> Tables:
    """One task per fate: dropped at each step, or kept (tasks 1 and 2)."""
    return tiny(
        generation,
        tasks=[
            task(
                1,
                24,
                priority=9,
                cpu_request=0.5,
                collection_logical_name="b",
            ),
            task(2, 30, collection_logical_name="a"),
            task(3, 50, n_kill=1),
            task(4, 50, n_lost=2, max_sampled_cpu=0.0),
            task(5, 50, max_sampled_cpu=0.0),
            task(6, 23, seconds=6900.0),
            task(7, 50, max_sampled_cpu=None),
            task(8, 50, collection_type="ALLOC_SET"),
            task(9, 0),
        ],
        instance_usage=[
            *usage(2, [0.0, 0.5] * 15, average_cpu=1.5),
            *usage(1, [0.5] * 23 + [None]),
            *usage(3, [0.5] * 50),
        ],
    )


def test_each_step_by_hand() -> None:
    pool = prepare(cell())
    assert [(step.name, step.count, step.of, step.unit) for step in pool.steps] == [
        ("with a failing event (EVICT, FAIL, KILL, LOST)", 2, 7, "tasks"),
        ("without any sampled CPU", 1, 5, "tasks"),
        ("that never used CPU in any sample", 1, 4, "tasks"),
        ("with fewer than 24 windows", 1, 3, "tasks"),
        ("tasks left in the pool (all there are)", 2, 2, "tasks"),
        ("windows without sampled or average CPU, left out", 1, 54, "windows"),
        ("averages above the whole machine, replaced by the sampled CPU", 30, 53, "windows"),
    ]
    assert pool.collection_id.tolist() == [1, 2]
    assert pool.offsets.tolist() == [0, 23, 53]
    assert pool.inst[23:27].tolist() == [0, 0.5, 0, 0.5]
    assert pool.avg[21:27].tolist() == [0.25, 0.25, 0, 0.5, 0, 0.5]
    assert pool.start is not None
    assert pool.start[:3].tolist() == [600, 900, 1200]
    assert pool.seconds is not None
    assert set(pool.seconds.tolist()) == {300}
    assert not pool.is_weighted
    assert pool.source == "2 long tasks of a store (all there are)"


def test_what_the_index_says_comes_along() -> None:
    pool = prepare(cell())
    assert pool.priority is not None
    assert pool.priority.tolist() == [9, -1]
    assert pool.cpu_request is not None
    np.testing.assert_array_equal(pool.cpu_request, np.float32([0.5, np.nan]))
    assert pool.logical_name is not None
    assert pool.logical_name.tolist() == [1, 0]
    assert pool.memory is not None
    assert set(pool.memory.tolist()) == {0.125}


def test_short_tasks_stay_where_they_are_asked_for() -> None:
    tables = tiny(
        tasks=[
            task(1, 24),
            task(2, 1),
            task(3, 1, n_fail=1),
        ],
        instance_usage=[
            *usage(1, [0.5] * 24),
            *usage(2, [0.25]),
        ],
    )
    pool = prepare(tables, include=("short",))
    assert pool.collection_id.tolist() == [1, 2]
    assert pool.n_windows.tolist() == [24, 1]
    assert [(step.name, step.count) for step in pool.steps[:2]] == [
        ("with a failing event (EVICT, FAIL, KILL, LOST)", 1),
        ("without any sampled CPU", 0),
    ]
    assert pool.source == "2 tasks of a store (all there are)"


def with_attempts() -> Tables:
    """Task 1 is evicted as its third window begins and fails in the fifth; task 2 is killed and never tried again."""

    def event(number: int, seconds: int, kind: str) -> dict[str, Any]:
        return {
            "collection_id": number,
            "time": at(seconds),
            "type": kind,
        }

    retried = task(
        1,
        6,
        n_evict=1,
        n_fail=1,
        user="u",
        disk_request=0.25,
    )
    killed = task(2, 2, n_kill=1)
    return tiny(
        tasks=[retried, killed],
        instance_events=[
            event(1, 0, "SUBMIT"),
            event(1, 600, "EVICT"),
            event(1, 1201, "FAIL"),
            event(1, 1501, "FINISH"),
            event(2, 3000, "KILL"),
        ],
        instance_usage=[
            *usage(1, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
            *usage(2, [0.5, 0.5]),
        ],
    )


def test_an_attempt_that_failed_is_a_task_and_what_was_made_again_is_known() -> None:
    pool = prepare(with_attempts(), include=("failing", "short"))
    assert pool.collection_id.tolist() == [1, 1, 1, 2]
    # Windows 0 and 1; 2 to 4, as the fifth began before the failure; the last one.
    assert pool.n_windows.tolist() == [2, 3, 1, 2]
    assert pool.retried is not None
    assert pool.retried.tolist() == [1, 1, 0, 0]
    # Draws go by identity, which attempts have too.
    identities = np.column_stack([pool.collection_id, pool.instance_index])
    assert len(np.unique(identities, axis=0)) == 4
    left = pool.steps[2]
    assert left.name[:24] == "attempts left in the poo"
    assert left.count == 4
    assert left.of == 4
    assert pool.source.startswith("4 attempts of a store")


def test_attempts_have_the_user_and_the_requests_of_their_task() -> None:
    pool = prepare(with_attempts(), include=("failing", "short"))
    assert pool.user is not None
    assert pool.user.tolist() == [0, 0, 0, -1]
    assert pool.disk_request is not None
    np.testing.assert_array_equal(pool.disk_request, np.float32([0.25, 0.25, 0.25, np.nan]))


def test_missing_memory_is_that_of_the_window_before_and_never_0() -> None:
    """The first task begins unknown and asks for .5; of the second nothing is known but the mean of all others."""
    first = usage(1, [0.5] * 24)
    for k, row in enumerate(first):
        row["average_memory"] = {
            0: None,
            3: 0.25,
            4: None,
        }.get(k, 0.125)
    second = [row | {"average_memory": None} for row in usage(2, [0.5] * 24)]
    tasks = [
        task(1, 24, memory_request=0.5),
        task(2, 24, memory_request=None),
    ]
    pool = prepare(tiny(tasks=tasks, instance_usage=[*first, *second]))
    mean = (21 * 0.125 + 0.25) / 22
    assert pool.memory is not None
    assert pool.memory[:6].tolist() == [0.5, 0.125, 0.125, 0.25, 0.25, 0.125]
    np.testing.assert_allclose(pool.memory[24:], mean, rtol=1e-6)
    words = "windows without memory, which take that of the window before, else the request"
    assert pool.steps[-1] == PreparationStep(words, 26, 48, "windows")
    nothing = prepare(tiny(tasks=[task(2, 24)], instance_usage=second))
    assert nothing.memory is None
    assert nothing.steps[-1].name != words


def test_fewer_are_drawn_when_fewer_are_asked_for() -> None:
    drawn = {tuple(prepare(cell(), tasks=1, seed=seed).collection_id.tolist()) for seed in range(8)}
    assert drawn == {(1,), (2,)}
    assert prepare(cell(), tasks=1).steps[4].name == "tasks left in the pool"


def test_2019_asks_for_two_hours_and_weighs_windows() -> None:
    tables = tiny(
        "2019",
        tasks=[task(1, 2, seconds=7200.0), task(2, 500, seconds=7199.0)],
        instance_usage=[
            *usage(1, [1.0], length=300),
            *usage(1, [0.0], length=100),
        ],
    )
    pool = prepare(tables)
    assert pool.collection_id.tolist() == [1]
    assert pool.is_weighted
    assert pool.mean().tolist() == [0.75]
    assert pool.steps[3].name == "with windows of less than 7,200 s together"


def test_2019_percentiles() -> None:
    lists = {"cpu_usage_distribution": DECILES, "tail_cpu_usage_distribution": TAIL}
    tables = tiny(
        "2019",
        tasks=[task(1, 24)],
        instance_usage=[
            *usage(1, [0.5] * 23, **lists),
            *usage(1, [0.125]),
        ],
    )
    pool = prepare(tables, instantaneous="histogram")
    assert pool.quantiles is not None
    np.testing.assert_allclose(
        pool.quantiles[-1],
        [*DECILES[:10], *TAIL, 1.0],
        rtol=1e-6,
    )
    rows = pool.quantiles[(pool.quantiles == 0.125).all(axis=1)]
    assert len(rows) == 1  # the window without percentiles: constant at its sampled second
    drawn = pool.draw(np.array([0]), 4000)[0]
    assert 0.45 < drawn.mean() < 0.52
    assert len(np.unique(drawn)) > 3000


def test_a_window_with_some_percentiles_counts_as_one_without() -> None:
    usage = np.float32([0.5, 0.75])
    windows = PoolWindows(
        task=np.int32([0, 1]),
        inst=usage,
        avg=usage,
        memory=usage,
        start=np.int32([600, 600]),
        seconds=np.int32([300, 300]),
        quantiles=np.float32([[0.0, np.nan], [0.125, 0.25]]),
    )
    assert preparation.without_quantile_gaps(windows).tolist() == [[0.5, 0.5], [0.125, 0.25]]


def test_of_no_tasks_no_step_leaves_out_any() -> None:
    kept, steps = preparation.eligible(tiny(tasks=[task(8, 50, collection_type="ALLOC_SET")]))
    assert kept.num_rows == 0
    assert {(step.count, step.of) for step in steps} == {(0, 0)}


def test_windows_across_the_ends_of_the_trace_are_left_out() -> None:
    ends = [
        {**usage(1, [0.5])[0], "start_time": 0},
        {**usage(1, [0.5])[0], "end_time": 2**63 - 1},
        *usage(1, [0.75] * 24),
    ]
    assert prepare(tiny(tasks=[task(1, 26)], instance_usage=ends)).inst.tolist() == [0.75] * 24


def test_the_stores_arrays_give_the_same_pool() -> None:
    """Gathered from flat arrays as a store keeps them, sentinels included, or joined: one pool."""
    tables = cell()

    def traces(keys: list[tuple[int, int]]) -> Traces:
        sampled = [
            np.float32([0.5] * 23 + [np.nan]),
            np.float32([0.0, 0.5] * 15),
        ]
        lengths = [24, 30]
        assert keys == [(1, 0), (2, 0)]
        return Traces(
            np.array([0, 1]),
            np.cumsum([0, *lengths]),
            {
                "start_time": np.concatenate(
                    [600 + 300 * np.arange(n, dtype=np.uint32) for n in lengths]
                ),
                "duration": np.full(54, 300, np.float32),
                "sampled_cpu": np.concatenate(sampled),
                "average_cpu": np.repeat(np.float32([0.25, 1.5]), lengths),
                "average_memory": np.full(54, 0.125, np.float32),
            },
        )

    joined = prepare(tables)
    tables.traces = traces
    gathered = prepare(tables)
    assert gathered.steps == joined.steps
    for name in ("offsets", "inst", "avg", "memory", "start", "seconds", "collection_id"):
        np.testing.assert_array_equal(
            getattr(gathered, name),
            getattr(joined, name),
            err_msg=name,
        )


def test_means_stand_in_where_a_format_may_have_samples_and_a_store_has_none() -> None:
    """Prometheus has gauges of CPU, which are samples, or counters, which give means: these here are means of .25."""
    means = {"max_sampled_cpu": None, "max_average_cpu": 0.25}
    tasks = [task(number, 24, **means) for number in (1, 2)]
    rows = [*usage(1, [None] * 24), *usage(2, [None] * 24)]
    pool = prepare(tiny("prometheus", tasks=tasks, instance_usage=rows))
    assert pool.inst.tolist() == [0.25] * 48
    assert (
        PreparationStep(
            "windows whose mean stands for a sampled second, which hides peaks", 48, 48, "windows"
        )
        in pool.steps
    )
    # With a sample of one task, samples count, and the other task has none.
    sampled = [task(1, 24, max_sampled_cpu=0.5), tasks[1]]
    rows = [*usage(1, [0.5] * 24), *usage(2, [None] * 24)]
    pool = prepare(tiny("prometheus", tasks=sampled, instance_usage=rows))
    assert pool.inst.tolist() == [0.5] * 24


LONGER_TRACE = "colocation needs a longer trace with usage"
NO_USAGE = "no task has usage; colocation needs a trace with usage"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (lambda: tiny(), NO_USAGE),
        (lambda: tiny(tasks=[task(1, 0)]), NO_USAGE),
        (
            lambda: tiny(tasks=[task(1, 23, seconds=6900.0), task(2, 30, n_fail=1)]),
            "no long task is left of 2: 1 with a failing event (EVICT, FAIL, KILL, LOST), "
            f"1 with fewer than 24 windows; {LONGER_TRACE}",
        ),
        (
            lambda: tiny(tasks=[task(1, 30, max_sampled_cpu=None)]),
            "no long task is left of 1: 1 without any sampled CPU; colocation draws CPU that was sampled at instants; "
            "borgtrace advise and borgtrace overcommit take means",
        ),
    ],
    ids=["empty", "no usage", "short or failing", "v2.0 without samples"],
)
def test_says_why_there_is_no_pool(tables, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotApplicable) as reason:
        prepare(tables())
    assert str(reason.value) == message
    with pytest.raises(UsageError) as error:
        prepare_pool(tables())
    assert str(error.value) == f"store: {message}"


def test_2011_has_no_percentiles() -> None:
    with pytest.raises(NotApplicable) as reason:
        prepare(cell(), instantaneous="histogram")
    assert (
        str(reason.value) == "2011 publishes no percentiles of CPU usage; take the sampled second"
    )
