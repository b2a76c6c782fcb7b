"""Run times, loads, waits and weights of the real parts, worked out from the CSV files by plain Python.

Nothing here reads a store: the life of a task is followed row by row, in the order of the files.
"""

from __future__ import annotations

import csv
import gzip
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from borgtrace.catalog import find
from borgtrace.question import EngineTables, Tables
from tests.rows import chosen_columns

pytestmark = pytest.mark.wide
START = 600_000_000
NEVER = 2**63 - 1
SUBMIT = 0
SCHEDULE = 1
EVICT = 2
FINISH = 4
UPDATES = (7, 8)
Rows = list[dict[str, Any]]


@dataclass
class Attempt:
    """One try to run a task; times in µs, None where nothing happened."""

    job: str
    submit: int
    priority: int
    latency_class: str
    schedule: int | None = None
    end: int | None = None
    kind: int = -1

    @property
    def groups(self) -> Iterator[tuple[str, str]]:
        """What a question cuts it by."""
        tier = "free" if self.priority <= 1 else "production" if self.priority >= 9 else "other"
        yield from (
            ("all", "all"),
            ("tier", tier),
            ("class", self.latency_class),
        )


@dataclass
class Followed:
    """All attempts of all tasks, the tasks' number, and the time of the last event, µs."""

    attempts: list[Attempt]
    n_tasks: int
    last: int


@pytest.fixture(scope="module")
def followed(trace: Path) -> Followed:
    current: dict[tuple[str, str], Attempt] = {}
    attempts = []
    last = 0
    for path in sorted((trace / "clusterdata-2011-2" / "task_events").glob("part-*.csv.gz")):
        with gzip.open(path, "rt") as file:
            for row in csv.reader(file):
                time = int(row[0])
                task = (row[2], row[3])
                kind = int(row[5])
                assert time < NEVER
                last = max(last, time)
                if kind == SUBMIT:
                    # Every task of these parts begins with one, and none is submitted while it is alive.
                    assert task not in current or current[task].end is not None
                    current[task] = Attempt(row[2], time, int(row[8]), row[7])
                    attempts.append(current[task])
                elif kind == SCHEDULE:
                    assert current[task].end is None
                    current[task].schedule = time
                    current[task].priority, current[task].latency_class = int(row[8]), row[7]
                elif kind not in UPDATES:
                    current[task].end, current[task].kind = time, kind
    return Followed(attempts, len(current), last)


@pytest.fixture(scope="module")
def tables(real_store: Path) -> Tables:
    return EngineTables.of(real_store)


def answer(name: str, tables: Tables) -> Rows:
    rows: Rows = find(name).run(tables).table.to_pylist()
    return rows


def test_run_times(followed: Followed, tables: Tables) -> None:
    finished, ended, lost = (defaultdict[tuple[str, str], list[int]](list) for _ in range(3))
    for attempt in followed.attempts:
        if attempt.schedule:
            run = (followed.last if attempt.end is None else attempt.end) - attempt.schedule
            for group in attempt.groups:
                (lost if attempt.end is None else ended)[group].append(run)
                if attempt.kind == FINISH:
                    finished[group].append(run)
    rows = answer("run_times", tables)
    assert {(row["grouping"], row["group"]) for row in rows} == set(ended)
    everyone = {group: sorted(ended[group] + lost[group]) for group in ended}
    done = {group: sorted(finished[group]) for group in ended}
    curves = {group: kaplan_meier(ended[group], lost[group]) for group in ended}
    for row in rows:
        group = (row["grouping"], row["group"])
        limit = row["seconds"] * 1_000_000
        assert row["n"] == len(everyone[group])
        assert row["n_at_risk"] == row["n"] - bisect_right(everyone[group], limit)
        runs = done[group]
        assert row["finished"] == (bisect_right(runs, limit) / len(runs) if runs else None)
        assert (row["shortest"], row["longest"]) == (
            (runs[0] / 1e6, runs[-1] / 1e6) if runs else (None, None)
        )
        seconds, shares = curves[group]
        # The share that holds is that of the last step up to here.
        place = bisect_right(seconds, row["seconds"])
        assert row["ended"] == (shares[place - 1] if place else 0.0)


