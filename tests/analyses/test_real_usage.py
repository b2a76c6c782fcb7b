"""Questions about usage on real rows: cell a of 2019, the machines of 2011, VMs of Azure V1 and of Bitbrains.

Expected values are arithmetic over the raw rows, written out here.  The suite takes four tasks of 2019; all rows of
all sources are tests of scale.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from borgtrace.catalog import find
from tests.analyses.real_rows import WINDOW, Array
from tests.analyses.real_windows import (
    BEGIN,
    FOLDERS,
    HOUR,
    Source,
    Windows,
    quantities,
    source_of,
)
from tests.conftest import real_folder
from tests.rows import chosen_columns


@pytest.fixture(scope="module")
def source_by_name(
    trace: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Source]:
    """Return a function that reads a source once."""

    @cache
    def read(name: str) -> Source:
        real_folder(trace, FOLDERS[name.removeprefix("whole ")])
        return source_of(name, trace, tmp_path_factory.mktemp("source"))

    return read


def whole(name: str) -> Any:
    """Return the parameter of all rows of a source."""
    return pytest.param(f"whole {name}", marks=pytest.mark.scale)


@pytest.fixture(scope="module", params=["2019", *(whole(name) for name in FOLDERS)])
def source(request: pytest.FixtureRequest, source_by_name: Callable[[str], Source]) -> Source:
    """Each source."""
    return source_by_name(request.param)


@pytest.fixture(scope="module", params=["2019", whole("2019")])
def cell_a(request: pytest.FixtureRequest, source_by_name: Callable[[str], Source]) -> Source:
    """Usage of cell a, with the requests in force."""
    return source_by_name(request.param)


@pytest.fixture(scope="module", params=[whole("machines")])
def machines(request: pytest.FixtureRequest, source_by_name: Callable[[str], Source]) -> Source:
    """Usage of the machines of 2011."""
    return source_by_name(request.param)


def test_lengths_of_traces(source: Source) -> None:
    """One bin for each length up to 100, then one for each doubling from 128 (101 to 127 share one)."""
    lengths = np.bincount(source.all_windows.task)
    bin_of = {n: n if n <= 100 else max(101, 2 ** int(np.log2(n))) for n in set(lengths.tolist())}
    expected: Counter[int] = Counter()
    n_windows: Counter[int] = Counter()
    for length in lengths.tolist():
        expected[bin_of[length]] += 1
        n_windows[bin_of[length]] += length
    rows = source.answer("trace_lengths")
    assert {row["length"]: row["n_tasks"] for row in rows} == expected
    assert {row["length"]: row["n_windows"] for row in rows} == n_windows


def test_usage_of_jobs(source: Source) -> None:
    """Σ average × length ÷ 3600 by job; C² = variance ÷ mean²; a wait of (C² + 1) ÷ 2; Hill's exponent above 1 h."""
    rows = [row for row in source.answer("job_usage") if row["top"] == 0]
    assert [row["resource"] for row in rows] == list(quantities(source.windows))
    for row in rows:
        values = quantities(source.windows)[row["resource"]]
        hours = source.windows.sums(source.windows.job, values) / HOUR
        squared_cv = hours.var() / hours.mean() ** 2
        tail = hours[hours > 1]
        assert (row["n"], row["n_tail"]) == (len(hours), len(tail))
        expected = {
            "mean": hours.mean(),
            "median": np.median(hours),
            "variance": hours.var(),
            "squared_cv": squared_cv,
            "wait": (squared_cv + 1) / 2,
        }
        assert chosen_columns(row, expected) == pytest.approx(expected, rel=1e-05)
        if len(tail):
            assert row["alpha_hill"] == pytest.approx(len(tail) / np.log(tail).sum(), rel=1e-3)


def test_memory_of_jobs_by_their_cpu(source: Source) -> None:
    """The median memory-hours of the jobs whose CPU-hours have the same whole part."""
    measured = quantities(source.windows)
    if "memory" not in measured:
        reason = find("job_memory").run(source.tables).not_applicable
        assert reason == "no job used any memory"
        return
    cpu, memory = (
        source.windows.sums(source.windows.job, measured[name]) / HOUR for name in ("cpu", "memory")
    )
    rows = source.answer("job_memory")
    assert [row["bucket"] for row in rows] == np.unique(np.floor(cpu)).tolist()
    for row in rows:
        of_bucket = memory[np.floor(cpu) == row["bucket"]]
        assert row["n_jobs"] == len(of_bucket)
        assert row["memory"] == pytest.approx(np.median(of_bucket), rel=1e-4)


