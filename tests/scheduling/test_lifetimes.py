"""Schedulers that know how long tasks last: curves by hand, plain scans, planted truth, and nothing of the future."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling import CompactOptions, SimulateOptions, parse_policy
from borgtrace.scheduling.empty_machines import compared, compute, interval_of
from borgtrace.scheduling.lifetimes import (
    AGES,
    LEAST_RUNS,
    JobLabels,
    expected_remaining,
    predictions_of,
    survival_curve,
)
from borgtrace.scheduling.replay import ScheduleInput, impossible, recorded, replayed
from borgtrace.scheduling.state import ATTEMPT, ENDED, RAN_ON, STARTED
from borgtrace.schema.time import DAY, HOUR, MINUTE
from tests.scheduling.plain_lifetimes import PlainLava, PlainNilas
from tests.scheduling.traces import trace_of

pytestmark = pytest.mark.wide  # replays of its own: they are compiled for half a minute

NEVER = -1
PLAIN = {"nilas": PlainNilas, "lava": PlainLava}
SPAN = 3 * DAY
COMPILES_LONG = pytest.mark.wide
"""Replays with lifetimes are compiled for half a minute, and no other test needs them."""


def test_a_curve_by_hand() -> None:
    # Of five runs one ends at 2; one is lost sight of at 3; of the three others one ends at 4 and two at 6.
    lasted = np.array([2.0, 3, 4, 6, 6])
    has_ended = np.array([True, False, True, True, True])
    curve = survival_curve(lasted, has_ended)
    assert curve.times.tolist() == [2, 4, 6]
    assert curve.survival == pytest.approx([4 / 5, 4 / 5 * 2 / 3, 0])
    # 2 + 2·4/5 + 2·8/15, and from 3 on (4/5 + 2·8/15) of 4/5; nothing is known of who has lived for 6.
    expected = [2 + 8 / 5 + 16 / 15, (4 / 5 + 16 / 15) / (4 / 5), 1, np.nan]
    found = expected_remaining(curve, np.array([0.0, 3, 5, 6]))
    assert found == pytest.approx(expected, nan_ok=True)


def test_a_censored_curve_goes_on_as_an_exponential_one() -> None:
    # One of two ends at 1, the other is seen until 2: half live longer, and from 2 on 2/ln 2 are expected.
    curve = survival_curve(np.array([1.0, 2]), np.array([True, False]))
    tail = 2 / np.log(2)
    found = expected_remaining(curve, np.array([0.0, 1, 2, 50]))
    assert found == pytest.approx([1 + 0.5 + 0.5 * tail, 1 + tail, tail, tail])


def test_nothing_is_expected_of_runs_none_of_which_has_ended() -> None:
    curve = survival_curve(np.array([1.0, 2]), np.array([False, False]))
    assert np.isnan(expected_remaining(curve, np.array([0.0, 1, 2]))).all()


def days_of_jobs(*lives: int, n: int = LEAST_RUNS) -> ScheduleInput:
    """On the first day runs of one user with lives of each length, n each; on the second one more of each."""
    attempts = []
    for day in range(2):
        for number in range(n if day == 0 else 1):
            for kind, life in enumerate(lives):
                begin = day * DAY + (number + 1) * MINUTE
                attempts.append((100 * kind, 0, begin, begin, begin + life, 0.01, kind))
    attempts.sort(key=lambda attempt: attempt[2])
    return trace_of(attempts, until=SPAN)


def expectations(trace: ScheduleInput, labels: JobLabels | None = None) -> np.ndarray:
    """What is expected of each attempt when it starts; NaN: nothing is known."""
    predictions = predictions_of("learned", trace.runs, labels)
    at_start = predictions.expected[predictions.lines, 0]
    return np.where(predictions.lines >= 0, at_start, np.nan)


def test_groups_learn_by_themselves_once_they_have_enough_runs() -> None:
    trace = days_of_jobs(HOUR, 3 * HOUR)
    expected = expectations(trace)
    assert np.isnan(expected[:-2]).all()
    assert expected[-2:] == pytest.approx([HOUR, 3 * HOUR])


def test_small_groups_learn_from_the_one_around_them() -> None:
    # Two fewer than enough of each; of both together there are.
    trace = days_of_jobs(HOUR, 3 * HOUR, n=LEAST_RUNS - 2)
    assert expectations(trace)[-2:] == pytest.approx([2 * HOUR, 2 * HOUR])


def test_names_make_groups() -> None:
    trace = days_of_jobs(HOUR, 3 * HOUR)
    tasks = replace(trace.tasks, tier=np.zeros(len(trace.tasks), np.int64))
    one_tier = replace(trace, tasks=tasks)
    assert expectations(one_tier)[-2:] == pytest.approx([2 * HOUR, 2 * HOUR])
    labels = JobLabels(np.zeros(len(tasks), np.int64), tasks.collection)
    assert expectations(one_tier, labels)[-2:] == pytest.approx([HOUR, 3 * HOUR])


def test_who_has_outlived_the_short_ones_is_expected_to_be_a_long_one() -> None:
    trace = days_of_jobs(HOUR, 3 * HOUR)
    one_tier = replace(trace, tasks=replace(trace.tasks, tier=np.zeros(len(trace.tasks), np.int64)))
    predictions = predictions_of("learned", one_tier.runs)
    line = predictions.expected[predictions.lines[-1]]
    age = np.searchsorted(AGES, 90 * MINUTE)
    assert line[age] == pytest.approx(3 * HOUR - AGES[age])
    # Nobody has lived for four hours: as long again.
    age = np.searchsorted(AGES, 4 * HOUR)
    assert line[age] == AGES[age]


def test_runs_that_go_on_when_the_day_ends_are_censored() -> None:
    # Half have ended after an hour; the others have been seen for about 23 h, and run for days.
    trace = days_of_jobs(HOUR, 9 * DAY)
    one_tier = replace(trace, tasks=replace(trace.tasks, tier=np.zeros(len(trace.tasks), np.int64)))
    begin = MINUTE
    oldest = DAY - begin
    tail = oldest / np.log(2)
    by_hand = HOUR + 0.5 * (oldest - HOUR) + 0.5 * tail
    assert expectations(one_tier)[-1] == pytest.approx(by_hand, rel=1e-9)


def test_of_runs_none_of_which_has_ended_as_much_is_expected_as_was_seen_of_all() -> None:
    trace = days_of_jobs(HOUR, 9 * DAY)
    seen = sum(DAY - (number + 1) * MINUTE for number in range(LEAST_RUNS))
    assert expectations(trace)[-2:] == pytest.approx([HOUR, seen])


def random_trace(seed: int, n: int = 700) -> ScheduleInput:
    """Three days of short and long tasks in a cell where all fit; their tier tells something of their lives."""
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.integers(1, SPAN, n))
    is_long = rng.random(n) < 0.3
    lives = np.where(is_long, rng.lognormal(2.5, 1.0, n), rng.lognormal(-1.5, 1.0, n))
    ends = arrivals + (lives * HOUR).astype(np.int64) + 1
    sizes = rng.choice([0.03, 0.07, 0.1, 0.21], n)
    tiers = np.where(rng.random(n) < 0.8, is_long, ~is_long).astype(int)
    columns = (np.arange(n), np.zeros(n, int), arrivals, arrivals, ends, sizes, tiers)
    attempts = list(zip(*(column.tolist() for column in columns), strict=True))
    return trace_of(attempts, machines=[1.0, 0.5] * 20, until=SPAN)


def placements(trace: ScheduleInput, policy: str) -> np.ndarray:
    """Attempt, start and machine of each submission, by attempt."""
    rows = replayed(trace, parse_policy(policy), 1.0)
    rows = rows[np.argsort(rows[:, ATTEMPT], kind="stable")]
    return rows[:, [ATTEMPT, STARTED, RAN_ON]]


@COMPILES_LONG
@pytest.mark.parametrize("lifetimes", ["oracle", "learned", "learned-once"])
@pytest.mark.parametrize("name", PLAIN)
def test_machines_are_those_of_a_plain_scan(name: str, lifetimes: str) -> None:
    for seed in range(3):
        trace = random_trace(seed)
        placed = placements(trace, f"{name}:lifetimes={lifetimes}")
        assert (placed[:, 1] == trace.arrivals).all()
        plain = PLAIN[name](trace, predictions_of(lifetimes, trace.runs))
        assert placed[:, 2].tolist() == plain.schedule()


def with_another_future(trace: ScheduleInput, now: int, seed: int) -> ScheduleInput:
    """The same until a moment: what runs then ends at other times, and others arrive."""
    rng = np.random.default_rng(seed)
    times = dict(trace.tasks.times)
    ends = times["left_time"].copy()
    is_later = ends >= now
    ends[is_later] = np.maximum(now, times["schedule_time"][is_later]) + rng.integers(
        1, 2 * DAY, is_later.sum()
    )
    sizes = trace.tasks.sizes.copy()
    is_to_come = trace.arrivals >= now
    sizes[is_to_come] = rng.permutation(sizes[is_to_come])
    tier = trace.tasks.tier.copy()
    tier[is_to_come] = rng.permutation(tier[is_to_come])
    tasks = replace(trace.tasks, times=times | {"left_time": ends}, sizes=sizes, tier=tier)
    return replace(trace, tasks=tasks)


def n_moved(policy: str) -> int:
    """How many tasks that started before a moment are elsewhere when what comes after it is altered."""
    moved = 0
    for seed, now in enumerate((DAY + HOUR, 2 * DAY, 2 * DAY + 7 * HOUR)):
        trace = random_trace(10 + seed)
        other = with_another_future(trace, now, seed)
        before = [
            rows[rows[:, 1] < now] for rows in (placements(each, policy) for each in (trace, other))
        ]
        assert before[0].shape == before[1].shape
        moved += int((before[0] != before[1]).any(axis=1).sum())
    return moved


@COMPILES_LONG
@pytest.mark.parametrize("lifetimes", ["learned", "learned-once"])
@pytest.mark.parametrize("name", PLAIN)
def test_what_comes_later_changes_no_placement(name: str, lifetimes: str) -> None:
    assert n_moved(f"{name}:lifetimes={lifetimes}") == 0


@COMPILES_LONG
def test_an_oracle_does_see_what_comes_later() -> None:
    # So that the test above is one.
    assert n_moved("nilas:lifetimes=oracle") > 0
    assert n_moved("lava:lifetimes=oracle") > 0


def planted() -> ScheduleInput:
    """Two machines: a long task and a short one fill the first, two short ones the second; then comes a small long one.

    Best fit puts it on the second machine, where less is left, and which it then keeps for days.
    """
    attempts = [
        (1, 0, 0, 0, NEVER, 0.5, 2),
        (2, 0, 0, 0, 24 * MINUTE, 0.5, 2),
        (3, 0, 0, 0, HOUR, 0.4, 2),
        (4, 0, 0, 0, HOUR, 0.5, 2),
        (5, 0, 30 * MINUTE, 30 * MINUTE, NEVER, 0.1, 2),
    ]
    return trace_of(attempts, machines=[1.0, 1.0], until=4 * HOUR)


@COMPILES_LONG
@pytest.mark.parametrize(
    ("policy", "machine"),
    [("best-fit", 1), ("nilas:lifetimes=oracle", 0)],
)
def test_a_long_task_goes_to_a_machine_that_is_kept_anyway(policy: str, machine: int) -> None:
    assert placements(planted(), policy)[:, 2].tolist() == [0, 0, 1, 1, machine]


def rows_of(trace: ScheduleInput, *policies: str) -> dict[str, dict[str, Any]]:
    """Rows of the question of empty machines, by policy."""
    rows = []
    sizes = trace.tasks.sizes
    for policy in policies:
        submissions = (
            recorded(trace) if policy == "recorded" else replayed(trace, parse_policy(policy), 1.0)
        )
        rows += compute(trace, submissions, policy, sizes, impossible(trace))
    return {row["policy"]: row for row in compared(rows, set(policies))}


def test_empty_machines_by_hand() -> None:
    rows = rows_of(planted(), "recorded", "best-fit", "nilas:lifetimes=oracle")
    # In the first hour both have tasks; later the second one is empty with NILAS alone.
    assert rows["best-fit"]["empty"] == 0
    assert rows["nilas:lifetimes=oracle"]["empty"] == pytest.approx((0 + 0.5 + 0.5 + 0.5) / 4)
    assert rows["nilas:lifetimes=oracle"]["gain"] == pytest.approx(0.375)
    # All ran on the first machine.
    assert rows["recorded"]["empty"] == 0.5
    assert rows["recorded"]["gain"] == 0.5
    assert {row["blocks"] for row in rows.values()} == {4}
    assert {row["machines"] for row in rows.values()} == {2}


def test_the_interval_of_blocks_by_hand() -> None:
    # Deviations −1/4, 3/4, −1/4, −1/4: variance 1/4, neighbors are not alike, t of three degrees is 3.1824.
    interval = interval_of(np.array([0.0, 1, 0, 0]))
    assert interval.mean == 0.25
    assert interval.high == pytest.approx(0.25 + 3.18245 * 0.25, rel=1e-4)
    # 0 0 0 1 1 1: three fifths of the products of neighbors are those of equal ones, a correlation of 1/2.
    wide = interval_of(np.array([0.0, 0, 0, 1, 1, 1]))
    error = (0.25 * 6 / 5 / 6) ** 0.5 * 3**0.5
    assert wide.high == pytest.approx(0.5 + 2.57058 * error, rel=1e-4)
    assert interval_of(np.array([0.0, 1, 0])).low is None


def test_stranded_room_by_hand() -> None:
    # Tasks of 0.6 of a machine: once each of two machines has one, 0.4 of both is free and nobody fits.
    attempts = [(job, 0, 0, 0, NEVER, 0.6, 2) for job in range(3)]
    row = rows_of(trace_of(attempts, machines=[1.0, 1.0], until=4 * HOUR), "best-fit")["best-fit"]
    assert row["stranded_cpu"] == pytest.approx(0.4, abs=1e-6)
    assert row["stranded_memory"] == pytest.approx(0.4, abs=1e-6)
    assert row["stranded_cpu_change"] == 0


def cell_with_bursts(seed: int, machines: int = 30) -> ScheduleInput:
    """Ten days, each with a burst of 220 short tasks of the free tier and 8 long ones of production."""
    rng = np.random.default_rng(seed)
    parts = []
    for day in range(10):
        for tier, n, mean in ((0, 220, HOUR), (2, 8, 3 * DAY)):
            begins = day * DAY + 9 * HOUR + rng.integers(0, 30 * MINUTE, n)
            ends = begins + (mean * rng.uniform(0.7, 1.3, n)).astype(np.int64)
            parts += [
                (begin, begin, end, 0.1, tier)
                for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
            ]
    attempts = [(job, 0, *part) for job, part in enumerate(sorted(parts))]
    return trace_of(attempts, machines=[1.0] * machines, until=10 * DAY)


@COMPILES_LONG
@pytest.mark.parametrize("seed", range(3))
def test_lifetimes_empty_machines_that_bursts_have_filled(seed: int) -> None:
    # 24 long tasks run, which three machines hold.  Best fit leaves them where a burst has put them, each day on other
    # machines: about half of all are kept.  LAVA keeps room on some machines for long tasks; NILAS does not.
    least = {
        "lava:lifetimes=oracle": 0.25,
        "lava:lifetimes=learned": 0.1,
        "lava:lifetimes=learned-once": 0.1,
        "nilas:lifetimes=oracle": 0.01,
    }
    rows = rows_of(cell_with_bursts(seed), "best-fit", *least)
    for policy, gain in least.items():
        assert rows[policy]["waiting_hours"] == 0
        assert rows[policy]["gain"] > gain


def test_settings_that_there_are_not() -> None:
    with pytest.raises(UsageError) as raised:
        parse_policy("nilas:lifetimes=forever")
    assert str(raised.value) == (
        "--policy: wrong setting: expected nilas:lifetimes=L with L one of oracle, learned, learned-once, "
        "got nilas:lifetimes=forever"
    )
    with pytest.raises(UsageError) as raised:
        CompactOptions(policy="lava")
    assert str(raised.value) == (
        "--policy: a moment has no lifetimes: expected a policy that does not ask for them, such as best-fit, "
        "got lava:lifetimes=learned"
    )
    with pytest.raises(UsageError) as raised:
        SimulateOptions(policies=("best-fit", "nilas"), whole_jobs=True)
    assert str(raised.value) == (
        "--whole-jobs: not beside a policy that knows lifetimes: expected one without, such as best-fit, got nilas"
    )


@COMPILES_LONG
def test_an_evicted_task_begins_anew() -> None:
    # Production evicts the free task of the only machine, which then runs its whole life again.
    attempts = [(1, 0, 0, 0, HOUR, 0.6, 0), (2, 0, MINUTE, MINUTE, 2 * MINUTE, 0.6, 2)]
    trace = trace_of(attempts, until=4 * HOUR)
    rows = replayed(trace, parse_policy("nilas:lifetimes=oracle+preempt"), 1.0)
    assert rows[-1, ENDED] == 2 * MINUTE + HOUR
