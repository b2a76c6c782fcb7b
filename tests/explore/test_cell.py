"""The cell over longer spans: points that stand for several slots, rows for several machines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.explore import cell
from borgtrace.explore.grid import ABSENT
from borgtrace.explore.span import Span
from borgtrace.schema import dialect
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

GOOGLE = dialect("2011")


def span(n_slots: int, first: int = 0) -> Span:
    return Span(TRACE_START + first * WINDOW, TRACE_START + (first + n_slots) * WINDOW)


def levels(
    tier: str, slots: list[int], used: list[float], allocated: list[float | None]
) -> pa.Table:
    n = len(slots)
    columns = {"tier": [tier] * n, "hour": slots, "cpu_used": used, "cpu_allocated": allocated}
    return pa.table({**columns, "cpu_capacity": [10.0] * n})


def pyramid(**parts: Any) -> Any:
    """Stands for a pyramid: what it is asked for, as arrays."""
    return SimpleNamespace(**parts)


def columns(chart: Any) -> dict[str, list[Any]]:
    return {
        name: [None if v != v else v for v in values]
        for name, values in chart.table.to_pydict().items()
    }


def test_a_point_is_the_mean_of_the_slots_that_are_known() -> None:
    # 601 slots are more than 600 points: each stands for two, the last for one, which nothing was measured in.
    slots = [slot for slot in range(601) if slot != 1]
    free = levels("free", slots, [float(slot) for slot in slots], [1.0] * 600)
    production = levels("production", [0, 1, 2], [4.0, 6.0, 8.0], [2.0, 2.0, None])
    aggregates = pyramid(
        cell=pa.concat_tables([free, production]), grid=lambda *_, by_hour: np.empty((0, 600))
    )
    chart = cell.load(aggregates, GOOGLE, "cpu", span(601))
    found = columns(chart)
    assert chart.step == 2 * WINDOW
    assert (len(found["time"]), found["time"][:2]) == (301, [TRACE_START, TRACE_START + 2 * WINDOW])
    assert found["free"][:3] == [0.0, 2.5, 4.5]
    assert found["free"][-2:] == [598.5, None]
    assert found["production"][:3] == [5.0, 8.0, None]
    # 1 of the free tier and 2 of production in slot 0, 2 in slot 1; then 1 alone.
    assert found["allocated"][:2] == [2.5, 1.0]
    assert found["allocated"][-1] == 1.0
    assert found["capacity"][:2] == [10.0, 10.0]
    assert [(one.column, one.style) for one in chart.series] == [
        ("free", "stack"),
        ("production", "stack"),
        ("allocated", "dash"),
        ("capacity", "line"),
    ]


def test_a_part_has_its_own_slots() -> None:
    table = levels("free", [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0], [5.0] * 4)
    aggregates = pyramid(cell=table, grid=lambda *_, by_hour: np.empty((0, 9)))
    assert columns(cell.load(aggregates, GOOGLE, "cpu", span(2, first=1)))["free"] == [2.0, 3.0]


def test_a_queue_is_told_at_the_end_of_each_step_with_its_extremes() -> None:
    # Rows are steps of 300 s from time zero: two lie before the trace, and the store ends with slot 600.
    n = np.arange(603)
    table = pa.table({"pending": n, "pending_min": n - 1, "pending_max": n + 10})
    chart = cell.queue(pyramid(queue=table), "pending", span(602))
    found = columns(chart)
    assert chart.step == 2 * WINDOW
    # Of slots 0 and 1, rows 2 and 3.
    assert (found["pending"][0], found["pending_min"][0], found["pending_max"][0]) == (3, 1, 13)
    # Of slots 600 and 601 the last is not known.
    assert (found["pending"][-1], found["pending_min"][-1], found["pending_max"][-1]) == (
        None,
        601,
        612,
    )
    assert [(one.column, one.to, one.color) for one in chart.series] == [
        ("pending_min", "pending_max", "c2"),
        ("pending", "", "c2"),
    ]
    running = pa.table({f"running{suffix}": n for suffix in ("", "_min", "_max")})
    chart = cell.queue(pyramid(queue=running), "running", span(601))
    assert chart.series[0].color == "c1"
    # 601 slots are 301 points, of which the last is one slot.
    assert columns(chart)["running"][-2:] == [601, 602]


def heat(
    n_machines: int, chosen: Span, first: int = 0, last: int = 2**63 - 1, n_slots: int = 5000
) -> dict[str, Any]:
    """Machine m is m ÷ 2 % full in every slot, so that the last is the fullest."""
    filled = np.repeat(np.arange(n_machines, dtype=np.uint8)[:, np.newaxis], n_slots, axis=1)

    def grid(resource: str, *, by_hour: bool) -> Any:
        assert resource == "memory"
        return filled[:, : -(-n_slots // 12)] if by_hour else filled

    mean = np.arange(n_machines) / 200
    ids = 1000 + np.arange(n_machines)
    return cell.heat(
        pyramid(means={"memory": mean}, grid=grid, machines=ids), "memory", chosen, first, last
    )


def test_a_heat_map_has_the_fullest_machines_first() -> None:
    found = heat(3, span(4, first=2))
    assert found["cells"].tolist() == [[2] * 4, [1] * 4, [0] * 4]
    assert found["machines"] == ["1002", "1001", "1000"]
    assert found["times"] == [TRACE_START + slot * WINDOW for slot in (2, 3, 4, 5)]
    assert (found["step"], found["per_row"], found["first"], found["n_machines"]) == (
        WINDOW,
        1,
        0,
        3,
    )
    assert (found["percent"], found["absent"]) == (0.5, ABSENT)
    part = heat(3, span(4), first=1, last=2)
    assert (part["machines"], part["first"], part["cells"].tolist()) == (["1001"], 1, [[1] * 4])


def test_machines_that_never_were_there_come_last() -> None:
    grid = np.array([[ABSENT], [4], [6], [4]], np.uint8)
    mean = np.array([np.nan, 0.02, 0.03, 0.02])
    aggregates = pyramid(
        means={"cpu": mean}, grid=lambda *_, by_hour: grid, machines=np.array([1, 2, 3, 4])
    )
    # Equal ones keep the order of their ids.
    assert cell.heat(aggregates, "cpu", span(1), 0, 9)["machines"] == ["3", "2", "4", "1"]


@pytest.mark.parametrize(
    ("n_machines", "per_row", "rows"), [(160, 1, 160), (161, 2, 81), (0, 1, 0)]
)
def test_a_heat_map_has_at_most_160_rows(n_machines: int, per_row: int, rows: int) -> None:
    found = heat(n_machines, span(1))
    assert (found["per_row"], len(found["machines"]), len(found["cells"])) == (per_row, rows, rows)
    if n_machines == 161:
        # The two fullest, and the emptiest alone.
        assert (found["machines"][0], found["machines"][-1]) == ("1160", "1000")
        assert (found["cells"][0, 0], found["cells"][-1, 0]) == (160, 0)


@pytest.mark.parametrize(
    ("chosen", "step", "columns_", "first"),
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
    chosen: Span, step: int, columns_: int, first: int
) -> None:
    found = heat(1, chosen)
    assert (found["step"], found["cells"].shape, len(found["times"])) == (
        step,
        (1, columns_),
        columns_,
    )
    assert found["times"][:2] == [TRACE_START + first * HOUR, TRACE_START + first * HOUR + step]


def test_a_heat_map_ends_with_the_last_window() -> None:
    assert heat(1, span(10), n_slots=7)["cells"].shape == (1, 7)
