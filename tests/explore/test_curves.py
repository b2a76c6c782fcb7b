"""What the pages of machines, jobs and tasks draw and list: capacity, lanes, usage, the fullest, siblings, bands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import borgtrace
from borgtrace.explore import machine, task
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.grid import ABSENT, file_name
from borgtrace.explore.load import UsedWindows, add_windows
from borgtrace.explore.pyramid import MACHINES_FILE, Pyramid, pyramid
from borgtrace.explore.siblings import siblings
from borgtrace.explore.span import TimeSpan
from borgtrace.report.task_life import Life
from borgtrace.schema import PERCENTILES
from tests.explore.conftest import write_store
from tests.ingest.raw import HASH
from tests.rows import chosen_columns

S = 1_000_000


def explore(store: Path) -> ExploredStore:
    opened = borgtrace.open(store)
    return ExploredStore(opened, pyramid(opened))


def event(
    seconds: int,
    ids: str,
    kind: int,
    on: str = "",
) -> str:
    """A raw event of a free task."""
    return f"{seconds}000000,,{ids},{on},{kind},{HASH},0,0,0.125,0.0625,0.001,0"


def usage(
    start: int,
    end: int,
    ids: str,
    on: str,
) -> str:
    """A raw usage window."""
    return f"{start}000000,{end}000000,{ids},{on},0.1,0.1,0.1,,,0.1,,,0.1,,2.5,0.01,1,0,0.1"


def test_the_capacity_of_a_machine_is_that_of_its_last_event(tmp_path: Path) -> None:
    store = write_store(
        tmp_path,
        {
            "machine_events": [
                f"300000000,7,0,{HASH},1,0.5",
                f"900000000,7,2,{HASH},1,0.25",
                f"1200000000,7,1,{HASH},1,0.25",
                f"1500000000,7,0,{HASH},1,",
                f"1800000001,7,2,{HASH},1,1",
            ]
        },
    )
    explored = explore(store)
    span = TimeSpan(0, 2100 * S)
    capacity = machine.capacity(explored, 7, "memory", span)
    assert [None if np.isnan(value) else value for value in capacity] == [
        None,
        0.5,
        0.5,
        0.25,
        0,
        None,
        None,
    ]
    # Before its first event, and where it has none, nobody knows.
    assert np.isnan(machine.capacity(explored, 8, "memory", span)).all()


def test_lanes_of_a_machine_begin_in_order_and_then_by_their_ids(tmp_path: Path) -> None:
    store = write_store(
        tmp_path,
        {
            "machine_events": [f"0,7,0,{HASH},1,1"],
            "task_events": [
                event(600, "5,1", 0),
                event(600, "5,1", 1, "7"),
                event(600, "4,0", 0),
                event(700, "4,0", 1, "7"),
            ],
            # Of task 5:0 only usage tells.
            "task_usage": [usage(600, 900, "5,0", "7")],
        },
    )
    lanes = machine.bars(explore(store), 7)
    expected = {
        "collection_id": [5, 5, 4],
        "instance_index": [0, 1, 0],
        "start": [
            600 * S,
            600 * S,
            700 * S,
        ],
    }
    assert chosen_columns(lanes, expected) == expected


def test_what_was_used_is_weighted_by_the_length_of_its_window() -> None:
    # A second counts; no length, one that is not known, what begins before the trace, and no value do not.
    windows = UsedWindows(
        start=np.array([600, 700, 800, 900, 599, 1200]),
        seconds=np.array(
            [
                1,
                0,
                2**31 - 1,
                150,
                300,
                300,
            ]
        ),
        value=np.array([0.5, 0.25, 0.25, 0.125, 0.25, np.nan]),
        tier=np.zeros(6, np.int64),
        is_of_job=np.ones(6, np.bool_),
    )
    load = add_windows(windows, 1, TimeSpan(600 * S, 1500 * S))
    assert load.by_tier.tolist() == [[pytest.approx(0.5 / 300), 0.125 * 0.5, 0]]
    assert load.n_windows.tolist() == [1, 1, 0]
    # Nothing that has a value was measured in the last slot.
    assert np.isnan(load.total).tolist() == [False, False, True]


def pyramid_of_means(folder: Path, steps: list[list[int]]) -> Pyramid:
    """Machines from 0 on, each as full as its steps of half a percent in three hours."""
    grid = np.array(steps, np.uint8)
    np.save(folder / MACHINES_FILE, np.arange(len(steps)))
    for resource in ("cpu", "memory"):
        np.save(folder / file_name(resource, by_hour=True), grid)
    return Pyramid(folder)


def test_the_fullest_machines_come_first(tmp_path: Path) -> None:
    half = [100] * 3
    # 98.8333 % on the mean.
    steps = [
        half,
        [ABSENT] * 3,
        [197, 198, 198],
        half,
        *[[20] * 3] * 20,
    ]
    fullest = machine.fullest(pyramid_of_means(tmp_path, steps), "cpu")
    assert fullest["machine_id"].to_pylist() == [
        2,
        0,
        3,
        *range(4, 13),
    ]
    assert fullest["percent_used"].to_pylist()[:3] == [98.8, 50.0, 50.0]


def test_machines_that_never_were_there_are_not_listed(tmp_path: Path) -> None:
    fullest = machine.fullest(pyramid_of_means(tmp_path, [[100] * 3, [ABSENT] * 3]), "cpu")
    assert fullest["machine_id"].to_pylist() == [0]


def job_event(id_: int, user: str, name: str) -> str:
    """A raw event of a job."""
    return f"600000000,,{id_},0,{user},0,{name},{name}"


def submit(id_: int, index: int, user: str) -> str:
    """A raw event of a task."""
    return f"600000000,,{id_},{index},,0,{user},0,0,0.125,0.0625,0.001,0"


@pytest.fixture(scope="module")
def six_tasks(tmp_path_factory: pytest.TempPathFactory) -> ExploredStore:
    """Jobs 10, 20, 35 and 36 have a name, and 99 has another; 36 has another user."""
    jobs = {
        10: ("u", "n"),
        20: ("u", "n"),
        35: ("u", "n"),
        36: ("v", "n"),
        99: ("u", "other"),
    }
    tasks = [
        (10, 0),
        (20, 0),
        (20, 1),
        (35, 0),
        (36, 0),
        (99, 0),
    ]
    store = write_store(
        tmp_path_factory.mktemp("siblings"),
        {
            # By the first line a file is known for what it is.
            "job_events": [
                job_event(1, HASH, HASH),
                *(job_event(id_, user, name) for id_, (user, name) in jobs.items()),
            ],
            "task_events": [
                submit(1, 0, HASH),
                *(submit(id_, index, jobs[id_][0]) for id_, index in tasks),
            ],
        },
    )
    return explore(store)


@pytest.mark.parametrize(
    ("facts", "limit", "expected"),
    [
        (
            {"collection_logical_name": "n", "user": "u"},
            12,
            [("logical name", 3, [10, 35, 36]), ("user", 3, [10, 35, 99])],
        ),
        # The number is of all of them.
        (
            {"collection_logical_name": "n", "user": "u"},
            2,
            [("logical name", 3, [10, 35]), ("user", 3, [10, 35])],
        ),
        ({"collection_logical_name": None, "user": "u"}, 12, [("user", 3, [10, 35, 99])]),
        ({"user": "it's"}, 12, []),
        ({}, 12, []),
    ],
)
def test_siblings_have_the_name_or_the_user(
    six_tasks: ExploredStore,
    facts: dict[str, Any],
    limit: int,
    expected: list[tuple[str, int, list[int]]],
) -> None:
    groups = siblings(six_tasks, 20, facts, limit)
    assert [
        (group.shared, group.n_jobs, group.jobs["collection_id"].to_pylist()) for group in groups
    ] == expected
    for group in groups:
        assert group.address == ("/jobs?user=u" if group.shared == "user" else None)


def life(percentiles: dict[str, list[float | None]]) -> Life:
    """A task of two windows, whose one random second was not measured."""
    table = pa.table(
        {
            "start_time": [0, 1],
            "end_time": [1, 2],
            "average_cpu": [0.5, 0.5],
            "maximum_cpu": [0.5, 0.5],
            "sampled_cpu": [None, None],
        }
    )
    return Life(
        collection_id=1,
        instance_index=2,
        events=pa.table({}),
        usage=table,
        task={"cpu_request": 0.25, "memory_request": None},
        percentiles={name: pa.chunked_array([values]) for name, values in percentiles.items()},
    )


def test_percentiles_are_drawn_as_a_fan_from_the_widest_band() -> None:
    percentiles = {name: [float(name[1:]) / 100, None] for name in PERCENTILES}
    chart = task.usage(life(percentiles), "cpu")
    for name, value in (("p0", 0.0), ("p90", 0.9), ("p99", 0.99), ("p100", 1.0)):
        assert chart.table[name].to_pylist() == [pytest.approx(value), None]
    assert [(series.column, series.to, series.style) for series in chart.series] == [
        ("p0", "p100", "band"),
        ("p10", "p90", "band"),
        ("p20", "p80", "band"),
        ("p30", "p70", "band"),
        ("p40", "p60", "band"),
        ("p99", "", "line"),
        # A column without a value is not drawn.
        ("average_cpu", "", "line"),
        ("maximum_cpu", "", "line"),
        ("request", "", "dash"),
    ]
    assert chart.table["request"].to_pylist() == [0.25, 0.25]


def test_without_percentiles_there_is_no_fan() -> None:
    chart = task.usage(life({}), "cpu")
    assert [series.column for series in chart.series] == ["average_cpu", "maximum_cpu", "request"]
