"""Figures on the axes of a paper, from answers written by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from borgtrace.reproduction.axes import hours_above, mean_shares, shares_over_time


def data_of(chart: Any) -> list[dict[str, Any]]:
    """Return the rows that a chart of one view draws."""
    rows: list[dict[str, Any]] = chart.to_dict()["data"]["values"]
    return rows


def test_hours_with_so_many_tasks() -> None:
    """Of four hours, all have 2 or more new tasks, half of them 5; of all tasks the hours have 2, 6, 6 and 9."""
    answer = pa.table({"n_new": [2, 5, 2, 9], "n_again": [0, 1, 4, 0]})
    draw = hours_above({"new": ("n_new",), "all": ("n_new", "n_again")}, "tasks an hour")
    shares = {(row["series"], row["count"]): row["share"] for row in data_of(draw(answer))}
    assert shares == {
        ("new", 2): 1.0,
        ("new", 5): 0.5,
        ("new", 9): 0.25,
        ("all", 2): 1.0,
        ("all", 6): 0.75,
        ("all", 9): 0.25,
    }


UTILIZATION = pa.table(
    {
        "tier": ["free", "production", "production"],
        "hour": [0, 0, 1],
        "cpu_used": [1.0, 2.0, 4.0],
        "cpu_capacity": [10.0, 10.0, 8.0],
        "memory_used": [0.5, 1.0, None],
        "memory_capacity": [5.0, 5.0, 5.0],
    }
)
"""Production uses 2 of 10 machines of CPU in the first hour and 4 of 8 in the second; free 1 of 10, then nothing."""


def test_shares_of_the_cell_hour_by_hour() -> None:
    cpu, memory = shares_over_time("used")(UTILIZATION).to_dict()["hconcat"]
    shares = {}
    for panel, name in ((cpu, "cpu"), (memory, "memory")):
        for row in panel["data"]["values"]:
            shares[name, row["tier"], row["hour"]] = row["share"]
    measured = {key: share for key, share in shares.items() if share is not None}
    assert measured == {
        ("cpu", "free", 0): 0.1,
        ("cpu", "production", 0): 0.2,
        ("cpu", "production", 1): 0.5,
        ("memory", "free", 0): 0.1,
        ("memory", "production", 0): 0.2,
    }


def test_mean_shares_of_the_cell() -> None:
    """A tier that uses nothing in an hour lowers its mean; an hour in which nothing was measured does not."""
    rows = data_of(mean_shares("used")(UTILIZATION))
    shares = {(row["resource"], row["tier"]): row["share"] for row in rows}
    assert shares == {
        ("CPU", "free"): 0.05,
        ("CPU", "production"): 0.35,
        ("memory", "free"): 0.1,
        ("memory", "production"): 0.2,
    }
