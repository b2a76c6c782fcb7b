"""What a pyramid is made of, written and read: windows of machines, lives of tasks, grids; and who is nearest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import UsageError
from borgtrace.explore import grid, job, load, machine, question, rows, task, windows
from borgtrace.explore.charts import to_csv, to_json
from borgtrace.explore.lives import AFTER, Lives, write_lives
from borgtrace.explore.span import Span, life_of, whole
from borgtrace.explore.tasks import Tasks
from borgtrace.explore.trace import Trace
from borgtrace.explore.windows import Windows, write_windows
from borgtrace.schema import dialect
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW

S = 1_000_000


def layout(path: Path, table: pa.Table) -> Any:
    """Stands for a store's layout: one file of a table."""
    pq.write_table(table, path)
    return SimpleNamespace(parts=lambda name: [path])


class Rows:
    """Stands for a store that is asked in SQL."""

    def __init__(self, **tables: pa.Table) -> None:
        self.tables = tables

    def sql(self, query: str) -> pa.Table:
        with duckdb.connect() as connection:
            for name, table in self.tables.items():
                connection.register(name, table)
            return connection.sql(query).to_arrow_table()


@pytest.mark.parametrize("batch", [1_000_000, 3, 1])
def test_runs_end_with_the_task_or_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(windows, "_BATCH", batch)
    # Task 0 has rows 0 to 4, task 1 none, task 2 rows 5 and 6, task 3 row 7.
    on = pa.table({"machine_id": pa.array([7, 7, 9, None, 7, 7, 8, 8], pa.int64())})
    store = SimpleNamespace(offsets=np.array([0, 5, 5, 7, 8]), layout=layout(tmp_path / "usage.parquet", on))
    machines = write_windows(store, tmp_path, np.array([5, 8]))
    assert machines.tolist() == [5, 7, 8, 9]
    read = Windows(tmp_path)
    assert [read.of(place).tolist() for place in range(4)] == [[], [0, 1, 4, 5], [6, 7], [2]]
    runs = pq.read_table(tmp_path / "windows.parquet")
    # In the order of machines, then of rows.
    assert runs.to_pydict() == {"first_row": [0, 4, 5, 6, 7, 2], "n": [2, 1, 1, 1, 1, 1]}
    assert runs.schema.types == [pa.uint32(), pa.uint32()]


def attempts(*rows: tuple[int, int | None, int | None, int | None, int | None, str | None]) -> pa.RecordBatch:
    """Attempts: task, machine, times in µs, type of the end."""
    tasks, on, begin, schedule, left, end = zip(*rows, strict=True)
    times = {"begin_time": begin, "schedule_time": schedule, "left_time": left}
    return pa.RecordBatch.from_pydict(
        {
            "collection_id": pa.array(tasks, pa.int64()),
            "instance_index": pa.array([0] * len(rows), pa.int32()),
            "machine_id": pa.array(on, pa.int64()),
            **{name: pa.array(values, pa.int64()) for name, values in times.items()},
            "end_type": pa.array(end, pa.string()),
        }
    )


def test_lives_are_cut_to_seconds_and_sorted_by_machine(tmp_path: Path) -> None:
    store = SimpleNamespace(task_rows=lambda pairs: pairs[:, 0])
    batches = [
        attempts((3, 8, 5 * S + 999_999, 9 * S, 20 * S, "FINISH"), (1, 8, 7 * S, 8 * S, AFTER_TRACE, None)),
        attempts(
            (2, 7, 0, 4 * S, None, "EVICT"),
            # Its SCHEDULE is lost, or it never ran; machines 6 and 9 are none of the store's.
            (2, 7, 30 * S, None, 40 * S, "KILL"),
            (4, 6, 1 * S, 2 * S, 3 * S, "FAIL"),
            (5, 9, 1 * S, 2 * S, 3 * S, "LOST"),
            (0, None, 1 * S, 2 * S, 3 * S, "FINISH"),
        ),
    ]
    write_lives(store, batches, tmp_path, np.array([7, 8]))
    lives = Lives(tmp_path)
    first, second = lives.of_machine(0), lives.of_machine(1)
    assert (first.task.tolist(), first.machine.tolist(), first.left.tolist()) == ([2], [0], [AFTER])
    assert (second.task.tolist(), second.begin.tolist(), second.schedule.tolist()) == ([1, 3], [7, 5], [8, 9])
    assert (second.left.tolist(), second.end) == ([AFTER, 20], [None, "FINISH"])
    # Of tasks, by their begin; the last is excluded.
    two = lives.of_tasks(2, 4)
    assert (two.task.tolist(), two.machine.tolist()) == ([2, 3, 2], [0, 1, -1])
    assert two.end == ["EVICT", "FINISH", "KILL"]
    rest = lives.of_tasks(4, 6)
    assert (rest.task.tolist(), rest.machine.tolist(), rest.end) == ([4, 5], [-1, -1], ["FAIL", "LOST"])


