"""Resources beside CPU and memory: GPUs by hand, a plain scan of random cells, and what holds at every instant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.scheduling import COMPACT, POLICIES, SIMULATE, parse_policy
from borgtrace.scheduling.compaction import CellWorkload, needed
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.plan import TaskPlan
from borgtrace.scheduling.replay import ScheduleInput, impossible, replayed
from borgtrace.scheduling.variants import (
    parse_machines,
    parse_upgrade,
    with_machines,
    with_upgrade,
)
from borgtrace.scheduling.workload import columns_of
from borgtrace.schema import TABLES
from borgtrace.schema.dialects import dialect
from tests.rows import chosen_columns
from tests.scheduling.plain import SCORES, PlainCell, plain_pack, random_cell
from tests.scheduling.traces import Attempt, trace_of

FREE, OTHER, PRODUCTION = range(3)
SECOND = 10**6


def with_gpus(trace: ScheduleInput, asked: list[int], held: list[int]) -> ScheduleInput:
    """Return a trace whose tasks ask for so many GPUs, and whose machines have so many."""
    machines = replace(trace.machines, capacity=np.column_stack([trace.machines.capacity, held]))
    return replace(
        trace,
        tasks=replace(trace.tasks, extended=np.array(asked)[:, None]),
        machines=machines,
    )


def starts(
    trace: ScheduleInput, policy: str = "best-fit", *, whole_jobs: bool = False
) -> list[tuple[int, int]]:
    """Start and machine of each submission."""
    return [
        (int(row[2]), int(row[4]))
        for row in replayed(trace, parse_policy(policy), 1.0, whole_jobs=whole_jobs)
    ]


@pytest.mark.wide
def test_a_task_of_two_does_not_go_where_one_is_left() -> None:
    # Best fit would fill the first machine, of which half is taken.
    attempts = [
        (1, 0, 0, 0, 900, 0.5, FREE),
        (2, 0, 100, 100, 200, 0.25, FREE),
    ]
    trace = trace_of(attempts, (1.0, 1.0))
    assert starts(trace) == [(0, 0), (100, 0)]
    assert starts(with_gpus(trace, [1, 2], [2, 2])) == [(0, 0), (100, 1)]
    assert starts(with_gpus(trace, [1, 2], [3, 2])) == [(0, 0), (100, 0)]
    # Where the other has none it waits, and where none has two it waits for ever.
    assert starts(with_gpus(trace, [1, 2], [2, 0])) == [(0, 0), (900, 0)]
    assert starts(with_gpus(trace, [1, 2], [1, 1])) == [(0, 0), (-1, -1)]
    assert impossible(with_gpus(trace, [1, 2], [1, 1])).tolist() == [1]
    assert impossible(with_gpus(trace, [1, 2], [1, 2])).tolist() == []


def test_who_holds_what_is_missing_is_evicted() -> None:
    # Production needs a GPU: of the two others, each on a machine with room, only one holds any.
    attempts = [
        (1, 0, 0, 0, 900, 0.25, FREE),
        (2, 0, 1, 1, 900, 0.5, FREE),
        (3, 0, 100, 100, 200, 0.25, PRODUCTION),
    ]
    trace = with_gpus(trace_of(attempts, (0.25, 1.0)), [0, 1, 1], [0, 1])
    assert starts(trace, "best-fit+preempt") == [
        (0, 0),
        (1, 1),
        (100, 1),
        (200, 1),
    ]
    assert starts(trace) == [
        (0, 0),
        (1, 1),
        (900, 1),
    ]
    # What production holds is not taken from it.
    held = [(*attempts[1][:-1], PRODUCTION), attempts[2]]
    assert starts(with_gpus(trace_of(held), [1, 1], [1]), "best-fit+preempt") == [(1, 0), (900, 0)]


def test_a_job_waits_for_all_that_it_asks_for() -> None:
    # Three tasks of a GPU each: there are two until 900.
    attempts = [(1, 0, 0, 0, 900, 0.1, FREE)] + [(2, 0, 100, 100, 200, 0.1, FREE)] * 3
    trace = with_gpus(trace_of(attempts, (1.0, 1.0)), [1] * 4, [2, 1])
    trace.tasks.instance[:] = range(4)
    assert [time for time, _ in starts(trace)] == [0, 100, 100, 200]
    assert [time for time, _ in starts(trace, whole_jobs=True)] == [0, 900, 900, 900]


def test_a_machine_more_brings_none_and_an_upgrade_keeps_them() -> None:
    trace = with_gpus(
        trace_of([(1, 0, 0, 0, 900, 0.5, FREE)], (1.0, 0.5)),
        [1],
        [0, 4],
    )
    larger = with_machines(trace, parse_machines("2:1:0.5"))
    assert larger.machines.capacity.tolist() == [
        [UNIT, UNIT, 0],
        [UNIT // 2, UNIT // 2, 4],
        [UNIT, UNIT // 2, 0],
        [UNIT, UNIT // 2, 0],
    ]
    upgraded = with_upgrade(trace, parse_upgrade("0.5:0.5=1:1"))
    assert upgraded.machines.capacity.tolist() == [[UNIT, UNIT, 0], [UNIT, UNIT, 4]]


def gpus_of(seed: int, tasks: int, machines: int) -> tuple[np.ndarray, np.ndarray]:
    """What tasks ask for of two more resources, alike in runs of ten, and what machines have."""
    rng = np.random.default_rng(seed)
    asked = np.repeat(
        rng.choice([0, 0, 1, 2], (tasks // 10 + 1, 2)),
        10,
        axis=0,
    )[:tasks]
    return asked, rng.choice([0, 2, 5], (machines, 2))


@pytest.mark.parametrize("seed", range(8))
def test_packing_is_that_of_a_plain_scan(seed: int) -> None:
    capacity, sizes, groups, sets, allowed, _, _ = random_cell(seed)
    asked, held = gpus_of(seed, len(sizes), len(capacity))
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(sizes)) if seed % 2 else np.arange(len(sizes))
    capacity, ids = np.hstack([capacity, held]), rng.permutation(len(capacity))
    demand = Demand(
        sizes,
        groups,
        sets,
        allowed,
        extended=asked,
    )
    for policy in (*SCORES, "random:k=2"):
        found, _ = pack(
            demand,
            order,
            capacity,
            ids,
            parse_policy(policy),
        )
        if policy in SCORES:
            cell = PlainCell(capacity, ids, allowed, extended=asked)
            assert found.tolist() == plain_pack(
                sizes,
                groups,
                sets,
                order,
                cell,
                policy,
            ), policy
        taken = np.zeros_like(capacity)
        np.add.at(
            taken,
            found[found >= 0],
            np.hstack([sizes, asked])[found >= 0],
        )
        assert (taken <= capacity).all()


@pytest.mark.parametrize(
    "policy", ["best-fit", "least-stranded+preempt", "random:k=2+preempt", "whole jobs"]
)
@pytest.mark.parametrize("seed", range(3))
def test_no_machine_is_above_anything_at_any_instant(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    attempts: list[Attempt] = []
    for job in range(80):
        begin = int(rng.integers(0, 4000)) * SECOND
        size = float(rng.choice([0.1, 0.25, 0.3]))
        end = begin + int(rng.integers(1, 3000)) * SECOND
        attempts += [(job, 0, begin, begin, end, size, int(rng.integers(0, 3)))] * int(
            rng.integers(1, 3)
        )
    made = trace_of(
        sorted(attempts, key=lambda row: row[2]),
        (0.5, 1.0, 1.0),
        until=9_000 * SECOND,
    )
    made.tasks.instance[:] = np.arange(len(attempts))
    trace = with_gpus(
        made,
        rng.choice([0, 500, 1000], len(attempts)).tolist(),
        [0, 1000, 2000],
    )
    # Promises of production beside it: both are limits of their own.
    sizes = trace.tasks.sizes
    promised = np.where(trace.tasks.is_production[:, None], sizes, 0)
    plan = (
        TaskPlan(
            "reclaimed 0",
            sizes,
            np.empty((0, 2), np.int64),
            0.0,
            0,
            sizes // 2,
            promised,
        )
        if seed
        else None
    )
    rule, is_whole = ("best-fit", True) if policy == "whole jobs" else (policy, False)
    rows = replayed(
        trace,
        parse_policy(rule),
        1.0,
        plan=plan,
        whole_jobs=is_whole,
    )
    ran = rows[rows[:, 2] >= 0]
    ends = np.where(
        ran[:, 3] >= 0,
        ran[:, 3],
        2**62,
    )
    capacity = trace.machines.capacity
    taken = np.hstack([promised if plan else sizes, trace.tasks.extended])[ran[:, 0]]
    is_full = False
    for time in np.unique(ran[:, 2]):
        there = np.flatnonzero((ran[:, 2] <= time) & (time < ends))
        total = np.column_stack(
            [np.bincount(ran[there, 4], part, len(capacity)) for part in taken[there].T]
        )
        assert (total <= capacity).all()
        is_full |= bool((total[1:, 2] == capacity[1:, 2]).any())
    # The case is one: GPUs run out, and some wait for them.
    assert is_full
    assert (ran[:, 2] > ran[:, 1]).any()


def test_a_cell_has_as_many_machines_as_its_gpus_need() -> None:
    # Ten tasks of a tenth fit one machine; with a GPU each, of two on a machine, they need five.
    sizes = np.full((10, 2), UNIT // 10)
    none = np.full(10, -1)
    demand = Demand(sizes, none, none + 1)
    plain = CellWorkload(demand, none + 1, np.arange(10), none > 0)
    limited = replace(plain, demand=replace(demand, extended=np.full((10, 1), 1000)))
    capacity = np.tile([UNIT, UNIT, 2000], (3, 1))
    for policy in POLICIES.values():
        assert needed(plain, capacity[:, :2], 0, policy) == 1
        assert needed(limited, capacity, 0, policy) == 5
    assert needed(limited.without_constraints(), capacity, 0) == 5
    assert needed(limited.of(np.arange(10) < 3), capacity, 0) == 2
    # With reservations for those that come first room of CPU is free, and no GPU.
    reserved = replace(
        limited,
        reserved=sizes // 2,
        is_production=np.arange(10) < 5,
    )
    assert needed(reserved, capacity, 0) == 5


def test_all_resources_that_tasks_and_machines_have_in_common_count() -> None:
    requests = {
        name.removesuffix("_request") for name in TABLES["tasks"].names if name.endswith("_request")
    }
    capacities = {name.removesuffix("_capacity") for name in TABLES["machine_events"].names}
    assert {f"{name}_request" for name in requests & capacities} == set(
        columns_of(dialect("openb"), "request")
    )
    # Google's traces tell nothing but CPU and memory.
    for name in ("2011", "2019"):
        assert columns_of(dialect(name), "capacity") == ["cpu_capacity", "memory_capacity"]


@pytest.fixture(scope="module")
def openb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes of two GPUs; two pods of two, one that shares a GPU from 300 s on, and one that wants 9."""
    folder = tmp_path_factory.mktemp("openb")
    (folder / "openb_node_list_all_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\na,128000,524288,2,G\nb,128000,524288,2,G\n"
    )
    (folder / "openb_pod_list_default.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "p1,4000,4096,2,1000,,LS,Succeeded,100,700,100\np2,4000,4096,2,1000,,LS,Succeeded,200,800,200\n"
        "p3,4000,4096,1,500,,LS,Succeeded,300,900,300\np4,4000,4096,9,1000,,LS,Pending,310,850,\n"
    )
    ingest(sorted(folder.glob("*.csv")), folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def test_a_trace_with_gpus(openb: Path, tmp_path: Path) -> None:
    # p3 waits for half a GPU until p1 ends: 400 s.  p4 is withdrawn, and never placed.
    (row,) = SIMULATE.run(
        openb, policies=("first-fit",), event_log=str(tmp_path / "log")
    ).table.to_pylist()
    assert row["submissions"] == 4
    assert row["starts"] == 3
    assert row["waiting_hours"] == pytest.approx((400 + 540) / 3600)
    # Its log has the requests of the trace.
    asked = borgtrace.open(tmp_path / "log").sql(
        "SELECT gpu_request FROM tasks ORDER BY gpu_request"
    )
    assert asked["gpu_request"].to_pylist() == [500, 2000, 2000, 9000]
    # At 350 s (600 s more on the trace's clock) three run, that need three such machines.
    (row,) = COMPACT.run(openb, at=950 * SECOND, what_ifs=("limits",)).table.to_pylist()
    expected = {
        "tasks": 3,
        "machines": 3,
        "most": 3,
    }
    assert chosen_columns(row, expected) == expected
