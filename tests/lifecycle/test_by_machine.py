"""Usage by machine: a cell typed by hand, and random cells beside a slow restatement over Python's dictionaries."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle.by_machine import (
    METRICS,
    MachineUsage,
    Metric,
    PartitionLimits,
    default_metric,
    expected_size,
    machine_usage,
)
from borgtrace.lifecycle.by_machine.terms import write_stays, write_terms
from borgtrace.question import EngineTables
from borgtrace.schema.dialects import dialect as find_dialect
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store import Store
from tests.analyses.tiny import tiny
from tests.ingest.raw import write_part

S = 1_000_000
Row = tuple[int, int, int, float, float, float, float]
"""Machine, task, slot, CPU, memory, both limits."""


def event(
    time: int,
    job: int,
    machine: int | str,
    kind: int,
    cpu: float,
    memory: float,
    priority: int = 9,
) -> str:
    return f"{time * S},,{job},0,{machine},{kind},bob,2,{priority},{cpu},{memory},0.001,0"


def window(
    start: float,
    end: float,
    job: int,
    machine: int,
    cpu: float,
    memory: float,
    peak: float,
) -> str:
    times = f"{round(start * S)},{round(end * S)}"
    return f"{times},{job},0,{machine},{cpu},{memory},0.07,,,{memory},,,{peak},,2.5,0.01,1,0,{cpu}"


CELL = {
    "task_events": [
        event(
            600,
            100,
            "",
            0,
            0.5,
            0.25,
        ),
        event(
            600,
            200,
            8,
            1,
            0.75,
            0.5,
            0,
        ),
        event(
            650,
            100,
            7,
            1,
            0.5,
            0.25,
        ),
        event(
            1150,
            200,
            8,
            2,
            0.75,
            0.5,
            0,
        ),
        event(
            1150,
            200,
            "",
            0,
            0.75,
            0.5,
            0,
        ),
        event(
            1300,
            100,
            7,
            8,
            0.25,
            0.25,
        ),
        event(
            2000,
            200,
            7,
            1,
            0.75,
            0.5,
            0,
        ),
        event(
            2100,
            100,
            7,
            4,
            0.25,
            0.25,
        ),
    ],
    "task_usage": [
        window(
            600,
            800,
            200,
            8,
            0.3,
            0.3,
            0.4,
        ),
        window(
            600,
            900,
            100,
            7,
            0.25,
            0.125,
            0.5,
        ),
        window(
            850,
            1150,
            200,
            8,
            0.6,
            0.6,
            0.8,
        ),
        window(
            900,
            1050,
            100,
            7,
            0.5,
            0.125,
            0.5,
        ),
        window(
            1500,
            1800,
            100,
            7,
            0.125,
            0.125,
            0.25,
        ),
        window(
            2000,
            2100,
            200,
            7,
            0.75,
            0.375,
            0.9,
        ),
        window(
            2000,
            2100,
            300,
            7,
            0.75,
            0.375,
            0.9,
        ),
    ],
}
"""Task 100 shrinks its limit at 1300 s and is not measured in two slots; 200 moves from machine 8 to 7; 300 has no
events."""


def usage_of(
    folder: Path, raw: Mapping[str, Sequence[str]], *, memory: str = "1GB", **chosen: object
) -> MachineUsage:
    if not (folder / "store").exists():
        for table, lines in raw.items():
            write_part(
                folder / "raw",
                table,
                lines,
                compressed=False,
            )
        ingest(
            [folder / "raw"],
            folder / "store",
            IngestOptions(jobs=1),
        )
    store = borgtrace.open(folder / "store", memory=memory)
    tables = EngineTables.of(store)
    metrics = {"cpu": METRICS["average_cpu"], "memory": METRICS["average_memory"]}
    arguments: Any = metrics | chosen
    return machine_usage(
        store,
        tables.instance_events,
        tables.instance_attempts,
        **arguments,
    )


def rows_of(usage: MachineUsage) -> list[Row]:
    rows = []
    for place, machine in enumerate(usage.machines.tolist()):
        for row in usage.rows(place):
            term = usage.terms[row["term"]]
            task = int(term["task"])
            slot = int(row["slot"])
            values = (row["cpu"], row["memory"], term["cpu"], term["memory"])
            rounded = [round(float(value), 6) for value in values]
            rows.append((machine, task, slot, *rounded))
    return rows


def same(rows: Sequence[Row], expected: Sequence[Row]) -> bool:
    if len(rows) != len(expected):
        return False
    return np.allclose(rows, expected, atol=1e-6, equal_nan=True)


def test_a_slot_has_means_weighted_by_time_and_the_limit_in_force(tmp_path: Path) -> None:
    nan = float("nan")
    usage = usage_of(tmp_path, CELL)
    assert same(
        rows_of(usage),
        [
            (7, 0, 0, 0.25, 0.125, 0.5, 0.25),
            (7, 0, 1, 0.25, 0.0625, 0.5, 0.25),
            (7, 0, 2, nan, nan, 0.25, 0.25),
            (7, 0, 3, 0.125, 0.125, 0.25, 0.25),
            (7, 0, 4, nan, nan, 0.25, 0.25),
            (7, 1, 4, 0.25, 0.125, 0.75, 0.5),
            (8, 1, 0, 0.3, 0.3, 0.75, 0.5),
            (8, 1, 1, 0.5, 0.5, 0.75, 0.5),
        ],
    )
    assert dict(usage.facts) == {
        "n_slots": 5,
        "n_rows": 8,
        "n_dealt": 9,
        "without_machine": 0,
        "without_limit": 1,
        "without_end": 0,
    }
    assert [int(term["priority"]) for term in usage.terms] == [9, 9, 0]


def test_a_task_may_have_a_limit_of_one_resource_alone(tmp_path: Path) -> None:
    only_cpu = event(
        600,
        1,
        7,
        1,
        0.5,
        0.25,
    ).replace(",0.5,0.25,", ",0.5,,")
    events = [
        only_cpu,
        event(
            700,
            2,
            7,
            1,
            0.5,
            0.25,
        ),
    ]
    usage = [
        window(
            600,
            900,
            job,
            7,
            0.25,
            0.125,
            0.5,
        )
        for job in (1, 2)
    ]
    rows = rows_of(usage_of(tmp_path, {"task_events": events, "task_usage": usage}))
    nan = float("nan")
    assert same(rows, [(7, 0, 0, 0.25, 0.125, 0.5, nan), (7, 1, 0, 0.25, 0.125, 0.5, 0.25)])


def test_a_window_of_a_day_is_believed_and_a_longer_one_has_no_end(tmp_path: Path) -> None:
    day = 24 * 3600
    events = [
        event(
            600,
            1,
            7,
            1,
            0.5,
            0.25,
        )
    ]
    whole = window(
        600,
        600 + day,
        1,
        7,
        0.25,
        0,
        0,
    )
    usage = usage_of(tmp_path / "day", {"task_events": events, "task_usage": [whole]})
    slots_and_cpu = [row[2:4] for row in rows_of(usage)]
    assert slots_and_cpu == [(slot, 0.25) for slot in range(288)]
    longer = window(
        600,
        601 + day,
        1,
        7,
        0.25,
        0,
        0,
    )
    usage = usage_of(tmp_path / "longer", {"task_events": events, "task_usage": [longer]})
    # No window says how long anything was measured: the task's own stay has no slot either.
    assert usage.facts["n_slots"] == 0
    assert usage.facts["without_end"] == 1
    assert rows_of(usage) == []


def collection_of(keys: np.ndarray) -> np.ndarray:
    """Take the collection's id for the position of a task."""
    return keys[:, 0]


