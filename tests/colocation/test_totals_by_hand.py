"""The normal law of a total: errors of percentiles, rejections and distances on a few values, by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.sums import percentile_error, sum_examples, sum_normality
from borgtrace.colocation.sums.sample_sums import SampleSums, sample_sums
from borgtrace.question import query_answer
from tests.colocation.answers import measured, options, refused, study_of
from tests.colocation.known import study_with_sums
from tests.colocation.test_packing_past import on_clock
from tests.rows import chosen_columns


def sums(
    size: int,
    percentiles: list[list[float]],
    mean: float = 1.0,
    std: float = 0.5,
) -> SampleSums:
    n = len(percentiles)
    return SampleSums(
        size,
        mean=np.full(n, mean),
        std=np.full(n, std),
        normality=np.zeros(n),
        percentiles=np.array(percentiles),
    )


def test_errors_of_normal_percentiles() -> None:
    # 1.644854, 2.326348 and 3.090232 deviations of .5 above 1; no relative error of 0.
    relative_errors = percentile_error.errors(
        sums(
            10,
            [[2.0, 2.0, 2.0], [0.0, 1.0, 4.0]],
        )
    )
    normal = [1.822427, 2.163174, 2.545116]
    expected = [
        [each / 2 - 1 for each in normal],
        [
            math.nan,
            normal[1] - 1,
            normal[2] / 4 - 1,
        ],
    ]
    np.testing.assert_allclose(relative_errors, expected, atol=1e-6)


def test_a_violin_for_each_size_of_the_figure() -> None:
    found = [
        sums(10, [[2.0] * 3, [1.0] * 3]),
        sums(15, [[2.0] * 3]),
        sums(50, [[0.0, 2.0, 0.0]]),
    ]
    rows = percentile_error.compute(study_with_sums(found, options()), options())
    assert {(row["size"], row["percentile"], row["n_samples"]) for row in rows} == {
        *((10, level, 2) for level in (95.0, 99.0, 99.9)),
        (50, 99.0, 1),
    }
    violin = [row for row in rows if (row["size"], row["percentile"]) == (10, 95.0)]
    assert [row["cell"] for row in violin] == list(range(24))
    # Errors −.0888 and .8224: half of the samples in the first and in the last of 24 cells between them.
    low = 1.822427 / 2 - 1
    high = 1.822427 - 1
    width = (high - low) / 24
    assert [row["low"] for row in violin] == pytest.approx(
        [low + k * width for k in range(24)], abs=1e-6
    )
    assert [row["high"] for row in violin] == pytest.approx(
        [low + k * width for k in range(1, 25)], abs=1e-6
    )
    assert [row["density"] for row in violin] == pytest.approx(
        [0.5 / width, *[0] * 22, 0.5 / width], rel=1e-4
    )
    assert violin[0]["median"] == pytest.approx((low + high) / 2, abs=1e-6)
    with refused("all realized percentiles are 0"):
        nothing = [sums(10, [[0.0] * 3])]
        percentile_error.compute(study_with_sums(nothing, options()), options())


def test_claims_about_errors_of_percentiles() -> None:
    table = pa.Table.from_pylist(
        [
            {
                "size": size,
                "percentile": level,
                "p25": low,
                "median": median,
                "p75": high,
            }
            for size, level, low, median, high in (
                (10, 95.0, -0.5, -0.25, 0.0),
                (50, 95.0, 0.0, 0.125, 0.25),
                (10, 99.9, -1.0, -0.5, -0.25),
                (50, 99.9, -0.5, -0.375, -0.125),
            )
        ]
    )
    assert measured(percentile_error, "S1-fig6-median", table) == 0.25
    assert measured(percentile_error, "S1-fig6-under", table) == -0.375
    # .375 over .75.
    assert measured(percentile_error, "S1-fig6-spread", table) == 0.5
    with refused("no samples of 10 tasks"):
        measured(percentile_error, "S1-fig6-spread", table.slice(3))
    with refused("no samples of 50 tasks"):
        measured(percentile_error, "S1-fig6-spread", table.slice(2, 1))
    with refused("no such percentile"):
        measured(percentile_error, "S1-fig6-under", table.slice(0, 2))


def test_a_violin_is_widest_where_most_samples_are() -> None:
    common = {
        "size": 30,
        "percentile": 99.9,
        "p25": 0.0,
        "median": 0.1,
        "p75": 0.2,
    }
    cells = [
        common
        | {
            "cell": k,
            "low": k / 8,
            "high": (k + 1) / 8,
            "density": d,
        }
        for k, d in enumerate((2.0, 4.0))
    ]
    first, second = query_answer(pa.Table.from_pylist(cells), percentile_error.VIOLINS)
    # The third of four sizes stands at 2.
    assert first["place"] == 2
    expected = {
        "left": 1.775,
        "right": 2.225,
    }
    assert chosen_columns(first, expected) == pytest.approx(expected)
    expected = {
        "left": 1.55,
        "right": 2.45,
    }
    assert chosen_columns(second, expected) == pytest.approx(expected)
    assert first["error"] == 0.0625
    assert second["error"] == 0.1875
    assert first["percentile"] == "99.9 %"
    assert [(row["p25"], row["median"], row["p75"]) for row in (first, second)] == [
        (0.0, 0.1, 0.2),
        (None,) * 3,
    ]


def test_how_often_normality_is_rejected() -> None:
    # The critical values are .752 and .787.
    known = SampleSums(
        size=20,
        mean=np.array([1.0, 2.0]),
        std=np.ones(2),
        normality=np.array([0.75, 0.76, 0.78, 0.79]),
        percentiles=np.ones((4, 3)),
    )
    chosen_options = options(realizations=100)
    (row,) = sum_normality.compute(study_with_sums([known], chosen_options), chosen_options)
    assert row == {
        "size": 20,
        "n_samples": 4,
        "n_realizations": 100,
        "mean_usage": 1.5,
        "rejected": 0.75,
        "rejected_1974": 0.25,
    }
    table = pa.Table.from_pylist([row])
    with refused("the pool has fewer than 50 tasks"):
        measured(sum_normality, "S1-table1-50-0.752", table)
    for id_ in ("S1-table1-20-0.752", "S1-table1-20-0.787"):
        with refused("the published test is on 10,000 realizations"):
            measured(sum_normality, id_, table)
    published = pa.Table.from_pylist([row | {"n_realizations": 10_000}])
    assert measured(sum_normality, "S1-table1-20-0.752", published) == 0.75
    assert measured(sum_normality, "S1-table1-20-0.787", published) == 0.25
    # A mean does not depend on the number of realizations.
    assert (
        measured(sum_normality, "S1-table1-mean-10", pa.Table.from_pylist([row | {"size": 10}]))
        == 1.5
    )


def test_a_total_beside_its_normal_law() -> None:
    # Ten tasks of 0 or 1/16: every draw of a sample is a multiple of 1/16.
    pool = on_clock(np.tile([0.0, 0.0625], (10, 12)))
    table = sum_examples.example_of_size(pool, 10, 400, 3)
    rows = table.to_pylist()
    assert [(row["size"], row["cell"]) for row in rows] == [(10, k) for k in range(60)]
    drawn = np.sort(pool.draw(np.arange(10), 400, 3).astype(np.float64).sum(axis=0))
    assert rows[0]["low"] == drawn[0]
    assert rows[-1]["high"] == drawn[-1]
    width = (drawn[-1] - drawn[0]) / 60
    assert rows[0]["density"] == pytest.approx((drawn == drawn[0]).mean() / width)
    # Deviations of all tasks as drawn, and mean: the normal density in the middle of each cell.
    values = pool.draw(np.arange(10), 400, 3).astype(np.float64)
    mean = values.mean(axis=1).sum()
    variance = values.var(axis=1).sum()
    for row in (rows[0], rows[29], rows[59]):
        middle = (row["low"] + row["high"]) / 2
        density = math.exp(-((middle - mean) ** 2) / (2 * variance)) / math.sqrt(
            2 * math.pi * variance
        )
        assert row["normal_density"] == pytest.approx(density, rel=1e-6)


def test_a_constant_total_is_normal_where_it_lies() -> None:
    rows = sum_examples.example_of_size(
        on_clock(np.full((10, 12), 0.0625)),
        10,
        50,
        0,
    ).to_pylist()
    # .625 in every draw: cells between .125 and 1.125, none of whose middles is .625.
    assert rows[0]["low"] == 0.125
    assert rows[-1]["high"] == 1.125
    assert {row["normal_density"] for row in rows} == {0.0}


def test_samples_as_large_as_the_pool_allows() -> None:
    def sizes(tasks: int) -> set[int]:
        pool = on_clock(np.tile([0.0, 0.0625], (tasks, 2)))
        table = sum_examples.compute(study_of(pool), options(realizations=100))
        return set(table["size"].to_pylist())

    assert [
        sizes(10),
        sizes(49),
        sizes(50),
    ] == [{10}, {10}, {10, 50}]
    with refused("the pool has 9 long tasks, the smallest sample needs 10"):
        sizes(9)
    # The same of many samples.
    assert [sums.size for sums in sample_sums(on_clock(np.full((10, 4), 0.0625)), 20, 3, 0)] == [10]
    with refused("the pool has 9 long tasks, the smallest sample needs 10"):
        sample_sums(
            on_clock(np.full((9, 4), 0.0625)),
            20,
            3,
            0,
        )


def test_the_distance_of_two_densities() -> None:
    table = pa.Table.from_pylist(
        [
            {
                "size": size,
                "low": low,
                "high": low + 0.5,
                "density": found,
                "normal_density": normal,
            }
            for size, low, found, normal in (
                (10, 0.0, 2.0, 1.0),
                (10, 0.5, 0.0, 0.5),
                (500, 0.0, 1.0, 1.25),
                (500, 0.5, 1.0, 0.75),
            )
        ]
    )
    # (1 · .5 + .5 · .5) ÷ 2; (.25 · .5 + .25 · .5) ÷ 2.
    assert measured(sum_examples, "S1-fig5", table) == pytest.approx(0.125 / 0.375)
    with refused("the pool has fewer than 500 tasks"):
        measured(sum_examples, "S1-fig5", table.slice(0, 2))
