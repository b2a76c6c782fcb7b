"""Packing and compaction beside a plain restatement, and what every policy keeps."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling import POLICIES, parse_policy
from borgtrace.scheduling.choice import choose
from borgtrace.scheduling.compaction import CellWorkload, bound, needed, order_of
from borgtrace.scheduling.machines import (
    CLASS,
    SIDE,
    UNIT,
    Demand,
    make_cell,
    place,
    release,
    settle,
)
from borgtrace.scheduling.packing import Reservations, pack
from borgtrace.scheduling.whatifs import Moment
from tests.scheduling.plain import SCORES, PlainCell, plain_needed, plain_pack, random_cell


@pytest.mark.parametrize("seed", range(20))
def test_packing_is_that_of_a_plain_scan(seed: int) -> None:
    capacity, sizes, groups, sets, allowed, _, _ = random_cell(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(sizes)) if seed % 2 else np.arange(len(sizes))
    ids = rng.permutation(len(capacity))
    for policy in SCORES:
        found, pending = pack(
            Demand(sizes, groups, sets, allowed),
            order,
            capacity,
            ids,
            POLICIES[policy],
        )
        expected = plain_pack(
            sizes,
            groups,
            sets,
            order,
            PlainCell(capacity, ids, allowed),
            policy,
        )
        assert found.tolist() == expected, policy
        assert pending == expected.count(-1)


@pytest.mark.parametrize("seed", range(8))
def test_packing_by_means_and_variances_is_that_of_a_plain_scan(seed: int) -> None:
    capacity, sizes, groups, sets, allowed, _, jobs = random_cell(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(sizes)) if seed % 2 else np.arange(len(sizes))
    # By job, so that runs of tasks are alike; half of the jobs take what they are planned with.
    variances = np.rint(sizes**2 * np.array([0, 1.5])[jobs % 2, None]).astype(np.int64)
    ids = np.arange(len(capacity))
    for policy in SCORES:
        demand = Demand(sizes, groups, sets, allowed, variances, 2.0**2)
        found, _ = pack(demand, order, capacity, ids, POLICIES[policy])
        plain = PlainCell(capacity, ids, allowed, variances, 2.0)
        assert found.tolist() == plain_pack(
            sizes,
            groups,
            sets,
            order,
            plain,
            policy,
        ), policy


@pytest.mark.parametrize("seed", range(8))
def test_a_task_alone_goes_where_a_plain_scan_sends_it(seed: int) -> None:
    # Tasks come and go in a random order, so that none is like the one before; from half of the time on the last
    # machine is away.
    capacity, sizes, groups, sets, allowed, _, _ = random_cell(seed)
    variances = np.rint(sizes**2 * 1.5 * (seed % 2)).astype(np.int64)
    ids = np.random.default_rng(seed).permutation(len(capacity))
    z = 1.0 * (seed % 4 == 1)
    for policy in SCORES:
        rng = np.random.default_rng(seed)
        cell, lines = make_cell(
            capacity,
            ids,
            Demand(sizes, groups, sets, allowed, variances, z**2),
        )
        plain = PlainCell(capacity, ids, allowed, variances, z)
        there: list[int] = []
        for step, task in enumerate(rng.permutation(len(sizes)).tolist()):
            given = (*map(int, sizes[task]), groups[task])
            if step == len(sizes) // 2:
                cell.is_up[-1] = False
                plain.is_up[lines[-1]] = False
                settle(cell, len(capacity) - 1)
            found = choose(cell, POLICIES[policy].kind, task)
            expected = plain.choose(policy, *given, sets[task], task)
            assert (lines[found] if found >= 0 else -1) == expected, policy
            if found >= 0:
                place(cell, task, found)
                plain.place(expected, *given, task)
                there.append(task)
            if there and rng.random() < 0.4:
                gone = there.pop(rng.integers(len(there)))
                plain.remove(
                    lines[release(cell, gone)],
                    *map(int, sizes[gone]),
                    groups[gone],
                    gone,
                )


def test_three_tasks_that_vary_fill_a_machine() -> None:
    # Means of .1875 and standard deviations of .125: k of them take k·.1875 + 2·.125·√k, .9955 for 3 and 1.25 for 4.
    sizes = np.full((7, 2), UNIT * 3 // 16)
    none = np.full(7, -1)
    variances = np.full((7, 2), UNIT**2 // 64)
    given = (np.arange(7), np.full((3, 2), UNIT), np.arange(3), parse_policy("first-fit"))
    assert pack(Demand(sizes, none, none + 1), *given)[0].tolist() == [0] * 5 + [1] * 2
    assert pack(
        Demand(
            sizes,
            none,
            none + 1,
            variances=variances,
            safety=4.0,
        ),
        *given,
    )[0].tolist() == [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
    ]
    # Two resources, each by itself: with a variance of memory alone it is the same.
    variances[:, 0] = 0
    assert (
        pack(
            Demand(
                sizes,
                none,
                none + 1,
                variances=variances,
                safety=4.0,
            ),
            *given,
        )[1]
        == 0
    )
    # One of them alone takes .1875 + .25: a machine of .4375 is just enough, one of less is not.
    for wide, pending in ((7 * UNIT // 16, 0), (7 * UNIT // 16 - 1, 1)):
        demand = Demand(
            sizes[:1],
            none[:1],
            none[:1] + 1,
            variances=variances[:1],
            safety=4.0,
        )
        cell = np.array([[UNIT, wide]])
        assert pack(demand, np.arange(1), cell, np.arange(1))[1] == pending


def test_a_job_is_placed_whole_or_not_at_all() -> None:
    sizes = np.full((6, 2), UNIT // 2)
    none = np.full(6, -1)
    jobs = np.array([0, 0, 0, 1, 2, 2])
    given = (Demand(sizes, none, none + 1), np.arange(6), np.full((1, 2), UNIT), np.arange(1))
    # The first job does not fit, the second does, and leaves room for one of the third.
    assert pack(*given)[0].tolist() == [0, 0, -1, -1, -1, -1]
    found, pending = pack(*given, jobs=jobs)
    assert found.tolist() == [-1, -1, -1, 0, -1, -1]
    assert pending == 5
    assert pack(*given, jobs=jobs, most=2)[1] == 3
    workload = CellWorkload(
        given[0],
        none + 1,
        jobs,
        none > 0,
        is_whole=True,
    )
    # Three machines hold six halves whatever the order; of the first three tasks two need one.
    assert needed(workload, given[2], 0) == 3
    assert needed(workload.of(jobs == 0), given[2], 0) == 2


@pytest.mark.parametrize("seed", range(20))
def test_compaction_is_that_of_a_plain_restatement(seed: int) -> None:
    # Over 500 tasks in some cells, so that one may stay pending.
    capacity, sizes, groups, sets, allowed, priority, jobs = random_cell(
        seed,
        machines=20,
        tasks=120 + 500 * (seed < 3),
    )
    demand = Demand(sizes, groups, sets, allowed)
    workload = CellWorkload(demand, priority, jobs, np.zeros(len(jobs), np.bool_))
    expected, _ = plain_needed(
        sizes,
        groups,
        sets,
        allowed,
        priority,
        jobs,
        capacity,
        seed,
    )
    assert needed(workload, capacity, seed) == expected


@pytest.mark.parametrize("policy", [*POLICIES, "random:k=1"])
@pytest.mark.parametrize("seed", range(4))
def test_every_policy_keeps_capacities_and_hard_constraints(policy: str, seed: int) -> None:
    capacity, sizes, groups, sets, allowed, _, _ = random_cell(100 + seed)
    demand = Demand(sizes, groups, sets, allowed)
    found, _ = pack(
        demand,
        np.arange(len(sizes)),
        capacity,
        np.arange(len(capacity)),
        parse_policy(policy),
        seed=seed,
    )
    taken = np.zeros_like(capacity)
    np.add.at(
        taken,
        found[found >= 0],
        sizes[found >= 0],
    )
    assert (taken <= capacity).all()
    bound = (found >= 0) & (sets > 0)
    assert allowed[sets[bound] - 1, found[bound]].all()
    apart = list(
        zip(
            groups[(found >= 0) & (groups >= 0)],
            found[(found >= 0) & (groups >= 0)],
            strict=True,
        )
    )
    assert len(apart) == len(set(apart))
    # Whoever is pending fits nowhere: with room that only shrinks, the end of the packing shows it.
    cell = PlainCell(capacity, range(len(capacity)), allowed)
    for task in np.flatnonzero(found >= 0):
        cell.place(found[task], *map(int, sizes[task]), groups[task])
    for task in np.flatnonzero(found < 0):
        assert not any(
            cell.open(
                at,
                *map(int, sizes[task]),
                groups[task],
                sets[task],
            )
            for at in range(len(capacity))
        )


def test_four_quarters_fill_a_machine_and_a_fifth_needs_another() -> None:
    sizes = np.full((5, 2), UNIT // 4)
    none = np.full(5, -1)
    workload = CellWorkload(
        Demand(sizes, none, none + 1),
        none + 1,
        np.arange(5),
        none > 0,
    )
    assert needed(workload, np.full((1, 2), UNIT), 0) == 2
    # Tasks of one group need a machine each, unless their job has more tasks than half the cell has machines.
    apart = CellWorkload(
        Demand(sizes, none + 1, none + 1),
        none + 1,
        np.zeros(5, np.int64),
        none > 0,
    )
    assert needed(apart, np.full((1, 2), UNIT), 0) == 2
    assert needed(apart, np.full((10, 2), UNIT), 0) == 5


def test_one_task_in_five_hundred_may_stay_pending() -> None:
    # 499 tasks take 499/512 of a machine; the last, of the lowest priority, a whole one.
    sizes = np.full((500, 2), UNIT // 512)
    sizes[-1] = UNIT
    nothing = np.zeros(500, np.int64)
    priority = np.arange(500) < 499
    workload = CellWorkload(
        Demand(sizes, nothing - 1, nothing),
        priority.astype(np.int64),
        nothing,
        nothing > 0,
    )
    assert needed(workload, np.full((1, 2), UNIT), 0) == 1
    assert needed(workload, np.full((1, 2), UNIT), 0, most=0) == 2
    assert needed(workload.of(priority), np.full((4, 2), UNIT), 0) == 1


def test_the_bound_is_that_of_the_scarcer_resource() -> None:
    nothing = np.zeros(2, np.int64)
    sizes = np.array([[3, 1], [2, 1]]) * UNIT // 2
    workload = CellWorkload(Demand(sizes, nothing - 1, nothing), nothing, nothing, nothing > 0)
    # 2.5 of CPU and 1 of memory, on machines with 1 and .5 on the mean.
    assert bound(workload, np.array([[1.5, 0.5], [0.5, 0.5]]) * UNIT) == 3
    assert bound(workload.of(np.zeros(2, bool)), np.ones((1, 2)) * UNIT) == 0


def test_what_comes_later_goes_where_reservations_leave_room() -> None:
    # Two tasks of a half are planned on the first machine and reserve a quarter each: two of a quarter fit beside them.
    sizes = (
        np.array(
            [
                [2, 2],
                [2, 2],
                [1, 1],
                [1, 1],
                [1, 1],
            ]
        )
        * UNIT
        // 4
    )
    reserved = np.array([[1, 1]] * 5) * UNIT // 4
    nothing = np.zeros(5, np.int64)
    demand = Demand(sizes, nothing - 1, nothing)
    order = np.arange(5)
    ranks = np.arange(2)
    given = (demand, order, np.full((2, 2), UNIT), ranks, parse_policy("first-fit"))
    assert pack(*given, reserved=Reservations(reserved, 2))[0].tolist() == [0, 0, 0, 0, 1]
    assert pack(*given)[0].tolist() == [0, 0, 1, 1, 1]


def test_trust_saves_what_is_not_used_up_to_what_packing_loses() -> None:
    # 160 tasks that ask for a quarter of a machine and use an eighth: 40 machines, of which 160 · (1/4 − 1/8) = 20 are
    # not used. Between, sizes of 7/32, 6/32 and 5/32 go 4, 5 and 6 on a machine.
    n = 160
    none = np.full(160, -1)
    workload = CellWorkload(
        Demand(
            np.full((n, 2), UNIT // 4),
            none,
            none + 1,
        ),
        none + 1,
        np.arange(n),
        none > 0,
    )
    moment = Moment(workload, np.full((n, 2), 0.125), none + 1)
    capacity = np.full((40, 2), UNIT)
    found = [
        needed(workload.with_sizes(moment.reserved(0.0, k / 4)), capacity, 0) for k in range(5)
    ]
    assert found == [40, 40, 32, 27, 20]
    # With all of it kept as a margin nothing is saved.
    assert needed(workload.with_sizes(moment.reserved(1.0)), capacity, 0) == 40


def test_a_task_above_every_machine_is_refused() -> None:
    none = np.full(1, -1)
    sizes = np.array([[2 * UNIT, UNIT // 2]])
    workload = CellWorkload(
        Demand(sizes, none, none + 1),
        none + 1,
        none + 1,
        none > 0,
    )
    with pytest.raises(UsageError) as caught:
        needed(workload, np.full((3, 2), UNIT), 0)
    assert str(caught.value) == (
        "compact: 1 of 1 tasks fit no machine or no machine meets their constraints: expected at most 0 pending tasks "
        "(0.2 %), got 1 too large (up to CPU 2, memory 0.5), 0 with constraints that no machine meets; look at them: "
        'borgtrace sql STORE "select * from tasks order by cpu_request desc limit 9"'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "worst",
            "--policy: no such policy: expected least-stranded, best-fit, worst-fit, first-fit, dot-product, random, "
            "nilas, lava, with +preempt or without, got worst; one of your own: name its file with --from",
        ),
        (
            "best-fit:k=3",
            "--policy: wrong setting: expected random:k=N with N from 1 to 1,000,000, got best-fit:k=3",
        ),
        (
            "random:k=0",
            "--policy: wrong setting: expected random:k=N with N from 1 to 1,000,000, got random:k=0",
        ),
    ],
)
def test_a_policy_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy(text)
    assert str(caught.value) == message


def test_a_random_order_begins_at_any_machine_and_a_seed_repeats_it() -> None:
    nothing = np.zeros(200, np.int64)
    demand = Demand(np.zeros((200, 2), np.int64), nothing - 1, nothing)
    given = (
        demand,
        np.arange(200),
        np.full((10, 2), UNIT),
        np.arange(10),
        parse_policy("random:k=1"),
    )
    found = [pack(*given, seed=seed)[0].tolist() for seed in (0, 1, 0)]
    assert set(found[0]) == set(found[1]) == set(range(10))
    assert found[0] != found[1]
    assert found[0] == found[2]


@pytest.mark.parametrize("policy", ["best-fit", "random:k=1"])
def test_without_machines_all_are_pending(policy: str) -> None:
    none = np.full(3, -1)
    given = (np.arange(3), np.empty((0, 2), np.int64), np.empty(0, np.int64), parse_policy(policy))
    found, pending = pack(
        Demand(
            np.full((3, 2), UNIT // 2),
            none,
            none + 1,
        ),
        *given,
    )
    assert found.tolist() == [-1, -1, -1]
    assert pending == 3


@pytest.mark.parametrize("second", [0.4, 0.41])
def test_tasks_above_the_small_machines_share_a_large_one(second: float) -> None:
    # Machines of a quarter and of one, of which one is enough for both tasks, alike or not.
    sizes = np.rint(np.array([[0.4] * 2, [second] * 2]) * UNIT).astype(np.int64)
    none = np.full(2, -1)
    capacity = np.array(
        [
            [UNIT, UNIT],
            [UNIT // 4, UNIT // 4],
            [UNIT, UNIT],
        ]
    )
    found, pending = pack(
        Demand(sizes, none, none + 1),
        np.arange(2),
        capacity,
        np.arange(3),
        POLICIES["best-fit"],
    )
    assert (found.tolist(), pending) == ([0, 0], 0)
    # Two capacities are two classes, the smaller one first, each with a grid.
    cell, lines = make_cell(capacity, np.arange(3), Demand(sizes, none, none + 1))
    assert lines.tolist() == [1, 0, 2]
    assert cell.first.tolist() == [0, 1, 3]
    assert cell.places[:, CLASS].tolist() == [0, 1, 1]
    assert cell.heads.shape == (2, SIDE, SIDE)
    assert cell.filled.shape == (2, SIDE)


def test_production_is_planned_by_its_limits_before_anything_else() -> None:
    # Two of production ask for three quarters and use one; the rest, of a higher priority here, takes a quarter each.
    sizes = (
        np.array(
            [
                [3, 3],
                [3, 3],
                [1, 1],
                [1, 1],
            ]
        )
        * UNIT
        // 4
    )
    reserved = np.full((4, 2), UNIT // 4)
    priority = np.array([0, 0, 1, 1])
    is_production = np.array([True, True, False, False])
    none = np.full(4, -1)
    workload = CellWorkload(
        Demand(sizes, none, none + 1),
        priority,
        np.arange(4),
        is_production,
        reserved,
    )
    # Each of production needs a machine of its own, in which all of the rest finds room; without the other one does.
    assert needed(workload, np.full((4, 2), UNIT), 0) == 2
    assert (
        needed(
            workload.of(np.array([True, False, True, True])),
            np.full((4, 2), UNIT),
            0,
        )
        == 1
    )


def test_tasks_are_packed_by_priority_and_job_by_job() -> None:
    n = 40
    nothing = np.zeros(n, np.int64)
    jobs = np.arange(n) % 10
    workload = CellWorkload(
        Demand(np.zeros((n, 2), np.int64), nothing - 1, nothing),
        jobs % 2,
        jobs,
        nothing > 0,
    )
    orders = [order_of(workload, np.random.default_rng(seed)) for seed in (0, 1)]
    for order in orders:
        # Ten jobs of four tasks: first those of the higher priority, each in one piece, its tasks as they stand.
        pieces = order.reshape(10, 4)
        assert (pieces == pieces[:, :1] + [0, 10, 20, 30]).all()
        assert (pieces[:, 0] % 2).tolist() == [1] * 5 + [0] * 5
    assert orders[0].tolist() != orders[1].tolist()
    assert order_of(workload.of(nothing > 0), np.random.default_rng(0)).tolist() == []
