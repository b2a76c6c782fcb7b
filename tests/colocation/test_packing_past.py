"""Past the paper: planted truths for memory, correlation, replay and arrivals."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.experiments.beyond import (
    packing_correlated,
    packing_machines,
    packing_memory,
    packing_online,
    packing_replay,
    task_correlation,
)
from borgtrace.colocation.packing.machine_kinds import machines
from borgtrace.colocation.packing.online_cluster import simulate
from borgtrace.colocation.study import Study
from borgtrace.colocation.tasks.heavy_tail import heavy_tail
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.simultaneous import Timeline, busiest_span, series, shuffled
from borgtrace.errors import UsageError
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.multi_resource import MultiResource
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.sizes import Average, Percentile, Request
from borgtrace.placement.estimators.vector import VectorGpa, vector_slack
from borgtrace.placement.packers import parse_packer
from borgtrace.placement.packing import pack
from borgtrace.question import NotApplicable, Result


def verdicts(result: Result) -> dict[str, str]:
    """Judge all claims, whatever their scope: the pools here are small, and made to decide them."""
    return {claim.id: claim.judge(result.table).verdict for claim in result.question.claims}


def on_clock(
    values: np.ndarray, *, start: list[int] | None = None, jobs: list[int] | None = None, **more
) -> TaskPool:
    """A pool of tasks measured every 300 s from their start slot."""
    n, t = values.shape
    begin = np.array(start or [0] * n)
    return TaskPool(
        offsets=np.arange(n + 1) * t,
        inst=values.ravel().astype(np.float32),
        avg=values.ravel().astype(np.float32),
        collection_id=np.array(jobs or range(n)),
        instance_index=np.arange(n),
        start=((begin[:, None] + np.arange(t)) * 300).ravel(),
        seconds=np.full(n * t, 300),
        source="planted",
        **more,
    )


def bursts(
    n_jobs: int,
    per_job: int,
    t: int = 288,
    seed: int = 0,
) -> TaskPool:
    """Tasks of one job burst at the same moments, jobs independently of each other."""
    rng = np.random.default_rng(seed)
    shared = rng.random((n_jobs, t)) < 0.1
    jobs = np.repeat(np.arange(n_jobs), per_job)
    values = 0.01 + 0.14 * shared[jobs] + 0.005 * rng.random((len(jobs), t))
    return on_clock(values, jobs=jobs.tolist())


# --- several resources -------------------------------------------------------------------------


def two(cpu: list[float], memory: list[float]) -> Observation:
    wide = np.ones((1, 4), np.float32)
    return Observation(
        np.float32(cpu)[:, None] * wide, memory=Observation(np.float32(memory)[:, None] * wide)
    )


def test_both_resources_must_fit():
    test = MultiResource.of(Average(1), Percentile(100))
    assert pack(test, two([0.1, 0.1, 0.1], [0.6, 0.3, 0.2]), rebalancing=False).bins.tolist() == [
        0,
        0,
        1,
    ]
    assert pack(test, two([0.6, 0.3, 0.2], [0.1, 0.1, 0.1]), rebalancing=False).bins.tolist() == [
        0,
        0,
        1,
    ]
    assert pack(test, two([0.1, 0.1], [1.2, 0.2])).unplaceable.tolist() == [0]


def test_vector_gpa_by_hand():
    # CPU: μ .5, σ .2, 2.5 deviations below 1, where .00621 of a Gaussian lies above; memory .25 + .75 fits exactly.
    state = np.array([0.3, 0.25, 0.03, 0.0])
    item = np.array([0.2, 0.75, 0.01, 0.0])
    room = vector_slack(
        state,
        item,
        np.ones(2),
        np.array([0.01, 0.01]),
    )
    assert room == pytest.approx(1 - 0.00620967 / 0.01, rel=1e-5)
    assert vector_slack(
        state,
        item,
        np.array([1.0, 0.99]),
        np.array([0.01, 0.01]),
    ) == pytest.approx(1 - 1 / 0.01)
    assert vector_slack(state, item, np.ones(2), np.array([0.005, 0.005])) < 0


def test_each_hard_limit_of_vector_gpa_has_to_hold():
    seen = two([0.1, 0.1, 0.1], [0.6, 0.3, 0.2])
    memory = seen.memory.percentile(100)
    disk = np.array([0.25, 0.5, 0.75])
    placed = {}
    for name, limits in {"memory": [memory], "both": [memory, disk]}.items():
        way = VectorGpa.of(0.001, [seen], limits)
        placed[name] = pack(way, seen, rebalancing=False, packer=parse_packer("first-fit"))
    assert placed["memory"].bins.tolist() == [0, 0, 1]
    assert placed["both"].bins.tolist() == [0, 0, 1]
    assert placed["both"].rows.tolist() == [[1.0, 1.0, 1.0]] * 2
    # Without a limit for memory, disk alone parts the last two.
    alone = pack(
        VectorGpa.of(0.001, [seen], [disk]),
        seen,
        rebalancing=False,
        packer=parse_packer("first-fit"),
    )
    assert alone.bins.tolist() == [0, 0, 1]
    tight = pack(
        VectorGpa.of(0.001, [seen], [disk * 1.01, memory]),
        seen,
        rebalancing=False,
    )
    assert tight.bins.tolist() == [0, 0, 1]


def test_disk_is_packed_by_the_request_where_the_store_has_it():
    values = np.full((4, 30), 0.1)
    memory = np.full(4 * 30, 0.1, np.float32)
    options = {
        "realizations": 100,
        "instances": 1,
        "size": 4,
    }
    found = {}
    for name, disk in {
        "asked": [0.5, 0.5, np.nan, 0.75],
        "unknown": [np.nan] * 4,
    }.items():
        pool = on_clock(values, memory=memory, disk_request=np.float32(disk))
        rows = packing_memory.QUESTION.run(Study(pool), **options).table.to_pylist()
        found[name] = {
            (row["resources"], row["m_abs"]) for row in rows if row["cpu"] == "vector-gpa 0.001"
        }
    assert found == {"asked": {(3, 2)}, "unknown": {(2, 1)}}


def test_dot_product_prefers_the_machine_with_matching_room():
    test = MultiResource.of(Average(1), Percentile(100))
    # machine 0 is full of CPU (.7/.1), machine 1 of memory (.1/.7); (.05, .25) belongs on machine 0
    seen = two([0.7, 0.1, 0.35, 0.05], [0.1, 0.7, 0.35, 0.25])
    packing = pack(test, seen, packer=parse_packer("dot-product"), rebalancing=False)
    assert packing.bins.tolist()[:2] == [0, 0]  # both fit on one machine: .8/.8
    apart = two([0.7, 0.4, 0.05], [0.1, 0.7, 0.25])
    assert pack(
        test, apart, packer=parse_packer("dot-product"), rebalancing=False
    ).bins.tolist() == [0, 1, 0]


def test_machines_with_two_capacities():
    test = MultiResource.of(Average(1), Percentile(100))
    inventory = np.array([[1.0, 0.25], [0.5, 1.0]])
    packing = pack(
        test,
        two([0.6, 0.4, 0.3], [0.2, 0.8, 0.1]),
        inventory=inventory,
        rebalancing=False,
    )
    assert packing.machines.tolist() == [0, 1]
    assert packing.bins.tolist() == [0, 1, -1]


def test_machines_are_drawn_by_their_number():
    table = np.array([[1.0, 1.0, 1.0], [0.5, 0.25, 3.0]])
    drawn = machines(table, 4_000, seed=2)
    assert (drawn[:, 0] == 0.5).mean() == pytest.approx(0.75, abs=0.03)
    assert (machines(table, 4_000, seed=2) == drawn).all()


def test_any_mix_of_machines():
    pool = on_clock(np.full((6, 30), 0.3))
    options = {
        "realizations": 100,
        "instances": 1,
        "size": 6,
    }
    small = packing_machines.QUESTION.run(Study(pool), mix="0.5:1:1", **options).table.to_pylist()
    assert {row["capacity"] / row["n_machines"] for row in small} == {0.5}
    assert {
        (row["estimator"], row["n_machines"])
        for row in small
        if row["estimator"] == "percentile 100"
    } == {
        ("percentile 100", 6)  # .3 + .3 does not fit into .5
    }
    with pytest.raises(UsageError) as caught:
        packing_machines.QUESTION.run(Study(pool), mix="1:1:2,0.5:0", **options)
    assert str(caught.value) == (
        "--mix: not a kind of machine: expected CPU:MEMORY:NUMBER, each above 0 and at most 1,000,000, "
        "got 0.5:0; try 1:1:2,0.5:0.25:6"
    )


# --- correlation -------------------------------------------------------------------------------


def test_measured_correlation_within_and_across_jobs():
    result = task_correlation.QUESTION.run(Study(bursts(30, 8)))
    found = {row["scope"]: row["mean"] for row in result.table.to_pylist()}
    assert found["within"] > 0.95
    assert abs(found["across"]) < 0.02
    assert verdicts(result) == {
        "correlation-across": "holds",
        "correlation-within": "does not hold",
    }


def test_covariance_and_keeping_jobs_apart_help_where_jobs_peak_together():
    result = packing_correlated.QUESTION.run(
        Study(bursts(40, 6, seed=2)),
        instances=3,
    )
    assert verdicts(result) == {
        "correlated-independence": "does not hold",
        "correlated-apart": "holds",
        "correlated-covariance": "holds",
    }


def test_covariance_by_hand():
    # two tasks in step: variance (1 + 1)² · v = 4v, covariance v; in counter-step: 0
    series_of = (
        np.float32(
            [
                [0, 1, 0, 1],
                [0, 1, 0, 1],
                [1, 0, 1, 0],
            ]
        )
        * 0.2
    )
    seen = Observation(series_of, series=series_of)
    items = CovarianceGpa(0.1).items(seen, 1.0)
    state = items[0].copy()
    CovarianceGpa.add(state, items[1])
    assert state[1] + state[2] == pytest.approx(4 * 0.01)
    state = items[0].copy()
    CovarianceGpa.add(state, items[2])
    assert state[1] + state[2] == pytest.approx(0.0)


# --- raw series --------------------------------------------------------------------------------


def test_series_are_laid_on_the_clock_and_gaps_repeat():
    pool = TaskPool(
        offsets=np.array([0, 3, 7]),
        inst=np.float32([1, 2, 4, 5, 6, 7, 8]) / 10,
        avg=np.zeros(7, np.float32),
        collection_id=np.array([1, 2]),
        instance_index=np.zeros(2, np.int64),
        start=np.array([300, 600, 1200, 0, 300, 750, 1200]),
        seconds=np.array([300, 300, 300, 300, 300, 150, 300]),
    )
    span = busiest_span(pool, 2)
    assert span.first == 1
    assert span.slots == 2
    assert span.tasks.tolist() == [0, 1]
    assert series(pool, span).tolist() == np.float32([[0.1, 0.2], [0.6, 0.7]]).tolist()
    with pytest.raises(NotApplicable, match="no task runs for"):
        busiest_span(pool, 100)


def test_windows_of_one_slot_are_averaged_by_length():
    pool = TaskPool(
        offsets=np.array([0, 3, 4]),
        inst=np.float32([0.2, 0.5, 0.3, 0.1]),
        avg=np.zeros(4, np.float32),
        collection_id=np.array([1, 2]),
        instance_index=np.zeros(2, np.int64),
        start=np.array([300, 400, 900, 900]),
        seconds=np.array([100, 200, 300, 300]),
    )
    timeline = Timeline.of(pool)
    # (100 s of .2 + 200 s of .5) ÷ 300 s in slot 1; the last slot of one task is the first of the next
    assert timeline.usage.tolist() == np.float32([0.4, 0.3, 0.1]).tolist()
    assert timeline.slot.tolist() == [1, 3, 3]
    assert timeline.offsets.tolist() == [0, 2, 3]
    assert timeline.begin.tolist() == [1, 3]
    assert timeline.end.tolist() == [4, 4]


def test_shuffling_keeps_each_tasks_values():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    mixed = shuffled(values, 1)
    assert (np.sort(mixed, axis=1) == values).all()


def test_replay_tells_drift_from_simultaneity():
    together = packing_replay.QUESTION.run(
        Study(bursts(40, 6)),
        instances=2,
        realizations=2_000,
    )
    verdict_of_claim = verdicts(together)
    assert verdict_of_claim["replay-drift"] == "holds"
    assert verdict_of_claim["replay-together"] == "does not hold"


# --- arrivals and departures ---------------------------------------------------------------------


def test_online_by_hand():
    # three tasks of .5, 20 slots each, arriving at slots 0, 5 and 18; requests are right
    pool = on_clock(
        np.full((3, 20), 0.5),
        start=[0, 5, 18],
        cpu_request=np.float32([0.5] * 3),
    )
    day = simulate(pool, Request(1.0), cold_start="request")
    assert day.first == 0
    # slots 0–4 one task; 5–17 two on one machine; 18–19 three; task 0 leaves at 20, task 1 at 25, task 2 at 38
    lengths = [5, 13, 2, 5, 13]
    assert day.tasks.tolist() == np.repeat([1, 2, 3, 2, 1], lengths).tolist()
    assert day.machines.tolist() == np.repeat([1, 1, 2, 2, 1], lengths).tolist()
    assert day.overflows.sum() == 0
    assert day.unplaceable.sum() == 0


def test_online_uses_only_the_past():
    # a task that asks for .2 and uses .9 from the start: the neighbour that arrives at once overflows with it,
    # the one that arrives after an hour does not
    values = np.concatenate(
        [
            np.full((1, 40), 0.9),
            np.full((1, 40), 0.2),
        ]
    )
    request = np.float32([0.2, 0.2])
    at_once = simulate(on_clock(values, cpu_request=request), Percentile(100), cold_start="request")
    later = simulate(
        on_clock(values, start=[0, 13], cpu_request=request), Percentile(100), cold_start="request"
    )
    assert at_once.overflows.sum() == 40
    assert later.overflows.sum() == 0
    assert later.machines.max() == 2


def test_online_learns_from_earlier_tasks_of_the_name():
    values = np.full((2, 20), 0.3)
    pool = on_clock(
        values,
        start=[0, 15],
        cpu_request=np.float32([0.9, 0.9]),
        logical_name=np.array([5, 5]),
    )
    assert simulate(pool, Average(1), cold_start="name").machines.max() == 1
    assert simulate(pool, Average(1), cold_start="request").machines.max() == 2
    # Twelve measurements are enough, eleven are not.
    for start, most in ((12, 1), (11, 2)):
        soon = on_clock(
            values,
            start=[0, start],
            cpu_request=np.float32([0.9, 0.9]),
            logical_name=np.array([5, 5]),
        )
        assert simulate(soon, Average(1), cold_start="name").machines.max() == most


def test_online_learns_from_the_user_where_nobody_had_the_name():
    values = np.full((3, 20), 0.3)
    more = {
        "cpu_request": np.float32([0.9] * 3),
        "logical_name": np.array([5, 6, 5]),
    }
    start = [0, 15, 15]
    # Task 1 is of the first one's user; task 2 has its name, but another user.
    pool = on_clock(
        values,
        start=start,
        user=np.array([1, 1, 2]),
        **more,
    )
    assert [codes.tolist() for codes in pool.kin] == [[0, 1, 2], [1, 1, 2]]
    assert simulate(pool, Average(1), cold_start="name").machines.max() == 2
    assert simulate(pool.take(np.array([0, 1])), Average(1), cold_start="name").machines.max() == 1
    # Where no user is known, the name alone tells.
    assert (
        simulate(
            on_clock(values, start=start, **more).take(np.array([0, 2])), Average(1)
        ).machines.max()
        == 1
    )


def test_what_retries_cost_by_hand():
    """Two attempts of an hour at .5, the first made again, and an hour of .25 that was not."""
    values = np.repeat(
        np.float32(
            [
                [0.5],
                [0.5],
                [0.25],
            ]
        ),
        12,
        axis=1,
    )
    pool = on_clock(
        values,
        start=[0, 12, 12],
        retried=np.array([1, 0, 0]),
    )
    rows = packing_online.QUESTION.run(Study(pool)).table.to_pylist()
    hours = {row["hour"]: (row["cpu_hours"], row["retried_cpu_hours"]) for row in rows}
    assert hours == {0: (0.5, 0.5), 1: (0.75, 0.0)}
    plain = packing_online.QUESTION.run(Study(on_clock(values, start=[0, 12, 12]))).table
    assert set(plain["retried_cpu_hours"].to_pylist()) == {0.0}


def test_given_tasks_are_prepared_already():
    with pytest.raises(UsageError) as caught:
        packing_online.QUESTION.run(
            Study(on_clock(np.full((2, 15), 0.4))),
            include="short",
        )
    assert (
        str(caught.value)
        == "--include: the tasks are prepared already: expected a store, got planted"
    )
    with pytest.raises(UsageError, match="--include"):
        packing_online.QUESTION.run(
            Study(on_clock(np.full((2, 15), 0.4))),
            include="long",
        )


def test_online_lists_what_fits_nowhere_and_is_deterministic():
    pool = on_clock(
        np.full((2, 15), 0.4),
        start=[0, 3],
        cpu_request=np.float32([2.0, 0.4]),
    )
    first = simulate(pool, Request(1.0))
    second = simulate(pool, Request(1.0))
    assert first.unplaceable.sum() == 1
    assert first.tasks.max() == 1
    for name in ("machines", "tasks", "overflows", "cold", "unplaceable"):
        assert getattr(first, name).tolist() == getattr(second, name).tolist()


# --- heavier twin -----------------------------------------------------------------------


def test_the_heavier_twin_keeps_every_mean():
    pool = synthetic_pool(200, seed=1)
    twin = heavy_tail(pool)
    assert twin.mean() == pytest.approx(pool.mean(), rel=1e-5)
    assert twin.std().mean() > 1.15 * pool.std().mean()
    assert (heavy_tail(pool).inst == twin.inst).all()
