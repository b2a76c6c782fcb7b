"""Recommenders beside their plain restatement, Autopilot's worked example, and a back-test by hand."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit.policies.tasks import moving_maximum
from borgtrace.overcommit.recommenders import KINDS, JobSamples, Recommender, samples, table
from borgtrace.overcommit.recommenders.autopilot import Autopilot
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.store import Store

Sample = tuple[int, float, float]
"""Slot, value and weight."""
MEBIBYTE = 2**20


def samples_of(rows: Sequence[tuple[int, int, int, float]], resource: str, *, is_serving: bool = False) -> JobSamples:
    """Rows are job, slot, task and value; every task requests .5 core or 1 GB."""
    job, slot, task, value = (np.array(column) for column in zip(*sorted(rows), strict=True))
    request, size = (0.5, 64.0) if resource == "cpu" else (1e9, 256e9)
    requests, serve = np.full(len(job), request), np.full(len(job), is_serving)
    return JobSamples(job, task, slot, value.astype(float), requests, serve, resource, size)


def random_rows(seed: int, scale: float) -> list[tuple[int, int, int, float]]:
    draw = random.Random(seed)
    rows = []
    for job in range(3):
        slot = draw.randrange(10)
        for _ in range(60):
            slot += draw.choice([1, 1, 5, 40])
            rows += [(job, slot, 10 * job + task, scale * draw.lognormvariate(0, 1)) for task in range(2)]
    return rows


def exponential(first: float, ratio: float = 1.05) -> Callable[[float], float]:
    """Return the upper edge of a value's bucket."""

    def edge(value: float) -> float:
        bucket = 0 if value < first else int(math.log(value * (ratio - 1) / first + 1) / math.log(ratio))
        return first * (ratio ** (bucket + 1) - 1) / (ratio - 1)

    return edge


def linear(width: float) -> Callable[[float], float]:
    return lambda value: (int(value / width) + 1) * width


def percentile(seen: Sequence[Sample], share: float, half_life: float, edge: Callable[[float], float]) -> float:
    now, weights = seen[-1][0], defaultdict(float)
    for slot, value, weight in seen:
        weights[edge(value)] += weight * 2.0 ** ((slot - now) / half_life)
    total, threshold = 0.0, share * sum(weights.values())
    for upper in sorted(weights):
        total += weights[upper]
        if total >= threshold * (1 - 1e-12):
            return upper
    return max(weights)


def histogram(
    share: float,
    half_life: float,
    edge: Callable[[float], float],
    margin: float,
    *,
    weight: Callable[[float], float] = lambda value: 1.0,
    patience: int = 0,
    least: float = 0.0,
) -> Callable[[list[Sample]], float]:
    def recommend(seen: list[Sample]) -> float:
        if seen[-1][0] - seen[0][0] < patience:
            return math.nan
        weighed = [(slot, value, weight(value)) for slot, value, _ in seen]
        return max(margin * percentile(weighed, share, half_life, edge), least)

    return recommend


PLAIN = {
    ("vpa", "cpu"): histogram(0.9, 288, exponential(0.01), 1.15, least=0.025),
    ("koordinator", "cpu"): histogram(0.95, 144, exponential(0.025), 1.1, patience=288),
    ("koordinator", "memory"): histogram(0.98, 288, exponential(5 * MEBIBYTE), 1.1, patience=288),
    ("katalyst", "cpu"): histogram(0.9, 288, exponential(0.01), 1.0, weight=lambda v: max(v, 0.1), patience=288),
    ("crane", "cpu"): histogram(0.99, math.inf, linear(0.1), 1.15, weight=lambda v: max(v, 1e-5)),
    ("crane", "memory"): histogram(0.99, math.inf, linear(100 * MEBIBYTE), 1.15),
    ("crane-configured", "cpu"): histogram(0.99, 288, linear(0.1), 1.15, weight=lambda v: max(v, 1e-5)),
    ("crane-configured", "memory"): histogram(0.99, 576, linear(100 * MEBIBYTE), 1.15),
}


