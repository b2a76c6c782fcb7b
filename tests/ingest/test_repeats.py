"""Which runs may hold a window twice."""

from __future__ import annotations

import numpy as np

from borgtrace.ingest.build.task_statistics import N_MACHINES, repeating_runs, run_spans

NAN = np.nan


def _found(
    start: list[int],
    values: list[list[float]],
    starts: list[int],
    machine: list[int] | None = None,
) -> list[bool]:
    words = np.array(values, np.float32).view(np.uint32)
    return repeating_runs(
        np.array(start),
        np.array(machine or [7] * len(start)),
        words,
        np.array(starts),
    ).tolist()


def test_a_window_is_compared_with_all_that_start_with_it() -> None:
    assert _found([5, 5, 5], [[1.0, 2.0, 1.0]], [0, 3]) == [True]
    assert _found([5, 5, 5], [[1.0, 2.0, 3.0]], [0, 3]) == [False]


def test_every_column_counts_and_missing_values_are_equal() -> None:
    assert _found([5, 5], [[1.0, 1.0], [NAN, NAN]], [0, 2]) == [True]
    assert _found([5, 5], [[1.0, 1.0], [NAN, 0.0]], [0, 2]) == [False]


def test_neither_another_start_nor_another_task_is_a_repeat() -> None:
    assert _found([5, 6, 6], [[1.0, 1.0, 1.0]], [0, 2, 3]) == [False, False]


def test_windows_on_two_machines_are_no_repeat_and_a_later_one_on_the_first_is() -> None:
    assert _found([5, 5], [[1.0, 1.0]], [0, 2], [3, 4]) == [False]
    assert _found([5, 5, 5], [[1.0, 1.0, 1.0]], [0, 3], [3, 4, 3]) == [True]


def test_no_windows() -> None:
    assert _found([], [[]], [0]) == []


def test_machines_of_a_task_are_counted_once_however_often_it_returns() -> None:
    # One run of nine windows on machines 7, 7, −1 (unknown), 9, 7, 9, 4, −1, 4; one on −1; one on 5.
    machine = np.array([7, 7, -1, 9, 7, 9, 4, -1, 4, -1, 5])
    start = np.arange(machine.size) * 10
    spans = run_spans(
        start, start + 10, np.full(machine.size, 10), machine, np.array([0, 9, 10, 11])
    )
    assert spans[N_MACHINES].tolist() == [3, 0, 1]
