"""Peak ÷ request, CPU by duration and trace lengths, by hand."""

from __future__ import annotations

import pytest

from borgtrace.analyses.usage import cpu_by_duration, peak_to_request, trace_lengths
from tests.analyses.tiny import answer, tiny, window


def test_peaks() -> None:
    tables = tiny(
        instance_usage=[
            window(1, 0, None, maximum_cpu=0.01, maximum_memory=0.125),
            window(1, 300, None, maximum_cpu=0.015625, maximum_memory=0.25),
            window(2, 0, None, maximum_cpu=0.75, maximum_memory=0.25),
            window(3, 0, None, maximum_cpu=0.25, maximum_memory=None),
            window(4, 0, None, maximum_cpu=0.25, maximum_memory=0.25),
        ],
        tasks=[
            {
                "collection_id": 1,
                "cpu_request": 0.5,
                "memory_request": 0.25,
            },  # 3.1 %, exactly 100 %
            {
                "collection_id": 2,
                "cpu_request": 0.5,
                "memory_request": 0.5,
            },  # 150 %, 50 %
            {
                "collection_id": 3,
                "cpu_request": 0.0625,
                "memory_request": 0.5,
            },  # 400 %, unknown
            {
                "collection_id": 4,
                "cpu_request": 0.0,
                "memory_request": None,
            },  # no ratio
        ],
    )
    rows = {
        (row["resource"], row["bin"]): (row["n_tasks"], row["n_within"])
        for row in answer(peak_to_request.QUESTION, tables)
    }
    assert rows == {
        ("cpu", 0): (1, 1),
        ("cpu", 30): (1, 0),
        ("cpu", 40): (1, 0),
        ("memory", 19): (1, 1),
        ("memory", 10): (1, 0),
    }
    findings = {finding.id: finding for finding in peak_to_request.QUESTION.run(tables).findings}
    assert findings["KOR-mean-cpu"].measured == "0.025"
    assert findings["KOR-first-bin-memory"].measured == "0"


def test_cpu_time_by_duration() -> None:
    tables = tiny(
        instance_usage=[window(1, 0, 0.5)],
        tasks=[
            {
                "collection_id": 1,
                "n_windows": 1,
                "seconds": 60.0,
                "weighted_mean_average_cpu": 0.5,
                "priority": 0,
            },
            {
                "collection_id": 2,
                "n_windows": 1,
                "seconds": 61.0,
                "weighted_mean_average_cpu": 1.0,
                "priority": 0,
            },
            {
                "collection_id": 3,
                "n_windows": 9,
                "seconds": 86400.0,
                "weighted_mean_average_cpu": 0.25,
                "priority": 9,
            },
            {
                "collection_id": 4,
                "n_windows": 9,
                "seconds": 9e6,
                "weighted_mean_average_cpu": None,
                "priority": None,
            },
            {
                "collection_id": 5,
                "n_windows": 0,
                "seconds": 0.0,
            },
            {
                "collection_id": 6,
                "n_windows": 3,
                "seconds": 60.0,
                "collection_type": "ALLOC_SET",
            },
        ],
    )
    rows = {
        (row["tier"], row["at_most"]): (row["n_tasks"], row["cpu_seconds"])
        for row in answer(cpu_by_duration.QUESTION, tables)
    }
    assert rows == {
        ("free", 60): (1, 30.0),
        ("free", 120): (1, 61.0),
        ("production", 122880): (1, 21600.0),
        ("unknown", 1966080): (1, 0.0),
    }
    findings = {finding.id: finding for finding in cpu_by_duration.QUESTION.run(tables).findings}
    assert float(findings["S4-fig11"].measured) == pytest.approx(91 / 21691, rel=1e-3)
    assert findings["S4-fig11"].verdict == "holds"


def test_lengths_of_traces() -> None:
    lengths = [1, 4, 5, 50, 51, 100, 101, 127, 128, 300]
    tables = tiny(
        instance_usage=[window(1, 0, 0.5)],
        tasks=[
            *({"collection_id": n, "n_windows": n} for n in lengths),
            {"collection_id": 999, "n_windows": 0},
            {
                "collection_id": 998,
                "n_windows": 5,
                "collection_type": "ALLOC_SET",
            },
        ],
    )
    rows = [
        (row["length"], row["longest"], row["n_tasks"], row["n_windows"])
        for row in answer(trace_lengths.QUESTION, tables)
    ]
    assert rows == [
        (1, 1, 1, 1),
        (4, 4, 1, 4),
        (5, 5, 1, 5),
        (50, 50, 1, 50),
        (51, 51, 1, 51),
        (100, 100, 1, 100),
        (101, 127, 2, 228),
        (128, 255, 1, 128),
        (256, 511, 1, 300),
    ]
    findings = {finding.id: finding for finding in trace_lengths.QUESTION.run(tables).findings}
    assert findings["S0-5-50"].measured == "0.2"
    assert findings["S0-5-50"].verdict == "does not hold"
