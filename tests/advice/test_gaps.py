"""What was not measured is not kept: gaps of a cell, of a machine, and outages that write zeros, through `advise`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import TRACE_START, WINDOW

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
N_SLOTS = 72
"""Six hours: a horizon of 15 minutes (three slots), and periods of half an hour (six)."""
HORIZON = 3
PERIOD = 6
TASKS = 8
"""Of one core, on four machines, two each; each uses half a core."""
Usage = Callable[[int, int], float | None]
OPTIONS = AdviceOptions(
    target=0.5, resources=("cpu",), policies=("borg:phi=0.9",), recommender="vpa"
)


def advice_about(folder: Path, usage: Usage) -> Advice:
    """Return what is advised about tasks that use so much in each slot; None where nothing is measured."""
    rows = []
    for task in range(TASKS):
        for slot in range(N_SLOTS):
            cores = usage(task, slot)
            if cores is not None:
                rows.append(
                    {
                        "task": f"web-{task}",
                        "machine": f"n{task % 4}",
                        "time": BEGIN + timedelta(minutes=5 * slot),
                        "cpu": cores,
                        "cpu_request": 1.0,
                    }
                )
    pq.write_table(pa.Table.from_pylist(rows), folder / "cell.parquet")
    ingest(
        [folder / "cell.parquet"], folder / "cell", IngestOptions(jobs=1, capacity="8cores,32GiB")
    )
    return advise(borgtrace.open(folder / "cell"), OPTIONS)


def judged_windows(blind: dict[int, range], period: int) -> int:
    """Count the windows of a period whose horizon is seen and within the trace, machine by machine."""
    n = 0
    for machine in range(4):
        hidden = blind.get(machine, range(0))
        for slot in range(period * PERIOD, (period + 1) * PERIOD):
            ahead = range(slot, slot + HORIZON + 1)
            n += slot + HORIZON < N_SLOTS and not set(ahead).intersection(hidden)
    return n


@pytest.mark.parametrize(
    ("usage", "blind", "sentences"),
    [
        pytest.param(lambda task, slot: 0.5, {}, [], id="no gap"),
        pytest.param(
            lambda task, slot: None if 30 <= slot < 45 else 0.5,
            dict.fromkeys(range(4), range(30, 45)),
            [
                "Nothing was measured on any machine for 1 h 15 min from 2026-11-01 02:30 UTC: whether promises were "
                "kept then is not known.",
                # Slots 27 to 44 of four machines; of 69 that have a whole horizon.
                "CPU: 72 of 276 windows of machines (26 %) were not judged: in them, or within 15 min after them, "
                "less than half of what ran was measured, or all of it used exactly nothing. What broke then is not "
                "known. 2 periods of 30 min have no other windows, and are not counted.",
                "8 of 8 tasks (100 %) have gaps in their usage, 8 in all: where their machine was judged all the same, "
                "they count as using nothing in them.",
            ],
            id="the whole cell",
        ),
        pytest.param(
            lambda task, slot: None if task % 4 == 1 and slot >= 40 else 0.5,
            {1: range(40, N_SLOTS)},
            [
                # Slots 37 to 68 of one machine.
                "CPU: 32 of 276 windows of machines (12 %) were not judged: in them, or within 15 min after them, "
                "less than half of what ran was measured, or all of it used exactly nothing. What broke then is not "
                "known.",
            ],
            id="a machine that is gone",
        ),
        pytest.param(
            lambda task, slot: None if task == 1 and 30 <= slot < 45 else 0.5,
            {},
            [
                "1 of 8 tasks (12 %) have gaps in their usage, 1 in all: where their machine was judged all the same, "
                "they count as using nothing in them.",
            ],
            id="one of two tasks of a machine",
        ),
        pytest.param(
            lambda task, slot: 0.0 if task % 4 == 1 and 30 <= slot < 45 else 0.5,
            {1: range(30, 45)},
            [
                "CPU: 18 of 276 windows of machines (6.5 %) were not judged: in them, or within 15 min after them, "
                "less than half of what ran was measured, or all of it used exactly nothing. What broke then is not "
                "known.",
            ],
            id="an outage that writes zeros",
        ),
    ],
)
def test_what_was_not_measured_is_not_judged(
    tmp_path: Path, usage: Usage, blind: dict[int, range], sentences: list[str]
) -> None:
    advice = advice_about(tmp_path, usage)
    periods = advice.periods.table.to_pylist()
    windows = {(row["begin"] - TRACE_START) // (PERIOD * WINDOW): row["windows"] for row in periods}
    expected = {period: judged_windows(blind, period) for period in range(12)}
    # The first two are learned from, and the third is too near to them.
    assert windows == {period: n for period, n in expected.items() if n and period >= 3}
    (value,) = advice.value.table.to_pylist()
    assert value["periods"] == len(windows)
    # Eight tasks of one core, measured or not; the largest machine has eight.
    assert value["requested"] * 8 == pytest.approx(8)
    assert value["promised"] == pytest.approx(value["requested"] * (1 - value["savings"]))
    named = [
        row["sentence"]
        for row in advice.unknown.table.to_pylist()
        if row["subject"] in ("gaps of the cell", "not seen", "gaps")
    ]
    assert named == sentences