def test_cpu_by_duration(source: Source) -> None:
    """CPU-seconds of the tasks that were measured for up to 60 · 2^k s; the last bin, k = 15, holds all above."""
    windows = source.all_windows
    durations = np.bincount(windows.task, windows.seconds)
    cpu_seconds = windows.sums(windows.task, windows.cpu)
    edges = 60 * 2 ** np.ceil(np.log2(durations / 60)).clip(0, 15).astype(int)
    rows = source.answer("cpu_by_duration")
    assert [row["at_most"] for row in rows] == sorted(set(edges.tolist()))
    for row in rows:
        is_in_bin = edges == row["at_most"]
        assert row["n_tasks"] == is_in_bin.sum()
        assert row["cpu_seconds"] == pytest.approx(cpu_seconds[is_in_bin].sum(), rel=1e-4)


@dataclass(frozen=True)
class Levels:
    """Usage of several series by period, in the order of series and periods."""

    series: Array
    period: Array
    level: Array
    seconds: Array

    def pairs(self) -> tuple[Array, Array, Array]:
        """Return the levels of neighboring periods of a series, earlier and later, and the time measured in both."""
        is_next = (np.diff(self.series) == 0) & (np.diff(self.period) == 1)
        seconds = self.seconds[:-1] + self.seconds[1:]
        return self.level[:-1][is_next], self.level[1:][is_next], seconds[is_next]


