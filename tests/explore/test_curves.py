"""What the pages of machines, jobs and tasks draw and list: capacity, lanes, usage, the fullest, siblings, bands."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from borgtrace.explore import job, load, machine, task
from borgtrace.explore.span import Span

S = 1_000_000


class Rows:
    """Stands for a store that is asked in SQL."""

    def __init__(self, **tables: pa.Table) -> None:
        self.tables = tables

    def sql(self, query: str, parameters: dict[str, object] | None = None) -> pa.Table:
        with duckdb.connect() as connection:
            for name, table in self.tables.items():
                connection.register(name, table)
            return connection.sql(query, params=parameters).to_arrow_table()


def test_the_capacity_of_a_machine_is_that_of_its_last_event() -> None:
    events = pa.table(
        {
            "machine_id": [7] * 5,
            "time": [300 * S, 900 * S, 1200 * S, 1500 * S, 1800 * S + 1],
            "type": ["ADD", "UPDATE", "REMOVE", "ADD", "UPDATE"],
            "memory_capacity": [0.5, 0.25, 0.25, None, 1.0],
            "source_part": [0] * 5,
            "source_row": range(5),
        }
    )
    explored = SimpleNamespace(store=Rows(machine_events=events))
    slots = Span(0, 2100 * S)
    found = machine.capacity(explored, 7, "memory", slots)  # type: ignore[arg-type]
    assert [None if np.isnan(value) else value for value in found] == [
        None,
        0.5,
        0.5,
        0.25,
        0,
        None,
        None,
    ]
    # Before its first event, and where it has none, nobody knows.
    assert np.isnan(machine.capacity(explored, 8, "memory", slots)).all()  # type: ignore[arg-type]


def test_lanes_of_a_machine_begin_in_order_and_then_by_their_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("collection_id", "instance_index", "tier", "machine_id", "begin", "start")
    known = [(5, 1, "free", 7, 0, 600), (4, 0, "free", 7, 0, 700)]
    # Of this one only usage tells.
    measured = [(5, 0, "free", 7, None, 600)]
    lay = lambda _, attempts: dict(zip(names, zip(*attempts.rows, strict=True), strict=True))  # noqa: E731
    monkeypatch.setattr(machine, "lanes", lay)
    monkeypatch.setattr(machine, "_measured", lambda *_: SimpleNamespace(rows=measured))
    lives = SimpleNamespace(of_machine=lambda place: SimpleNamespace(task=None, rows=known))
    explored = SimpleNamespace(place=lambda id_: 0, pyramid=SimpleNamespace(lives=lives))
    found = machine.bars(explored, 7)  # type: ignore[arg-type]
    assert (found["collection_id"], found["instance_index"], found["start"]) == (
        [5, 5, 4],
        [0, 1, 0],
        [600, 600, 700],
    )


def test_what_was_used_is_weighted_by_the_length_of_its_window() -> None:
    # A second counts; no length, one that is not known, and what begins before the trace do not.
    arrays = {
        "start_time": np.array([600, 700, 800, 900, 599], np.int32),
        "duration": np.array([1, 0, 2**31 - 1, 150, 300], np.int32),
        "average_cpu": np.array([0.5, 0.25, 0.25, 0.125, 0.25], np.float32),
    }
    tasks = SimpleNamespace(tier=np.array([0]), is_job=np.array([True]), tiers=("free",))
    store = SimpleNamespace(array=arrays.__getitem__)
    explored = SimpleNamespace(
        store=store, tasks=tasks, task_of=lambda rows: np.zeros(len(rows), int)
    )
    sums, n = load.used(explored, np.arange(5), "cpu", Span(600 * S, 1200 * S))  # type: ignore[arg-type]
    assert sums.tolist() == [[pytest.approx(0.5 / 300), 0.125 * 0.5]]
    assert n.tolist() == [1, 1]


def test_the_fullest_machines_come_first() -> None:
    mean = np.array([0.5, np.nan, 0.98765, 0.5, *[0.1] * 20])
    pyramid = SimpleNamespace(means={"cpu": mean}, machines=np.arange(24))
    found = machine.busiest(SimpleNamespace(pyramid=pyramid), "cpu")  # type: ignore[arg-type]
    assert found["machine_id"].to_pylist() == [2, 0, 3, *range(4, 13)]
    assert found["percent_used"].to_pylist()[:3] == [98.8, 50.0, 50.0]
    few = SimpleNamespace(pyramid=SimpleNamespace(means={"cpu": mean[:2]}, machines=np.arange(2)))
    assert machine.busiest(few, "cpu")["machine_id"].to_pylist() == [0]  # type: ignore[arg-type]


JOBS = pa.table(
    {
        "collection_id": [10, 20, 20, 35, 36, 99],
        "collection_logical_name": ["n", "n", "n", "n", "n", "other"],
        "user": ["u", "u", "u", "u", "v", "u"],
        "first_time": [5, 7, 6, 8, 9, 1],
        "end_type": ["FINISH", "KILL", None, "FAIL", None, None],
    }
)


@pytest.mark.parametrize(
    ("known", "n", "ids"),
    [
        ({"collection_logical_name": "n", "user": "u"}, 12, [10, 35, 36]),
        ({"collection_logical_name": "n", "user": "u"}, 2, [10, 35]),
        ({"collection_logical_name": None, "user": "u"}, 12, [10, 35, 99]),
        ({"user": "it's"}, 12, []),
        ({}, 12, []),
    ],
)
def test_siblings_have_the_name_or_else_the_user(
    known: dict[str, Any], n: int, ids: list[int]
) -> None:
    explored = SimpleNamespace(store=Rows(tasks=JOBS))
    found = job.siblings(explored, 20, known, n)  # type: ignore[arg-type]
    assert found["collection_id"].to_pylist() == ids


def life(*windows: tuple[list[float] | None, list[float] | None]) -> tuple[Any, Any]:
    """A task of some windows, and the store that has their percentiles: 0, 10 … 100 and 91 … 99."""
    n = len(windows)
    lists = {
        name: pa.array([window[at] for window in windows], pa.list_(pa.float32()))
        for at, name in enumerate(("cpu_usage_distribution", "tail_cpu_usage_distribution"))
    }
    ids = {
        "collection_id": [1] * n,
        "instance_index": [2] * n,
        "start_time": range(n),
        "source_part": [0] * n,
    }
    rows_ = pa.table({**lists, **ids, "source_row": range(n)})
    usage = {"start_time": range(n), "end_time": range(1, n + 1), "sampled_cpu": [None] * n}
    usage |= dict.fromkeys(("average_cpu", "maximum_cpu"), [0.5] * n)
    known = SimpleNamespace(
        collection_id=1,
        instance_index=2,
        usage=pa.table(usage),
        task={"cpu_request": 0.25, "memory_request": None},
    )
    return SimpleNamespace(store=Rows(instance_usage=rows_)), known


def test_percentiles_are_drawn_as_a_fan_from_the_widest_band() -> None:
    tenths, tail = [k / 10 for k in range(11)], [0.91 + k / 100 for k in range(9)]
    explored, known = life((tenths, tail), (None, None))
    chart = task.usage(explored, known, "cpu")
    for name, value in (("p0", 0.0), ("p90", 0.9), ("p99", 0.99), ("p100", 1.0)):
        assert chart.table[name].to_pylist() == [pytest.approx(value), None]
    assert [(one.column, one.to, one.style) for one in chart.series] == [
        *((f"p{k}", f"p{100 - k}", "band") for k in (0, 10, 20, 30, 40)),
        ("p99", "", "line"),
        # A column without a value is not drawn.
        ("average_cpu", "", "line"),
        ("maximum_cpu", "", "line"),
        ("request", "", "dash"),
    ]
    assert chart.table["request"].to_pylist() == [0.25] * 2
    bare, known = life((None, None))
    assert [one.column for one in task.usage(bare, known, "cpu").series] == [
        "average_cpu",
        "maximum_cpu",
        "request",
    ]