@pytest.mark.parametrize(("name", "resource"), PLAIN)
def test_histograms_equal_their_definition(name: str, resource: str) -> None:
    samples = samples_of(random_rows(1, 0.2 if resource == "cpu" else 3e8), resource)
    found = KINDS[name]().recommend(samples)
    past: dict[int, list[Sample]] = defaultdict(list)
    for i, (job, slot, value) in enumerate(
        zip(samples.job.tolist(), samples.slot.tolist(), samples.value.tolist(), strict=True)
    ):
        past[job].append((slot, value, 1.0))
        np.testing.assert_allclose(found[i], PLAIN[name, resource](past[job]), rtol=1e-9)


def hourly(values: dict[int, list[tuple[int, float]]], job: int, slot: int) -> float:
    return max(value for at, value in values[job] if at > slot - 12)


@pytest.mark.parametrize(
    ("name", "resource", "is_serving"),
    [
        ("autopilot", "cpu", False),
        ("autopilot", "cpu", True),
        ("autopilot", "memory", False),
        ("autopilot-max", "memory", False),
        ("autopilot-60", "memory", False),
    ],
)
def test_autopilots_windows_equal_their_definition(name: str, resource: str, *, is_serving: bool) -> None:
    scale = 0.2 if resource == "cpu" else 3e8
    samples = samples_of(random_rows(2, scale), resource, is_serving=is_serving)
    found = KINDS[name]().recommend(samples)
    past: dict[int, list[Sample]] = defaultdict(list)
    recommended: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for i, (job, slot, value) in enumerate(
        zip(samples.job.tolist(), samples.slot.tolist(), samples.value.tolist(), strict=True)
    ):
        past[job].append((slot, value, value))
        ones = [(at, each, 1.0) for at, each, _ in past[job]]
        weights = [2.0 ** ((at - slot) / 144) for at, _, _ in ones]
        highest = max(each for _, each, _ in ones)
        statistic = {
            ("cpu", False): sum(w * row[1] for w, row in zip(weights, ones, strict=True)) / sum(weights),
            ("cpu", True): percentile(past[job], 0.95, 144, exponential(0.001, 1.02)),
            ("autopilot", "memory"): percentile(ones, 0.98, 576, exponential(1e6, 1.02)),
            ("autopilot-max", "memory"): highest,
            ("autopilot-60", "memory"): max(percentile(ones, 0.6, 576, exponential(1e6, 1.02)), 0.5 * highest),
        }[("cpu", is_serving) if resource == "cpu" else (name, resource)]
        recommended[job].append((slot, 1.15 * statistic))
        np.testing.assert_allclose(found[i], hourly(recommended, job, slot), rtol=1e-9)


def test_the_papers_example_of_load_adjustment() -> None:
    """Load 1 for nine units of time and 10 for one: P90 by time is 1, adjusted by load 10 (within a bucket, 2 %)."""
    samples = samples_of([(0, slot, 0, 10.0 if slot == 4 else 1.0) for slot in range(10)], "cpu")
    by_time, by_load = (Autopilot().percentile(samples, 0.9, weight)[-1] for weight in (1.0, samples.value))
    assert (by_time, by_load) == (pytest.approx(1, rel=0.04), pytest.approx(10, rel=0.04))