def means_by_period(windows: Windows, length: int, values: Array) -> Levels:
    """Return each task's means, weighted by time; windows are in the order of tasks and starts."""
    period = windows.start // length
    code = windows.task * (period.max() + 1) + period
    codes, position = np.unique(code, return_inverse=True)
    seconds = np.bincount(position, windows.seconds)
    level = np.bincount(position, values * windows.seconds) / seconds
    return Levels(codes // (period.max() + 1), codes % (period.max() + 1), level, seconds)


def sums_by_slot(windows: Windows, of: Array, values: Array) -> Levels:
    """Return sums over the windows that start in a slot; alloc instances hold what runs in them."""
    is_counted = ~windows.is_inside
    _, series = np.unique(of[is_counted], return_inverse=True)
    slot = windows.slot[is_counted]
    codes, position = np.unique(series * (slot.max() + 1) + slot, return_inverse=True)
    used = (values * windows.seconds)[is_counted]
    whole_slots = np.full(len(codes), WINDOW)
    level = np.bincount(position, used)
    return Levels(codes // (slot.max() + 1), codes % (slot.max() + 1), level, whole_slots)


def changes_between(earlier: Array, later: Array) -> Array:
    """Return |later − earlier| ÷ earlier: 0 from nothing to nothing, infinite from nothing to something."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.abs(later - earlier) / earlier
    return np.where(later == earlier, 0.0, change)


def levels_of(windows: Windows, level: str, values: Array) -> Levels:
    """Return usage by slot of each task, of each machine, or of the cell."""
    if level == "task":
        return means_by_period(windows, WINDOW, values)
    if level == "cell":
        return sums_by_slot(windows, np.zeros(len(windows.task), int), values)
    # 0 and −1 stand for no machine.
    is_on_machine = windows.machine > 0
    on_machines = windows.where(is_on_machine)
    return sums_by_slot(on_machines, on_machines.machine, values[is_on_machine])


@pytest.mark.parametrize("level", ["task", "machine", "cell"])
def test_change_from_slot_to_slot(source: Source, level: str) -> None:
    """The share of time in which usage changes by so many percent at most."""
    if level == "machine" and (source.windows.machine < 0).all():
        return
    answer = source.answer("window_change")
    for resource, values in quantities(source.windows).items():
        earlier, later, seconds = levels_of(source.windows, level, values).pairs()
        percents = 100 * changes_between(earlier, later)
        rows = [row for row in answer if (row["level"], row["resource"]) == (level, resource)]
        assert sum(row["n_pairs"] for row in rows) == len(percents)
        assert sum(row["seconds"] for row in rows) == seconds.sum()
        for row in rows:
            if row["percent"] in (1, 5, 20, 100, 200):
                # A change on the edge of a bin may fall to either side.
                share = seconds[percents <= row["percent"]].sum() / seconds.sum()
                assert row["share"] == pytest.approx(share, abs=3e-3)


def test_change_from_hour_to_hour(source: Source) -> None:
    windows = source.windows
    answer = source.answer("hourly_change")
    for resource, values in quantities(windows).items():
        earlier, later, seconds = means_by_period(windows, HOUR, values).pairs()
        percents = 100 * changes_between(earlier, later)
        # All tasks of a source have one tier.
        rows = [row for row in answer if row["resource"] == resource]
        assert sum(row["n_pairs"] for row in rows) == len(percents)
        # The last row holds all above 200 %.
        for row in rows:
            is_within = (percents <= row["percent"]) | (row["percent"] > 200)
            share = seconds[is_within].sum() / seconds.sum()
            assert row["share"] == pytest.approx(share, abs=5e-3)


def test_quantiles_of_changes(source: Source) -> None:
    """The smallest change that q · n changes do not exceed; the sketch lies within one percent of it."""
    for row in source.answer("change_sketch"):
        values = quantities(source.windows)[row["resource"]]
        earlier, later, _ = levels_of(source.windows, row["level"], values).pairs()
        change = np.sort(changes_between(earlier, later))
        exact = change[int(np.ceil(row["quantile"] * len(change) - 1e-9)) - 1]
        assert row["n_changes"] == len(change)
        if np.isinf(exact):
            assert row["exact"] is None
            assert row["sketched"] is None
        else:
            assert row["exact"] == pytest.approx(exact, rel=1e-4, abs=1e-9)
            assert row["sketched"] == pytest.approx(exact, rel=0.0101, abs=1e-9)


def test_margin_over_the_slot_before(source: Source) -> None:
    """The smallest margin that all but a share of the time stays within: window ÷ mean of the slot before − 1."""
    windows = source.windows
    levels = means_by_period(windows, WINDOW, windows.cpu)
    n_slots = windows.slot.max() + 2
    before = windows.task * n_slots + windows.slot - 1
    level_of_slot = dict(
        zip((levels.series * n_slots + levels.period).tolist(), levels.level, strict=True)
    )
    earlier = np.array([level_of_slot.get(slot, np.nan) for slot in before.tolist()])
    has_slot_before = ~np.isnan(earlier) & (windows.slot > 0)
    earlier, later = earlier[has_slot_before], windows.cpu[has_slot_before]
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(later <= earlier, 0.0, later / earlier - 1)
    seconds = windows.seconds[has_slot_before]
    order = np.argsort(needed)
    time_above = seconds.sum() - np.cumsum(seconds[order])
    group = {"tier": "all", "duration": "all", "demand": "window", "period": WINDOW}
    answer = source.answer("sampling_period")
    rows = [row for row in answer if group.items() <= row.items()]
    assert len(rows) > 2
    for row in rows:
        assert row["seconds"] == seconds.sum()
        smallest = needed[order][np.argmax(time_above <= row["violation"] * seconds.sum())]
        if row["margin"] is None:
            # No margin below 655 times the usage suffices.
            assert smallest > 655
        else:
            # An upper edge of a bin: a percentage point wide up to 128 %, 1.6 % wide above.
            assert smallest - 1e-6 <= row["margin"] <= max(smallest + 0.0101, smallest * 1.016)


# -- Packing: the 40 VMs of Azure --------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[whole("azure")])
def vms(request: pytest.FixtureRequest, source_by_name: Callable[[str], Source]) -> Source:
    """VMs of Azure V1."""
    return source_by_name(request.param)


@pytest.mark.parametrize("question", ["packing_base", "packing_averages", "packing_capacities"])
def test_no_packing_needs_fewer_machines_than_the_means(vms: Source, question: str) -> None:
    """All VMs are one instance: at least Σ means ÷ capacity machines hold them, rounded up."""
    windows = vms.windows
    means = windows.sums(windows.task, windows.cpu) / np.bincount(windows.task, windows.seconds)
    rows = vms.answer(question)
    assert {row["n_tasks"] for row in rows} == {len(means)} == {40}
    # What fits no machine is no part of the bound; GPA and Cantelli never fill above the mean, as percentiles may.
    whole_instances = [row for row in rows if not row["n_unplaceable"]]
    assert len(whole_instances) > 10
    for row in whole_instances:
        assert row["lower_bound"] == np.ceil(means.sum() / row["capacity"])
        assert row["q"] == row["overflows"] / row["trials"]
        if row["estimator"] in ("gpa", "cantelli"):
            assert row["m_abs"] >= row["lower_bound"]


# -- Usage beside requests: cell a of 2019 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Requests:
    """Of each task: requests on its SCHEDULE (its first window), and peaks; of each window: the request of its task."""

    request: dict[str, Array]
    peak: dict[str, Array]
    average: dict[str, Array]
    of_window: dict[str, Array]


def requests_of(cell: Source) -> Requests:
    assert cell.rows_2019 is not None
    rows = cell.rows_2019
    first = np.unique(cell.all_windows.task, return_index=True)[1]
    request, peak, average, of_window = {}, {}, {}, {}
    for name in ("cpu", "memory"):
        limit = rows[f"{name}_limit"].to_numpy().astype(np.float32).astype(float)
        maximum = rows[f"max_{name}_usage"].to_numpy().astype(np.float32).astype(float)
        request[name] = limit[first]
        peak[name] = np.maximum.reduceat(maximum, first)
        average[name] = getattr(cell.windows, name)
        of_window[name] = request[name][cell.windows.task]
    return Requests(request, peak, average, of_window)


def test_peaks_of_requests(cell_a: Source) -> None:
    """Bin k holds peaks from 5k to 5(k + 1) percent of the request, the last all from 200 %."""
    requests = requests_of(cell_a)
    ratios = {name: requests.peak[name] / requests.request[name] for name in requests.peak}
    is_within = (ratios["cpu"] <= 1) & (ratios["memory"] <= 1)
    rows = cell_a.answer("peak_to_request")
    for name, ratio in ratios.items():
        bins = np.minimum(np.floor(ratio / 0.05).astype(int), 40)
        n_tasks = {row["bin"]: row["n_tasks"] for row in rows if row["resource"] == name}
        n_within = {row["bin"]: row["n_within"] for row in rows if row["resource"] == name}
        assert n_tasks == Counter(bins.tolist())
        assert {k: n for k, n in n_within.items() if n} == Counter(bins[is_within].tolist())


def test_tasks_above_their_request(cell_a: Source) -> None:
    requests = requests_of(cell_a)
    windows = cell_a.windows
    for row in cell_a.answer("over_request"):
        name = row["resource"]
        ratio = requests.average[name] / requests.of_window[name]
        largest = np.maximum.reduceat(ratio, np.unique(windows.task, return_index=True)[1])
        assert row["n_tasks"] == len(largest)
        assert [row[f"n_over{more}"] for more in ("", "_150", "_200")] == [
            (largest > factor).sum() for factor in (1, 1.5, 2)
        ]
        expected = {
            "n_peak_over": (requests.peak[name] > requests.request[name]).sum(),
            "seconds": windows.seconds.sum(),
            "seconds_over": windows.seconds[ratio > 1].sum(),
        }
        assert chosen_columns(row, expected) == expected
        assert row["largest"] == pytest.approx(largest.max(), rel=1e-6)


def test_what_the_request_itself_keeps(cell_a: Source) -> None:
    """The policy that reserves the request: the share of time above it, and the usage above it ÷ all usage."""
    requests = requests_of(cell_a)
    seconds = cell_a.windows.seconds
    rows = cell_a.answer("reservation")
    limits = [row for row in rows if row["policy"] == "limit" and row["tier"] == "all"]
    assert [row["resource"] for row in limits] == ["cpu", "memory"]
    for row in limits:
        usage = requests.average[row["resource"]]
        excess = (usage - requests.of_window[row["resource"]]).clip(0)
        assert row["reclaimed"] == 0
        assert row["seconds"] == seconds.sum()
        expected = {
            "violated": seconds[excess > 0].sum() / seconds.sum(),
            "overload": (excess * seconds).sum() / (usage * seconds).sum(),
        }
        assert chosen_columns(row, expected) == pytest.approx(expected)


def test_assigned_memory(cell_a: Source) -> None:
    """Of windows outside alloc instances: its mean, and that over the mean memory used."""
    windows = cell_a.windows
    is_outside = ~windows.is_inside
    assigned = cell_a.column_2019("assigned_memory")[is_outside]
    row = next(r for r in cell_a.answer("other_resources") if r["quantity"] == "assigned_memory")
    assert (row["n_windows"], row["missing"]) == (is_outside.sum(), 0)
    assert row["mean"] == pytest.approx(assigned.mean(), rel=1e-5)
    assert row["largest"] == pytest.approx(assigned.max(), rel=1e-6)
    assert row["relative"] == pytest.approx(
        assigned.mean() / windows.memory[is_outside].mean(), rel=1e-5
    )


def test_anomalies_of_usage(cell_a: Source) -> None:
    assert cell_a.rows_2019 is not None
    n = len(cell_a.rows_2019)
    # Nine tenths as Google's float32 has them: 4 windows of all have just that.
    rate = float(np.float32(0.9))
    expected = {
        "assigned_memory_zero": (cell_a.rows_2019["assigned_memory"].to_numpy() == 0).sum(),
        "percentiles_empty": (cell_a.rows_2019["p0_cpu_usage"].to_numpy() < 0).sum(),
        # Of windows inside the trace.
        "sample_rate_low": (cell_a.column_2019("sample_rate") < rate).sum(),
        "window_off_grid": (cell_a.windows.start % WINDOW != 0).sum(),
        "window_full": len(cell_a.windows.start),
        "cpi_null": n,
        "window_over_300s": 0,
        "dedicated_usage": 0,
    }
    answer = {row["anomaly"]: row for row in cell_a.answer("data_quality")}
    assert {name: answer[name]["n"] for name in expected} == expected
    assert answer["cpi_null"]["of"] == n


@pytest.mark.scale
def test_usage_of_the_cell_by_hour(cell_a: Source) -> None:
    """Σ average × length ÷ 3600 of what starts in an hour; tasks in alloc instances count for themselves.

    Of hours in which nothing was measured nothing is said here.
    """
    windows = cell_a.windows
    hour = windows.start // HOUR
    rows = cell_a.answer("utilization")
    for resource, values in quantities(windows).items():
        used = {row["hour"]: row[f"{resource}_used"] for row in rows if row["tier"] == "production"}
        sums = windows.sums(hour, values * ~windows.is_inside) / HOUR
        inside = windows.sums(hour, values * windows.is_inside) / HOUR
        # The alloc set has no usage of its own here: its remainder is less than nothing.
        below = {row["hour"]: row[f"{resource}_used"] for row in rows if row["tier"] == "unknown"}
        for number in np.unique(hour):
            total = used[number] + below.get(number, 0)
            assert total == pytest.approx(sums[number], rel=1e-5, abs=1e-9)
            assert used[number] == pytest.approx(sums[number] + inside[number], rel=1e-5)


def test_tasks_in_alloc_instances(cell_a: Source) -> None:
    """Each task of the job that runs in an alloc set has an instance of its own, of which there are no rows here."""
    assert cell_a.rows_2019 is not None
    rows = cell_a.rows_2019.filter(
        pc.and_(
            pc.greater(cell_a.rows_2019["alloc_collection_id"], 0),
            pc.greater_equal(cell_a.rows_2019["time"], BEGIN * 1_000_000),
        )
    )
    names = ("alloc_collection_id", "alloc_instance_index", "unique_id")
    tasks = set(zip(*(rows[name].to_pylist() for name in names), strict=True))
    n_tasks_by_instance = Counter((collection, index) for collection, index, _ in tasks)
    instances_by_n_tasks = Counter(n_tasks_by_instance.values())
    answer = cell_a.answer("alloc_instances")
    assert {row["n_tasks"]: row["n_instances"] for row in answer} == instances_by_n_tasks
    assert [row["n_measured"] for row in answer] == [0] * len(answer)
    cpu_hours = rows["avg_cpu_usage"].to_numpy().sum() * WINDOW / HOUR
    assert sum(row["cpu_of_tasks"] for row in answer) == pytest.approx(cpu_hours, rel=1e-4)


@pytest.mark.scale
def test_deviations_of_tasks(cell_a: Source) -> None:
    """Smallest and largest standard deviation of window averages, and of sampled seconds; the line on the means."""
    assert cell_a.rows_2019 is not None
    windows = cell_a.all_windows
    sampled = cell_a.rows_2019["random_sample_cpu_usage"].to_numpy()
    n_tasks = windows.task.max() + 1
    series = {"avg": windows.cpu, "inst": sampled}
    deviations = cell_a.answer("usage_deviation")
    lines = cell_a.answer("deviation_regression")
    for name, values in series.items():
        by_task = [values[windows.task == task] for task in range(n_tasks)]
        deviation = [of_task.std() for of_task in by_task]
        shown = [row["deviation"] for row in deviations if row["series"] == name]
        assert min(shown) == pytest.approx(min(deviation), rel=1e-4)
        assert max(shown) == pytest.approx(max(deviation), rel=1e-4)
        slope, intercept = np.polyfit([of_task.mean() for of_task in by_task], deviation, 1)
        line = next(row for row in lines if row["series"] == name)
        assert line["slope"] == pytest.approx(slope, rel=1e-3)
        assert line["intercept"] == pytest.approx(intercept, rel=1e-3, abs=1e-9)


@pytest.mark.scale
def test_tasks_that_may_share_machines(cell_a: Source) -> None:
    """All run for two hours and more, none fails, all use some CPU."""
    n_tasks = cell_a.windows.task.max() + 1
    rows = cell_a.answer("colocation_preparation")
    assert [row["n_touched"] for row in rows if row["unit"] == "tasks"] == [0, 0, 0, 0, n_tasks]


# -- Usage beside capacities: the machines of 2011 ---------------------------------------------------------------------


@dataclass(frozen=True)
class MachineNow:
    """Platform and capacities of a machine."""

    platform: str
    cpu: float
    memory: float


def machines_at(trace: Path, second: int) -> dict[int, MachineNow]:
    """Return the machines that are present at a second of the trace's clock, with what they have then.

    Lines are time (µs), machine, type (0 added, 1 removed, 2 updated), platform, CPU, memory.
    """
    present: dict[int, MachineNow] = {}
    folder = trace / "clusterdata-2011-2" / "machine_events"
    with gzip.open(folder / "part-00000-of-00001.csv.gz", "rt") as file:
        for line in file:
            time, machine, event_type, platform, cpu, memory = line.strip().split(",")
            if int(time) > second * 1_000_000:
                break
            if event_type == "1":
                present.pop(int(machine), None)
            elif cpu:
                present[int(machine)] = MachineNow(platform, float(cpu), float(memory))
    return present


def test_how_full_machines_are(machines: Source, trace: Path) -> None:
    """Usage ÷ capacity, rounded up to percent; all other slots since the start of the trace are idle."""
    windows = machines.windows
    answer = machines.answer("machine_utilization")
    for resource, values in quantities(windows).items():
        percents = []
        for slot in np.unique(windows.slot):
            present = machines_at(trace, slot * WINDOW + BEGIN)
            is_now = windows.slot == slot
            for machine, value in zip(windows.machine[is_now], values[is_now], strict=True):
                if machine in present:
                    percents.append(100 * value / getattr(present[machine], resource))
        rows = [row for row in answer if row["resource"] == resource]
        busy = {row["percent"]: row["n_slots"] for row in rows if row["percent"] > 0}
        assert sum(busy.values()) == sum(np.array(percents) > 0)
        for percent in (5, 10, 25, 50, 75, 100):
            n_up_to = sum(n for upper, n in busy.items() if upper <= percent)
            # Usage on the edge of a percent may fall to either side.
            expected = ((np.array(percents) > 0) & (np.array(percents) <= percent)).sum()
            assert n_up_to == pytest.approx(expected, abs=3)


def test_platforms_of_the_windows(machines: Source, trace: Path) -> None:
    """The counters are missing everywhere: their makers kept CPU and memory."""
    last_known = machines_at_any_time(trace)
    platforms = [last_known[machine] for machine in machines.windows.machine.tolist()]
    rows = machines.answer("platform_counters")
    assert {row["platform"]: row["n_windows"] for row in rows} == Counter(platforms)
    pairs = set(zip(platforms, machines.windows.machine.tolist(), strict=True))
    assert {row["platform"]: row["n_machines"] for row in rows} == Counter(p for p, _ in pairs)
    assert {(row["cpi_missing"], row["mai_missing"]) for row in rows} == {(1.0, 1.0)}


def machines_at_any_time(trace: Path) -> dict[int, str]:
    """Return the last platform of each machine that ever was."""
    platforms: dict[int, str] = {}
    folder = trace / "clusterdata-2011-2" / "machine_events"
    with gzip.open(folder / "part-00000-of-00001.csv.gz", "rt") as file:
        for line in file:
            _, machine, _, platform, _, _ = line.strip().split(",")
            platforms[int(machine)] = platform
    return platforms
