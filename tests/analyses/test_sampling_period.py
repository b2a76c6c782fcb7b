"""Measure 2 by hand: one task of four windows, two sampling periods."""

from __future__ import annotations

from typing import Any

from borgtrace.analyses.reservations import sampling_period
from tests.analyses.tiny import answer, tiny, window

CPU = (0.5, 0.625, 0.5, 0.75)
SECOND = (0.5, 1.0, 0.5, 0.75)
TABLES = {
    "instance_usage": [
        window(1, 300 * k, cpu, sampled_cpu=second)
        for k, (cpu, second) in enumerate(zip(CPU, SECOND, strict=True))
    ],
    "tasks": [
        {
            "collection_id": 1,
            "priority": 9,
            "seconds": 1200.0,
        }
    ],
}


def margins(rows: list[dict[str, Any]], demand: str, period: int) -> dict[float, float | None]:
    return {
        row["violation"]: row["margin"]
        for row in rows
        if (row["tier"], row["duration"], row["demand"], row["period"])
        == ("production", "all", demand, period)
    }


def test_margins_of_two_periods() -> None:
    rows = answer(sampling_period.QUESTION, tiny(**TABLES), periods=(1, 2))
    # 5 minutes: needed 25 %, 0, 50 %.  10 minutes: .5625 before .5 and .75: 0 and 33.3 %.
    assert margins(rows, "window", 300) == {
        0.1: 0.5,
        0.05: 0.5,
        0.01: 0.5,
        0.001: 0.5,
    }
    assert margins(rows, "window", 600) == {
        0.1: 0.34,
        0.05: 0.34,
        0.01: 0.34,
        0.001: 0.34,
    }
    # Single seconds: 100 %, 0, 50 % over the window before; 0, 60 %, 0, 0 over their own.
    assert margins(rows, "second", 300)[0.1] == 1.0
    assert margins(rows, "second", 0)[0.1] == 0.6
    assert {row["duration"] for row in rows} == {"all", "under 30 min"}
    assert {row["seconds"] for row in rows if row["period"] == 600} == {600.0}


def test_percentiles_of_2019() -> None:
    # Nine tenths of the seconds at .5, 91 … 99 % at .75, the top at 1; the mean is .5.
    usage = window(
        1, 0, 0.5, cpu_usage_distribution=[0.5] * 10 + [1.0], tail_cpu_usage_distribution=[0.75] * 9
    )
    broken = window(
        1, 300, 0.5, cpu_usage_distribution=[0.5] * 10 + [1.0], tail_cpu_usage_distribution=[]
    )
    tables = tiny(
        "2019",
        instance_usage=[usage, broken],
        tasks=[
            {
                "collection_id": 1,
                "priority": 200,
                "seconds": 600.0,
            }
        ],
    )
    rows = answer(sampling_period.QUESTION, tables, periods=(1,))
    assert margins(rows, "second", 0) == {
        0.1: 0.0,
        0.05: 0.5,
        0.01: 0.5,
        0.001: 1.0,
    }
    assert margins(rows, "second", 300) == {}
    assert margins(rows, "window", 300)[0.001] == 0.0


def test_a_gap_breaks_the_chain() -> None:
    usage = [
        window(1, 0, 0.25),
        window(1, 600, 0.5),
        window(2, 900, 0.5),
    ]
    result = sampling_period.QUESTION.run(
        tiny(instance_usage=usage, tasks=TABLES["tasks"]), periods=(1,)
    )
    assert result.not_applicable == "no task was measured in two neighboring periods"


def test_from_nothing_no_margin_suffices() -> None:
    usage = [window(1, 0, 0.0), window(1, 300, 0.5)]
    rows = answer(
        sampling_period.QUESTION, tiny(instance_usage=usage, tasks=TABLES["tasks"]), periods=(1,)
    )
    assert set(margins(rows, "window", 300).values()) == {None}