def test_who_ran_nowhere_ran_on_no_machine(tmp_path: Path) -> None:
    store = SimpleNamespace(task_rows=lambda pairs: pairs[:, 0])
    write_lives(store, [attempts((0, None, 1 * S, 2 * S, 3 * S, "FINISH"))], tmp_path, np.array([0, 1]))
    assert [Lives(tmp_path).of_machine(place).task.tolist() for place in (0, 1)] == [[], []]


def test_a_store_without_attempts(tmp_path: Path) -> None:
    write_lives(SimpleNamespace(), [], tmp_path, np.array([7]))
    assert Lives(tmp_path).of_machine(0).task.tolist() == []


def test_grids_by_slot_and_by_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "_BLOCK", 1)
    present = pa.table(
        {
            "machine_id": [7, 7, 8],
            # Machine 7 is there from before the trace until slot 12 begins, and again from within slot 13 on.
            "start": [0, TRACE_START + 13 * WINDOW + 1, TRACE_START],
            "end": [TRACE_START + 12 * WINDOW, AFTER_TRACE, TRACE_START + 12 * WINDOW + 1],
        }
    )
    shares = pa.RecordBatch.from_pydict(
        {"machine_id": [7, 7, 8], "slot": [0, 24, 1], "cpu": [0.6, 0.0026, 9.0], "memory": [0.3, 1.0, 0.0024]}
    )
    grid.write_grids(tmp_path, np.array([7, 8]), 25, present, [shares])
    slots, hours = (np.load(tmp_path / grid.file_name("cpu", by_hour)) for by_hour in (False, True))
    seven = [120, *[0] * 11, 255, 255, *[0] * 10, 1]
    assert slots.tolist() == [seven, [0, 254, *[0] * 11, *[255] * 12]]
    # The mean of the slots in which it was there: 120 ÷ 12, 0, 1; 254 ÷ 12 is 21.2.
    assert hours.tolist() == [[10, 0, 1], [21, 0, 255]]
    memory = np.load(tmp_path / grid.file_name("memory", False))
    assert (memory[0, 0], memory[0, 24], memory[1, 1]) == (60, 200, 0)
    assert (slots.dtype, hours.dtype) == (np.uint8, np.uint8)