def test_vpas_memory_is_a_peak_a_day_that_is_corrected() -> None:
    # The first sample ends its interval at once; the next interval lasts to slot 288, and its peak grows from 2 to 4e8.
    rows = [(0, 0, 0, 1e8), (0, 1, 0, 2e8), (0, 2, 0, 4e8), (0, 3, 0, 1e8), (0, 288, 0, 3e8), (0, 289, 0, 3e8)]
    found = KINDS["vpa"]().recommend(samples_of(rows, "memory"))
    edge = exponential(1e7)
    peaks = [
        [(0, 1e8, 1.0)],
        [(0, 1e8, 1.0), (288, 2e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0), (576, 3e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0), (576, 3e8, 1.0)],
    ]
    expected = [max(1.15 * percentile(seen, 0.9, 288, edge), 250e6) for seen in peaks]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_vpas_updater_waits_twelve_hours_within_its_bounds() -> None:
    # .1 and .3 core in turn: .5 lies within the bounds (P50, and P95 times more than ten), the target is a third less.
    rows = [(0, slot, 0, 0.1 + 0.2 * (slot % 2)) for slot in range(200)]
    found = KINDS["vpa-updater"]().recommend(samples_of(rows, "cpu"))
    assert np.isnan(found[:144]).all()
    np.testing.assert_allclose(found[144:], 1.15 * exponential(0.01)(0.3))
    # Two cores: the lower bound, P50·(c/(c + .001))², soon exceeds the request.
    found = KINDS["vpa-updater"]().recommend(samples_of([(0, slot, 0, 2.0) for slot in range(20)], "cpu"))
    bounds = [
        1.15 * exponential(0.01)(2.0) * (c / (c + 0.001)) ** 2
        for c in (min(s / 288, (s + 1) / 1440) for s in range(20))
    ]
    first = next(slot for slot, low in enumerate(bounds) if low > 0.5)
    assert 0 < first < 10
    assert np.isnan(found[:first]).all()
    np.testing.assert_allclose(found[first:], 1.15 * exponential(0.01)(2.0))


def test_vpas_updater_lowers_a_limit_above_its_bounds_at_once() -> None:
    # The second job uses a hundredth of a core, but for its first slot; P95·(1 + 1/c) falls below its request of .5.
    rows = [(0, slot, 0, 0.1) for slot in range(300)]
    rows += [(1, slot, 1, 0.4 if slot == 0 else 0.01) for slot in range(140)]
    found = KINDS["vpa-updater"]().recommend(samples_of(rows, "cpu"))[300:]
    percentile = 1.15 * exponential(0.01)(0.01)
    first = next(s for s in range(1, 140) if percentile * (1 + max(288 / s, 1440 / (s + 1))) < 0.5)
    assert 60 < first < 80
    assert np.isnan(found[:first]).all()
    # The target is the least that is ever recommended: 25 millicores.
    np.testing.assert_allclose(found[first:], 0.025)


def both(cpu: float, memory: float) -> tuple[JobSamples, JobSamples]:
    """A job with .1, .1 and .3 core in turn and tasks of 3 and 6 GB, whose requests lack shares of the targets."""
    parts = (
        samples_of([(0, slot, 0, 0.1 + 0.2 * (slot % 3 == 2)) for slot in range(200)], "cpu"),
        samples_of([(0, slot, task, 3e9 * (1 + task)) for slot in range(200) for task in (0, 1)], "memory"),
    )
    targets = 1.15 * exponential(0.01)(0.3), 1.15 * exponential(1e7)(6e9)
    for part, target, share in zip(parts, targets, (cpu, memory), strict=True):
        part.request[:] = target / (1 + share)
        # Alone none of them is updated: its request lies within the bounds, and near the target.
        np.testing.assert_allclose(KINDS["vpa"]().recommend(part)[-1], target)
    return parts


def test_vpas_updater_adds_up_what_changes() -> None:
    cpu, memory = both(0.06, 0.06)
    updater = KINDS["vpa-updater"]()
    for one, other in ((cpu, memory), (memory, cpu)):
        assert np.isnan(updater.recommend(one)).all()
        found, target = updater.recommend(replace(one, beside=(other,))), KINDS["vpa"]().recommend(one)
        # .12 in all, after 12 h.
        assert np.isnan(found[one.slot < 144]).all()
        np.testing.assert_allclose(found[one.slot >= 144], target[-1])
    cpu, memory = both(0.06, 0.03)
    assert np.isnan(updater.recommend(replace(cpu, beside=(memory,)))).all()
    # The memory of another job, or none at all, adds nothing.
    cpu, memory = both(0.06, 0.06)
    elsewhere = replace(memory, job=memory.job + 1)
    for other in (elsewhere, samples_of([(1, 0, 0, 1.0)], "memory")):
        assert np.isnan(updater.recommend(replace(cpu, beside=(other,)))).all()


