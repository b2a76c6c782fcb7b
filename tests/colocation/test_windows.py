"""Windows of tasks: how lists and lengths become arrays, where attempts end, which stages there are."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.usage import usage_deviation
from borgtrace.colocation.tasks import preparation
from borgtrace.colocation.tasks.pool import PreparationStep
from borgtrace.colocation.tasks.pool_file import PoolColumns
from borgtrace.colocation.tasks.pool_windows import (
    PoolWindows,
    from_rows,
    matrix_of_lists,
    merged_percentiles,
    read_windows,
    whole_seconds,
)
from borgtrace.errors import SourceError
from borgtrace.question import Tables
from borgtrace.store.traces import Traces
from tests.analyses.tiny import at, tiny
from tests.colocation.test_preparation import task, usage

NAN = float("nan")


def windows(task: list[int], start: list[int], **more: Any) -> PoolWindows:
    """Windows of these tasks that begin in these seconds."""
    values = np.arange(len(task), dtype=np.float32)
    known: dict[str, Any] = {
        "inst": values,
        "avg": values,
        "memory": values,
    } | more
    return PoolWindows(
        task=np.array(task, np.int32),
        start=np.array(start, np.int32),
        seconds=np.full(len(task), 300, np.int32),
        **known,
    )


def test_lists_of_another_length_are_unknown() -> None:
    lists = pa.chunked_array(
        [
            [[1.0, 2.0], [3.0, 4.0, 5.0], None],
            [
                [None, 6.0],
                [7.0],
                [8.0, 9.0],
            ],
        ],
        pa.list_(pa.float64()),
    )
    np.testing.assert_array_equal(
        matrix_of_lists(lists, 2),
        np.float32(
            [
                [1, 2],
                [NAN, NAN],
                [NAN, NAN],
                [NAN, 6],
                [NAN, NAN],
                [8, 9],
            ]
        ),
    )
    # A slice begins where its first list does.
    np.testing.assert_array_equal(
        matrix_of_lists(lists.slice(5), 2),
        np.float32([[8, 9]]),
    )
    assert matrix_of_lists(lists, 2).dtype == np.float32


def test_nothing_is_no_list_of_one() -> None:
    lists = pa.chunked_array(
        [[[1.0], None, [2.0]]],
        pa.list_(pa.float64()),
    )
    np.testing.assert_array_equal(
        matrix_of_lists(lists, 1),
        np.float32(
            [
                [1],
                [NAN],
                [2],
            ]
        ),
    )


def test_percentiles_are_merged_and_ascend() -> None:
    deciles = [k / 10 for k in range(11)]
    tail = [0.9 + k / 100 for k in range(1, 10)]
    gap = [*tail[:4], None, *tail[5:]]
    falling = [0.5, *deciles[1:]]
    rows = pa.table(
        {
            "cpu_usage_distribution": pa.array([deciles, deciles, falling]),
            "tail_cpu_usage_distribution": pa.array([tail, gap, tail]),
        }
    )
    whole, broken, mended = merged_percentiles(rows)
    expected = [*deciles[:10], *tail, 1.0]
    assert whole == pytest.approx(expected)
    # A gap at 95 % runs on to the end.
    assert broken[:14] == pytest.approx(expected[:14])
    assert np.isnan(broken[14:]).all()
    assert mended == pytest.approx([0.5] * 6 + expected[6:])


def test_seconds_are_whole_and_at_least_one() -> None:
    assert whole_seconds(np.array([0.0, 0.2, 0.6, 1.4, 1.6, 299.6])).tolist() == [
        1,
        1,
        1,
        1,
        2,
        300,
    ]


def test_all_windows_are_kept_as_they_are() -> None:
    pool_windows = windows([0, 0, 1], [1, 2, 3])
    assert pool_windows.take(np.array([True] * 3)) is pool_windows
    some = pool_windows.take(np.array([True, False, True]))
    assert some.task.tolist() == [0, 1]
    assert some.start.tolist() == [1, 3]
    assert some.inst.tolist() == [0, 2]
    assert some.quantiles is None


def test_rows_become_seconds_of_the_traces_clock() -> None:
    rows = pa.table(
        {
            "task": [0, 1],
            "start_time": [1_999_999, 3_000_000],
            "end_time": [3_500_000, 303_000_000],
            "sampled_cpu": [0.5, None],
            "average_cpu": [0.25, 0.75],
            "average_memory": [None, 0.125],
        }
    )
    pool_windows = from_rows(rows)
    # From 1.999999 to 3.5 s: the second it begins in, and its length rounded.
    assert pool_windows.task.tolist() == [0, 1]
    assert pool_windows.start.tolist() == [1, 3]
    assert pool_windows.seconds.tolist() == [2, 300]
    np.testing.assert_array_equal(pool_windows.inst, np.float32([0.5, NAN]))
    np.testing.assert_array_equal(pool_windows.memory, np.float32([NAN, 0.125]))
    assert pool_windows.quantiles is None
    assert from_rows(rows, "average_cpu").inst.tolist() == [0.25, 0.75]


def test_the_mean_may_stand_for_a_second() -> None:
    tables = tiny(instance_usage=usage(5, [0.5, 0.75]))
    chosen = pa.table({"collection_id": [5], "instance_index": [0]})
    assert read_windows(tables, chosen, False).inst.tolist() == [0.5, 0.75]
    assert read_windows(tables, chosen, False, "average_cpu").inst.tolist() == [0.25, 0.25]


class Kept:
    """Tables of a store with arrays of its tasks, whose rows nobody should need."""

    def __init__(self) -> None:
        # Before, within and after the trace; of the fourth the end is not known.
        columns = {
            "start_time": np.array(
                [
                    0,
                    1,
                    600,
                    900,
                    2**32 - 1,
                ],
                np.uint32,
            ),
            "duration": np.float32([300, 299.6, 0, 2**30, 300]),
            **{
                name: np.arange(5, dtype=np.float32) / 8
                for name in ("sampled_cpu", "average_cpu", "average_memory")
            },
        }
        self.traces = lambda keys: Traces(np.array([4, 2]), np.array([0, 2, 5]), columns)

    @property
    def instance_usage(self) -> Any:
        raise LookupError("rows")


def test_windows_come_from_arrays_where_they_hold_all() -> None:
    chosen = pa.table({"collection_id": [5, 6], "instance_index": [0, 0]})
    pool_windows = read_windows(cast(Tables, Kept()), chosen, False)
    assert pool_windows.task.tolist() == [0, 1]
    assert pool_windows.start.tolist() == [1, 600]
    assert pool_windows.seconds.tolist() == [300, 1]
    assert pool_windows.inst.tolist() == [0.125, 0.25]
    # Percentiles are in rows alone.
    with pytest.raises(LookupError, match="rows"):
        read_windows(cast(Tables, Kept()), chosen, True)


# --- what is assembled ------------------------------------------------------------------------------


def test_a_task_whose_windows_are_all_unknown_has_no_place() -> None:
    pool = preparation.prepare(
        tiny(
            tasks=[task(1, 24), task(2, 24)],
            instance_usage=[
                *usage(1, [None] * 24),
                *usage(2, [0.5] * 24),
            ],
        )
    )
    assert pool.collection_id.tolist() == [2]
    assert pool.offsets.tolist() == [0, 24]


def test_memory_before_the_first_known_one_is_the_request() -> None:
    # The first task begins known; of the second .75 is asked for, of the third nothing: the mean of .25 and .5.
    pool_windows = windows(
        [0, 0, 1, 1, 2],
        [1, 2, 1, 2, 1],
        memory=np.float32([0.25, NAN, NAN, 0.5, NAN]),
    )
    request = np.float32([0.125, 0.75, NAN])
    firsts = np.array([0, 2, 4])
    memory, (step,) = preparation.without_memory_gaps(pool_windows, firsts, request)
    assert memory is not None
    assert memory.tolist() == [0.25, 0.25, 0.75, 0.5, 0.375]
    assert step.count == 3
    assert step.of == 5
    assert step.unit == "windows"
    whole = windows([0], [1], memory=np.float32([0.5]))
    assert preparation.without_memory_gaps(whole, np.array([0]), request) == (whole.memory, ())
    assert preparation.without_memory_gaps(
        windows([0], [1], memory=np.float32([NAN])), np.array([0]), request
    ) == (None, ())


# --- attempts ------------------------------------------------------------------------------------


def attempts(
    events: list[tuple[int, int, str]], found: PoolWindows, n: int = 3
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Attempts of tasks 0, 1, …: their identities, whether each was made again, and the attempt of each window."""
    rows = [
        {
            "collection_id": task,
            "time": time,
            "type": kind,
        }
        for task, time, kind in events
    ]
    chosen = pa.table({"collection_id": range(n), "instance_index": [0] * n})
    made, parts = preparation.split_attempts(tiny(instance_events=rows), chosen, found)
    keys = zip(
        made["collection_id"].to_pylist(),
        made["instance_index"].to_pylist(),
        strict=True,
    )
    return list(keys), made["retried"].to_pylist(), parts.task.tolist()