def test_a_term_without_a_priority_has_minus_one(tmp_path: Path) -> None:
    known = {
        "collection_id": 3,
        "type": "SUBMIT",
        "cpu_request": 0.5,
        "memory_request": 0.25,
    }
    events = [known | {"time": 1, "priority": None}, known | {"time": 2, "priority": 0}]
    tables = tiny("2011", instance_events=events)
    dialect = find_dialect("2011")
    path = tmp_path / "terms"
    terms = write_terms(
        collection_of,
        tables.instance_events,
        dialect,
        path,
    )
    assert terms["task"].tolist() == [3, 3]
    assert terms["priority"].tolist() == [-1, 0]


def test_a_stay_has_a_start_and_a_machine_and_is_in_no_alloc_set(tmp_path: Path) -> None:
    whole = {
        "instance_index": 0,
        "schedule_time": 5,
        "machine_id": 7,
        "left_time": None,
        "alloc_collection_id": None,
    }
    lacking = (
        {},
        {"schedule_time": None},
        {"machine_id": None},
        {"alloc_collection_id": 9},
        {"left_time": 11},
    )
    rows = [{"collection_id": n} | whole | less for n, less in enumerate(lacking)]
    attempts = ibis.memtable(pa.Table.from_pylist(rows))
    stays = write_stays(collection_of, attempts, tmp_path / "stays")
    assert stays.dtype.names == ("task", "machine", "start", "end")
    assert stays.tolist() == [(0, 7, 5, AFTER_TRACE), (4, 7, 5, 11)]