def test_vpas_updater_takes_all_targets_where_one_limit_is_out_of_bounds() -> None:
    cpu, memory = both(0.06, 0.0)
    # A quarter of it is too low from some slot in the first hour on: both are recreated then.
    memory.request[:] /= 4
    found = {
        name: KINDS["vpa-updater"]().recommend(each)
        for name, each in (("memory", memory), ("cpu", replace(cpu, beside=(memory,))))
    }
    first = memory.slot[~np.isnan(found["memory"])][0]
    assert 0 < first < 12
    assert (~np.isnan(found["cpu"]) == (cpu.slot >= first)).all()
    # From then on the target of that slot holds, for the request is never far from it.
    np.testing.assert_allclose(found["cpu"][first], KINDS["vpa"]().recommend(cpu)[first])


def test_katalysts_memory_is_the_peak_of_each_hour_once_it_has_ended() -> None:
    # An hour of 1e8, one of 2e8 with a peak of 4e8, and a day and an hour later one of 3e8.
    values = [(0, 1e8), (11, 1e8), (12, 2e8), (20, 4e8), (23, 2e8), (300, 3e8), (311, 1e8), (312, 1e8), (640, 2e8)]
    rows = [(0, slot, task, value / (1 + task)) for slot, value in values for task in (0, 1)] + [(1, 313, 5, 1e8)]
    found = KINDS["katalyst"]().recommend(samples_of(rows, "memory"))
    edge = exponential(1e7)
    peaks = [(11, 1e8, 1.0), (23, 4e8, 1.0), (311, 3e8, 1.0), (312, 1e8, 1.0)]
    # A day after the first sample is first reached by the hour that ends with slot 311.
    expected = [math.nan] * 6 + [percentile(peaks[:3], 0.9, 288, edge)] * 2 + [percentile(peaks, 0.9, 288, edge)]
    np.testing.assert_allclose(found, [value for value in expected for _ in (0, 1)] + [math.nan], rtol=1e-12)
    # One slot earlier the span is a slot short of a day.
    rows = [(0, slot, 0, 1e8) for slot in (0, 287, 288, 299)]
    assert np.isnan(KINDS["katalyst"]().recommend(samples_of(rows[:2], "memory"))).all()
    assert np.isnan(KINDS["katalyst"]().recommend(samples_of(rows, "memory"))).tolist() == [True, True, True, False]


def test_what_autopilots_paper_leaves_open_is_a_parameter() -> None:
    rows = [(0, slot, 0, value) for slot, value in ((0, 8e8), (1, 16e8), (280, 4e8), (301, 4e8))]
    found = replace(samples_of(rows, "memory"), size=10e8)

    def limits(text: str) -> list[float]:
        return Recommender.parsed(text).recommend(found).tolist()

    # The highest of all, of a day, of the last slot; an hour's maximum of what is recommended comes on top.
    assert limits("autopilot-max:margin=0") == pytest.approx([8e8, 16e8, 16e8, 16e8])
    assert limits("autopilot-max:margin=0,history=1d") == pytest.approx([8e8, 16e8, 16e8, 4e8])
    assert limits("autopilot-60:margin=0,history=1d")[3] == pytest.approx(exponential(1e6, 1.02)(8e8), rel=0.03)
    # Above .9 of the machine, 9e8, 10 % are enough, but never less in all than 1.15 · 9e8.
    assert limits("autopilot-max:large=0.9") == pytest.approx([1.15 * 8e8, 1.1 * 16e8, 1.1 * 16e8, 1.1 * 16e8])
    assert limits("autopilot-max:large=0.78")[0] == pytest.approx(1.15 * 7.8e8)
    assert limits("autopilot-max:large=0.8")[0] == pytest.approx(1.15 * 8e8)
    wide = exponential(1e6, 1.5)(8e8)
    assert limits("autopilot:margin=0,growth=1.5")[0] == pytest.approx(wide)


def test_the_hour_ends_after_twelve_slots() -> None:
    job, slot = np.zeros(4, np.int64), np.array([0, 5, 11, 12])
    assert moving_maximum(job, slot, np.array([3.0, 1.0, 2.0, 1.0]), 12).tolist() == [3, 3, 3, 2]