def test_each_task_has_attempts_of_its_own() -> None:
    # Task 1 is evicted as its second window begins and fails after its third; task 2 is lost a second after its first
    # window has begun, and killed when all are over; what finishes or is scheduled ends no attempt.
    seconds = at(0) // 1_000_000
    pool_windows = windows(
        [0, 0, 1, 1, 1, 1, 2, 2], [seconds + s for s in (0, 300, 0, 300, 600, 900, 0, 300)]
    )
    events = [
        (0, at(300), "FINISH"),
        (0, at(0), "SCHEDULE"),
        (1, at(300), "EVICT"),
        (1, at(601), "FAIL"),
        (2, at(1), "LOST"),
        (2, at(9000), "KILL"),
    ]
    keys, retried, parts = attempts(events, pool_windows)
    assert keys == [
        (0, 0),
        (1, 0),
        (1, 1 << 32),
        (1, 2 << 32),
        (2, 0),
        (2, 1 << 32),
    ]
    assert retried == [0, 1, 1, 0, 1, 0]
    assert parts == [0, 0, 1, 2, 2, 3, 4, 5]


def test_a_failure_after_the_trace_ends_no_attempt() -> None:
    # As a second, the time after the trace would be in the life of the task 2,147 places further on.
    late = 2_077_252_342
    pool_windows = windows([0, 2147, 2147], [600, late - 1, late])
    keys, retried, parts = attempts(
        [
            (0, 2**63 - 1, "KILL"),
            (0, 2**63 - 2, "SUBMIT"),
        ],
        pool_windows,
        2148,
    )
    assert keys == [(0, 0), (2147, 0)]
    assert retried == [0, 0]
    assert parts == [0, 1, 1]


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_the_stages_of_the_preparation_have_names(generation: str) -> None:
    assert list(preparation.stages(generation)) == ["steps", "eligible"]
    assert list(usage_deviation.QUESTION.stages(generation)) == ["steps", "eligible"]