def test_what_dealing_takes_on_disk_is_24_and_16_bytes_a_window(tmp_path: Path) -> None:
    usage_of(tmp_path, CELL)
    assert expected_size(borgtrace.open(tmp_path / "store")) == 7 * 40


def test_percentiles_and_maxima_are_peaks() -> None:
    peaks = {name: metric.element for name, metric in METRICS.items() if metric.is_peak}
    assert peaks == {
        "p50_cpu": 5,
        "p90_cpu": 9,
        "maximum_cpu": None,
        "sampled_cpu": None,
        "maximum_memory": None,
    }
    means = {name: metric.element for name, metric in METRICS.items() if not metric.is_peak}
    assert means == {"average_cpu": None, "average_memory": None}


@pytest.mark.parametrize(
    ("trace", "resource", "name"),
    [
        *(("2019", "cpu", "p90_cpu"), ("2019", "memory", "average_memory")),
        *(("2011", "cpu", "average_cpu"), ("2011", "memory", "average_memory")),
    ],
)
def test_only_cpu_has_percentiles_and_only_in_2019(
    trace: str,
    resource: str,
    name: str,
) -> None:
    assert default_metric(find_dialect(trace), resource).name == name


def test_a_peak_counts_in_every_slot_that_its_window_touches(tmp_path: Path) -> None:
    rows = rows_of(usage_of(tmp_path, CELL, cpu=METRICS["maximum_cpu"]))
    of_machine_8 = [row[:4] for row in rows if row[0] == 8]
    assert of_machine_8 == [(8, 1, 0, 0.8), (8, 1, 1, 0.8)]


def test_whole_windows_belong_to_the_slot_of_their_start(tmp_path: Path) -> None:
    rows = rows_of(usage_of(tmp_path, CELL, is_whole=True))
    assert [row[:4] for row in rows] == [
        (7, 0, 0, 0.25),
        (7, 0, 1, 0.5),
        (7, 0, 3, 0.125),
        (7, 1, 4, 0.75),
        (8, 1, 0, 0.6),
    ]


def test_whole_windows_have_the_limits_in_force_at_their_start(tmp_path: Path) -> None:
    # pair_instance_event_to_usage.py: the last event by the start of the window whose requests are both above 0.
    cell = {
        "task_events": [
            event(700, 100, 7, 1, 0.5, 0.25),
            event(1000, 100, 7, 8, 0.25, 0.25),
            event(1300, 100, 7, 8, 0.75, 0.0),
        ],
        "task_usage": [
            window(600, 650, 100, 7, 0.1, 0.1, 0.1),
            window(900, 950, 100, 7, 0.2, 0.1, 0.2),
            window(1050, 1100, 100, 7, 0.1, 0.1, 0.1),
            window(1500, 1600, 100, 7, 0.3, 0.1, 0.3),
        ],
    }
    whole = usage_of(tmp_path, cell, is_whole=True)
    rows = rows_of(whole)
    # Before the first event nothing is promised; slot 1 has a window before the change and one after it.
    assert [row[:4] for row in rows] == [(7, 0, 1, 0.2), (7, 0, 1, 0.1), (7, 0, 3, 0.3)]
    assert [row[5] for row in rows] == [0.5, 0.25, 0.25]
    assert whole.facts["without_limit"] == 1


