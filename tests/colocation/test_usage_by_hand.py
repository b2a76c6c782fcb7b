"""How usage varies and changes: tests, thresholds and claims on a few hours and rows, by hand."""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.usage import (
    usage_changes,
    usage_deviation,
    usage_shapes,
    usage_stationarity,
)
from borgtrace.colocation.experiments.usage.usage_changes import SIGNIFICANCE, changes
from borgtrace.question import NotApplicable
from tests.colocation.test_claims_by_hand import measured
from tests.colocation.test_packing_past import on_clock
from tests.colocation.test_pool import make

BELOW = np.nextafter(SIGNIFICANCE, 0)


def hours(*means: Any) -> np.ndarray:
    """Tasks with these means in each hour: twelve equal slots."""
    return np.repeat(np.array(means), 12, axis=1).astype(np.float32)


Asked = list[tuple[np.ndarray, np.ndarray, Any, Any]]


def answering(monkeypatch: pytest.MonkeyPatch, *answers: float) -> Asked:
    """Let the F-tests say these p, one after the other, and keep what they were asked."""
    calls: Asked = []

    def f_test(
        before: np.ndarray,
        after: np.ndarray,
        k: Any,
        n_columns: Any,
    ) -> np.ndarray:
        calls.append((before, after, k, n_columns))
        return np.full(before.shape[1], answers[len(calls) - 1])

    monkeypatch.setattr(usage_changes, "f_test", f_test)
    return calls


@pytest.mark.parametrize(
    ("p", "trend", "shift"),
    [
        (SIGNIFICANCE, False, False),
        (BELOW, True, False),
        # Of 21 hours a step may stand at 16: three are left on either side.
        (SIGNIFICANCE / 16, True, False),
        (BELOW / 16, True, True),
    ],
)
def test_a_step_answers_for_all_places_that_were_tried(
    monkeypatch: pytest.MonkeyPatch,
    p: float,
    trend: bool,
    shift: bool,
) -> None:
    calls = answering(monkeypatch, p)
    time = np.arange(21)
    values = hours(
        time / 64,
        0.25 * (time >= 3),
        0.25 * (time >= 18),
    )
    flags_of_kind = changes(values)
    assert {kind: flags.tolist() for kind, flags in flags_of_kind.items()} == {
        "trend": [trend, False, False],
        "level shift": [False, shift, shift],
        "bursty": [False] * 3,
    }
    ((before, after, k, n_columns),) = calls
    # A mean, and a line or a step.
    assert k == 1
    assert n_columns == 2
    # (0 + … + 20) ÷ 21 ÷ 64; 18 and 3 of 21 hours at .25.
    assert before[0] == pytest.approx(
        [
            -10 / 64,
            -0.25 * 18 / 21,
            -0.25 * 3 / 21,
        ]
    )
    assert after == pytest.approx(0, abs=1e-9)


def test_a_step_within_three_hours_of_an_end_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answering(monkeypatch, 1.0)
    time = np.arange(21)
    changes(
        hours(
            0.25 * (time >= 2),
            0.25 * (time >= 19),
        )
    )
    assert (np.abs(calls[0][1]).max(axis=0) > 0.05).all()


ANGLE = math.pi * np.arange(48) / 12
RHYTHM = (0.5 + 0.25 * np.cos(ANGLE) + 0.125 * np.sin(2 * ANGLE)).tolist()
STEP = 0.25 * (np.arange(48) >= 20)


@pytest.mark.parametrize(("p", "daily"), [(SIGNIFICANCE, False), (BELOW, True)])
def test_a_rhythm_of_the_day_is_two_harmonics(
    monkeypatch: pytest.MonkeyPatch, p: float, daily: bool
) -> None:
    calls = answering(monkeypatch, 1.0, p)
    flags_of_kind = changes(hours(RHYTHM))
    flags = {kind: flags_of_kind[kind].tolist() for kind in ("daily", "trend", "level shift")}
    assert flags == {
        "daily": [daily],
        "trend": [False],
        "level shift": [False],
    }
    (before, after, *step), (without, rest, *day) = calls
    # A mean, two cosines, two sines; and a line or a step.
    assert step == [1, 6]
    assert before == pytest.approx(0, abs=1e-6)
    assert after == pytest.approx(0, abs=1e-6)
    assert day[0] == 4
    assert day[1].tolist() == [5]
    assert without[:, 0] == pytest.approx(np.array(RHYTHM) - 0.5, abs=1e-6)
    assert rest == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("is_moved", [False, True])