def test_codes_are_by_the_order_of_names() -> None:
    texts = pa.chunked_array([["b", None, "a"], ["c", "b"]])
    assert preparation.codes_of(texts).tolist() == [1, -1, 0, 2, 1]
    assert preparation.codes_of(pa.chunked_array([[None, None]], pa.string())).tolist() == [-1, -1]


def test_means_stand_for_seconds_where_none_are_sampled() -> None:
    assert preparation.stand_in_steps("sampled_cpu", 9) == ()
    (step,) = preparation.stand_in_steps("average_cpu", 9)
    assert step.count == 9
    assert step.of == 9
    assert step.unit == "windows"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            (PreparationStep("a", 0, 0), PreparationStep("b", 0, 0)),
            "no task has usage; colocation needs a trace with usage",
        ),
        (
            (
                PreparationStep("a", 1_000, 2_000),
                PreparationStep("b", 0, 1_000),
                PreparationStep("c", 1_000, 1_000),
            ),
            "no long task is left of 2,000: 1,000 a, 1,000 c; colocation needs a longer trace with usage",
        ),
    ],
)
def test_what_left_nothing_is_counted(steps: tuple[PreparationStep, ...], message: str) -> None:
    assert preparation.nothing_left(steps) == message


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (None, None),
        # Two windows may begin together, and the next task may begin before.
        ([300, 300, 600, 0, 0], None),
        (
            [300, 600, 599, 0, 0],
            "row 0: column start goes back in time: expected at least 600, got 599",
        ),
        (
            [300, 600, 900, 2, 1],
            "row 1: column start goes back in time: expected at least 2, got 1",
        ),
        ([2, 1, 0, 2, 1], "row 0: column start goes back in time: expected at least 2, got 1"),
    ],
)
def test_windows_of_a_task_do_not_go_back(start: list[int] | None, message: str | None) -> None:
    columns = PoolColumns(pa.table({}), "p")
    times = None if start is None else np.array(start)
    offsets = np.array([0, 3, 5])
    if message is None:
        columns.require_order(times, offsets)
        return
    with pytest.raises(SourceError) as caught:
        columns.require_order(times, offsets)
    assert str(caught.value) == f"p: {message}"


