"""Utilization, quality and placement on the real parts: counted in the real files by others."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.analyses.usage.utilization import allocation_changes
from borgtrace.catalog import find
from borgtrace.question import EngineTables, Tables


@pytest.fixture(scope="module")
def tables(real_store: Path) -> Tables:
    return EngineTables.of(real_store)


CPU_CAPACITY = 6603.25
MEMORY_CAPACITY = 5862.75
"""Of the machines present at time 0."""


@pytest.mark.parametrize(
    ("tier", "cpu", "memory"),
    [
        ("production", 0.732, 0.585),
        ("free", 0.219, 0.164),
        ("other", 0.184, 0.184),
    ],
)
def test_requests_at_time_0(tables: Tables, tier: str, cpu: float, memory: float) -> None:
    changes = allocation_changes(tables)
    first = changes.filter((changes.time == 0) & (changes.tier == tier))
    row = tables.fetch(first.aggregate(cpu=first.cpu.sum(), memory=first.memory.sum())).to_pylist()[
        0
    ]
    assert row["cpu"] / 2**24 / CPU_CAPACITY == pytest.approx(cpu, abs=5e-4)
    assert row["memory"] / 2**24 / MEMORY_CAPACITY == pytest.approx(memory, abs=5e-4)


def test_cpu_is_overcommitted(tables: Tables) -> None:
    result = find("utilization").run(tables)
    rows = [row for row in result.table.to_pylist() if row["hour"] == 0]
    assert {row["tier"] for row in rows} == {"free", "other", "production"}
    assert rows[0]["cpu_capacity"] == pytest.approx(CPU_CAPACITY, rel=1e-3)
    # 1.135 and 0.933 at time 0; the first hour starts more than it ends.
    assert sum(row["cpu_allocated"] for row in rows) / CPU_CAPACITY == pytest.approx(
        1.135, abs=0.02
    )
    assert sum(row["memory_allocated"] for row in rows) / MEMORY_CAPACITY == pytest.approx(
        0.933, abs=0.02
    )
    # Of some of the parts no verdict is given.
    findings = {finding.id: finding.reason for finding in result.findings}
    assert findings["TIR-cpu-overcommit"].startswith(
        "needs all 500 parts of instance_usage, has 1 "
    )


def test_anomalies_of_the_real_parts(tables: Tables) -> None:
    rows = {row["anomaly"]: row for row in find("data_quality").run(tables).table.to_pylist()}
    assert rows["capacity_missing"]["n"] == 32
    assert rows["capacity_missing"]["of"] == 21443
    assert (
        rows["missing_creation_no_request"]["n"] == rows["missing_creation_no_request"]["of"] == 291
    )
    assert rows["machine_on_first_submit"]["of"] == 144339
    assert rows["machine_on_first_submit"]["share"] == pytest.approx(0.602, abs=5e-4)
    for never in (
        "machine_missing",
        "machine_on_submit",
        "machine_events_doubled",
        "schedule_missing",
    ):
        assert rows[never]["n"] == 0
        assert rows[never]["of"] > 0
    assert rows["job_id_reused"]["n"] == 1
    mixed = {
        name: (rows[name]["n"], rows[name]["of"])
        for name in ("mixed_requests_at_start", "mixed_requests")
    }
    assert mixed == {"mixed_requests_at_start": (9, 1616), "mixed_requests": (4, 1946)}
    assert rows["jobs_without_tasks"]["of"] == 132650


def test_one_window_of_usage_has_no_change(tables: Tables) -> None:
    assert find("change_sketch").run(tables).not_applicable == "no two consecutive windows"
    rows = find("trace_lengths").run(tables).table.to_pylist()
    assert [(row["length"], row["n_tasks"]) for row in rows] == [(1, 676)]
