"""Stores side by side: planted changes, equal stores, units that differ, answers aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from borgtrace.question import Answer, Column, Provenance, Question, Result
from borgtrace.question.comparison import MEASURES, aligned, crossings, distances
from borgtrace.store.manifest import Manifest

JOBS = 2000


@dataclass
class Tasks:
    """The part of a store that is asked for its jobs."""

    tasks: pa.Table
    manifest: Manifest

    def sql(self, query: str) -> pa.Table:
        with duckdb.connect() as connection:
            connection.register("tasks", self.tasks)
            return connection.sql(query).to_arrow_table()


def _store(cpu: np.ndarray, *, first: int = 0, generation: str = "2019") -> Tasks:
    """Make a store of jobs of one task, which use `cpu` for an hour."""
    n = len(cpu)
    columns = {
        "collection_id": first + np.arange(n),
        "collection_type": ["JOB"] * n,
        "n_windows": np.full(n, 12),
        "seconds": np.full(n, 3600.0),
        **dict.fromkeys(("weighted_mean_average_cpu", "mean_average_cpu", "cpu_request"), cpu),
        **dict.fromkeys(
            ("weighted_mean_average_memory", "mean_average_memory", "memory_request"), cpu
        ),
    }
    return Tasks(pa.table(columns), Manifest(generation, "", "UTC", "0", "d" * 64, {}, ()))


def _rows(one: Tasks, other: Tasks) -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in distances({"a": one, "b": other}).to_pylist()}  # type: ignore[dict-item]


def _usage(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(-3, 0.5, JOBS)


def test_equal_stores_have_no_distance() -> None:
    found = _rows(_store(_usage(0)), _store(_usage(0)))
    assert found.keys() == MEASURES.keys()
    for row in found.values():
        assert (row["distance"], row["distance_low"], row["distance_high"]) == (0, 0, 0)
        assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (1, 1, 1)


def test_a_tenth_more_of_the_same_jobs_is_found_exactly() -> None:
    row = _rows(_store(_usage(0)), _store(1.1 * _usage(0)))["CPU-hours of a job"]
    assert [row[name] for name in ("ratio", "ratio_low", "ratio_high")] == pytest.approx([1.1] * 3)
    assert row["distance"] > 0.05
    assert row["distance_low"] < row["distance"] < row["distance_high"]


def test_an_interval_holds_the_distance_also_where_it_is_small() -> None:
    for seed in range(8):
        row = _rows(_store(_usage(seed)), _store(_usage(100 + seed), first=10**6))[
            "CPU-hours of a job"
        ]
        assert row["distance_low"] <= row["distance"] <= row["distance_high"]


def test_a_tenth_more_of_other_jobs_lies_in_its_interval() -> None:
    hits = 0
    for seed in range(8):
        row = _rows(_store(_usage(seed)), _store(1.1 * _usage(100 + seed), first=10**6))[
            "CPU-hours of a job"
        ]
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
        assert row["ratio_low"] > 1
        hits += row["ratio_low"] <= 1.1 <= row["ratio_high"]
    # 95 % of 8 are 7.6; fewer than 6 would happen once in 170 times.
    assert hits >= 6


def test_the_distance_by_hand() -> None:
    # After 1: half against none; after 2: all against half.
    row = _rows(_store(np.array([1.0, 2.0])), _store(np.array([2.0, 3.0])))["CPU-hours of a job"]
    assert (row["distance"], row["ratio"], row["jobs"]) == (0.5, 2.5 / 1.5, 2)
    assert (
        _rows(_store(np.array([1.0, np.nan])), _store(np.array([4.0])))["CPU-hours of a job"][
            "distance"
        ]
        == 1
    )


def test_of_capacities_of_two_traces_only_shapes_are_compared() -> None:
    found = _rows(_store(_usage(0)), _store(4 * _usage(0), generation="2011"))
    row = found["CPU-hours of a job"]
    assert (row["unit"], row["ratio"], row["ratio_low"], row["ratio_high"]) == (
        "own mean",
        None,
        None,
        None,
    )
    assert row["distance"] == 0
    assert (found["tasks of a job"]["unit"], found["tasks of a job"]["ratio"]) == ("count", 1)


def _result(table: pa.Table, *key: str) -> Result:
    """Return an answer with these columns as its key."""
    question = Question(
        name="asked",
        doc="What is asked?",
        answer=Answer(
            grain="row",
            key=[Column(name, "string", "id", "Part of the key.") for name in key],
        ),
        compute=lambda tables: table,
        chart=lambda answer: None,
    )
    return Result(question, table, Provenance())


def test_answers_are_aligned_by_their_key() -> None:
    tables = (
        pa.table(
            {
                "tier": ["a", "b"],
                "n": [1, 2],
                "x": [[1.0], [2.0]],
            }
        ),
        pa.table(
            {
                "tier": ["c", "b"],
                "n": [5, 4],
                "x": [[], [3.0]],
            }
        ),
    )
    answers = {label: _result(table, "tier") for label, table in zip("pq", tables, strict=True)}
    assert aligned(answers).to_pylist() == [
        {
            "tier": "a",
            "n p": 1,
            "n q": None,
            "x p": [1.0],
            "x q": None,
        },
        {
            "tier": "b",
            "n p": 2,
            "n q": 4,
            "x p": [2.0],
            "x q": [3.0],
        },
        {
            "tier": "c",
            "n p": None,
            "n q": 5,
            "x p": None,
            "x q": [],
        },
    ]


def _blocks(first: int, n: int) -> np.ndarray:
    with duckdb.connect() as connection:
        query = f"select (md5_number_lower(id::varchar) % 100)::bigint as block from range({first}, {first + n}) t(id)"
        return connection.sql(query).fetchnumpy()["block"]


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    values = _usage(0)[:60], 1.3 * _usage(1)[:80]
    row = _rows(_store(values[0]), _store(values[1], first=30))["CPU-hours of a job"]
    blocks = _blocks(0, 60), _blocks(30, 80)
    points = np.unique(np.concatenate(values))
    ratios, farthest = [], []
    for draw in np.random.default_rng(0).multinomial(100, np.full(100, 0.01), 400):
        weights = [draw[block] for block in blocks]
        means = [np.average(v, weights=w) for v, w in zip(values, weights, strict=True)]
        upto = [
            ((v[:, np.newaxis] <= points) * w[:, np.newaxis]).sum(axis=0) / w.sum()
            for v, w in zip(values, weights, strict=True)
        ]
        ratios.append(means[1] / means[0])
        farthest.append(np.abs(upto[0] - upto[1]).max())
    spread = 1.96 * np.std(farthest)
    assert (row["jobs"], row["jobs_against"]) == (80, 60)
    assert row["ratio"] == pytest.approx(values[1].mean() / values[0].mean())
    assert [row["ratio_low"], row["ratio_high"]] == pytest.approx(
        np.quantile(ratios, (0.025, 0.975))
    )
    ends = [max(row["distance"] - spread, 0), min(row["distance"] + spread, 1)]
    assert [row["distance_low"], row["distance_high"]] == pytest.approx(ends)


def test_what_a_store_does_not_know_is_left_out_and_the_rest_is_not() -> None:
    known, unknown = _store(_usage(0)), _store(_usage(1))
    place = unknown.tasks.column_names.index("cpu_request")
    unknown.tasks = unknown.tasks.set_column(
        place, "cpu_request", pa.array([None] * JOBS, pa.float64())
    )
    for one, other in ((known, unknown), (unknown, known)):
        assert set(MEASURES) - set(_rows(one, other)) == {"CPU request of a job's tasks"}


def test_a_store_that_uses_nothing_has_no_ratio() -> None:
    idle, busy = _store(np.zeros(300)), _store(_usage(0)[:300])
    row = _rows(idle, busy)["CPU-hours of a job"]
    assert [row[name] for name in ("ratio", "ratio_low", "ratio_high", "distance")] == [
        None,
        None,
        None,
        1,
    ]
    assert _rows(busy, idle)["CPU-hours of a job"]["ratio"] == 0
    # Of nothing the shape is nothing, too.
    shape = _rows(busy, _store(np.zeros(300), generation="2011"))["CPU-hours of a job"]
    assert (shape["unit"], shape["distance"]) == ("own mean", 1)


def _waits(**curves: dict[float, float | None]) -> Result:
    rows = [
        {
            "tier": tier,
            "percent": p,
            "seconds": s,
        }
        for tier, curve in curves.items()
        for p, s in curve.items()
    ]
    return _result(pa.Table.from_pylist(rows), "tier", "percent")


def test_tails_cross_where_the_order_changes_for_the_last_time() -> None:
    old = _waits(
        all={
            50.0: 10.0,
            80.0: 20.0,
            90.0: 40.0,
            99.0: 50.0,
        },
        mid={50.0: 1.0, 99.0: 2.0},
        free={50.0: 3.0},
    )
    # Longer at 50 %, shorter at 80 and 90 %, longer at 99 %: from −30 to +60 the line is 0 after a third of the way.
    new = _waits(
        all={
            50.0: 11.0,
            80.0: 5.0,
            90.0: 10.0,
            99.0: 110.0,
        },
        mid={50.0: 0.5, 99.0: 2.0},
        free={50.0: 3.0, 99.0: None},
    )
    same = {"store": "new", "against": "old"}
    assert crossings({"old": old, "new": new}).to_pylist() == [
        {
            "tier": "all",
            **same,
            "percent": 93.0,
            "tail_is_longer": True,
        },
        {
            "tier": "mid",
            **same,
            "percent": None,
            "tail_is_longer": False,
        },
        {
            "tier": "free",
            **same,
            "percent": None,
            "tail_is_longer": None,
        },
    ]


def test_only_quantiles_of_times_cross() -> None:
    answer = _result(pa.table({"hour": [0], "seconds": [1.0]}), "hour")
    assert crossings({"a": answer, "b": answer}).num_rows == 0