def test_the_rhythm_is_sought_beside_a_step_that_counts(
    monkeypatch: pytest.MonkeyPatch, is_moved: bool
) -> None:
    calls = answering(monkeypatch, 0.0 if is_moved else 1.0, 1.0)
    changes(hours(RHYTHM + STEP))
    without, rest, k, n_columns = calls[1]
    assert k == 4
    assert n_columns.tolist() == [5 + is_moved]
    shape = np.array(RHYTHM) - 0.5 + (0 if is_moved else STEP - 0.25 * 28 / 48)
    assert without[:, 0] == pytest.approx(shape, abs=1e-6)
    assert np.abs(rest).max() < 1e-6 if is_moved else np.abs(rest).max() > 0.05


def test_two_days_tell_a_rhythm_and_an_hour_less_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answering(monkeypatch, 1.0, 1.0)
    assert "daily" not in changes(hours(RHYTHM[:47]))
    assert [each[2:] for each in calls] == [(1, 2)]


@pytest.mark.parametrize(
    ("after", "gain", "p"),
    [
        # p of F with 2 and d degrees of freedom is (1 + 2F ÷ d) to the power of −d ÷ 2.
        # Six observations that do not remember, less two columns: d = 4, F = 6 · 4 ÷ (3 · 2).
        ([1, 0] * 3, 6, 3**-2),
        # Lag −5 ÷ 6 counts as none: d = 4, F = 12 · 4 ÷ (6 · 2).
        ([1, -1] * 3, 12, 3**-2),
        # Lag 6 ÷ 12: 18 · .5 ÷ 1.5 = 6, d = 4, F = 12 · 4 ÷ (12 · 2).
        ([1, 1, 0] * 6, 12, 2**-2),
        # The same of usage of a quarter.
        ([0.25, 0.25, 0] * 6, 0.75, 2**-2),
        # Lag 2 ÷ 4: 6 · .5 ÷ 1.5 = 2, less two columns: d is at least 1, F = 6 · 1 ÷ (4 · 2).
        ([1, 1, 0] * 2, 6, 2.5**-0.5),
        # What explains nothing, or less; and where nothing is left to explain.
        ([1, 0] * 3, 0, 1),
        ([1, 0] * 3, -2, 1),
        ([0] * 6, 0, 1),
    ],
)
def test_p_of_what_columns_explain(after: list[float], gain: float, p: float) -> None:
    rest = np.array(after, float)[:, None]
    before = np.zeros_like(rest)
    before[-1] = math.sqrt((rest**2).sum() + gain)
    assert usage_changes.f_test(before, rest, 2, 2) == pytest.approx(p)


@pytest.mark.parametrize(
    ("high", "is_bursty"),
    [
        # Of 144 Gaussian samples two or more exceed three deviations with p = .0165, three or more with .0010.
        ([], False),
        ([0, 70], False),
        ([0, 70, 143], True),
        # Samples next to each other are one burst.
        ([69, 70, 143], False),
        ([0, 1, 69, 70, 142, 143], True),
        # Of more than a tenth of the samples none is above mean + 3 deviations.
        (range(0, 144, 9), False),
    ],
)
def test_three_bursts_of_half_a_day_are_too_many(high: Any, is_bursty: bool) -> None:
    values = np.zeros((1, 144), np.float32)
    values[0, list(high)] = 1
    assert usage_changes.is_bursty(values)[0] == is_bursty


@pytest.mark.parametrize(("n", "is_bursty"), [(11, True), (12, False)])
def test_a_burst_exceeds_three_deviations(n: int, is_bursty: bool) -> None:
    # Twelve of 120 samples at 10: mean 1 and deviation 3, so 10 is the limit itself.
    values = np.zeros((1, 120), np.float32)
    values[0, np.arange(n) * 10] = 10
    assert usage_changes.is_bursty(values)[0] == is_bursty


@pytest.mark.parametrize(("p", "is_bursty"), [(SIGNIFICANCE, False), (BELOW, True)])
def test_more_bursts_than_a_gaussian_has(
    monkeypatch: pytest.MonkeyPatch, p: float, is_bursty: bool
) -> None:
    calls = []

    def tail(runs: Any, n: int, q: float) -> np.ndarray:
        calls.append((runs.tolist(), n, round(q, 5)))
        return np.array([p])

    monkeypatch.setattr(usage_changes, "binomial_tail", tail)
    values = np.zeros((1, 144), np.float32)
    values[0, [0, 70]] = 1
    assert usage_changes.is_bursty(values).tolist() == [is_bursty]
    # More than one run, of 144 samples that exceed three deviations with .00135.
    assert calls == [([1], 144, 0.00135)]


def test_what_never_varies_has_no_burst() -> None:
    assert usage_changes.is_bursty(np.full((1, 144), 0.25, np.float32)).tolist() == [False]


def answer(
    values: np.ndarray, counts: list[int] | None = None, **options: int
) -> list[dict[str, Any]]:
    pool = on_clock(values)
    if counts:
        kept = np.concatenate([np.arange(n) + k * values.shape[1] for k, n in enumerate(counts)])
        fields = {name: getattr(pool, name)[kept] for name in ("inst", "avg", "start", "seconds")}
        identity = {"collection_id": pool.collection_id, "instance_index": pool.instance_index}
        pool = type(pool)(
            offsets=np.cumsum([0, *counts]),
            **fields,
            **identity,
        )
    return usage_changes.compute(Study(pool), ColocationOptions(**options))