def kaplan_meier(ended: list[int], lost: list[int]) -> tuple[list[int], list[float]]:
    """Return seconds in order and the share that has ended by each; a run of µs counts as whole seconds, rounded up."""
    ends, gone = (Counter(-(-run // 1_000_000) for run in runs) for runs in (ended, lost))
    at_risk = len(ended) + len(lost)
    alive = 1.0
    seconds = []
    shares = []
    for second in sorted(ends | gone):
        if ends[second]:
            alive *= 1.0 - ends[second] / at_risk
            seconds.append(second)
            shares.append(1.0 - alive)
        at_risk -= ends[second] + gone[second]
    return seconds, shares


def test_loads_and_mean_times(followed: Followed, tables: Tables) -> None:
    (row,) = answer("load_and_times", tables)
    pending = running = last = 0
    for attempt in followed.attempts:
        last = max(last, attempt.submit, attempt.schedule or 0, attempt.end or 0)
    for attempt in followed.attempts:
        until = last if attempt.end is None else attempt.end
        placed = until if attempt.schedule is None else attempt.schedule
        pending += max(placed, START) - max(attempt.submit, START)
        running += max(until, START) - max(placed, START)
    assert row["mean_pending"] == pending / (last - START)
    assert row["mean_running"] == running / (last - START)
    waits = [
        attempt.schedule - attempt.submit
        for attempt in followed.attempts
        if attempt.submit and attempt.schedule
    ]
    runs = [
        attempt.end - attempt.schedule
        for attempt in followed.attempts
        if attempt.schedule and attempt.end
    ]
    expected = {
        "n_scheduled": len(waits),
        "mean_wait": sum(waits) / len(waits) / 1e6,
        "n_ended": len(runs),
        "mean_run": sum(runs) / len(runs) / 1e6,
    }
    assert chosen_columns(row, expected) == expected


def test_waits(followed: Followed, tables: Tables) -> None:
    waits = defaultdict[tuple[str, str], list[int]](list)
    for attempt in followed.attempts:
        if attempt.submit and attempt.schedule:
            for group in attempt.groups:
                waits[group].append(attempt.schedule - attempt.submit)
    rows = answer("scheduling_delay", tables)
    assert {(row["grouping"], row["group"]) for row in rows} == set(waits)
    in_order = {group: sorted(group_waits) for group, group_waits in waits.items()}
    means = {group: sum(in_order[group]) / len(in_order[group]) / 1e6 for group in waits}
    for row in rows:
        group = (row["grouping"], row["group"])
        group_waits = in_order[group]
        place = (len(group_waits) - 1) * row["percent"] / 100.0
        low = group_waits[math.floor(place)]
        high = group_waits[math.ceil(place)]
        # To a millionth of a microsecond.
        assert row["seconds"] == pytest.approx(
            (low + (high - low) * (place % 1)) / 1e6, abs=1e-12, rel=1e-12
        )
        assert row["n"] == len(group_waits)
        assert row["mean"] == means[group]


def test_weights(followed: Followed, tables: Tables) -> None:
    (row,) = (row for row in answer("task_totals", tables) if row["tier"] == "all")
    submitted = len(followed.attempts)
    scheduled = sum(attempt.schedule is not None for attempt in followed.attempts)
    ends = Counter(attempt.kind for attempt in followed.attempts)
    expected = {
        "n_tasks": followed.n_tasks,
        "n_submit": submitted,
        "n_schedule": scheduled,
    }
    assert chosen_columns(row, expected) == expected
    names = {
        "n_evict": EVICT,
        "n_fail": 3,
        "n_finish": FINISH,
        "n_kill": 5,
        "n_lost": 6,
    }
    assert {name: row[name] for name in names} == {name: ends[kind] for name, kind in names.items()}
    result = find("task_totals").run(tables)
    measured = {
        claim.id: claim.measure(result.table)
        for claim in result.question.claims
        if "weight" in claim.id
    }
    assert measured == {
        "S4-weight-completed": ends[FINISH] / followed.n_tasks,
        "S4-weight-submitted": submitted / followed.n_tasks,
        "S4-weight-scheduled": scheduled / followed.n_tasks,
    }


def test_jobs_with_evictions(followed: Followed, tables: Tables) -> None:
    # The share of evicted collections outside production: 137 of 891 jobs are of production here.
    evicted_attempts = [attempt for attempt in followed.attempts if attempt.kind == EVICT]
    evicted = {attempt.job for attempt in evicted_attempts}
    production = {attempt.job for attempt in evicted_attempts if attempt.priority >= 9}
    rows = {
        row["group"]: row["n_evicted_jobs"]
        for row in answer("hazards", tables)
        if row["grouping"] != "class"
    }
    assert (rows["all"], rows["production"]) == (len(evicted), len(production)) == (891, 137)
