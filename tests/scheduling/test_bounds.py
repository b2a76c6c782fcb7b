"""The running count of FIFO and best fit, beside the trace's own: bounds that follow from the trace and from who waits.

An attempt comes when the trace submitted it and runs as long as there.  So it is there at an instant only if it runs or
waits in the trace then, or if it had ended there and runs late; and of those that run or wait in the trace it lacks
those that wait here, and those that are over because they started as soon as they came.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.question import EngineTables
from borgtrace.scheduling import parse_policy
from borgtrace.scheduling.replay import ScheduleInput, calibrated, recorded, replayed
from borgtrace.scheduling.state import ATTEMPT, DONE, ENDED, OUTCOME, STARTED
from tests.scheduling.traces import trace_of

pytestmark = pytest.mark.wide

EVER = 2**62


def count(begin: np.ndarray, end: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """Return how many are there at each instant: those that have begun and not ended; none ends before it begins."""
    return np.searchsorted(np.sort(begin), instants, "right") - np.searchsorted(
        np.sort(end), instants, "right"
    )


def bounds(trace: ScheduleInput, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return, after every event: running; at least, and at most; and of these two who waits, and who is late."""
    came = trace.arrivals
    start = trace.tasks.times["schedule_time"]
    left = trace.tasks.times["left_time"]
    end = np.where((left >= 0) & (left <= trace.until), left, EVER)
    # When it would be over had it started when it came; what never ran leaves when it was withdrawn.
    soonest = np.where(
        (start >= 0) & (end < EVER),
        came + end - start,
        end,
    )
    ran = rows[rows[:, STARTED] >= 0]
    began = ran[:, STARTED]
    over = np.where(
        ran[:, ENDED] >= 0,
        ran[:, ENDED],
        EVER,
    )
    done = np.full(len(came), EVER)
    is_done = rows[:, OUTCOME] == DONE
    done[rows[is_done, ATTEMPT]] = rows[is_done, ENDED]
    instants = np.unique(
        np.concatenate(
            [
                came,
                start[start >= 0],
                end[end < EVER],
                began,
                over[over < EVER],
            ]
        )
    )
    there = count(came, end, instants)
    recorded_end = end[ran[:, ATTEMPT]]
    late = count(np.minimum(np.maximum(began, recorded_end), over), over, instants)
    in_time = count(np.minimum(began, recorded_end), np.minimum(over, recorded_end), instants)
    waits = count(came, np.minimum(end, np.maximum(done, came)), instants) - in_time
    early = count(soonest, end, instants)
    return count(began, over, instants), there - early - waits, there + late, waits, late


def random_trace(seed: int, machines: list[float]) -> ScheduleInput:
    """Return tasks that wait in the trace before they run, some again and again; the last machine goes and returns."""
    rng = np.random.default_rng(seed)
    attempts = []
    for job in range(1, 60):
        time = int(rng.integers(0, 500))
        for attempt in range(int(rng.integers(1, 4))):
            begin = time + int(rng.choice([0, 0, 40]))
            end = begin + int(rng.integers(1, 150))
            is_run = rng.random() < 0.9
            attempts.append(
                (
                    job,
                    attempt,
                    time,
                    begin if is_run else -1,
                    end,
                    float(rng.choice([0.1, 0.25])),
                    job % 3,
                )
            )
            time = end + int(rng.integers(0, 30))
    trace = trace_of(sorted(attempts, key=lambda row: row[2]), machines)
    gone = np.array(
        [
            [
                300,
                len(machines) - 1,
                0,
                0,
            ],
            [
                400,
                len(machines) - 1,
                1,
                0,
            ],
        ]
    )
    return replace(trace, changes=np.concatenate([trace.changes, gone]))


@pytest.mark.parametrize("seed", range(6))
def test_the_running_count_stays_within_its_bounds(seed: int) -> None:
    trace = random_trace(seed, [1.0] * 3)
    running, least, most, waits, late = bounds(
        trace, replayed(trace, parse_policy("best-fit"), 1.0)
    )
    assert (least <= running).all()
    assert (running <= most).all()
    # The case is one.
    assert waits.min() == 0 < waits.max()
    assert late.max() > 0


@pytest.mark.parametrize("seed", range(6))
def test_with_room_for_all_it_is_known_exactly(seed: int) -> None:
    # The last machine goes and returns, and is empty: best fit fills one of the others first.
    trace = random_trace(seed, [100.0, 1000.0])
    running, least, most, waits, late = bounds(
        trace, replayed(trace, parse_policy("best-fit"), 1.0)
    )
    assert not waits.any()
    assert not late.any()
    assert (running == least).all()
    # The trace itself: who waits there waits here too, and nobody is late.
    running, least, most, waits, late = bounds(trace, recorded(trace))
    assert not late.any()
    assert (running == most - waits).all()


def test_the_real_parts(real_store: Path) -> None:
    store = borgtrace.open(real_store)
    trace = ScheduleInput.of(
        EngineTables.of(store), store.manifest.time_range["instance_events"][1]
    )
    found = replayed(trace, parse_policy("best-fit"), calibrated(trace))
    running, least, most, *_ = bounds(trace, found)
    assert (least <= running).all()
    assert (running <= most).all()
    # Of 132,000 to 145,000 running tasks at most a third is in doubt: production asks for more than the largest tasks
    # leave room for, so that up to 32,000 tasks wait.
    assert ((most - least) * 3 < running).all()