def test_a_back_test_by_hand() -> None:
    # Two tasks of a job over a day and two slots; .4 is recommended after slot 0 and .2 after slot 287.
    rows = [(0, slot, task, 0.1 + 0.2 * task) for slot in (0, 287, 288, 289) for task in (0, 1)]
    samples = samples_of(rows, "cpu")
    recommended = np.where(samples.slot < 287, 0.4, 0.2)
    assert samples.in_force(recommended).tolist() == pytest.approx([0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2])
    tally = Tally()
    tally.add(samples, recommended, np.ones(8, bool))
    # Day 0: limit .45, usage .1 .1 .3 .3, P95 .3; day 1: limit .2, P95 .3.
    assert tally.slack[0].tolist() == pytest.approx([(0.45 - 0.3) / 0.45, (0.2 - 0.3) / 0.2])
    assert tally.changes[0].tolist() == [1, 0]
    assert (tally.jobs, tally.samples, tally.short, tally.task_days, tally.short_task_days) == (1, 8, 2, 4, 1)
    assert tally.unused == pytest.approx(2 * 0.9 + 4 * 0.2 - 4 * 0.4)


def test_changes_of_a_recommendation() -> None:
    """A change is counted on the day of the slot after which the new one is recommended, the last slot too."""
    rows = [(job, slot, job, 0.1) for job in (0, 1) for slot in (0, 1, 287, 288)]
    found = samples_of(rows, "cpu")
    tally = Tally()
    # Of job 0 the second and the last change; job 1 has none for a slot, its first is no change, and its last is.
    tally.add(found, np.array([1, 2, 2, 3, np.nan, 2, 2, 5]), np.ones(8, bool))
    assert tally.changes[0].tolist() == [1, 1, 0, 1]
    # Of the tasks of a slot the last one says what holds after it.
    tally = Tally()
    both = samples_of([(job, slot, 2 * job + task, 0.1) for job in (0, 1) for slot in (3, 4) for task in (0, 1)], "cpu")
    tally.add(both, np.array([1, 2, 3, 2, 7, 4, 6, 5]), np.ones(8, bool))
    assert tally.changes[0].tolist() == [0, 1]
    # A billionth of the larger one may be rounding; what is above is a change, to the lower side too.
    for after, n in ((1e9 - 1, 0), (1e9 - 2, 1), (1e9 + 2, 1)):
        tally = Tally()
        tally.add(samples_of(rows[:2], "memory"), np.array([1e9, after]), np.ones(2, bool))
        assert tally.changes[0].tolist() == [n], after


def test_the_row_of_a_recommender_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Jobs in slots 200 and 201, then in 150: 52 slots. Of requests of .5 core .4, .2 and .3 are not used.
    parts = [[(0, 200, 0, 0.1), (0, 201, 0, 0.3)], [(1, 150, 1, 0.2)]]
    monkeypatch.setattr(table, "job_samples", lambda *given: (samples_of(rows, "cpu") for rows in parts))
    store = cast(Store, None)
    row = table._rows(store, [Recommender.parsed("request")], {"cpu": 2.0})[0]
    assert (row["tasks"], row["jobs"], row["machines"]) == ("all", 2, pytest.approx(0.9 / 2 / 52))
    days = Tally([np.zeros(1)], [np.arange(101)], jobs=1, samples=1, task_days=1)
    assert table._row(days, 1.0, 1)["changes_p99"] == 99


def test_a_recommender_is_asked_for_known_resources() -> None:
    asked = {"recommenders": ("vpa",), "resources": ("disk",), "cores": 1.0, "gib": 1.0}
    with pytest.raises(UsageError) as caught:
        table.RECOMMENDERS.asked(asked)
    assert str(caught.value) == "--resource: unknown name: expected cpu or memory, got disk"


def test_a_recommendation_that_is_chosen_out_leaves_no_trace() -> None:
    tally = Tally()
    tally.add(samples_of([(0, 0, 0, 0.1)], "cpu"), np.ones(1), np.zeros(1, bool))
    assert tally == Tally()