def trace(machines: list[int], jobs: list[int]) -> Trace:
    """Stands for a trace of these machines, and of jobs of one task each."""

    def rows_of_collection(id_: int) -> tuple[int, int]:
        return int(np.searchsorted(jobs, id_)), int(np.searchsorted(jobs, id_, side="right"))

    def task_ids(rows: Any) -> tuple[Any, Any]:
        return np.array(jobs)[rows], np.zeros(len(rows), int)

    manifest = SimpleNamespace(tables={"tasks": len(jobs)})
    store = SimpleNamespace(rows_of_collection=rows_of_collection, task_ids=task_ids, manifest=manifest)
    ids = np.array(machines, np.int64)
    pyramid = SimpleNamespace(machines=ids, place=lambda id_: machines.index(id_) if id_ in machines else None)
    return Trace(store, pyramid, SimpleNamespace(), Span(0, 1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("asked", "nearest"), [(1, 7), (9, 7), (51, 50), (90, 100), (999, 100)])
def test_who_is_not_there_has_a_nearest(asked: int, nearest: int) -> None:
    known = trace([7, 50, 100], [7, 50, 100])
    with pytest.raises(UsageError) as told:
        known.place(asked)
    assert str(told.value) == f"machine: not in this store: got {asked}; the nearest is {nearest}"
    with pytest.raises(UsageError) as told:
        known.job_rows(asked)
    assert str(told.value) == f"job: no task of it is in this store: got {asked}; the nearest is {nearest}"
    assert (known.place(100), known.job_rows(100)) == (2, (2, 3))


def test_the_only_one_is_the_nearest() -> None:
    alone = trace([7], [7])
    with pytest.raises(UsageError, match="the nearest is 7"):
        alone.place(9)
    with pytest.raises(UsageError, match="the nearest is 7"):
        alone.job_rows(9)


def test_nobody_is_nearest_where_there_is_nobody() -> None:
    nobody = trace([], [])
    with pytest.raises(UsageError, match=r"got 1; the store names no machines$"):
        nobody.place(1)
    with pytest.raises(UsageError, match=r"got 1; the store has no tasks$"):
        nobody.job_rows(1)
    # Nor is there a table of them where nothing was stored.
    nobody.store.manifest.tables.clear()
    with pytest.raises(UsageError, match=r"got 1; the store has no tasks$"):
        nobody.job_rows(1)


def test_a_row_of_usage_is_of_the_last_task_that_begins_there() -> None:
    found = Trace(SimpleNamespace(offsets=np.array([0, 5, 5, 7])), *[None] * 3)  # type: ignore[arg-type]
    assert found.task_of(np.array([0, 4, 5, 6])).tolist() == [0, 0, 2, 2]


def test_tiers_begin_and_end_with_their_priorities(tmp_path: Path) -> None:
    table = pa.table(
        {
            "collection_type": ["JOB"] * 7 + ["ALLOC_SET"],
            "priority": pa.array([0, 1, 2, 8, 9, 11, 12, None], pa.int16()),
            "cpu_request": pa.array([0.5, *[None] * 7], pa.float32()),
            "memory_request": pa.array([0.25, *[None] * 7], pa.float32()),
        }
    )
    store = SimpleNamespace(
        manifest=SimpleNamespace(dialect=dialect("2011")), layout=layout(tmp_path / "tasks.parquet", table)
    )
    tasks = Tasks(store)  # type: ignore[arg-type]
    assert [tasks.tiers[tier] for tier in tasks.tier] == [
        *("free", "free", "other", "other", "production", "production", "unknown", "unknown")
    ]
    assert tasks.is_job.tolist() == [True] * 7 + [False]
    assert (tasks.request("cpu")[0], tasks.request("memory")[0]) == (0.5, 0.25)


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
    assert [None if np.isnan(value) else value for value in found] == [None, 0.5, 0.5, 0.25, 0, None, None]
    # Before its first event, and where it has none, nobody knows.
    assert np.isnan(machine.capacity(explored, 8, "memory", slots)).all()  # type: ignore[arg-type]


def test_lanes_of_a_machine_begin_in_order_and_then_by_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("collection_id", "instance_index", "tier", "machine_id", "begin", "start")
    known = [(5, 1, "free", 7, 0, 600), (4, 0, "free", 7, 0, 700)]
    monkeypatch.setattr(machine, "lanes", lambda *_: dict(zip(names, zip(*known, strict=True), strict=True)))
    # Of this one only usage tells.
    monkeypatch.setattr(machine, "_measured", lambda *_: [(5, 0, "free", 7, None, 600)])
    lives = SimpleNamespace(of_machine=lambda place: SimpleNamespace(task=None))
    explored = SimpleNamespace(place=lambda id_: 0, pyramid=SimpleNamespace(lives=lives))
    found = machine.bars(explored, 7)  # type: ignore[arg-type]
    assert (found["collection_id"], found["instance_index"], found["start"]) == ([5, 5, 4], [0, 1, 0], [600, 600, 700])


def test_what_was_used_is_weighted_by_the_length_of_its_window() -> None:
    # A second counts; no length, one that is not known, and what begins before the trace do not.
    arrays = {
        "start_time": np.array([600, 700, 800, 900, 599], np.int32),
        "duration": np.array([1, 0, 2**31 - 1, 150, 300], np.int32),
        "average_cpu": np.array([0.5, 0.25, 0.25, 0.125, 0.25], np.float32),
    }
    tasks = SimpleNamespace(tier=np.array([0]), is_job=np.array([True]), tiers=("free",))
    store = SimpleNamespace(array=arrays.__getitem__)
    explored = SimpleNamespace(store=store, tasks=tasks, task_of=lambda rows: np.zeros(len(rows), int))
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
def test_siblings_have_the_name_or_else_the_user(known: dict[str, Any], n: int, ids: list[int]) -> None:
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
    ids = {"collection_id": [1] * n, "instance_index": [2] * n, "start_time": range(n), "source_part": [0] * n}
    rows_ = pa.table({**lists, **ids, "source_row": range(n)})
    usage = {"start_time": range(n), "end_time": range(1, n + 1), "sampled_cpu": [None] * n}
    usage |= dict.fromkeys(("average_cpu", "maximum_cpu"), [0.5] * n)
    known = SimpleNamespace(
        collection_id=1, instance_index=2, usage=pa.table(usage), task={"cpu_request": 0.25, "memory_request": None}
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
    assert [one.column for one in task.usage(bare, known, "cpu").series] == ["average_cpu", "maximum_cpu", "request"]


class Stream:
    """Stands for the reader of an answer in batches: notes how many were read."""

    def __init__(self, sizes: list[int]) -> None:
        self.schema, self.sizes, self.read = pa.schema({"n": pa.int64()}), sizes, 0

    def __iter__(self) -> Any:
        for size in self.sizes:
            self.read += 1
            yield pa.RecordBatch.from_pydict({"n": pa.array(range(size), pa.int64())})


@pytest.mark.parametrize(
    ("sizes", "rows", "is_cut", "read"),
    [([3, 2], 5, False, 2), ([3, 2, 1, 1], 5, True, 3), ([3, 3, 1], 5, True, 2), ([], 0, False, 0)],
)
def test_of_an_answer_so_much_is_computed_as_is_shown(sizes: list[int], rows: int, is_cut: bool, read: int) -> None:
    stream = Stream(sizes)
    explored = SimpleNamespace(store=SimpleNamespace(stream=lambda query, timeout: stream))
    table, found = question.first_rows(explored, "select", 5)  # type: ignore[arg-type]
    assert (table.num_rows, found, stream.read) == (rows, is_cut, read)


@pytest.mark.parametrize(
    ("ranges", "end"),
    [
        ({}, TRACE_START + WINDOW),
        ({"instance_usage": [0, TRACE_START + 1]}, TRACE_START + WINDOW),
        ({"instance_usage": [0, 9 * 10**9], "instance_events": [0, 8 * 10**9]}, 9 * 10**9),
        ({"instance_usage": [0, AFTER_TRACE], "instance_events": [7 * 10**9, AFTER_TRACE]}, 7 * 10**9),
    ],
)
def test_the_span_ends_with_the_last_known_time(ranges: dict[str, list[int]], end: int) -> None:
    assert whole(SimpleNamespace(time_range=ranges)) == Span(TRACE_START, end)  # type: ignore[arg-type]


def test_a_life_stays_within_the_store() -> None:
    everything = Span(TRACE_START, TRACE_START + 10 * WINDOW + 1)
    assert life_of(everything, [TRACE_START]) == Span(TRACE_START, TRACE_START + WINDOW)
    assert life_of(everything, [TRACE_START + 10 * WINDOW]) == Span(TRACE_START + 9 * WINDOW, everything.end)


def test_cells_lead_to_what_they_stand_for() -> None:
    table = pa.table(
        {
            "collection_id": [100, None],
            "instance_index": [3, None],
            "machine_id": [12_345, None],
            "user": ["a b", None],
            "priority": [9, None],
            "first_time": [3_600_000_000, None],
            "n_jobs": [20_000, None],
            "share": [0.123456789, None],
            "is_up": [True, None],
        }
    )
    grid_ = rows.shown(table, {"n_jobs": "/jobs?name={user}"})
    assert grid_.columns == tuple(table.column_names)
    assert grid_.is_number == (True, True, True, False, True, True, True, True, False)
    assert [(cell.text, cell.href) for cell in grid_.rows[0]] == [
        ("100", "/job/100"),
        ("3", "/task/100/3"),
        ("12345", "/machine/12345"),
        ("a b", "/jobs?user=a%20b"),
        ("9", "/jobs?priority=9"),
        ("1.0000 h", None),
        ("20\u202f000", "/jobs?name=a%20b"),
        ("0.123457", None),
        ("True", None),
    ]
    assert {(cell.text, cell.href) for cell in grid_.rows[1]} == {("–", None), ("–", "/jobs?name=")}
    # An index alone is of no task.
    assert rows.shown(pa.table({"instance_index": [3]})).rows == ((rows.Cell("3"),),)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("time", 0, "before the trace"),
        ("end_time", AFTER_TRACE, "after the trace"),
        ("time", 1.5, "1.5"),
        ("scheduling_class", 12_345, "12345"),
        ("n", 12_345, "12\u202f345"),
        ("n", None, "–"),
        ("n", False, "False"),
        ("name", "x", "x"),
    ],
)
def test_values_are_written_by_their_name(name: str, value: Any, text: str) -> None:
    assert rows.text(name, value) == text


def test_json_for_a_browser_loses_nothing() -> None:
    value = {
        **{"kept": 2**53, "large": 2**53 + 1, "negative": -(2**53) - 1},
        **{"infinite": float("inf"), "float": 0.1234567891, "yes": True},
        **{"list": [None, "a", 1.5, 2**60], "array": np.array([1, 2])},
    }
    assert to_json(value) == (
        b'{"kept":9007199254740992,"large":"9007199254740993","negative":"-9007199254740993",'
        b'"infinite":null,"float":0.12345679,"yes":true,"list":[null,"a",1.5,"1152921504606846976"],"array":[1,2]}'
    )
    assert to_csv(pa.table({"n": [1], "list": [[1, 2]]})) == b'"n","list"\n1,"[1, 2]"\n'
