"""Arrays of a store read by hand: where the index points, and what does not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import StoreError, UsageError
from borgtrace.store import Store, columns
from borgtrace.store.layout import Layout
from borgtrace.store.traces import TraceReader
from tests.store.typed import EMPTY, indexed


def test_traces_are_cut_where_the_index_says(tmp_path: Path) -> None:
    reader = TraceReader(indexed(tmp_path, [2, 0, 3, 1]))
    assert reader.offsets.tolist() == [0, 2, 2, 5, 6]
    assert reader.traces(np.array([3, 0]))[1]["start_time"].tolist() == [0, 1]
    assert reader.trace(2, 0)["average_cpu"].tolist() == [0, 1]
    assert reader.trace(9, 3)["average_cpu"].tolist() == [5]
    assert reader.rows(np.array([[9, 3], [2, 0]])).tolist() == [3, 0]


@pytest.mark.parametrize(
    ("rows", "offsets", "values"),
    [
        # Neighbors.
        ([0, 1, 2], [0, 2, 2, 5], [0, 1, 2, 3, 4]),
        ([2, 0], [0, 3, 5], [2, 3, 4, 0, 1]),
        # The task between them has no windows.
        ([0, 2], [0, 2, 5], [0, 1, 2, 3, 4]),
        ([3, 3], [0, 1, 2], [5, 5]),
        ([1], [0, 0], []),
        ([], [0], []),
    ],
)
def test_many_traces_are_flat_columns(
    tmp_path: Path,
    rows: list[int],
    offsets: list[int],
    values: list[int],
) -> None:
    reader = TraceReader(indexed(tmp_path, [2, 0, 3, 1]))
    traces = reader.traces(np.array(rows, np.int64), ("average_cpu",))
    assert traces.offsets.tolist() == offsets
    assert traces.average_cpu.tolist() == values


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ((1, 0), "collection 1; the nearest is 2"),
        ((3, 0), "collection 3; the nearest is 5"),
        ((10, 0), "collection 10; the nearest is 9"),
        ((2, 7), "instance 7; it has instances 0 to 1"),
        ((9, 0), "instance 0; it has instances 3 to 3"),
    ],
)
def test_a_task_that_is_not_there(tmp_path: Path, task: tuple[int, int], message: str) -> None:
    reader = TraceReader(indexed(tmp_path, [2, 0, 3, 1]))
    for ask in (lambda: reader.trace(*task), lambda: reader.rows(np.array([[2, 0], task, [1, 1]]))):
        with pytest.raises(UsageError) as caught:
            ask()
        assert str(caught.value) == f"task: not in this store: got {message}"


def test_an_index_without_tasks_has_no_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        TraceReader(indexed(tmp_path, [])).trace(1, 0)
    assert str(caught.value) == "task: not in this store: got collection 1"


@pytest.mark.parametrize(
    ("windows", "first"),
    [
        ([2, 3], [1, 3]),
        ([2, 3], [0, 3]),
        ([2, -1, 3], [0, 2, 1]),
        ([2, 3], [0, 1]),
    ],
)
def test_an_index_that_points_elsewhere_is_damage(
    tmp_path: Path, windows: list[int], first: list[int]
) -> None:
    with pytest.raises(StoreError, match="the index of tasks is damaged"):
        TraceReader(indexed(tmp_path, windows, first))


def test_positions_of_a_collection_and_usage_that_is_not_there(tmp_path: Path) -> None:
    indexed(tmp_path, [2, 0, 3, 1])
    store = Store(tmp_path, EMPTY)
    assert store.rows_of_collection(1) == (0, 0)
    assert store.rows_of_collection(2) == (0, 2)
    assert store.rows_of_collection(5) == (2, 3)
    assert store.rows_of_collection(9) == (3, 4)
    assert store.rows_of_collection(10) == (4, 4)
    assert store.array("average_cpu").tolist() == [0, 1, 2, 3, 4, 5]
    assert store.task_rows(np.array([[5, 0]])).tolist() == [2]
    collections, instances = store.task_ids(np.array([3, 1]))
    assert collections.tolist() == [9, 2]
    assert instances.tolist() == [3, 1]
    assert store.select_tasks(None).tolist() == [0, 1, 2, 3]
    assert store.select_tasks(np.array([3, 1], np.int32)).tolist() == [3, 1]
    assert store.select_tasks([(9, 3), (2, 0)]).tolist() == [3, 0]
    assert store.select_tasks(np.array([[5, 0]])).tolist() == [2]
    with pytest.raises(UsageError, match="the store has no usage"):
        store.usage_rows()
    with_usage = replace(EMPTY, tables={"instance_usage": 1})
    assert Store(tmp_path, with_usage).usage_rows() == 1


def test_an_array_of_another_kind_is_damage_though_its_file_is_whole(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    path = layout.array("average_cpu")
    path.parent.mkdir(parents=True)
    np.save(path, np.zeros(3))
    with pytest.raises(StoreError, match="float64"):
        columns.load_array(layout, "average_cpu", 3)


def test_a_missing_element_of_a_list_is_not_a_number() -> None:
    lists = pa.array([[None, 0.5], [0.25]], pa.list_(pa.float32()))
    first = columns.as_floats(lists, 0)
    np.testing.assert_array_equal(first, np.array([np.nan, 0.25], np.float32))
