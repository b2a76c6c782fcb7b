"""Rows of one task at one time: counted wherever they are, and what is stored of them is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.own_data import AVERAGES, ingest_own, rows

COUNTERS = """\
clock = "epoch"
step = "300s"
[usage]
task = "task"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "s", kind = "counter" }
"""
HEADER = "task,time,cpu\n"


@pytest.mark.parametrize(
    ("usage", "counters", "note"),
    [
        # Two of a at 0 with other values; b at 300 is another task, and a at 300 another time.
        (
            "a,0,0.5\na,0,0.25\na,300,0.5\nb,300,0.5\n",
            {"repeated_moment": 1},
            "Rows with the task and the time of an earlier row: 1 with other values; "
            "each is stored as a window of its own.",
        ),
        (
            "a,0,0.5\na,0,0.5\na,0,0.5\na,300,0.5\n",
            {"exact_duplicate": 2},
            "Rows with the task and the time of an earlier row: 2 equal in every column; "
            "each is stored as a window of its own.",
        ),
        (
            "a,0,0.5\na,300,1\na,0,0.5\na,0,0.25\n",
            {"exact_duplicate": 1, "repeated_moment": 1},
            "Rows with the task and the time of an earlier row: 1 with other values and 1 equal in every column; "
            "each is stored as a window of its own.",
        ),
        ("a,0,0.5\nb,0,0.5\na,300,0.5\n", {}, ""),
    ],
)
def test_rows_of_one_task_at_one_time(
    tmp_path: Path, usage: str, counters: dict[str, int], note: str
) -> None:
    store = ingest_own(tmp_path, AVERAGES, {"usage.csv": HEADER + usage})
    manifest = store.manifest
    assert manifest.counters.get("instance_usage", {}) == counters
    said = [line for line in manifest.notes if line.startswith("Rows with the task")]
    assert said == ([note] if note else [])
    # All are stored.
    assert manifest.tables["instance_usage"] == usage.count("\n")


def test_of_a_counter_no_window_lies_between_rows_of_one_time(tmp_path: Path) -> None:
    usage = "a,300,0\na,600,30\na,600,60\na,900,90\n"
    store = ingest_own(tmp_path, COUNTERS, {"usage.csv": HEADER + usage})
    assert store.manifest.counters["instance_usage"] == {"repeated_moment": 1}
    assert (
        "Rows with the task and the time of an earlier row: 1 with other values; "
        "of a counter no window lies between them."
    ) in store.manifest.notes
    # 30 s in 300 s of 8 cores, then 90 − 60 of the last value at 600 s.
    usage_cores = rows(store, "instance_usage", "average_cpu * 8")
    assert usage_cores == [(pytest.approx(0.1),), (pytest.approx(0.1),)]


def test_repeats_behind_the_first_rows_are_counted_too(tmp_path: Path) -> None:
    """Guesses are made from the first 20,000 rows."""
    lines = [f"t{number % 50},{number // 50 * 300},0.5" for number in range(21_000)]
    lines += ["t7,0,0.25", "t8,300,0.25"]
    path = tmp_path / "usage.csv"
    path.write_text(HEADER + "\n".join(lines) + "\n")
    result = ingest([path], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores"))
    assert result.manifest is not None
    assert result.manifest.counters["instance_usage"]["repeated_moment"] == 2
