"""Against the truth of synthetic cells, and against sums taken from the raw files by other means."""

from __future__ import annotations

import gzip
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from borgtrace.catalog import find
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.synth import generate
from tests.rows import chosen_columns


class SyntheticCell:
    """A synthetic cell: its raw files, its truth, its tables."""

    def __init__(self, folder: Path, generation: str, seed: int) -> None:
        self.raw = folder / "raw"
        generate(self.raw, generation, 12, 6.0, seed)
        ingest([self.raw], folder / "store", IngestOptions(jobs=1))
        self.truth: dict[str, Any] = json.loads((self.raw / "truth.json").read_text())
        self.tables = EngineTables.of(folder / "store")

    def ask(self, name: str) -> list[dict[str, Any]]:
        result = find(name).run(self.tables)
        assert result.not_applicable is None, result.not_applicable
        rows: list[dict[str, Any]] = result.table.to_pylist()
        return rows


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> SyntheticCell:
    return SyntheticCell(tmp_path_factory.mktemp("old"), "2011", 6)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> SyntheticCell:
    return SyntheticCell(tmp_path_factory.mktemp("new"), "2019", 11)


def raw_windows(cell: SyntheticCell) -> list[tuple[int, float, float, bool]]:
    """Return (seconds, CPU, memory, runs in an alloc set) of every raw usage row."""
    rows = []
    for path in sorted(cell.raw.glob("task_usage/*.csv.gz")):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            field = line.split(",")
            seconds = (int(field[1]) - int(field[0])) // 10**6
            rows.append((seconds, float(field[5] or 0), float(field[6] or 0), False))
    for path in sorted(cell.raw.glob("instance_usage*.json.gz")):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            record = json.loads(line)
            mean = record["average_usage"]
            seconds = (int(record["end_time"]) - int(record["start_time"])) // 10**6
            inside = int(record.get("alloc_collection_id", 0)) != 0
            rows.append((seconds, mean.get("cpus", 0.0), mean.get("memory", 0.0), inside))
    return rows


@pytest.mark.parametrize("which", ["old", "new"])
def test_tiers_add_up_to_the_cell(which: str, request: pytest.FixtureRequest) -> None:
    cell: SyntheticCell = request.getfixturevalue(which)
    windows = raw_windows(cell)
    rows = cell.ask("utilization")
    assert windows
    hours = max(row["hour"] for row in rows)
    last = (cell.truth["bounds"][-1] - cell.truth["bounds"][0]) / 1e6 - 3600 * hours
    for column, place in (("cpu_used", 1), ("memory_used", 2)):
        measured = sum(row[column] * (last if row["hour"] == hours else 3600.0) for row in rows)
        expected = sum(row[0] * row[place] for row in windows if not row[3])
        assert measured == pytest.approx(expected, rel=1e-4)


def test_lengths_of_all_traces(old: SyntheticCell) -> None:
    tasks = [row["n_windows"] for row in pq.read_table(old.raw / "truth.parquet").to_pylist()]
    rows = old.ask("trace_lengths")
    assert sum(row["n_windows"] for row in rows) == old.truth["usage_rows"] == sum(tasks)
    assert sum(row["n_tasks"] for row in rows) == sum(length > 0 for length in tasks)
    assert {row["length"]: row["n_tasks"] for row in rows if row["length"] <= 100} == {
        length: tasks.count(length) for length in set(tasks) if 0 < length <= 100
    }


def test_every_planted_anomaly_is_found(old: SyntheticCell) -> None:
    planted = old.truth["planted"]
    n_by_key = {row["anomaly"]: row["n"] for row in old.ask("data_quality")}
    made_up = len(planted["made_up_events"])
    no_requests = len(planted["tasks_without_requests"])
    expected = {
        "jobs_without_tasks": len(planted["jobs_without_tasks"]),
        "job_id_reused": len(planted["reused_job"]),
        "capacity_missing": len(planted["machines_without_capacity"]),
        "missing_creation_no_request": no_requests,
        "missing_info_instances": made_up + no_requests,
    }
    assert chosen_columns(n_by_key, expected) == expected
    assert n_by_key["cpi_impossible"] == n_by_key["mai_impossible"] == planted["bad_counters"]
    assert n_by_key["cpu_over_1"] == planted["above_one"]
    assert (
        n_by_key["window_over_300s"]
        == n_by_key["window_off_grid"]
        == n_by_key["machine_events_doubled"]
        == 0
    )


def test_schedulers_count_every_collection(new: SyntheticCell) -> None:
    rows = new.ask("schedulers")
    events = new.truth["collection_events"]
    assert sum(row["n_collections"] for row in rows) == events["SUBMIT"] - len(
        new.truth["planted"]["reused_job"]
    )
    assert sum(row["n_queued"] for row in rows) == events["QUEUE"]
    assert sum(row["n_attempts"] for row in new.ask("queueing")) <= events["QUEUE"]


def test_alloc_sets_hold_what_runs_inside(new: SyntheticCell) -> None:
    (row,) = [row for row in new.ask("data_quality") if row["anomaly"] == "alloc_holds_tasks"]
    # Hours are too few for a verdict; what is contained is at most all, up to rounding.
    assert 0 < row["share"] <= 1.02
    shares = {row["quantity"]: row["share"] for row in new.ask("alloc_sets")}
    assert 0 < shares["collections"] < 1
    # Each row of tasks inside is within the usage of its instance, which is within the reservation.
    for row in new.ask("alloc_instances"):
        if row["n_tasks"]:
            assert 0 < row["cpu_of_tasks"] <= row["cpu_used"] * 1.02
            assert 0 < row["memory_of_tasks"] <= row["memory_used"] * 1.02


