"""What policies know of the whole cell: read from a store by hand, and used as their plain restatement does."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.lifecycle.by_machine import find_metric
from borgtrace.overcommit import REPLAY, ReplayOptions, open_replay, parse_policy
from borgtrace.overcommit.moments import SampleMoments, accumulate_moments
from borgtrace.overcommit.policies.kubernetes import KatalystHourly
from borgtrace.overcommit.pools import POOLS, HourlyUsage
from borgtrace.question import EngineTables
from tests.cli.test_compact import store
from tests.overcommit import plain
from tests.overcommit.plain import Machine
from tests.overcommit.test_restatement import random_machine

SECOND = 10**6
HOUR = 3600


def pool(
    cell: dict[int, list[tuple[int, float]]],
    owner: list[int],
    *,
    accumulated: bool,
) -> HourlyUsage:
    """Return the usage of owners, given as hour and usage."""
    samples: dict[int, list[float]] = defaultdict(list)
    for number, rows in cell.items():
        for hour, usage in rows:
            samples[number * 2**20 + hour].append(usage)
    key = np.array(sorted(samples), np.int64)
    moments = SampleMoments(
        n=np.array([len(samples[k]) for k in key], float),
        mean=np.array([np.mean(samples[k]) for k in key], float),
        squares=np.array([np.var(samples[k]) * len(samples[k]) for k in key], float),
    )
    if accumulated:
        moments = SampleMoments(*accumulate_moments(key // 2**20, *moments))
    return HourlyUsage(
        np.array(owner, np.int64),
        key,
        moments,
    )


@pytest.mark.parametrize("prior", [0, 12])
def test_online_gpa_equals_its_definition(prior: int) -> None:
    n_cold = 0
    for seed in range(4):
        machine = random_machine(seed)
        draw = random.Random(seed)
        # Tasks 0 to 5 have a name; some names are used in some hours, before and after what is predicted.
        names = {task: draw.choice("ab") for task in range(6)}
        used = {}
        for number in (0, 1):
            used[number] = [(draw.randrange(5), 0.3 * draw.random()) for _ in range(6)]
        # One of the names was used by others: by task 100 or 101 of the cell.
        number = 1 - seed % 2
        known = {number: used[number]}
        cell = {100 + number: used[number]}
        named = names | {100: "a", 101: "b"}
        owner = ["ab".index(names[task]) if task in names else -1 for task in range(8)]
        block = replace(machine.block(), pools={"names": pool(known, owner, accumulated=True)})
        policy = parse_policy(f"online-gpa:rho=0.05,half_life=30m,prior={prior},warmup=15m")
        prediction = policy.predict(block)
        cell_with_prior = {} if prior == 0 else cell
        expected = plain.online_gpa(
            machine,
            cell_with_prior,
            named,
            0.05,
            6,
            prior,
            3,
        )
        np.testing.assert_allclose(prediction.peak, expected, rtol=1e-12, atol=1e-12)
        n_cold += prediction.n_cold
    assert n_cold > 0


def test_katalysts_hours_equal_their_definition() -> None:
    draw = random.Random(5)
    # Job 0 has two tasks and a long life, job 1 is a day old in hour 25, job 2 has no past.
    n_hours = 24 * 9
    samples: dict[int, dict[int, tuple[float | None, float]]] = {}
    for slot in range(0, 12 * n_hours, 97):
        samples[slot] = {0: (0.1 * draw.random(), 0.2), 1: (0.1, 0.3)}
    for slot in range(12, 12 * 40, 31):
        samples.setdefault(slot, {})[2] = (None, 0.25)
        samples[slot][3] = (0.1, 0.125)
    machine = Machine(samples, 12 * n_hours)
    first_job = []
    for hour in range(n_hours):
        if hour % 5:
            first_job += [(hour, 0.2 * draw.random()), (hour, 0.2 * draw.random())]
    second_job = [(hour, 0.1) for hour in range(1, 40)]
    usage = pool({0: first_job, 1: second_job}, [0, 0, 1, 2], accumulated=False)
    block = replace(machine.block(), pools={"jobs": usage})
    by_task = {
        0: first_job,
        1: first_job,
        2: second_job,
    }
    for n in (0.0, 3.0):
        peak = parse_policy(f"katalyst-hourly:n={n}").predict(block).peak
        expected = plain.katalyst_hourly(machine, by_task, n)
        np.testing.assert_allclose(peak, expected, rtol=1e-12, atol=1e-12)


def test_a_machine_whose_jobs_used_nothing_is_not_overcommitted() -> None:
    """resourceToOvercommitRatio has no ratio where the estimate is 0: katalyst's controller, prediction.go."""
    block = Machine({25 * 12: {0: (0.0, 0.5)}}, 25 * 12 + 1).block()
    idle = pool({0: [(0, 0.0), (24, 0.0)]}, [0], accumulated=False)
    (peak,) = KatalystHourly().predict(replace(block, pools={"jobs": idle})).peak
    assert peak == 0.5
    # .1 in every hour: (.6 − .1)/.5 + .5 = 1.5.
    busy = pool({0: [(hour, 0.1) for hour in range(25)]}, [0], accumulated=False)
    (peak,) = KatalystHourly().predict(replace(block, pools={"jobs": busy})).peak
    assert peak == pytest.approx(0.5 / 1.5)


