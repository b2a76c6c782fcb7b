"""The usage of jobs and its tail: closed forms of planted distributions, jobs made by hand, and pandas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from borgtrace.analyses.jobs import jobs_per_owner, tails
from borgtrace.analyses.usage import job_usage
from borgtrace.analyses.usage.job_usage import rows_of_resource
from borgtrace.question import EngineTables
from borgtrace.schema.time import HOUR, TRACE_START
from tests.analyses.tiny import answer, arrow, at, tiny, window
from tests.rows import chosen_columns

ALPHA = 0.7
LOWEST = 0.001
HIGHEST = 10_000.0
N = 1_000_000


def _by_top(rows: list[dict[str, object]], resource: str = "cpu") -> dict[float, dict[str, object]]:
    return {row["top"]: row for row in rows if row["resource"] == resource}  # type: ignore[misc]


def _part_of_moment(power: int, low: float) -> float:
    """E[X^power; X > low] of the Pareto distribution with `ALPHA` on `LOWEST` … `HIGHEST`."""
    scale = ALPHA * LOWEST**ALPHA / (1 - (LOWEST / HIGHEST) ** ALPHA)
    return scale * (HIGHEST ** (power - ALPHA) - low ** (power - ALPHA)) / (power - ALPHA)


def test_a_bounded_pareto_has_the_moments_and_shares_of_its_closed_form() -> None:
    # The quantiles in the middle of N equal steps: no chance in it.
    u = (np.arange(N) + 0.5) / N
    bounded = 1 - (LOWEST / HIGHEST) ** ALPHA
    used = LOWEST * (1 - u * bounded) ** (-1 / ALPHA)
    row_of_top = _by_top(rows_of_resource("cpu", used))
    mean = _part_of_moment(1, LOWEST)
    variance = _part_of_moment(2, LOWEST) - mean**2
    assert row_of_top[0.0]["mean"] == pytest.approx(mean, rel=1e-3)
    assert row_of_top[0.0]["squared_cv"] == pytest.approx(variance / mean**2, rel=0.01)
    for top in (0.1, 0.01, 0.001):
        least = LOWEST * (1 - (1 - top) * bounded) ** (-1 / ALPHA)
        assert row_of_top[top]["least"] == pytest.approx(least, rel=1e-3)
        assert row_of_top[top]["share"] == pytest.approx(_part_of_moment(1, least) / mean, rel=2e-3)
        assert row_of_top[top]["n_jobs"] == N * top


def test_the_tail_of_a_pareto_is_a_line_of_its_slope() -> None:
    # P(X ≥ x) of the i-th largest of n is i ÷ n: laid on the curve itself, so that line and R² are exact.
    n = 20_000
    used = 0.01 * (np.arange(1, n + 1) / n) ** (-1 / ALPHA)
    row = rows_of_resource("cpu", used)[0]
    assert row["alpha"] == pytest.approx(ALPHA, abs=1e-9)
    assert row["r_squared"] == pytest.approx(1.0, abs=1e-12)
    # P(X > 1) = (1 ÷ 0.01)^−0.7 = 0.0398: 796 jobs; the mean of ln x above 1 is 1 ÷ α.
    assert row["n_tail"] == 796
    assert row["alpha_hill"] == pytest.approx(ALPHA, rel=0.01)


def test_jobs_made_by_hand() -> None:
    """Four jobs of 1, 1, 1 and 5 CPU-hours: mean 2, variance 3, C² .75; without the largest nothing varies."""
    hour = 3600
    tables = tiny(
        "2019",
        instance_usage=[
            window(1, 0, 1.0, 0.5, length=hour),
            # Two tasks, half an hour each; the window without a value adds nothing.
            window(2, 0, 1.0, 0.0, length=hour // 2),
            window(2, 0, 1.0, None, length=hour // 2, instance_index=1),
            window(2, 0, None, None, length=hour, instance_index=2),
            window(3, 0, 0.5, 0.0, length=2 * hour, alloc_collection_id=9),
            window(4, 0, 1.0, 0.0, length=5 * hour),
            window(9, 0, 7.0, 7.0, length=hour, collection_type="ALLOC_SET"),
            # Before the trace: not inside it.
            {
                **window(1, 0, 9.0, 9.0),
                "start_time": 0,
                "end_time": at(0),
            },
        ],
    )
    rows = answer(job_usage.QUESTION, tables)
    cpu = _by_top(rows)
    assert [(top, row["n_jobs"], row["least"], row["share"]) for top, row in cpu.items()] == [
        (0.0, 0, None, 0.0),
        (0.5, 2, 1.0, 0.75),
        (1.0, 4, 1.0, 1.0),
    ]
    expected = {
        "mean": 2.0,
        "median": 1.0,
        "variance": 3.0,
        "n": 4,
        "squared_cv": 0.75,
        "wait": 0.875,
    }
    assert chosen_columns(cpu[0.0], expected) == expected
    # Equal jobs: half a service, as in an M/D/1 queue; of no jobs nothing is known.
    assert cpu[0.5]["squared_cv"] == 0.0
    assert cpu[0.5]["wait"] == 0.5
    assert cpu[1.0]["squared_cv"] is None
    assert cpu[1.0]["wait"] is None
    # One job above an hour: Hill's 1 ÷ ln 5; three points make a line, one does not.
    assert cpu[0.0]["n_tail"] == 1
    assert cpu[0.0]["alpha"] is None
    assert cpu[0.0]["r_squared"] is None
    assert cpu[0.0]["alpha_hill"] == pytest.approx(1 / np.log(5))
    memory = _by_top(rows, "memory")
    assert memory[0.0]["mean"] == 0.125
    assert memory[0.0]["alpha_hill"] is None
    assert memory[0.5]["wait"] is None


def test_a_sample_of_the_jobs_is_refused_and_other_subsets_are_not() -> None:
    rows = [window(1, 0, 1.0, 0.5)]
    tables = tiny(instance_usage=rows)
    tables.coverage = replace(tables.coverage, is_subset=True)
    assert answer(job_usage.QUESTION, tables)
    tables.coverage = replace(tables.coverage, is_sample=True)
    result = job_usage.QUESTION.run(tables)
    assert result.not_applicable == "needs all jobs: a sample of them has other shares"
    owned = tiny(
        collection_events=[
            {
                "collection_id": 1,
                "collection_type": "JOB",
                "type": "SUBMIT",
                "user": "u",
            }
        ]
    )
    assert answer(jobs_per_owner.QUESTION, owned)
    owned.coverage = replace(owned.coverage, is_sample=True)
    refusal = jobs_per_owner.QUESTION.run(owned).not_applicable
    assert refusal == "needs all jobs: a sample of them has other shares"
    idle: EngineTables = tiny(instance_usage=[window(1, 0, 0.0, 0.0)])  # type: ignore[assignment]
    assert job_usage.QUESTION.run(idle).not_applicable == "no job used anything"


def test_a_sample_of_the_jobs_has_no_tail_of_jobs_per_owner() -> None:
    # 20 users with 1 job each, and 5 with 10 to 50.
    owners = [str(user) for user in range(20)] + [
        f"big {user}" for user in range(5) for _ in range(10 * user + 10)
    ]
    common = {
        "collection_type": "JOB",
        "type": "SUBMIT",
        "time": TRACE_START,
    }
    jobs = [{"collection_id": job, "user": user} | common for job, user in enumerate(owners)]
    tasks = [
        {
            "collection_id": job,
            "instance_index": index,
            "time": TRACE_START,
            "type": "SCHEDULE",
        }
        for job in range(5)
        for index in range(10 * job + 10)
    ]
    tables = tiny(collection_events=jobs, instance_events=tasks)
    assert {row["quantity"] for row in answer(tails.QUESTION, tables)} == {
        "tasks per job",
        "jobs per user",
    }
    tables.coverage = replace(tables.coverage, is_sample=True)
    assert [row["quantity"] for row in answer(tails.QUESTION, tables)] == ["tasks per job"]


def test_pandas_finds_the_same() -> None:
    rng = np.random.default_rng(5)
    rows = [
        window(
            int(job),
            300.0 * k,
            float(cpu),
            float(memory) if k % 7 else None,
            instance_index=int(job) % 3,
        )
        for job in range(300)
        for k, (cpu, memory) in enumerate(rng.pareto(0.8, (1 + job % 5 * 20, 2)) / 50)
    ]
    frame = arrow("instance_usage", rows).to_pandas()
    frame = frame[(frame.start_time >= TRACE_START) & (frame.collection_type == "JOB")]
    hours = (frame.end_time - frame.start_time) / HOUR
    for resource in ("cpu", "memory"):
        used = (frame[f"average_{resource}"].fillna(0) * hours).groupby(frame.collection_id).sum()
        used = used.sort_values(ascending=False)
        row_of_top = _by_top(answer(job_usage.QUESTION, tiny(instance_usage=rows)), resource)
        assert row_of_top[0.0]["squared_cv"] == pytest.approx(
            used.var(ddof=0) / used.mean() ** 2, rel=1e-5
        )
        assert row_of_top[0.01]["share"] == pytest.approx(used.head(3).sum() / used.sum(), rel=1e-6)
        assert row_of_top[0.05]["wait"] == pytest.approx(
            (used.iloc[15:].var(ddof=0) / used.iloc[15:].mean() ** 2 + 1) / 2, rel=1e-5
        )
        tail = used[(used > 1) & (used <= used.quantile(0.9999))]
        rank = used.rank(ascending=False, method="max") / len(used)
        slope = pd.DataFrame({"x": np.log(tail), "y": np.log(rank[tail.index])}).cov()
        assert row_of_top[0.0]["alpha"] == pytest.approx(
            -slope.loc["x", "y"] / slope.loc["x", "x"], rel=1e-5
        )
