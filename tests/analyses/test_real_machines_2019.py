"""Questions on all machine events of cell a of 2019: 46,219 rows, in Google's own files of both shapes.

Expected values are arithmetic over the raw JSON, written out here, and counts that others published.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.question import EngineTables, Tables
from tests.analyses import real_rows
from tests.analyses.real_rows import MachineEvent
from tests.conftest import real_folder

ADD, REMOVE, UPDATE = 1, 2, 3
HOUR = 3600 * 1_000_000
BEGIN = 600 * 1_000_000


@pytest.fixture(scope="module")
def stores(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores of the two shapes."""
    cell = real_folder(trace, "cell-a-2019")
    return {
        shape: real_rows.build(tmp_path_factory.mktemp(shape), [cell / shape])
        for shape in ("json", "parquet")
    }


@pytest.fixture(scope="module")
def tables(stores: dict[str, Path]) -> Tables:
    return EngineTables.of(stores["parquet"])


@pytest.fixture(scope="module")
def events(trace: Path, stores: dict[str, Path]) -> list[MachineEvent]:
    """All events, by machine and time."""
    return real_rows.machine_events_2019(trace)


def rows(name: str, tables: Tables) -> list[dict[str, Any]]:
    answer_rows: list[dict[str, Any]] = find(name).run(tables).table.to_pylist()
    return answer_rows


def lives(events: list[MachineEvent]) -> Iterator[list[MachineEvent]]:
    """Yield the events of each machine."""
    for _, of_machine in groupby(events, key=lambda event: event.machine):
        yield list(of_machine)


def test_both_shapes_make_the_same_store(stores: dict[str, Path]) -> None:
    manifests = [borgtrace.open(path).manifest for path in stores.values()]
    assert manifests[0].digest == manifests[1].digest
    assert [manifest.tables["machine_events"] for manifest in manifests] == [46_219] * 2


PUBLISHED = {
    (0.591797, 0.333496): 3346,
    (1.0, 0.5): 1672,
    (0.708984, 0.333496): 1417,
    (0.386719, 0.333496): 1104,
    (0.386719, 0.166748): 670,
    (1.0, 1.0): 643,
    (0.708984, 0.666992): 480,
    (0.591797, 0.166748): 364,
    (0.958984, 0.5): 179,
    (0.958984, 1.0): 73,
    (1.0, 0.25): 52,
}
"""Machines by shape, from queries that others ran over the cell; three more shapes have one each."""


def test_shapes(tables: Tables, events: list[MachineEvent]) -> None:
    """By the first and the last known capacity of a machine; published are the machines that ever had a shape."""
    first: Counter[tuple[float, float]] = Counter()
    last: Counter[tuple[float, float]] = Counter()
    ever: defaultdict[tuple[float, float], set[int]] = defaultdict(set)
    for life in lives(events):
        shapes = [
            (round(event.cpu, 6), round(event.memory, 6))
            for event in life
            if event.cpu is not None and event.memory is not None
        ]
        if shapes:
            first[shapes[0]] += 1
            last[shapes[-1]] += 1
        for shape in shapes:
            ever[shape].add(life[0].machine)
    assert {
        shape: len(machines) for shape, machines in ever.items() if len(machines) > 1
    } == PUBLISHED
    answer_first: Counter[tuple[float, float]] = Counter()
    answer_last: Counter[tuple[float, float]] = Counter()
    for row in rows("machine_shapes", tables):
        shape = (round(row["cpu_capacity"], 6), round(row["memory_capacity"], 6))
        answer_first[shape] += row["n_first"]
        answer_last[shape] += row["n_last"]
    assert +answer_first == first
    assert +answer_last == last


def test_removals(tables: Tables, events: list[MachineEvent]) -> None:
    n_machines: Counter[int] = Counter()
    n_gone: Counter[int] = Counter()
    for life in lives(events):
        n_removals = sum(event.type == REMOVE for event in life)
        n_machines[n_removals] += 1
        n_gone[n_removals] += life[-1].type == REMOVE
    answer = rows("machine_removals", tables)
    assert {row["n_removals"]: row["n_machines"] for row in answer} == n_machines
    assert {row["n_removals"]: row["n_gone"] for row in answer} == n_gone
    # 10,001 machines, of which 351 never leave.
    assert (sum(n_machines.values()), n_machines[0]) == (10_001, 351)


def test_absences(tables: Tables, events: list[MachineEvent]) -> None:
    """From each REMOVE to the next ADD of the machine."""
    absences = []
    for life in lives(events):
        removed = None
        for event in life:
            if event.type == REMOVE:
                removed = event.time
            elif event.type == ADD and removed is not None:
                absences.append((event.time - removed) / 1e6)
                removed = None
    answer = rows("machine_downtime", tables)
    assert {row["n"] for row in answer} == {len(absences)}
    for row in answer:
        assert row["seconds"] == pytest.approx(np.percentile(absences, row["percent"]))


def test_capacity_by_hour(tables: Tables, events: list[MachineEvent]) -> None:
    """Each machine counts with its capacity while it is present: the area below the steps, hour by hour."""
    answer = rows("machine_availability", tables)
    hours = BEGIN + HOUR * np.arange(len(answer) + 1)
    times, n_more, cpu_more = [], [], []
    n_events = np.zeros((3, len(answer)), int)
    for life in lives(events):
        before = (0, 0.0)
        known = None
        for event in life:
            if event.time >= BEGIN:
                n_events[event.type - 1, (event.time - BEGIN) // HOUR] += 1
            known = known if event.cpu is None else event.cpu
            # A machine whose capacity nobody ever told is not counted.
            now = (0, 0.0) if event.type == REMOVE or known is None else (1, known)
            times.append(event.time)
            n_more.append(now[0] - before[0])
            cpu_more.append(now[1] - before[1])
            before = now
    order = np.argsort(times, kind="stable")
    steps = np.array(times)[order]
    for name, more in (("machines", n_more), ("cpu", cpu_more)):
        level = np.cumsum(np.array(more)[order])
        area = np.append(0, np.cumsum(level[:-1] * np.diff(steps)))
        by_hour = np.diff(np.interp(hours, steps, area)) / HOUR
        # The last hour ends with the last event.
        assert [row[name] for row in answer[:-1]] == pytest.approx(by_hour[:-1], rel=2e-4)
    for name, counts in zip(("n_add", "n_remove", "n_update"), n_events, strict=True):
        assert [row[name] for row in answer] == counts.tolist()


def test_anomalies(tables: Tables, events: list[MachineEvent]) -> None:
    """459 machines are added without a capacity, as others counted."""
    added = [event for event in events if event.type == ADD]
    n_missing = sum(event.cpu is None for event in added)
    assert (n_missing, len(added)) == (459, 27_777)
    answer = {row["anomaly"]: row for row in rows("data_quality", tables)}
    assert (answer["capacity_missing"]["n"], answer["capacity_missing"]["of"]) == (459, 27_777)
    assert answer["missing_data_reason"]["n"] == 0