def test_shares_of_four_tasks_whose_last_half_hour_is_left_out() -> None:
    # 12.5 hours, half of the 25 asked for; hours alternate by .02, so that the step is not all there is.
    base = np.repeat(
        0.25 + 0.02 * (np.arange(13) % 2),
        12,
    )[:150]
    values = np.stack(
        [
            base,
            base,
            base,
            base + 0.25 * (np.arange(150) >= 72),
        ]
    )
    rows = answer(values, hours=25, size=2)
    assert {(row["n_tasks"], row["hours"]) for row in rows} == {(4, 12.5)}
    shares = {row["kind"]: row["share"] for row in rows}
    assert shares == {
        "level shift": 0.25,
        "trend": 0,
        "bursty": 0,
        "none": 0.75,
    }


def test_where_few_run_for_twelve_hours_these_few_are_tested() -> None:
    # Of nine tasks a third should run through; two run for twelve hours, all for six.
    values = np.full((9, 144), 0.25)
    rows = answer(
        values,
        [144, 144, *[72] * 7],
        hours=12,
        size=9,
    )
    assert {(row["n_tasks"], row["hours"]) for row in rows} == {(2, 12.0)}


def test_the_median_deviation_is_the_51st_of_the_quantiles() -> None:
    n = len(usage_deviation.SHARES)
    assert n == 103
    assert usage_deviation.SHARES[50] == 0.5
    assert usage_deviation.SHARES[-1] == 1

    def table(inst: list[float], avg: list[float]) -> pa.Table:
        shares = np.tile(usage_deviation.SHARES, 2)
        return pa.table(
            {
                "series": ["inst"] * n + ["avg"] * n,
                "share": shares,
                "deviation": [*inst, *avg],
            }
        )

    rising = table(
        [float(k) for k in range(n)],
        [2.0] * n,
    )
    assert measured(usage_deviation, "S1-fig2", rising) == 25
    # 2 and more of 0 … 102.
    assert measured(usage_deviation, "S1-fig2-everywhere", rising) == 101 / 103
    finding = usage_deviation.QUESTION.claims[0].judge(table([1.0] * n, [0.0] * n))
    assert finding.reason == "nothing to measure it on"


def test_deviations_of_seconds_and_of_averages_are_quantiles_over_tasks() -> None:
    pool = make(
        [
            [0, 1],
            [0, 3],
            [0, 9],
        ]
    )  # deviations .5, 1.5, 4.5; ten times as much for averages
    answer = usage_deviation.compute(Study(pool), ColocationOptions())
    rows = {(row["series"], row["share"]): row["deviation"] for row in answer}
    assert len(rows) == 206
    assert [rows["inst", share] for share in (0.0, 0.25, 0.5, 1.0)] == pytest.approx(
        [0.5, 1.0, 1.5, 4.5]
    )
    assert [rows["avg", share] for share in (0.0, 0.5, 1.0)] == pytest.approx([5, 15, 45])


def shapes(*clusters: tuple[str, float, dict[int, float]]) -> pa.Table:
    """Clusters with their share of the tasks, and the density of some cells."""
    return pa.Table.from_pylist(
        [
            {
                "cluster": name,
                "share": share,
                "cell": cell,
                "density": density.get(cell, 0.0),
            }
            for name, share, density in clusters
            for cell in range(100)
        ]
    )


def test_claims_about_shapes() -> None:
    table = shapes(
        (
            "a",
            0.5,
            {
                0: 0.5,
                29: 0.491,
                30: 0.009,
            },
        ),
        ("b", 0.25, {0: 0.99, 30: 0.01}),
        (
            "c",
            0.25,
            {
                29: 0.5,
                31: 0.25,
                99: 0.25,
            },
        ),
    )
    assert measured(usage_shapes, "S1-fig4-largest", table) == 0.5
    # Just below 1 %, 1 %, and half beyond .30.
    assert measured(usage_shapes, "S1-fig4-small", table) == 1
    assert measured(usage_shapes, "S1-fig4-beyond", table) == pytest.approx(
        0.5 * 0.009 + 0.25 * 0.01 + 0.25 * 0.5
    )