def random_cell(seed: int) -> dict[str, list[str]]:
    draw = random.Random(seed)
    events = []
    usage = []
    for job in range(1, 9):
        limit = draw.choice([0.0, 0.25, 0.5])
        events.append(
            (
                600,
                event(
                    600,
                    job,
                    "",
                    0,
                    limit,
                    limit,
                ),
            )
        )
        at = 600 + draw.randrange(4) * 150
        for _ in range(draw.randrange(1, 4)):
            machine = draw.randrange(3)
            end = at + draw.randrange(1, 12) * 150
            events.append(
                (
                    at,
                    event(
                        at,
                        job,
                        machine,
                        1,
                        limit,
                        limit,
                    ),
                )
            )
            start = at
            while start < end:
                stop = min(end, start + draw.choice([50, 150, 300]))
                if draw.random() < 0.8:
                    cpu = draw.randrange(64) / 128
                    usage.append(
                        (
                            start,
                            window(
                                start,
                                stop,
                                job,
                                machine,
                                cpu,
                                cpu,
                                cpu,
                            ),
                        )
                    )
                start = stop
            if draw.random() < 0.5:
                limit = draw.choice([0.125, 0.75])
                events.append(
                    (
                        end - 10,
                        event(
                            end - 10,
                            job,
                            machine,
                            8,
                            limit,
                            limit,
                        ),
                    )
                )
            events.append(
                (
                    end,
                    event(
                        end,
                        job,
                        machine,
                        2,
                        limit,
                        limit,
                    ),
                )
            )
            at = end + draw.randrange(5) * 150
    return {"task_events": in_order_of_time(events), "task_usage": in_order_of_time(usage)}


def in_order_of_time(timed_lines: list[tuple[int, str]]) -> list[str]:
    ordered = sorted(timed_lines, key=lambda timed: timed[0])
    return [line for _, line in ordered]