@pytest.mark.parametrize("which", ["old", "new"])
def test_larger_margins_reclaim_less_and_break_less(
    which: str, request: pytest.FixtureRequest
) -> None:
    rows = request.getfixturevalue(which).ask("reservation")
    assert {row["reclaimed"] for row in rows if row["policy"] == "limit"} == {0.0}
    assert all(row["reclaimed"] >= 0.0 and 0.0 <= row["violated"] <= 1.0 for row in rows)
    for key in {(row["resource"], row["tier"], row["policy"]) for row in rows} - {"limit"}:
        curve = [row for row in rows if (row["resource"], row["tier"], row["policy"]) == key]
        for smaller, larger in pairwise(sorted(curve, key=lambda row: row["setting"])):
            assert larger["reclaimed"] <= smaller["reclaimed"]
            assert larger["violated"] <= smaller["violated"]


@pytest.mark.parametrize("which", ["old", "new"])
def test_rarer_violations_need_larger_margins(which: str, request: pytest.FixtureRequest) -> None:
    rows = request.getfixturevalue(which).ask("sampling_period")
    curves: dict[tuple[Any, ...], dict[float, float]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("tier", "duration", "demand", "period"))
        margin = float("inf") if row["margin"] is None else row["margin"]
        curves.setdefault(key, {})[row["violation"]] = margin
    assert {key[2] for key in curves} == {"window", "second"}
    for margins in curves.values():
        ordered = [margins[rate] for rate in sorted(margins, reverse=True)]
        assert ordered == sorted(ordered)


def _tables_of(cell: SyntheticCell) -> dict[str, pd.DataFrame]:
    names = ("instance_usage", "instance_events", "machine_events", "tasks")
    return {name: cell.tables[name].to_pyarrow().to_pandas() for name in names}


def _tier(priority: float) -> str:
    """The tiers of 2019's notes."""
    bounds = (
        (99, "free"),
        (115, "beb"),
        (119, "mid"),
        (359, "production"),
        (math.inf, "monitoring"),
    )
    return next(name for highest, name in bounds if priority <= highest)


def test_pandas_reads_the_notebook_in_the_same_way(new: SyntheticCell) -> None:
    tables = _tables_of(new)
    hour = 3_600_000_000
    usage = tables["instance_usage"]
    usage = usage[usage.alloc_collection_id.isna()]
    events = tables["instance_events"]
    where = ["collection_id", "instance_index", "machine_id"]
    known = (
        events[events.alloc_collection_id.isna() & events.machine_id.notna()]
        .groupby(where)
        .priority.max()
    )
    joined = usage[usage.end_time - usage.start_time >= 300_000_000].merge(
        known.reset_index(), on=where
    )
    joined["tier"] = [{"monitoring": "production"}.get(_tier(p), _tier(p)) for p in joined.priority]
    row_by_key = {(row["tier"], row["hour"]): row for row in new.ask("notebook")}
    assert len(joined) < len(usage)
    for resource in ("cpu", "memory"):
        capacity = (
            tables["machine_events"].groupby("machine_id")[f"{resource}_capacity"].max().sum()
        )
        sums = (
            joined.groupby(["tier", joined.start_time // hour])[f"average_{resource}"].sum()
            / 12
            / capacity
        )
        assert {
            key: row[f"{resource}_literal"]
            for key, row in row_by_key.items()
            if row[f"{resource}_literal"]
        } == {key: pytest.approx(value, rel=1e-6) for key, value in sums.items() if value}


def test_pandas_corrects_the_notebook_in_the_same_way(new: SyntheticCell) -> None:
    tables = _tables_of(new)
    hour = 3_600_000_000
    usage = tables["instance_usage"].merge(
        tables["tasks"][["collection_id", "instance_index", "priority"]],
        on=["collection_id", "instance_index"],
    )
    usage["tier"] = usage.priority.map(_tier)
    hosts = usage[usage.collection_type == "ALLOC_SET"].groupby("collection_id").tier.first()
    end = int(usage.end_time.max())
    row_by_key = {(row["tier"], row["hour"]): row for row in new.ask("notebook")}
    for resource in ("cpu", "memory"):
        usage["used"] = usage[f"average_{resource}"].fillna(0) * (usage.end_time - usage.start_time)
        inside = usage[usage.alloc_collection_id.notna()]
        # What runs in an alloc set is the task's, and no longer the set's.
        taken = inside.assign(tier=inside.alloc_collection_id.map(hosts), used=-inside.used)
        signed = pd.concat([usage, taken])
        sums = signed.groupby(["tier", signed.start_time // hour]).used.sum()
        levels = tables["machine_events"].sort_values(["time", "source_part", "source_row"])
        present = dict.fromkeys(range(1 + end // hour), 0.0)
        for _, machine in levels.groupby("machine_id"):
            times = [*machine.time, end]
            for (start, until), (_, event) in zip(pairwise(times), machine.iterrows(), strict=True):
                held = 0.0 if event.type == "REMOVE" else event[f"{resource}_capacity"]
                for at in present:
                    covered = min(until, (at + 1) * hour, end) - max(start, at * hour, 600_000_000)
                    present[at] += max(covered, 0) * (0.0 if math.isnan(held) else held)
        for (tier, at), used in sums.items():
            row = row_by_key[tier, at]
            assert row[f"{resource}_corrected"] == pytest.approx(
                used / present[at], rel=1e-5, abs=1e-9
            )
            parts = ("literal", "windows", "unmatched", "tiers", "capacity")
            assert row[f"{resource}_corrected"] == pytest.approx(
                sum(row[f"{resource}_{part}"] for part in parts)
            )
        assert {key for key, row in row_by_key.items() if row[f"{resource}_corrected"]} <= set(
            sums.index
        )
