"""The factor that all tasks of a cell share: its size is known, and without it nothing changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from borgtrace.errors import UsageError
from borgtrace.synth import LongTasks, draw_long_tasks, generate
from tests.synth.reading import read_lines, read_rows

WINDOWS = 8_064
"""Four weeks: what all share lasts for 70 minutes, of which a day would have twenty."""


def averages(tasks: LongTasks) -> np.ndarray:
    """Return the window averages of the first task of each job: shape (jobs, WINDOWS)."""
    first = np.unique(tasks.job, return_index=True)[1]
    return tasks.avg.reshape(len(tasks), -1)[first]


def correlation(values: np.ndarray) -> float:
    """Return the mean correlation of normal scores over all pairs of rows."""
    z = special.ndtri((stats.rankdata(values, axis=1) - 0.5) / values.shape[1])
    return float(np.corrcoef(z)[np.triu_indices(len(z), 1)].mean())


@pytest.mark.parametrize("factor", [0.0, 0.1, 0.4])
def test_tasks_of_different_jobs_correlate_by_the_factor(factor: float) -> None:
    tasks = draw_long_tasks(
        300,
        seed=3,
        shared_factor=factor,
        windows=WINDOWS,
    )
    # The factor has 448 independent values here, so its variance is known to √(2 ÷ 448) = 7 %.
    assert correlation(averages(tasks)) == pytest.approx(factor, abs=0.002 + 0.14 * factor)


def test_the_factor_replaces_a_part_of_the_variance() -> None:
    alone, together = (
        draw_long_tasks(300, 3, shared_factor=f, windows=WINDOWS) for f in (0.0, 0.4)
    )
    assert np.array_equal(alone.request, together.request)
    # Means of four weeks of a factor of 448 values: √.4 ÷ √448 = 3 % of a deviation, which is at most the mean.
    for before, after in zip(alone.moments(), together.moments(), strict=True):
        assert after.mean() == pytest.approx(before.mean(), rel=0.06)


def test_a_cell_has_the_factor_in_its_usage_and_names_it(tmp_path: Path) -> None:
    options = {
        "machines": 6,
        "hours": 6,
        "seed": 4,
        "anomalies": False,
    }
    plain, shared = (
        generate(tmp_path / "a", **options),
        generate(tmp_path / "b", **options, shared_factor=0.5),
    )
    assert json.loads((shared / "truth.json").read_text())["parameters"]["shared_factor"] == 0.5
    # Events come before usage, which alone changes.
    for name in ("task_events", "job_events"):
        assert [p.read_bytes() for p in sorted((plain / name).iterdir())] == [
            p.read_bytes() for p in sorted((shared / name).iterdir())
        ]
    found = [total_deviation(folder) for folder in (plain, shared)]
    assert found[1] > 1.5 * found[0]


def total_deviation(folder: Path) -> float:
    """Return the relative deviation of the CPU of all tasks together, over the windows of 300 s."""
    rows = read_rows(folder, "task_usage")
    whole = [
        (int(row[0]), float(row[5])) for row in rows if int(row[1]) - int(row[0]) == 300_000_000
    ]
    starts, cpu = np.array([start for start, _ in whole]), np.array([mean for _, mean in whole])
    total = np.bincount((starts - starts.min()) // 300_000_000, cpu)[1:-1]
    return float(total.std() / total.mean())


def test_a_factor_of_zero_is_no_parameter_of_the_trace(tmp_path: Path) -> None:
    out = generate(tmp_path / "x", machines=2, hours=1, seed=7)
    assert "shared_factor" not in json.loads((out / "truth.json").read_text())["parameters"]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_constraints_are_for_the_share_that_is_asked_for(tmp_path: Path, share: float) -> None:
    out = generate(
        tmp_path / "x",
        machines=8,
        hours=1,
        seed=7,
        anomalies=False,
        constrained=share,
    )
    rows = [line for path in (out / "task_constraints").glob("*") for line in read_lines(path)]
    assert bool(rows) == (share > 0)
    assert json.loads((out / "truth.json").read_text())["parameters"]["constrained"] == share
    # A job draws constraints that too few machines meet, and keeps none: not quite all have some.
    jobs = {
        line.split(",")[2] for path in (out / "task_events").iterdir() for line in read_lines(path)
    }
    assert len({line.split(",")[1] for line in rows}) >= 0.7 * share * len(jobs)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_of_constrained_jobs_is_one(tmp_path: Path, share: float) -> None:
    with pytest.raises(
        UsageError, match=f"--constrained: out of range: expected 0 to 1, got {share}"
    ):
        generate(tmp_path / "x", constrained=share)


def test_a_factor_that_is_no_share_is_refused(tmp_path: Path) -> None:
    for make in (
        lambda: generate(tmp_path / "x", shared_factor=1.0),
        lambda: draw_long_tasks(5, seed=1, shared_factor=-0.1),
        lambda: draw_long_tasks(5, seed=1, windows=0),
    ):
        with pytest.raises(UsageError) as caught:
            make()
        assert str(caught.value) in (
            "--shared-factor: out of range: expected at least 0 and below 1, got 1",
            "shared_factor: out of range: expected at least 0 and below 1, got -0.1",
            "windows: out of range: expected 1 to 1,000,000, got 0",
        )