def restated(raw: Mapping[str, Sequence[str]]) -> list[Row]:
    """The same from the raw lines, second by second."""
    seconds: dict[tuple[int, int, int], dict[int, float]] = defaultdict(dict)
    limits: dict[int, list[tuple[int, float]]] = defaultdict(list)
    running: dict[int, tuple[int, int]] = {}
    present: set[tuple[int, int, int]] = set()
    last = max(int(line.split(",")[1]) for line in raw["task_usage"]) // S
    for line in raw["task_events"]:
        time, _, job, _, machine, kind, *_ = line.split(",")
        at = int(time) // S
        task = int(job)
        limits[task].append((at, float(line.split(",")[9])))
        if kind == "1":
            running[task] = (int(machine), at)
        elif kind == "2":
            on, since = running.pop(task)
            for second in range(since, min(at, last)):
                present.add((on, task, (second - 600) // 300))
    for line in raw["task_usage"]:
        start, end, job, _, machine, cpu, *_ = line.split(",")
        for second in range(int(start) // S, int(end) // S):
            slot = (second - 600) // 300
            seconds[int(machine), int(job), slot][second] = float(cpu)
    rows = []
    jobs = sorted(limits)
    for key in sorted(present | set(seconds)):
        machine, job, slot = key
        used = sum(seconds[key].values()) / 300 if key in seconds else float("nan")
        limits_so_far = [value for time, value in limits[job] if time < 900 + 300 * slot]
        limit = limits_so_far[-1]
        rows.append((machine, jobs.index(job), slot, used, used, limit, limit))
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_random_cells_equal_a_restatement(tmp_path: Path, seed: int) -> None:
    raw = random_cell(seed)
    assert same(rows_of(usage_of(tmp_path, raw)), restated(raw))


def test_more_slots_than_a_key_holds_are_refused(tmp_path: Path) -> None:
    usage_of(tmp_path, CELL)
    limits = PartitionLimits(bits_of_slot=2)
    with pytest.raises(UsageError) as caught:
        usage_of(
            tmp_path,
            CELL,
            cpu=METRICS["maximum_cpu"],
            limits=limits,
        )
    assert str(caught.value) == (
        f"{tmp_path / 'store'}: too many slots of 5 minutes to sort usage by machine: expected fewer than 4, got 5; "
        "make a part of the store: borgtrace subset"
    )


def test_as_many_slots_as_a_key_holds_are_one_too_many(tmp_path: Path) -> None:
    # The last window of the cell fills its fourth slot; two bits tell four slots apart, and the last is not used.
    raw = {**CELL, "task_usage": CELL["task_usage"][:5]}
    with pytest.raises(UsageError, match="expected fewer than 4, got 4; "):
        usage_of(tmp_path, raw, limits=PartitionLimits(bits_of_slot=2))


def test_a_store_without_events_has_no_limits_and_no_rows(tmp_path: Path) -> None:
    usage = usage_of(tmp_path, {"task_usage": CELL["task_usage"]})
    assert usage.machines.tolist() == []
    assert usage.facts["n_rows"] == 0
    assert usage.facts["without_limit"] == 7
    assert len(usage.terms) == 0
    store = borgtrace.open(tmp_path / "store")
    events = EngineTables.of(store).instance_events
    terms = write_terms(
        store.task_rows,
        events,
        store.manifest.dialect,
        tmp_path / "x",
    )
    assert len(terms) == 0


def test_only_what_is_read_is_kept(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    usage = usage_of(tmp_path, CELL, report=lambda *step: steps.append(step))
    kept = {path.name for path in usage.folder.iterdir() if not path.name.startswith(".")}
    assert kept == {
        "facts.json",
        "index.npy",
        "rows-00000",
        "seal.json",
        "terms",
    }
    assert steps == [("assigning usage to machines", 0, 7), ("sorting machines", 0, 1)]


def test_windows_may_come_in_pieces_of_any_size(tmp_path: Path) -> None:
    usage = usage_of(tmp_path, CELL)
    expected = rows_of(usage)
    stream = Store.stream
    for batch, chunk in product((1, 2, 100), (1, 3, 7, 100)):
        steps = list[int]()

        def in_pieces(self: Store, query: str, size: int = batch) -> pa.RecordBatchReader:
            whole = stream(self, query).read_all()
            batches = whole.to_batches(max_chunksize=size)
            return pa.RecordBatchReader.from_batches(whole.schema, batches)

        def report(
            step: str,
            done: int,
            total: int,
            steps: list[int] = steps,
        ) -> None:
            steps.append(done)

        usage.folder.rename(tmp_path / f"{batch}-{chunk}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "stream", in_pieces)
            limits = PartitionLimits(chunk=chunk)
            usage = usage_of(tmp_path, CELL, report=report, limits=limits)
        assert same(rows_of(usage), expected), (batch, chunk)
        # What is assigned begins with a window that exists.
        assert max(steps) < 7


def test_an_element_of_a_list_may_be_missing_or_unknown() -> None:
    chunks = [
        [[0.125, 0.25], None],
        [
            [],
            [0.5],
            [0.5, None],
        ],
    ]
    column = pa.chunked_array(chunks, pa.list_(pa.float32()))
    values = Metric("second", "x", is_peak=True, element=1).values(column)
    assert values.dtype == np.float32
    nan = float("nan")
    np.testing.assert_array_equal(values, [0.25, nan, nan, nan, nan])


def test_both_kinds_of_slots_are_kept_side_by_side(tmp_path: Path) -> None:
    parts = usage_of(tmp_path, CELL).folder
    whole = usage_of(tmp_path, CELL, is_whole=True).folder
    assert usage_of(tmp_path, CELL).folder == parts != whole
    assert parts.is_dir()
    assert whole.is_dir()


@pytest.mark.parametrize("buckets", [2, 3])
def test_the_memory_budget_changes_nothing(tmp_path: Path, buckets: int) -> None:
    raw = random_cell(7)
    usage = usage_of(tmp_path, raw)
    assert len(list(usage.folder.glob("rows-*"))) == 1
    expected = rows_of(usage)
    store = borgtrace.open(tmp_path / "store")
    n_rows = store.manifest.tables["instance_usage"]
    assert n_rows > 50
    usage.folder.rename(tmp_path / "other")
    # A budget of a few rows, with which the engine could not start: for the sort alone.
    limits = PartitionLimits(memory=24 * 5 * n_rows // buckets)
    again = usage_of(tmp_path, raw, limits=limits)
    assert len(list(again.folder.glob("rows-*"))) == buckets
    assert same(rows_of(again), expected)
