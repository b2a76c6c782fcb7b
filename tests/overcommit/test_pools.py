"""What policies know of the whole cell: read from a store by hand, and used as their plain restatement does."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.lifecycle.by_machine import find_metric
from borgtrace.overcommit import REPLAY, parse_policy
from borgtrace.overcommit.policies.kubernetes import KatalystHourly
from borgtrace.overcommit.pools import POOLS, SampleMoments, HourlyUsage, _accumulated
from tests.cli.test_compact import store
from tests.overcommit import plain
from tests.overcommit.plain import Machine
from tests.overcommit.test_restatement import random_machine

SECOND = 10**6
HOUR = 3600


def pool(cell: dict[int, list[tuple[int, float]]], owner: list[int], *, accumulated: bool) -> HourlyUsage:
    """Hour and usage by owner."""
    found = {
        (number, hour): [u for at, u in rows if at == hour]
        for number, rows in cell.items()
        for hour, _ in rows
    }
    key = np.array([number * 2**20 + hour for number, hour in sorted(found)], np.int64)
    values = [np.array(found[each]) for each in sorted(found)]
    moments = [(len(each), each.mean(), ((each - each.mean()) ** 2).sum()) for each in values]
    columns = [np.array(column, float) for column in zip(*moments, strict=True)]
    return HourlyUsage(
        np.array(owner, np.int64),
        key,
        SampleMoments(*(_accumulated(key // 2**20, *columns) if accumulated else columns)),
    )


@pytest.mark.parametrize("prior", [0, 12])
def test_online_gpa_equals_its_definition(prior: int) -> None:
    n_priors = 0
    for seed in range(4):
        machine = random_machine(seed)
        draw = random.Random(seed)
        # Tasks 0 to 5 have a name; some names are used in some hours, before and after what is predicted.
        names = {task: draw.choice("ab") for task in range(6)}
        used = {
            number: [(draw.randrange(5), 0.3 * draw.random()) for _ in range(6)]
            for number in (0, 1)
        }
        cell = {100 + number: rows for number, rows in used.items() if number != seed % 2}
        named = names | {100: "a", 101: "b"}
        owner = ["ab".index(names[task]) if task in names else -1 for task in range(8)]
        known = {number: rows for number, rows in used.items() if 100 + number in cell}
        block = replace(machine.block(), pools={"names": pool(known, owner, accumulated=True)})
        policy = parse_policy(f"online-gpa:rho=0.05,half_life=30m,prior={prior},warmup=15m")
        found = policy.predict(block)
        plainly = {} if prior == 0 else cell
        expected = plain.online_gpa(machine, plainly, named, 0.05, 6, prior, 3)
        np.testing.assert_allclose(found.peak, expected, rtol=1e-12, atol=1e-12)
        n_priors += found.n_cold
    assert n_priors > 0


def test_katalysts_hours_equal_their_definition() -> None:
    draw = random.Random(5)
    # Job 0 has two tasks and a long life, job 1 is a day old in hour 25, job 2 has no past.
    samples: dict[int, dict[int, tuple[float | None, float]]] = {
        slot: {0: (0.1 * draw.random(), 0.2), 1: (0.1, 0.3)} for slot in range(0, 12 * 24 * 9, 97)
    }
    for slot in range(12, 12 * 40, 31):
        samples.setdefault(slot, {})[2] = (None, 0.25)
        samples[slot][3] = (0.1, 0.125)
    machine = Machine(samples, 12 * 24 * 9)
    jobs = {
        0: [(hour, 0.2 * draw.random()) for hour in range(24 * 9) for _ in range(2) if hour % 5],
        1: [(hour, 0.1) for hour in range(1, 40)],
    }
    block = replace(machine.block(), pools={"jobs": pool(jobs, [0, 0, 1, 2], accumulated=False)})
    by_task = {
        0: jobs[0],
        1: jobs[0],
        2: jobs[1],
    }
    for n in (0.0, 3.0):
        found = parse_policy(f"katalyst-hourly:n={n}").predict(block).peak
        np.testing.assert_allclose(
            found, plain.katalyst_hourly(machine, by_task, n), rtol=1e-12, atol=1e-12
        )


def test_a_job_is_young_until_its_hours_are_a_day_apart() -> None:
    block = Machine({25 * 12: {0: (0.1, 0.5)}}, 25 * 12 + 1).block()
    policy = KatalystHourly(n=1.0)
    # Hours 0 and 24 are of one hour of the day: mean .2, deviation .1. Hours 1 and 24 are a day apart but for one.
    for first, used in ((0, 0.3), (1, 0.5)):
        known = pool({0: [(first, 0.1), (24, 0.3)]}, [0], accumulated=False)
        assert policy.used(replace(block, pools={"jobs": known})) == pytest.approx([used])


def test_a_task_without_a_prior_is_cold_until_it_is_warm() -> None:
    nothing = HourlyUsage(np.array([-1]), np.empty(0, np.int64), SampleMoments(*np.empty((3, 0))))
    machine = Machine(
        {
            0: {0: (0.1, 0.5)},
            1: {0: (None, 0.5)},
            2: {0: (0.1, 0.5)},
        },
        3,
    )
    found = parse_policy("online-gpa:warmup=10m").predict(
        replace(machine.block(), pools={"names": nothing})
    )
    # Its limit twice, then its mean; of the cold samples one was measured.
    assert (found.peak.tolist(), found.n_cold) == ([0.5, 0.5, 0.1], 1)


def test_an_hour_before_the_trace_is_not_one_of_another_job() -> None:
    found = pool({0: [(2**20 - 1, 0.5)], 1: [(0, 0.25)]}, [0, 1, -1], accumulated=False)
    hours = found.last_hours(np.array([1, 2]), np.array([1, 1]), 2)
    assert hours.n.tolist() == [[0, 1], [0, 0]]
    assert found.earlier(np.array([0, 1, 1, 2]), np.array([5, 0, 1, 9])).n.tolist() == [0, 0, 1, 0]


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """Jobs 1 (two tasks) and 2 of user u, name n; job 3 of another user with the same name."""
    usage = []
    events = []

    def window(job: int, task: int, begin: int, value: float) -> None:
        usage.append(
            f"{(600 + begin) * SECOND},{(900 + begin) * SECOND},{job},{task},1,{value},0.1,{','.join('0' * 12)},0"
        )

    for job, user, tasks in ((1, "u", 2), (2, "u", 1), (3, "v", 1)):
        for task in range(tasks):
            for kind, where in ((0, ""), (1, 1)):
                events.append(f"{600 * SECOND},,{job},{task},{where},{kind},{user},1,9,0.5,0.5,0,0")
    # The window that ends with the first hour belongs to it.
    for job, task, begin, value in (
        (1, 0, 0, 0.25),
        (1, 1, 0, 0.5),
        (1, 0, HOUR - 300, 0.125),
        (1, 0, HOUR, 0.5),
        (2, 0, HOUR, 0.25),
        (3, 0, 300, 0.375),
    ):
        window(job, task, begin, value)
    job_events = [
        f"{600 * SECOND},,{job},0,{user},1,x,n" for job, user in ((1, "u"), (2, "u"), (3, "v"))
    ]
    return store(
        tmp_path,
        machine_events=["0,1,0,PLATFORM,1,1"],
        job_events=job_events,
        task_events=events,
        task_usage=sorted(usage, key=lambda row: int(row.split(",")[0])),
    )


def test_pools_of_a_store(cell: Path) -> None:
    import borgtrace

    opened = borgtrace.open(cell)
    jobs = POOLS["jobs"](opened, find_metric("average_cpu"))
    # Job 1: the highest task is .5 and then .125 in the first hour, .5 in the second.
    hours = jobs.last_hours(np.arange(4), np.full(4, 2), 2)
    assert hours.n.tolist() == [[2, 1], [2, 1], [0, 1], [1, 0]]
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
    assert (first.n.tolist(), first.mean.tolist()) == ([3, 1], [0.875 / 3, 0.375])
    # At the second hour's end the user's five windows are known, of both jobs.
    assert names.earlier(np.array([2]), np.array([2])).mean.tolist() == [pytest.approx(1.625 / 5)]
    assert names.earlier(np.array([2]), np.array([0])).n.tolist() == [0]


def test_policies_that_pool_are_replayed_but_not_without_the_time(cell: Path) -> None:
    asked = {
        "resources": ("cpu",),
        "horizon": 300 * SECOND,
        "policies": ("online-gpa+limit", "katalyst-hourly"),
    }
    rows = REPLAY.run(cell, **asked).table.to_pylist()
    assert {row["family"] for row in rows} == {"maximum of several", "katalyst-hourly"}
    with pytest.raises(UsageError) as caught:
        REPLAY.run(cell, **asked, is_literal=True)
    assert str(caught.value) == (
        "--compat: its slots have no time: expected policies that need none, got "
        + ", ".join(parse_policy(text).label for text in asked["policies"])
        + "; leave out these policies, or --compat crf"
    )