def test_a_day_without_a_limit_has_no_slack() -> None:
    tally = Tally()
    tally.add(samples_of([(0, 0, 0, 0.1), (0, 288, 0, 0.1), (0, 289, 0, 0.1)], "cpu"), np.zeros(3), np.ones(3, bool))
    # The request of .5 holds on the first day.
    assert tally.slack[0].tolist() == pytest.approx([0.8])
    assert (len(tally.changes[0]), tally.short) == (2, 2)


def test_jobs_are_read_whole_once_a_chunk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_CHUNK", 10)
    # Jobs 5, 6, 7 and 8 of two tasks each, with 4 + 5, 1 + 0, 20 + 1 and 2 + 2 windows: 10 are a chunk, 9 are not.
    store = SimpleNamespace(offsets=np.cumsum([0, 4, 5, 1, 0, 20, 1, 2, 2]))
    collection = np.repeat([5, 6, 7, 8], 2)
    assert list(samples._ranges(store, collection)) == [(0, 4), (4, 6), (6, 8)]  # type: ignore[arg-type]
    assert list(samples._ranges(store, collection[:0])) == []  # type: ignore[arg-type]


def test_crane_forgets_after_seven_days() -> None:
    # A peak of 2 cores in slot 0, then .35: it is gone in slot 2016, and not one slot earlier.
    rows = [(0, slot, 0, 2.0 if slot == 0 else 0.35) for slot in (0, 1, 2015, 2016, 2017)]
    found = KINDS["crane"]().recommend(samples_of(rows, "cpu"))
    assert found.tolist() == pytest.approx([1.15 * upper for upper in (2.1, 2.1, 2.1, 0.4, 0.4)])
    # With a half-life, too; another job begins with nothing.
    rows += [(1, 5, 1, 0.35), (1, 3000, 1, 0.35)]
    found = KINDS["crane-configured"]().recommend(samples_of(rows, "cpu"))
    assert found[2:].tolist() == pytest.approx([1.15 * upper for upper in (2.1, 0.4, 0.4, 0.4, 0.4)])
    # After a week without any samples only the new one is there.
    found = KINDS["crane"]().recommend(samples_of([(0, 0, 0, 2.0), (0, 3, 0, 1.5), (0, 9000, 0, 0.35)], "cpu"))
    assert found.tolist() == pytest.approx([1.15 * upper for upper in (2.1, 2.1, 0.4)])


def argmin(rows: list[tuple[int, float]], overrun: float, underrun: float, change: float, model: float) -> list[float]:
    """Slots and values of one job; what holds after each slot."""
    edge, rate = exponential(0.01), 1 - 2 ** (-1 / 144)
    edges = [0.01 * (1.05 ** (k + 1) - 1) / 0.05 for k in range(180)]
    models = [(d, margin) for d in (1 - 2 ** (-1 / 24), rate) for margin in (0.0, 0.15)]
    over = [[0.0] * len(edges) for _ in models]
    under = [[0.0] * len(edges) for _ in models]
    costs, limits, raw = [0.0] * 4, [math.nan] * 4, [-1] * 4
    best, limit, found = -1, math.nan, []
    for slot in sorted({at for at, _ in rows}):
        values = [edges.index(min(edges, key=lambda e, v=v: abs(e - edge(v)))) for at, v in rows if at == slot]
        totals = []
        for m, (d, margin) in enumerate(models):
            for k in range(len(edges)):
                over[m][k] = (1 - d) * over[m][k] + d * sum(value > k for value in values) / len(values)
                under[m][k] = (1 - d) * under[m][k] + d * sum(value < k for value in values) / len(values)
            cost = [overrun * o + underrun * u for o, u in zip(over[m], under[m], strict=True)]
            picked = [round(c + change * (k != raw[m]), 13) for k, c in enumerate(cost)]
            raw[m] = picked.index(min(picked))
            new = edges[raw[m]] * (1 + margin)
            moved = not math.isnan(limits[m]) and new != limits[m]
            limits[m] = new
            held = next(k for k, e in enumerate(edges) if new < e)
            costs[m] = (1 - rate) * costs[m] + rate * (cost[held] + change * moved)
            totals.append(costs[m] + model * (m != best) + change * (new != limit))
        best = min(range(4), key=lambda m: round(totals[m], 13))
        limit = limits[best]
        found.append(limit)
    return found


