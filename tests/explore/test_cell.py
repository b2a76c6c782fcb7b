"""The cell over longer spans: points that stand for several slots, rows for several machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.explore import cell
from borgtrace.explore.charts import TimeChart
from borgtrace.explore.grid import ABSENT, PER_HOUR, ByteGrid, file_name
from borgtrace.explore.pyramid import CELL_FILE, MACHINES_FILE, QUEUE_FILE, Pyramid
from borgtrace.explore.span import TimeSpan
from borgtrace.schema import dialect
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW
from tests.rows import chosen_columns

GOOGLE = dialect("2011")
NO_MACHINES = np.empty((0, 0), np.uint8)


def span(n_slots: int, first: int = 0) -> TimeSpan:
    """A span of slots of 300 s."""
    return TimeSpan(TRACE_START + first * WINDOW, TRACE_START + (first + n_slots) * WINDOW)


def levels(
    tier: str,
    slots: list[int],
    used: list[float | None],
    allocated: list[float | None],
) -> pa.Table:
    """Rows of a tier; the capacity is 10."""
    n = len(slots)
    return pa.table(
        {
            "tier": [tier] * n,
            "hour": slots,
            "cpu_used": used,
            "cpu_allocated": allocated,
            "cpu_capacity": [10.0] * n,
        }
    )


def pyramid_of_cell(folder: Path, table: pa.Table) -> Pyramid:
    """Write what a chart of the cell reads."""
    pq.write_table(table, folder / CELL_FILE)
    return Pyramid(folder)


def columns(chart: TimeChart) -> dict[str, list[Any]]:
    """Columns of a chart, None for NaN."""
    plain = {}
    for name, values in chart.table.to_pydict().items():
        plain[name] = [None if value != value else value for value in values]
    return plain


def test_a_point_is_the_mean_of_the_slots_that_are_known(tmp_path: Path) -> None:
    # 601 slots are more than 600 points: each stands for two, the last for one, which nothing was measured in.
    slots = [slot for slot in range(601) if slot != 1]
    used = [*(float(slot) for slot in slots[:-1]), None]
    free = levels("free", slots, used, [1.0] * 600)
    production = levels("production", [0, 1, 2], [4.0, 6.0, 8.0], [2.0, 2.0, None])
    pyramid = pyramid_of_cell(tmp_path, pa.concat_tables([free, production]))
    chart = cell.load(pyramid, GOOGLE, "cpu", span(601))
    drawn = columns(chart)
    assert chart.step == 2 * WINDOW
    assert len(drawn["time"]) == 301
    assert drawn["time"][:2] == [TRACE_START, TRACE_START + 2 * WINDOW]
    assert drawn["free"][:3] == [0.0, 2.5, 4.5]
    assert drawn["free"][-2:] == [598.5, None]
    assert drawn["production"][:3] == [5.0, 8.0, None]
    # 1 of the free tier and 2 of production in slot 0, 2 in slot 1; then 1 alone.
    assert drawn["allocated"][:2] == [2.5, 1.0]
    assert drawn["allocated"][-1] == 1.0
    assert drawn["capacity"][:2] == [10.0, 10.0]
    assert [(series.column, series.style) for series in chart.series] == [
        ("free", "stack"),
        ("production", "stack"),
        ("allocated", "dash"),
        ("capacity", "line"),
    ]


def test_a_part_has_its_own_slots(tmp_path: Path) -> None:
    table = levels("free", [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0], [5.0] * 4)
    pyramid = pyramid_of_cell(tmp_path, table)
    chart = cell.load(pyramid, GOOGLE, "cpu", span(2, first=1))
    assert columns(chart)["free"] == [2.0, 3.0]


def pyramid_of_queue(folder: Path, table: pa.Table) -> Pyramid:
    """Write what a chart of the queue reads."""
    pq.write_table(table, folder / QUEUE_FILE)
    return Pyramid(folder)


def test_a_queue_is_told_at_the_end_of_each_step_with_its_extremes(tmp_path: Path) -> None:
    # Rows are steps of 300 s from time zero: two lie before the trace, and the store ends with slot 600.
    n = np.arange(603)
    table = pa.table(
        {
            "pending": n,
            "pending_min": n - 1,
            "pending_max": n + 10,
        }
    )
    chart = cell.queue(pyramid_of_queue(tmp_path, table), "pending", span(602))
    drawn = columns(chart)
    assert chart.step == 2 * WINDOW
    # Of slots 0 and 1, rows 2 and 3.
    assert drawn["pending"][0] == 3
    assert drawn["pending_min"][0] == 1
    assert drawn["pending_max"][0] == 13
    # Of slots 600 and 601 the last is not known.
    assert drawn["pending"][-1] is None
    assert drawn["pending_min"][-1] == 601
    assert drawn["pending_max"][-1] == 612
    assert [(series.column, series.to, series.color) for series in chart.series] == [
        ("pending_min", "pending_max", "c2"),
        ("pending", "", "c2"),
    ]


def test_the_running_tasks_have_a_color_of_their_own(tmp_path: Path) -> None:
    n = np.arange(603)
    table = pa.table(
        {
            "running": n,
            "running_min": n,
            "running_max": n,
        }
    )
    chart = cell.queue(pyramid_of_queue(tmp_path, table), "running", span(601))
    assert chart.series[0].color == "c1"
    # 601 slots are 301 points, of which the last is one slot.
    assert columns(chart)["running"][-2:] == [601, 602]


def pyramid_of_machines(
    folder: Path,
    machines: list[int],
    by_slot: ByteGrid,
    by_hour: ByteGrid,
) -> Pyramid:
    """Write what a heat map of memory reads; of CPU nothing."""
    np.save(folder / MACHINES_FILE, np.array(machines, np.int64))
    np.save(folder / file_name("memory", by_hour=False), by_slot)
    np.save(folder / file_name("memory", by_hour=True), by_hour)
    np.save(folder / file_name("cpu", by_hour=True), NO_MACHINES)
    return Pyramid(folder)


def heat(
    folder: Path,
    n_machines: int,
    chosen: TimeSpan,
    first: int = 0,
    last: int = 2**63 - 1,
    n_slots: int = 5000,
) -> dict[str, Any]:
    """Machine m is m ÷ 2 % full in every slot, so that the last is the fullest."""
    steps = np.arange(n_machines, dtype=np.uint8)[:, np.newaxis]
    pyramid = pyramid_of_machines(
        folder,
        machines=[1000 + machine for machine in range(n_machines)],
        by_slot=np.repeat(steps, n_slots, axis=1),
        by_hour=np.repeat(steps, -(-n_slots // PER_HOUR), axis=1),
    )
    return cell.heat(pyramid, "memory", chosen, first, last)


def test_a_heat_map_has_the_fullest_machines_first(tmp_path: Path) -> None:
    shown = heat(tmp_path, 3, span(4, first=2))
    assert shown["cells"].tolist() == [
        [2] * 4,
        [1] * 4,
        [0] * 4,
    ]
    expected = {
        "machines": ["1002", "1001", "1000"],
        "times": [TRACE_START + slot * WINDOW for slot in (2, 3, 4, 5)],
        "step": WINDOW,
        "per_row": 1,
        "first": 0,
        "n_machines": 3,
        "percent": 0.5,
        "absent": ABSENT,
    }
    assert chosen_columns(shown, expected) == expected


def test_a_heat_map_of_some_ranks(tmp_path: Path) -> None:
    shown = heat(
        tmp_path,
        3,
        span(4),
        first=1,
        last=2,
    )
    assert shown["machines"] == ["1001"]
    assert shown["first"] == 1
    assert shown["cells"].tolist() == [[1] * 4]


def test_machines_that_never_were_there_come_last(tmp_path: Path) -> None:
    grid = np.array(
        [
            [ABSENT],
            [4],
            [6],
            [4],
        ],
        np.uint8,
    )
    pyramid = pyramid_of_machines(tmp_path, [1, 2, 3, 4], grid, grid)
    # Equal ones keep the order of their ids.
    shown = cell.heat(
        pyramid,
        "memory",
        span(1),
        0,
        9,
    )
    assert shown["machines"] == ["3", "2", "4", "1"]


@pytest.mark.parametrize(
    ("n_machines", "per_row", "rows"),
    [
        (160, 1, 160),
        (161, 2, 81),
        (0, 1, 0),
    ],
)
def test_a_heat_map_has_at_most_160_rows(
    tmp_path: Path,
    n_machines: int,
    per_row: int,
    rows: int,
) -> None:
    shown = heat(tmp_path, n_machines, span(1))
    assert shown["per_row"] == per_row
    assert len(shown["machines"]) == rows
    assert len(shown["cells"]) == rows


def test_the_emptiest_machine_may_have_a_row_alone(tmp_path: Path) -> None:
    shown = heat(tmp_path, 161, span(1))
    assert (shown["machines"][0], shown["machines"][-1]) == ("1160", "1000")
    assert (shown["cells"][0, 0], shown["cells"][-1, 0]) == (160, 0)


@pytest.mark.parametrize(
    ("chosen", "step", "n_columns", "first"),
    [
        (span(360), WINDOW, 360, 0),
        (span(361), 2 * WINDOW, 181, 0),
        # Twelve slots are an hour, which is read from the other grid: the hour that the span begins in is its first.
        (span(2161), HOUR, 181, 0),
        (span(2161, first=11), HOUR, 181, 0),
        (span(2161, first=13), HOUR, 181, 1),
        (span(4321), 2 * HOUR, 181, 0),
    ],
)
def test_a_column_stands_for_slots_or_hours(
    tmp_path: Path,
    chosen: TimeSpan,
    step: int,
    n_columns: int,
    first: int,
) -> None:
    shown = heat(tmp_path, 1, chosen)
    start = TRACE_START + first * HOUR
    assert shown["step"] == step
    assert shown["cells"].shape == (1, n_columns)
    assert len(shown["times"]) == n_columns
    assert shown["times"][:2] == [start, start + step]


def test_a_heat_map_ends_with_the_last_window(tmp_path: Path) -> None:
    assert heat(tmp_path, 1, span(10), n_slots=7)["cells"].shape == (1, 7)