def test_clusters_are_lettered_by_size_and_ties_by_the_first_cell() -> None:
    centroids = np.zeros((3, 100), np.float32)
    centroids[:, 0] = [0.75, 0.5, 0.25]
    centroids[1, 99] = -1e-9
    rows = usage_shapes.lettered_clusters(centroids, np.array([0.25, 0.5, 0.25])).to_pylist()
    first = {row["cluster"]: (row["density"], row["share"]) for row in rows if row["cell"] == 0}
    assert first == {
        "a": (0.5, 0.5),
        "b": (0.25, 0.25),
        "c": (0.75, 0.25),
    }
    assert [row["cell"] for row in rows] == [*range(100)] * 3
    assert [row["cluster"] for row in rows] == [letter for letter in "abc" for _ in range(100)]
    assert {row["density"] for row in rows if row["cell"]} == {0.0}


@pytest.mark.parametrize(("distinct", "is_enough"), [(15, False), (16, True)])
def test_sixteen_clusters_need_as_many_different_tasks(
    monkeypatch: pytest.MonkeyPatch, distinct: int, is_enough: bool
) -> None:
    calls = []
    threads = []

    class KMeans:
        def __init__(
            self,
            clusters: int,
            *,
            n_init: int,
            random_state: int,
        ) -> None:
            calls.append((clusters, n_init, random_state))

        def fit(self, found: np.ndarray) -> Any:
            labels = np.arange(len(found)) % 16
            return SimpleNamespace(
                labels_=labels, cluster_centers_=np.eye(16, 100, dtype=np.float32)
            )

    # In place of the library, which takes seconds to load.
    module = ModuleType("sklearn.cluster")
    module.KMeans = KMeans  # type: ignore[attr-defined]
    package = ModuleType("sklearn")
    package.__spec__ = ModuleSpec("sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn", package)
    monkeypatch.setitem(sys.modules, "sklearn.cluster", module)
    limits = ModuleType("threadpoolctl")
    limits.threadpool_limits = lambda n: threads.append(n) or nullcontext()  # type: ignore[attr-defined, func-returns-value]
    monkeypatch.setitem(sys.modules, "threadpoolctl", limits)
    # Twice the first task, and one in each further cell.
    pool = make([[0.005]] + [[k / 100 + 0.005] for k in range(distinct)])
    study = Study(pool)
    options = ColocationOptions(seed=100)
    if not is_enough:
        with pytest.raises(NotApplicable) as caught:
            usage_shapes.compute(study, options)
        assert str(caught.value) == "16 clusters need as many different tasks, the pool has 15"
        return
    rows = usage_shapes.compute(study, options).to_pylist()
    assert calls == [(16, 4, 100)]
    assert threads == [1]
    shares = [row["share"] for row in rows if row["cell"] == 0]
    assert shares == [2 / 17] + [1 / 17] * 15
    assert measured(usage_shapes, "S1-fig4-largest", pa.Table.from_pylist(rows)) == 2 / 17


def test_without_scikit_learn_there_are_no_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    study = Study(make([[k / 100 + 0.005] for k in range(16)]))
    with pytest.raises(NotApplicable) as caught:
        usage_shapes.compute(study, ColocationOptions())
    assert str(caught.value) == (
        'clusters are found by scikit-learn, which is missing: pip install "borgtrace[trees]"'
    )


def test_a_histogram_weighs_windows_by_their_length() -> None:
    weighted = make(
        [[0.0, 0.995]],
        seconds=np.array([100, 300]),
        is_weighted=True,
    )
    assert usage_shapes.histograms(weighted)[0, [0, 99]].tolist() == [0.25, 0.75]
    # The last cell takes what lies above; unweighted windows count alike.
    plain = make([[0.0, 0.99, 2.0, 0.5]])
    shares = usage_shapes.histograms(plain)
    assert shares.shape == (1, 100)
    assert shares[0, [0, 50, 99]].tolist() == [0.25, 0.25, 0.5]


def test_windows_differ_where_p_is_below_five_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.full((3, 24), 0.25)
    values[1, 12:], values[2, 18:] = 0.5, 0.5
    pool = on_clock(values)
    parameters = {
        0: 1.0,
        6: 0.05,
        12: 0.049,
    }
    monkeypatch.setattr(usage_stationarity, "ks_p_value", lambda n, steps: parameters[int(steps)])
    # No gap, one of twelve steps, and one of six, which is at 5 % and so does not differ.
    assert usage_stationarity.rejections(pool, 12, 12) == (1, 3)


def test_a_pool_without_two_windows_says_so() -> None:
    study = Study(on_clock(np.full((2, 23), 0.25)))
    with pytest.raises(NotApplicable) as caught:
        usage_stationarity.compute(study, ColocationOptions())
    assert str(caught.value) == "no task has two windows of 12 samples"


def test_windows_at_random_depend_on_the_seed() -> None:
    # Three windows, of which the last differs: which two are compared decides.
    values = np.full((40, 36), 0.25)
    values[:, 24:] = 0.5
    counts = {usage_stationarity.rejections(on_clock(values), 12, 12, seed) for seed in range(4)}
    assert len(counts) > 1
    assert {tested for _, tested in counts} == {40}
