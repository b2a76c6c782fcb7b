"""Pairs of tasks, within a job and across: correlations by hand."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.colocation.experiments.beyond import task_correlation
from tests.colocation.answers import options, refused, study_of
from tests.colocation.test_packing_past import on_clock


def test_pairs_within_a_job_and_across() -> None:
    # Two tasks of job 1 rise together, the one of job 0 falls, and one never changes.
    wave = np.tile([0.25, 0.5], 12)
    pool = on_clock(
        np.stack([wave, 0.75 - wave, wave, np.full(24, 0.25)]),
        jobs=[7, 5, 7, 5],
    )
    rows = task_correlation.compute(study_of(pool), options(hours=2, seed=0))
    assert len(rows) == 2 * 40
    found = {row["scope"]: (row["mean"], row["n_tasks"], row["hours"]) for row in rows}
    assert found["within"] == (pytest.approx(1), 4, 2.0)
    assert found["across"] == (pytest.approx(-1), 4, 2.0)
    # Cells of .05 from −1 on, of which the first has those across and the last the pair within.
    assert [row["low"] for row in rows[:40]] == pytest.approx([-1 + k / 20 for k in range(40)])
    shares = {(row["scope"], round(row["low"], 2)): row["share"] for row in rows if row["share"]}
    assert shares == {("within", 0.95): 1.0, ("across", -1.0): 1.0}
    (n,) = {row["n_pairs"] for row in rows if row["scope"] == "within"}
    assert n == 1
    still = on_clock(np.full((3, 24), 0.25))
    with refused("fewer than two tasks of the same hours have varying usage"):
        task_correlation.compute(study_of(still), options(hours=2, seed=0))


@pytest.mark.parametrize(
    ("jobs", "n"),
    [
        ([], 0),
        ([1, 2, 3], 0),
        ([1, 1], 1),
        ([2, 1, 2, 1, 2], 1 + 3),
        # Of a job of 301 tasks 300 are paired, 44,850 times; the first 20,000 are kept.
        ([0] * 150, 150 * 149 // 2),
        ([0] * 301, 20_000),
    ],
)
def test_all_pairs_of_a_job_are_kept_up_to_twenty_thousand(jobs: list[int], n: int) -> None:
    codes = np.array(jobs, np.int64)
    pairs = task_correlation.pairs_of(codes, 0)
    within = pairs["within"]
    across = pairs["across"]
    assert within.shape == (n, 2)
    assert len({tuple(sorted(pair)) for pair in within.tolist()}) == n
    one, other = within.T
    assert (one != other).all()
    assert (codes[one] == codes[other]).all()
    one, other = across.T
    assert (codes[one] != codes[other]).all()
    assert len(across) <= 20_000


def test_at_most_three_hundred_tasks_of_a_job_are_paired() -> None:
    # Jobs of 400 and 2 tasks: no pair holds a task behind the 300th, and the pair of the small job may be drawn.
    jobs = np.array([0] * 400 + [1] * 2)
    within = task_correlation.pairs_of(jobs, 0)["within"]
    assert within[(within < 400).all(axis=1)].max() <= 299
    assert len(within) == 20_000
    assert {tuple(pair) for pair in within[within[:, 0] >= 400].tolist()} <= {(400, 401)}