@pytest.mark.parametrize("weights", [(10.0, 1.0, 0.1, 0.05), (3.0, 1.0, 0.0, 0.0), (1.0, 2.0, 0.01, 0.0)])
def test_autopilots_argmin_equals_its_definition(weights: tuple[float, float, float, float]) -> None:
    draw = random.Random(4)
    rows = [(0, slot, task, 0.2 * draw.lognormvariate(0, 1)) for slot in range(40) for task in range(1 + slot % 3)]
    rows += [(1, slot, task + 5, 0.1 + 0.3 * (slot > 20)) for slot in range(3, 60) for task in range(2)]
    names = ("overrun", "underrun", "change", "model")
    text = "autopilot-argmin:" + ",".join(f"{name}={value}" for name, value in zip(names, weights, strict=True))
    found = samples_of(rows, "cpu")
    recommended = Recommender.parsed(text).recommend(found)
    limits = set()
    for job in (0, 1):
        after = {slot: value for at, slot, value in zip(found.job, found.slot, recommended, strict=True) if at == job}
        expected = argmin([(slot, value) for at, slot, _, value in rows if at == job], *weights)
        np.testing.assert_allclose([after[slot] for slot in sorted(after)], expected, rtol=1e-9)
        limits |= set(expected)
    assert len(limits) > 3


def test_a_step_of_the_load_moves_the_argmin_once() -> None:
    """.1 core for a day, then .4: the limit follows within the hours in which overruns outweigh what was learned."""
    rows = [(0, slot, 0, 0.1 + 0.3 * (slot >= 288)) for slot in range(576)]
    found = Recommender.parsed("autopilot-argmin").recommend(samples_of(rows, "cpu"))
    # Before: the bucket of .1; after: that of .4, with a margin of 0 or 15 %.
    assert 0.1 < found[287] < 0.1 * 1.05 * 1.15 + 0.01
    assert 0.4 < found[-1] < 0.4 * 1.05 * 1.15 + 0.01
    assert (np.diff(found) >= 0).all()
    assert found[288 + 24] > 0.4


def test_hpa_by_hand() -> None:
    # Two tasks of .5 core. Load .8 of 1: m/m* = 1. Then 1.2: 1.5, so three replicas. Then 1.3 of 1.5: 1.083 is within
    # the tolerance. Then .3: .25, so one; another job begins with its one task, and one replica is the least.
    values = [(0, 0.4), (1, 0.6), (2, 0.65), (3, 0.15)]
    rows = [(0, slot, task, value) for slot, value in values for task in (0, 1)] + [(1, 0, 5, 0.1), (1, 9, 5, 0.0)]
    found = Recommender.parsed("hpa").recommend(samples_of(rows, "cpu"))
    assert found.tolist() == pytest.approx([0.5] * 2 + [0.75] * 4 + [0.25] * 2 + [0.5, 0.5])
    # A request of nothing has no utilization.
    zero = samples_of(rows[:1], "cpu")
    zero.request[:] = 0
    assert KINDS["hpa"]().recommend(zero).tolist() == [0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "autopilot:q=1",
            "--recommender: autopilot has no such parameter: expected one of margin, large, "
            "large_margin, growth, got autopilot:q=1",
        ),
        ("autopilot:growth=1", "--recommender: growth out of range: expected above 1, got 1"),
        ("autopilot:large=0", "--recommender: large out of range: expected above 0 and at most 1, got 0"),
        ("autopilot-argmin:model=-1", "--recommender: model out of range: expected 0 or more, got -1"),
        ("hpa:target=0", "--recommender: target out of range: expected above 0 and at most 1, got 0"),
        ("crane:x=1", "--recommender: crane has no such parameter: expected none, got crane:x=1"),
    ],
)
def test_a_recommender_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Recommender.parsed(text)
    assert str(caught.value).startswith(message)