def test_a_job_is_young_until_its_hours_are_a_day_apart() -> None:
    block = Machine({25 * 12: {0: (0.1, 0.5)}}, 25 * 12 + 1).block()
    policy = KatalystHourly(n=1.0)
    # Hours 0 and 24 are of one hour of the day: mean .2, deviation .1. Hours 1 and 24 are a day apart but for one.
    for first, used in ((0, 0.3), (1, 0.5)):
        known = pool(
            {0: [(first, 0.1), (24, 0.3)]},
            [0],
            accumulated=False,
        )
        assert policy.used(replace(block, pools={"jobs": known})) == pytest.approx([used])


def test_a_task_without_a_prior_is_cold_until_it_is_warm() -> None:
    nothing = HourlyUsage(
        np.array([-1]),
        np.empty(0, np.int64),
        SampleMoments(*np.empty((3, 0))),
    )
    machine = Machine(
        {
            0: {0: (0.1, 0.5)},
            1: {0: (None, 0.5)},
            2: {0: (0.1, 0.5)},
        },
        3,
    )
    block = replace(machine.block(), pools={"names": nothing})
    prediction = parse_policy("online-gpa:warmup=10m").predict(block)
    # Its limit twice, then its mean; of the cold samples one was measured.
    assert prediction.peak.tolist() == [0.5, 0.5, 0.1]
    assert prediction.n_cold == 1


def test_an_hour_before_the_trace_is_not_one_of_another_job() -> None:
    cell = {0: [(2**20 - 1, 0.5)], 1: [(0, 0.25)]}
    usage = pool(cell, [0, 1, -1], accumulated=False)
    hours = usage.last_hours(
        np.array([1, 2]),
        np.array([1, 1]),
        2,
    )
    assert hours.n.tolist() == [[0, 1], [0, 0]]
    earlier = usage.earlier(task=np.array([0, 1, 1, 2]), hour=np.array([5, 0, 1, 9]))
    assert earlier.n.tolist() == [0, 0, 1, 0]


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """Jobs 1 (two tasks) and 2 of user u, name n; job 3 of another user with the same name."""
    begin = 600 * SECOND
    zeros = ",".join("0" * 12)

    def window(
        job: int,
        task: int,
        second: int,
        cpu: float,
    ) -> str:
        start = begin + second * SECOND
        return f"{start},{start + 300 * SECOND},{job},{task},1,{cpu},0.1,{zeros},0"

    job_events = []
    task_events = []
    for job, user, n_tasks in ((1, "u", 2), (2, "u", 1), (3, "v", 1)):
        job_events.append(f"{begin},,{job},0,{user},1,x,n")
        for task in range(n_tasks):
            task_events.append(f"{begin},,{job},{task},,0,{user},1,9,0.5,0.5,0,0")
            task_events.append(f"{begin},,{job},{task},1,1,{user},1,9,0.5,0.5,0,0")
    return store(
        tmp_path,
        machine_events=["0,1,0,PLATFORM,1,1"],
        job_events=job_events,
        task_events=task_events,
        task_usage=[
            window(1, 0, 0, 0.25),
            window(1, 1, 0, 0.5),
            window(3, 0, 300, 0.375),
            # The window that ends with the first hour belongs to it.
            window(1, 0, HOUR - 300, 0.125),
            window(1, 0, HOUR, 0.5),
            window(2, 0, HOUR, 0.25),
        ],
    )


