"""Usage rows: what is left out changes nothing else; rows, fields and codes as the dialect says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019
from borgtrace.synth import generate
from borgtrace.synth.measure.measurement import MEASURED, inject_faults
from borgtrace.synth.measure.usage_windows import EXECUTION, cut, divide, windows_of
from borgtrace.synth.model.fault_rates import PUBLISHED, FaultRates
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.model.profiles import GOOGLE_2011 as PROFILE_2011
from borgtrace.synth.options import SynthOptions
from borgtrace.synth.simulate.simulation import Simulation
from borgtrace.synth.write.raw_rows import RawRows
from borgtrace.synth.write.usage_text import csv_layout, json_layout
from tests.synth.reading import read_lines, read_rows

CPI = "cycles_per_instruction"
MAI = "memory_accesses_per_instruction"


def usage_lines(folder: Path, *, anomalies: bool) -> list[str]:
    """Return the lines of usage of a small trace."""
    out = generate(
        folder,
        machines=3,
        hours=2,
        tables=("task_usage",),
        anomalies=anomalies,
    )
    lines: list[str] = []
    for part in sorted(out.glob("task_usage/*")):
        lines += read_lines(part)
    return lines


def test_missing_records_leave_the_others_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the first record of a window: the rows after it keep their own times."""
    monkeypatch.setitem(PUBLISHED, "2011", FaultRates(missing_usage=0.5))
    every = usage_lines(tmp_path / "all", anomalies=False)
    half = usage_lines(tmp_path / "half", anomalies=True)
    assert 0.4 < len(half) / len(every) < 0.6
    remaining = set(half)
    assert remaining < set(every)
    assert half == [line for line in every if line in remaining]


def test_a_part_longer_than_18_hours_is_in_order_of_time(tmp_path: Path) -> None:
    out = generate(
        tmp_path / "out",
        machines=1,
        hours=20,
        parts=1,
        tables=("task_usage",),
    )
    times = [int(row[0]) for row in read_rows(out, "task_usage")]
    assert times == sorted(times)
    assert times[-1] - times[0] > 65_536_000_000


