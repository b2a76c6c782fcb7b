"""Stores side by side: planted changes, equal stores, units that differ, answers aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from borgtrace.question import Answer, Column, Provenance, Question, Result
from borgtrace.question.block_draws import BLOCKS, JobValues, drawn_blocks
from borgtrace.question.comparison import aligned, crossings
from borgtrace.question.job_distances import MEASURES, compare_jobs, distances
from borgtrace.store.manifest import Manifest

pytestmark = pytest.mark.wide

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


def test_intervals_of_ratios_are_those_of_a_plain_studentized_bootstrap() -> None:
    values = _usage(0)[:60], 1.3 * _usage(1)[:80]
    row = _rows(_store(values[0]), _store(values[1], first=30))["CPU-hours of a job"]
    blocks = _blocks(0, 60), _blocks(30, 80)

    def log_ratio(draw: np.ndarray) -> tuple[float, float]:
        """Return the logarithm of the ratio in one draw, and its standard error by the delta method."""
        influence = np.zeros(100)
        means = []
        for v, block, sign in zip(values, blocks, (-1, 1), strict=True):
            weights = draw[block]
            means.append(np.average(v, weights=weights))
            for number in range(100):
                share = v[block == number].sum() / (v * weights).sum()
                influence[number] += sign * (share - (block == number).sum() / weights.sum())
        error = np.sqrt((draw * influence**2).sum() * 100 / 99)
        return np.log(means[1] / means[0]), error

    log, error = log_ratio(np.ones(100))
    off = []
    for draw in np.random.default_rng(0).multinomial(100, np.full(100, 0.01), 400):
        drawn_log, drawn_error = log_ratio(draw)
        off.append((drawn_log - log) / drawn_error)
    widest = np.quantile(np.abs(off), 0.95)
    least, most = np.quantile(off, (0.025, 0.975))
    assert (row["jobs"], row["jobs_against"]) == (80, 60)
    assert row["ratio"] == pytest.approx(values[1].mean() / values[0].mean())
    ends = np.exp([log - max(most, widest) * error, log - min(least, -widest) * error])
    assert [row["ratio_low"], row["ratio_high"]] == pytest.approx(ends)


CELLS = 40


Truths = dict[str, float]


def _held(truths: Truths, sigma: float, factor: float, *, is_shape: bool) -> dict[str, int]:
    """Return in how many of 40 pairs of simulated cells of 150 jobs each interval holds the truth."""
    random = np.random.default_rng(0)
    held = dict.fromkeys(truths, 0)
    for seed in range(CELLS):
        reference = JobValues(random.lognormal(0, 1, 150), random.integers(0, BLOCKS, 150))
        sample = JobValues(
            factor * random.lognormal(0, sigma, 150), random.integers(0, BLOCKS, 150)
        )
        row = compare_jobs(reference, sample, drawn_blocks(seed), is_shape=is_shape)
        for name, truth in truths.items():
            held[name] += row[f"{name}_low"] <= truth <= row[f"{name}_high"]
        # The distance of the samples is in the interval, too, also where it is larger than the corrected one.
        assert row["distance_low"] <= row["distance"] <= row["distance_high"]
    return held


@pytest.mark.parametrize(
    ("truths", "sigma", "factor", "is_shape"),
    [
        ({"distance": 0.0}, 1.0, 1.0, False),
        # Two normal distributions that are d apart differ most in their middle: by 2 Φ(d/2) − 1, here of d = ln 1.5.
        ({"distance": 0.160656, "ratio": 1.5}, 1.0, 1.5, False),
        ({"distance": 0.0}, 1.0, 20.0, True),
        # Over its mean a logarithm is normal around −σ²/2: of N(−0.5, 1) and N(−1.28, 1.6²) the largest difference,
        # where both densities are equal, is 0.286719.
        ({"distance": 0.286719}, 1.6, 20.0, True),
    ],
)
def test_19_of_20_intervals_hold_the_truth(
    truths: Truths, sigma: float, factor: float, is_shape: bool
) -> None:
    # 95 % of 40 are 38; 33 or fewer would happen once in 300 times.  `benchmarks/comparison.py` draws many more cells.
    held = _held(truths, sigma, factor, is_shape=is_shape)
    assert min(held.values()) >= 34


def test_few_jobs_have_no_interval() -> None:
    row = _rows(_store(np.array([1.0, 2.0])), _store(np.array([2.0, 3.0]), first=5))[
        "CPU-hours of a job"
    ]
    ends = ("ratio_low", "ratio_high", "distance_low", "distance_high")
    assert [row[name] for name in ends] == [None] * 4
    assert (row["ratio"], row["distance"]) == (2.5 / 1.5, 0.5)


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
