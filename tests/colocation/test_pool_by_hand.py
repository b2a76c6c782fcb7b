"""Spans, series, milestones, bursts and halves of pools of a few windows, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.advice import TrialPlan
from borgtrace.colocation.packing.instances import split
from borgtrace.colocation.packing.machine_kinds import PUBLISHED, capacity_table, parse_mix
from borgtrace.colocation.packing.online_cluster import milestones
from borgtrace.colocation.study import Study
from borgtrace.colocation.tasks.heavy_tail import heavy_tail
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.simultaneous import (
    busiest_span,
    count_slots_within,
    longest_busy_span,
    series,
    shuffled,
)
from borgtrace.errors import UsageError
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.schema.time import TRACE_START
from tests.cli.test_compact import store
from tests.colocation.test_packing_past import on_clock

BEGIN = TRACE_START // 300_000_000
"""Slot in which the trace begins."""


def test_a_history_is_read_anew_when_it_has_grown_by_a_third_and_each_day() -> None:
    lengths = np.flatnonzero(milestones(600)).tolist()
    assert lengths == [12, 16, 21, 28, 37, 49, 65, 86, 114, 152, 202, 269, 288, 358, 477, 576]
    assert np.flatnonzero(milestones(12)).tolist() == [12]
    assert not milestones(11).any()


def test_windows_that_begin_in_some_slots() -> None:
    pool = on_clock(
        np.arange(12).reshape(3, 4) / 16,
        start=[0, 2, 5],
    )
    kept = pool.during(3, 2)
    # Slots 3 and 4: the last of the first task, two of the second, none of the third.
    assert kept.collection_id.tolist() == [0, 1]
    assert (16 * kept.inst).tolist() == [3, 5, 6]
    assert kept.offsets.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    "tasks",
    [
        [-1, 0],
        [0, 2],
        [-1],
        [2],
    ],
)
def test_tasks_outside_a_pool_are_refused(tasks: list[int]) -> None:
    pool = on_clock(np.zeros((2, 3)))
    assert pool.draw(np.array([0, 1]), 4).shape == (2, 4)
    assert pool.draw(np.array([0, 1]), 1).shape == (2, 1)
    with pytest.raises(UsageError) as caught:
        pool.draw(np.array(tasks), 4)
    assert (
        str(caught.value)
        == f"tasks: index outside the pool: expected 0 … 1, got {min(tasks)} … {max(tasks)}"
    )


def test_the_span_that_most_tasks_run_through() -> None:
    # Slots 0–5, 2–7, 2–7 and 4–9: from slot 2 on three run for four slots, from slot 4 on three others.
    pool = on_clock(
        np.ones((4, 6)),
        start=[0, 2, 2, 4],
    )
    span = busiest_span(pool, 4)
    assert span.first == 2
    assert span.slots == 4
    assert span.tasks.tolist() == [0, 1, 2]
    # For all of their six slots only two run together; for seven none does.
    assert busiest_span(pool, 6).tasks.tolist() == [1, 2]
    with pytest.raises(NotApplicable) as caught:
        busiest_span(pool, 7)
    assert str(caught.value) == "no task runs for 0.583333 hours"
    with pytest.raises(NotApplicable) as caught:
        busiest_span(
            on_clock(np.ones((2, 12)), start=[0, 1]),
            12,
        )
    assert str(caught.value) == "fewer than two tasks run through the same 1 hours"
    assert len(busiest_span(pool, 4, most=2).tasks) == 2


def test_a_task_with_nine_tenths_of_the_slots_runs_through_them() -> None:
    def with_gaps(n: int) -> list[int]:
        pool = on_clock(np.ones((3, 20)))
        inside = np.ones(60, bool)
        inside[5 : 5 + n] = False
        kept = {name: getattr(pool, name)[inside] for name in ("inst", "avg", "start", "seconds")}
        return busiest_span(
            replace(
                pool,
                offsets=pool.offsets - [0, n, n, n],
                **kept,
            ),
            20,
        ).tasks.tolist()

    assert with_gaps(2) == [0, 1, 2]
    assert with_gaps(3) == [1, 2]


def test_slots_of_a_span_end_before_its_end() -> None:
    offsets, tasks = np.array([0, 2, 7]), np.array([1, 0])
    slot = np.array([4, 6, 2, 3, 3, 4, 5])
    assert count_slots_within(offsets, slot, tasks, 3, 2).tolist() == [2, 1]


def test_spans_are_halved_until_enough_tasks_run_through_one() -> None:
    # Two tasks of 3,600 slots and four of an hour.
    assert longest_busy_span(on_clock(np.zeros((2, 3600))), 300, 2).slots == 3600
    pool = on_clock(
        np.ones((6, 24)),
        start=[0, 0, 18, 18, 18, 18],
    )
    assert longest_busy_span(pool, 4, 2).slots == 24
    # A third of a small pool is enough, whatever is asked for.
    assert longest_busy_span(pool, 2, 99).slots == 24
    apart = on_clock(
        np.ones((3, 12)),
        start=[0, 12, 24],
    )
    with pytest.raises(NotApplicable, match="fewer than two tasks run through the same 1 hours"):
        longest_busy_span(apart, 2, 2)


@pytest.mark.parametrize(
    ("long", "slots"),
    [
        ([2, 3], 24),
        ([3, 6], 24),
        ([3, 9], 12),
    ],
)
def test_two_tasks_or_a_third_of_a_small_pool_are_enough(long: list[int], slots: int) -> None:
    """So many tasks run for two hours, all others of so many in all for one."""
    n_long = long[0]
    n = sum(long)
    span = longest_busy_span(
        tasks_of(
            *[(0, 24)] * n_long,
            *[(0, 12)] * (n - n_long),
        ),
        2,
        100,
    )
    # A third of 5 would be one, and two are asked for; of 9 it is three; of 12 four, which run for an hour only.
    assert span.slots == slots
    assert len(span.tasks) == (n_long if slots == 24 else n)


def tasks_of(*spans: tuple[int, int]) -> TaskPool:
    """Tasks with the first slot and the number of slots of each."""
    counts = np.array([n for _, n in spans])
    return TaskPool(
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        inst=np.ones(counts.sum(), np.float32),
        avg=np.ones(counts.sum(), np.float32),
        collection_id=np.arange(len(spans)),
        instance_index=np.zeros(len(spans), np.int64),
        start=300 * np.concatenate([first + np.arange(n) for first, n in spans]),
    )


def test_where_no_span_has_enough_the_one_with_most_tasks_is_taken() -> None:
    # Of twelve tasks four are asked for: two run through two hours, three through one of them, the others alone.
    pool = tasks_of(
        (0, 24),
        (0, 24),
        (0, 12),
        *((100 * k, 12) for k in range(1, 10)),
    )
    span = longest_busy_span(pool, 2, 100)
    assert span.slots == 12
    assert span.tasks.tolist() == [0, 1, 2]


def test_who_leaves_before_the_end_of_a_span_does_not_run_through_it() -> None:
    # 19 of 20 slots are nine tenths, but the last one is not among them.
    assert busiest_span(tasks_of((0, 20), (0, 20), (0, 19)), 20).tasks.tolist() == [0, 1]


def test_so_many_tasks_are_kept_as_they_are_and_more_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    known = np.random.default_rng

    def spy(seed: list[int]) -> np.random.Generator:
        calls.append(seed)
        return known(seed)

    monkeypatch.setattr(np.random, "default_rng", spy)
    pool = on_clock(np.ones((8, 12)))
    assert busiest_span(pool, 12, most=8, seed=3).tasks.tolist() == list(range(8))
    assert len(set(busiest_span(pool, 12, most=7, seed=3).tasks.tolist())) == 7
    # Streams of their own: of that draw, and of the orders of a shuffle.
    assert shuffled(np.float32([[1, 2]]), 6).shape == (1, 2)
    assert calls == [[3, 4], [6, 5]]


def test_a_series_repeats_the_slot_before_where_nothing_was_measured() -> None:
    pool = on_clock(
        np.arange(1.0, 9.0).reshape(2, 4) / 8,
        start=[1, 0],
    )
    span = busiest_span(on_clock(np.ones((2, 6))), 6)
    # The first task is measured in slots 1 to 4 of 0 to 5, the second in 0 to 3.
    expected = [
        [1, 1, 2, 3, 4, 4],
        [5, 6, 7, 8, 8, 8],
    ]
    assert (8 * series(pool, span)).tolist() == expected
    # Where no length is known, all windows weigh alike.
    assert (8 * series(replace(pool, seconds=None), span)).tolist() == expected


def test_bursts_keep_every_mean_and_idle_tasks_idle() -> None:
    values = np.full((3, 4000), 0.0001)
    values[1], values[2] = 0.0, 0.25
    twin = heavy_tail(on_clock(values))
    usage = twin.inst.reshape(3, 4000)
    assert usage.mean(axis=1) == pytest.approx([0.0001, 0.0, 0.25], rel=1e-4)
    # About one in a hundred takes twelve times as much, at most the whole machine: 4 times .25.
    for task, times in ((0, 12), (2, 4)):
        low, high = np.unique(usage[task])
        assert high / low == pytest.approx(times, rel=1e-4)
        assert 0.005 < (usage[task] == high).mean() < 0.015
    assert twin.source == "planted, with rare bursts"


def test_a_pool_is_halved_where_each_half_fills_an_instance() -> None:
    pool = on_clock(np.ones((4, 2)))
    one, other = split(pool, 2, seed=0)
    assert sorted([*one.collection_id, *other.collection_id]) == [0, 1, 2, 3]
    assert len(one) == len(other) == 2
    assert split(pool, 3, seed=0) == (pool, pool)
    smaller, larger = split(on_clock(np.ones((5, 2))), 2, seed=0)
    assert len(smaller) == 2
    assert len(larger) == 3


def test_hours_to_choose_on_and_hours_to_judge_on() -> None:
    values = np.arange(8 * 48).reshape(8, 48) / 1024
    pool = on_clock(values, start=[BEGIN + 24] * 8)
    plan = TrialPlan.of(
        pool,
        ColocationOptions(
            realizations=100,
            instances=1,
            size=4,
            hours=4,
        ),
    )
    assert plan.words == "chosen on hours 2–4, judged on hours 4–6"
    quarters = [(1024 * quarter).tolist() for quarter in np.split(values, 4, axis=1)]
    for trial, learned, judged in zip(
        plan.choosing,
        (0, 1),
        (1, 0),
        strict=True,
    ):
        assert (1024 * trial.learned).tolist() == quarters[learned]
        assert (1024 * trial.judged).tolist() == quarters[judged]
    assert (1024 * plan.judging.learned).tolist() == (1024 * values[:, :24]).tolist()
    assert (1024 * plan.judging.judged).tolist() == (1024 * values[:, 24:]).tolist()
    assert [trial.slots for trial in (*plan.choosing, plan.judging)] == [12, 12, 24]
    assert plan.why == ""


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        (29, "chosen on hours 0–2, judged on hours 2–4"),
        (30, "chosen on hours 1–2, judged on hours 2–3"),
    ],
)
def test_hours_that_a_tenth_of_a_small_pool_runs_through_are_enough(tasks: int, words: str) -> None:
    # Two tasks run for the same four hours, a third begins an hour later, and the others run alone.
    start = [
        BEGIN,
        BEGIN,
        BEGIN + 12,
        *(BEGIN + 100 * k for k in range(1, tasks - 2)),
    ]
    pool = on_clock(np.full((tasks, 48), 0.125), start=start)
    plan = TrialPlan.of(
        pool,
        ColocationOptions(
            realizations=100,
            instances=1,
            size=100,
            hours=4,
        ),
    )
    assert plan.words == words
    assert plan.why == ""


def test_a_target_is_a_probability() -> None:
    for target in (0.0, 1.0):
        with pytest.raises(UsageError) as caught:
            ColocationOptions(target=target)
        assert (
            str(caught.value)
            == f"target: out of range: expected above 0 and below 1, got {target:g}"
        )
    assert ColocationOptions(target=0.999).target == 0.999


def test_coverage_counts_the_tasks_of_the_pool() -> None:
    study = Study(synthetic_pool(30, seed=1))
    assert study.coverage(ColocationOptions(tasks=20)).n_tasks == 20
    assert study.machines().tolist() == [list(kind) for kind in PUBLISHED]


@pytest.mark.parametrize("kind", ["0:1:1", "1:0:1", "1:1:0", "1:1", "a:1:1", "inf:1:1", ""])
def test_a_kind_of_machine_is_three_numbers_above_0(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_mix(f"1:1:2,{kind}")
    assert str(caught.value) == (
        f"--mix: not a kind of machine: expected CPU:MEMORY:NUMBER, each above 0 and at most 1,000,000, "
        f"got {kind or 'nothing'}; try 1:1:2,0.5:0.25:6"
    )


def test_machines_count_by_their_last_capacity(tmp_path: Path) -> None:
    events = [
        "0,1,0,P,0.5,0.25",
        "0,2,0,P,1,1",
        "0,3,0,P,0.5,0.25",
        "0,4,0,P,0.5,0.25",
        "0,5,0,P,0,0.5",
        "0,6,0,P,0.5,0",
        "0,7,0,P,,",
        "700000000,4,2,P,1,0.5",
        "800000000,1,1,P,,",
    ]
    cell = store(tmp_path, machine_events=events)
    # Two of a half, whether there or gone; the update of the fourth counts; none without CPU or memory.
    kinds = capacity_table(EngineTables.of(borgtrace.open(cell)))
    assert kinds.tolist() == [
        [0.5, 0.25, 2],
        [1, 0.5, 1],
        [1, 1, 1],
    ]