def test_windows_are_the_executions_cut_at_the_grid() -> None:
    """One hour from 600 s on, on three machines."""
    bounds = [600_000_000, 4_200_000_000]
    machines = draw_machines(PROFILE_2011, 3, 1)
    cell = Simulation(PROFILE_2011, machines, 1.0, 1, bounds)
    segment = next(cell.segments())
    windows = windows_of(segment, machines.ids)
    start = windows.rows["start"]
    end = windows.rows["end"]
    assert (start // 300 == (end - 1) // 300).all()
    assert (start < end).all()
    assert start.min() == 600
    assert start.max() < 4200
    for number, execution in enumerate(windows.executions):
        own = np.flatnonzero(windows.rows["execution"] == number)
        if len(own):
            first = own[0]
            last = own[-1]
            assert start[first] == max(int(execution["start"]), 600)
            # Each window begins where the one before ends.
            assert (end[own[:-1]] == start[own[1:]]).all()
            is_cut_by_part = start[last] // 300 == 4199 // 300
            assert end[last] == execution["end"] or is_cut_by_part


def test_windows_by_hand() -> None:
    executions = np.zeros(6, EXECUTION)
    executions["start"], executions["end"] = zip(
        (650, 1300),  # goes on after the part, whose last window is whole
        (0, 650),  # since before
        (650, 650),  # empty
        (900, 1150),  # at the same second as the second window of the first
        (1000, 1500),  # begins with the next part
        (100, 600),  # ended with the part before
        strict=True,
    )
    assert cut(executions, 600, 1000).tolist() == [
        (1, 600, 650),
        (0, 650, 900),
        (0, 900, 1200),
        (3, 900, 1150),
    ]
    assert cut(executions[:0], 600, 1000).tolist() == []


def test_a_whole_window_is_divided_into_three_short_ones_and_the_rest() -> None:
    executions = np.zeros(2, EXECUTION)
    executions["start"] = [600, 650]
    executions["end"] = 1_200
    # A task has two whole windows; a task has one, and the end of another.
    whole = cut(executions, 600, 1_200)
    divided = divide(executions, whole, 1.0, np.uint64(5))
    assert len(divided) == 4 + 1 + 4 + 4
    for number, begin in ((0, 600), (0, 900), (1, 900)):
        is_part = (divided["execution"] == number) & (divided["start"] // 300 == begin // 300)
        parts = divided[is_part]
        assert parts["start"].tolist() == [begin, *parts["end"][:-1].tolist()]
        assert parts["end"][-1] == begin + 300
        lengths = parts["end"] - parts["start"]
        assert lengths[:3].min() >= 1
        assert lengths[:3].max() <= 75
    assert divide(executions, whole, 0.0, np.uint64(5)).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("rates", "has_counters", "start", "expected", "counted"),
    [
        (
            {},
            True,
            899,
            {
                "average_cpu": 0.5,
                CPI: 2.0,
                MAI: 2.0,
                "mean_disk_io_time": 2.0,
            },
            (0, 0, 0, 0, 0),
        ),
        (
            {},
            True,
            900,
            {
                "mean_disk_io_time": -1.0,
                "maximum_disk_io_time": -1.0,
                CPI: 2.0,
            },
            (0, 0, 0, 0, 0),
        ),
        (
            {},
            False,
            0,
            {
                CPI: -1.0,
                MAI: -1.0,
                "mean_disk_io_time": 2.0,
            },
            (0, 0, 0, 0, 0),
        ),
        (
            {"bad_counters": 1.0},
            False,
            0,
            {MAI: 3.0, "average_cpu": 0.5},
            (0, 1, 0, 0, 0),
        ),
        ({"above_one": 1.0}, True, 0, {CPI: 2.0}, (1, 0, 0, 0, 0)),
        (
            {"no_assigned": 1.0},
            True,
            0,
            {"assigned_memory": 0.0, "average_cpu": 0.5},
            (0, 0, 1, 0, 0),
        ),
        (
            {"no_disk_io": 1.0},
            True,
            0,
            {"mean_disk_io_time": -1.0, "maximum_disk_io_time": -1.0, "average_cpu": 0.5},
            (0, 0, 0, 0, 1),
        ),
    ],
)
def test_faults_of_a_record(
    rates: dict[str, float],
    has_counters: bool,
    start: int,
    expected: dict[str, float],
    counted: tuple[int, ...],
) -> None:
    (line,) = np.full(36, 2.0).view(MEASURED)
    faults = np.zeros(6, dtype=np.int64)
    line["average_cpu"] = 0.5
    inject_faults(
        np.uint64(12345),
        FaultRates(disk_io_until=900, **rates),
        has_counters,
        start,
        line,
        faults,
    )
    assert {column: line[column] for column in expected} == expected
    assert tuple(faults[1:]) == counted
    if counted[0]:
        assert 1.001 <= line["average_cpu"] <= 6.601
        assert line["maximum_cpu"] == max(2.0, line["average_cpu"])
    if counted[1]:
        assert 30.0 <= line[CPI] <= 430.0


def test_rows_of_2011_have_codes_and_empty_fields() -> None:
    rows = RawRows(GOOGLE_2011, GOOGLE_2011.tables["task_events"])
    row = {
        "time": 7,
        "collection_id": 3,
        "instance_index": 0,
        "type": "SCHEDULE",
        "machine_id": 5,
        "user": "u=",
    }
    row |= {
        "scheduling_class": 2,
        "priority": 9,
        "cpu_request": 0.0625,
        "missing_type": "EXISTS_BUT_NO_CREATION",
    }
    assert rows.csv_line(row) == "7,2,3,0,5,1,u=,2,9,0.0625,,,\n"
    row |= {
        "needs_different_machine": False,
        "missing_type": None,
        "disk_request": 0.0,
    }
    assert rows.csv_line(row) == "7,,3,0,5,1,u=,2,9,0.0625,,0,0\n"


def test_records_of_2019_leave_nothing_but_numbers_for_no_alloc() -> None:
    rows = RawRows(GOOGLE_2019, GOOGLE_2019.tables["instance_events"])
    row = {
        "time": 7,
        "type": "SCHEDULE",
        "collection_id": 3,
        "collection_type": "JOB",
        "instance_index": 0,
    }
    assert rows.record(row) == {
        **{
            "time": 7,
            "type": 3,
            "collection_id": 3,
            "collection_type": 0,
        },
        **{
            "alloc_collection_id": 0,
            "instance_index": 0,
            "alloc_instance_index": -1,
        },
    }
    row |= {
        "constraints": [
            {
                "name": "n",
                "value": "1",
                "relation": "LESS_THAN",
            }
        ],
        "cpu_request": 0.5,
    }
    line = rows.json_line(row)
    assert '"resource_request":{"cpus":0.5}' in line
    assert line.endswith(',"constraint":[{"name":"n","value":"1","relation":"2"}]}\n')


def test_layouts_name_what_stands_before_each_number() -> None:
    csv = csv_layout(GOOGLE_2011.tables["task_usage"])
    assert (csv.times, csv.identity, csv.numbers, csv.end) == (("", ","), (",",) * 3, (), "\n")
    layout = json_layout(GOOGLE_2019.tables["instance_usage"])
    assert layout.identity[0] == '","collection_id":"'
    assert len(layout.identity) == 6
    assert layout.numbers[4] == '},"random_sample_usage":{"cpus":'
    assert layout.numbers[5:10] == (
        *('},"assigned_memory":', ',"page_cache_memory":', ',"cycles_per_instruction":'),
        *(',"memory_accesses_per_instruction":', ',"sample_rate":'),
    )
    assert layout.numbers[10] == ',"cpu_usage_distribution":['
    assert layout.numbers[21] == '],"tail_cpu_usage_distribution":['
    assert len(layout.numbers) == 30


@pytest.mark.parametrize(
    ("machines", "hours", "usage", "events"),
    [
        (10, 1.0, 2, 2),
        (1000, 1.0, 2, 2),
        (2500, 1.0, 3, 2),
        (100, 30.0, 3, 2),
        (12_500, 1.0, 13, 3),
    ],
)
def test_shards_grow_with_the_rows(
    machines: int,
    hours: float,
    usage: int,
    events: int,
) -> None:
    """320 rows per machine and hour, 300,000 a shard, at least two; a quarter as many of events."""
    shards = SynthOptions("2019", machines, hours).shards
    assert (shards["instance_usage"], shards["instance_events"], shards["collection_events"]) == (
        usage,
        events,
        1,
    )
    assert SynthOptions("2011", machines, hours).shards == {}