@pytest.mark.wide
def test_pools_of_a_store(cell: Path) -> None:
    opened = borgtrace.open(cell)
    jobs = POOLS["jobs"](opened, find_metric("average_cpu"))
    # Job 1: the highest task is .5 and then .125 in the first hour, .5 in the second.
    hours = jobs.last_hours(np.arange(4), np.full(4, 2), 2)
    assert hours.n.tolist() == [
        [2, 1],
        [2, 1],
        [0, 1],
        [1, 0],
    ]
    assert hours.mean.tolist() == [
        [0.3125, 0.5],
        [0.3125, 0.5],
        [0, 0.25],
        [0.375, 0],
    ]
    assert hours.squares[0].tolist() == [2 * 0.1875**2, 0]
    names = POOLS["names"](opened, find_metric("average_cpu"))
    assert names.owner[0] == names.owner[1] == names.owner[2] != names.owner[3]
    first = names.earlier(np.array([2, 3]), np.array([1, 1]))
    assert first.n.tolist() == [3, 1]
    assert first.mean.tolist() == [0.875 / 3, 0.375]
    # At the second hour's end the user's five windows are known, of both jobs.
    second = names.earlier(np.array([2]), np.array([2]))
    assert second.mean == pytest.approx([1.625 / 5])
    before_all = names.earlier(np.array([2]), np.array([0]))
    assert before_all.n.tolist() == [0]


@pytest.mark.wide
def test_policies_that_pool_are_replayed_but_not_without_the_time(cell: Path) -> None:
    policies = ("online-gpa+limit", "katalyst-hourly")
    options = {
        "resources": ("cpu",),
        "horizon": 300 * SECOND,
        "policies": policies,
    }
    rows = REPLAY.run(cell, **options).table.to_pylist()
    assert {row["family"] for row in rows} == {"maximum of several", "katalyst-hourly"}
    with pytest.raises(UsageError) as caught:
        REPLAY.run(cell, **options, is_literal=True)
    labels = ", ".join(parse_policy(text).label for text in policies)
    assert str(caught.value) == (
        f"--compat: its slots have no time: expected policies that need none, got {labels}; "
        "leave out these policies, or --compat crf"
    )


def pools_of(cell: Path, options: ReplayOptions, **forecasts: Any) -> Any:
    opened = borgtrace.open(cell)
    tables = EngineTables.of(opened)
    replay_input = open_replay(
        opened,
        tables,
        options,
        lambda *step: None,
        **forecasts,
    )
    return replay_input.pools


@pytest.mark.parametrize("is_literal", [True, False])
def test_a_policy_that_pools_nothing_needs_no_pools(cell: Path, *, is_literal: bool) -> None:
    options = ReplayOptions(
        policies=("limit",),
        resources=("cpu",),
        is_literal=is_literal,
    )
    assert pools_of(cell, options) == {"cpu": {}}


def test_a_forecaster_is_handed_over_and_other_pools_are_read(cell: Path) -> None:
    calls: list[tuple[str, str]] = []

    def forecasts(
        store: Any,
        resource: str,
        model: str,
    ) -> dict[str, Any]:
        calls.append((resource, model))
        return {"seasonal": "told", "persistence": "not asked for"}

    options = ReplayOptions(
        policies=("online-gpa+forecast", "limit"),
        resources=("memory",),
        model="saved",
    )
    pools = pools_of(cell, options, forecasts=forecasts)["memory"]
    assert pools.keys() == {"names", "seasonal"}
    assert pools["seasonal"] == "told"
    of_memory = POOLS["names"](borgtrace.open(cell), find_metric("average_memory"))
    assert pools["names"].moments.mean.tolist() == of_memory.moments.mean.tolist()
    assert calls == [("memory", "saved")]
    # Without a policy that forecasts no forecaster is made.
    options = ReplayOptions(policies=("online-gpa",), resources=("cpu",))
    assert pools_of(cell, options, forecasts=forecasts)["cpu"].keys() == {"names"}
    assert len(calls) == 1