def test_numbers_of_tasks_may_be_unknown() -> None:
    columns = PoolColumns(
        pa.table(
            {
                "user": [1, None],
                "cpu_request": [None, 0.5],
                "priority": ["a", "b"],
            }
        ),
        "p",
    )
    user = columns.scalars("user", np.int64)
    request = columns.scalars("cpu_request", np.float32)
    assert user is not None
    assert user.tolist() == [1, -1]
    assert user.dtype == np.int64
    np.testing.assert_array_equal(request, np.float32([NAN, 0.5]))
    # A text is no number, and what is not there is not there.
    assert columns.scalars("priority", np.int64) is None
    assert columns.scalars("disk_request", np.float32) is None


def test_a_task_without_an_instance_is_the_first() -> None:
    columns = PoolColumns(
        pa.table({"collection_id": [7, 8], "task": [1, 2]}),
        "p",
    ).identity()
    assert columns["collection_id"].tolist() == [7, 8]
    assert columns["instance_index"].tolist() == [0, 0]
    rows = PoolColumns(
        pa.table({"instance_index": [4, 4, 4]}),
        "p",
    ).identity()
    assert rows["collection_id"].tolist() == [0, 1, 2]
    assert rows["instance_index"].tolist() == [4, 4, 4]


def test_a_slice_of_lists_begins_at_0() -> None:
    kind = pa.large_list(pa.float64())
    inst = pa.array(
        [
            [1.0],
            [2.0, 3.0],
            [4.0],
        ],
        kind,
    )
    avg = pa.array(
        [
            [1.0],
            [2.0],
            [3.0],
        ],
        kind,
    )
    columns = PoolColumns(
        pa.table({"inst": inst, "avg": avg}).slice(1),
        "p",
    )
    assert columns.offsets("inst").tolist() == [0, 2, 3]
    assert columns.windows("inst", np.float32, np.array([0, 2, 3])).tolist() == [2, 3, 4]
    with pytest.raises(SourceError) as caught:
        columns.windows("avg", np.float32, np.array([0, 2, 3]))
    assert str(caught.value) == "p: row 0: avg and inst differ in length: expected 2, got 1"
