"""Schedulers of one's own: the choice of a plain scan, queue order, victims and filters by hand, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling import POLICIES, PlacementPolicy, Scheduler, parse_policy
from borgtrace.scheduling.changes import make_changes
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.own_scores import LISTED
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.replay import ScheduleInput, replayed
from borgtrace.scheduling.state import ENDED, OUTCOME, PREEMPTED, RAN_ON, STARTED
from tests.scheduling.plain import PlainCell, plain_pack, random_cell
from tests.scheduling.traces import trace_of

FREE, OTHER, PRODUCTION = range(3)


def tight(task, machine):
    cpu_left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    return cpu_left + (machine.memory_free - task.memory) / machine.memory_capacity


def loose(task, machine):
    cpu_left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    return -(cpu_left + (machine.memory_free - task.memory) / machine.memory_capacity)


def alike(task, machine):
    return 0


def scheduler_of(score: Callable[..., float], **functions: Callable[..., object]) -> Scheduler:
    return Scheduler(name="own", about="of a test", score=score, **functions)


RESTATED = {"best-fit": tight, "worst-fit": loose, "first-fit": alike}
SCHEDULERS = {name: scheduler_of(score) for name, score in RESTATED.items()}
"""Ours, written as a foreigner would; each is compiled once."""


@pytest.mark.wide
@pytest.mark.parametrize("policy", RESTATED)
@pytest.mark.parametrize("seed", range(3))
def test_packing_is_that_of_a_plain_scan(seed: int, policy: str) -> None:
    # More machines than a list holds, so that lists are used up.
    cell = random_cell(seed, machines=6 * LISTED, tasks=1500)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(cell.sizes)) if seed % 2 else np.arange(len(cell.sizes))
    ids = rng.permutation(len(cell.capacity))
    demand = Demand(cell.sizes, cell.groups, cell.sets, cell.allowed, priority=cell.priority)
    found, pending = pack(demand, order, cell.capacity, ids, PlacementPolicy.of(SCHEDULERS[policy]))
    plain = PlainCell(cell.capacity, ids, cell.allowed)
    expected = plain_pack(cell.sizes, cell.groups, cell.sets, order, plain, policy)
    assert found.tolist() == expected
    assert pending == expected.count(-1)


def test_constraints_that_few_machines_meet() -> None:
    # One machine in ten: below what is common, so that the tasks have a list of their own.
    n_machines = 3 * LISTED
    allowed = np.arange(n_machines)[None] % 10 == 9
    sizes = np.full((60, 2), UNIT // 4)
    sets = np.arange(60) % 2
    nobody = np.full(60, -1)
    demand = Demand(sizes, nobody, sets, allowed)
    capacity = np.full((n_machines, 2), UNIT)
    ids = np.arange(n_machines)
    found, _ = pack(demand, ids[:60], capacity, ids, PlacementPolicy.of(SCHEDULERS["first-fit"]))
    expected, _ = pack(demand, ids[:60], capacity, ids, POLICIES["first-fit"])
    assert found.tolist() == expected.tolist()


def random_trace(seed: int) -> ScheduleInput:
    """Return a trace of many tasks of few sizes, with machines that go and come back."""
    rng = np.random.default_rng(seed)
    n = 1500
    arrivals = np.sort(rng.integers(0, 1000, n))
    sizes = np.array([1 / 32, 1 / 8, 1 / 4, 1 / 2])[rng.integers(0, 4, n)]
    attempts = []
    for job in range(n):
        start = int(arrivals[job])
        end = start + int(rng.integers(1, 300))
        tier = int(rng.integers(0, 3))
        attempts.append((job + 1, 0, start, start, end, float(sizes[job]), tier))
    n_machines = 2 * LISTED
    trace = trace_of(attempts, [1.0, 0.5] * (n_machines // 2), until=1500)
    gone = np.arange(10)
    away = make_changes(300, gone, False, 0)
    back = make_changes(600, gone, True, 0)
    object.__setattr__(trace, "changes", np.concatenate([trace.changes, away, back]))
    return trace


@pytest.mark.wide
@pytest.mark.parametrize("preempts", [False, True])
@pytest.mark.parametrize("policy", RESTATED)
def test_a_replay_is_that_of_ours(policy: str, preempts: bool) -> None:
    trace = random_trace(7)
    own = PlacementPolicy.of(SCHEDULERS[policy], preempts=preempts)
    suffix = "+preempt" if preempts else ""
    found = replayed(trace, own, 1.0)
    assert found.tolist() == replayed(trace, parse_policy(f"{policy}{suffix}"), 1.0).tolist()


def test_whole_jobs_are_those_of_ours() -> None:
    attempts = [
        (1, 0, 0, 0, 300, 0.5, FREE),
        (2, 0, 10, 10, 400, 0.75, FREE),
        (2, 0, 10, 10, 400, 0.75, FREE),
    ]
    trace = trace_of(attempts, (1.0, 1.0))
    own = replayed(trace, PlacementPolicy.of(SCHEDULERS["best-fit"]), 1.0, whole_jobs=True)
    ours = replayed(trace, parse_policy("best-fit"), 1.0, whole_jobs=True)
    assert own.tolist() == ours.tolist()


def outcomes(trace: ScheduleInput, scheduler: Scheduler, *, preempts: bool = False) -> np.ndarray:
    return replayed(trace, PlacementPolicy.of(scheduler, preempts=preempts), 1.0)


def test_the_smallest_in_the_order_of_the_queue_goes_first() -> None:
    # Both wait for all of the machine; the priority of the second is higher, and its turn later.
    attempts = [
        (1, 0, 0, 0, 300, 1.0, OTHER),
        (2, 0, 10, 10, 110, 0.75, FREE),
        (3, 0, 20, 20, 120, 1.0, PRODUCTION),
    ]
    trace = trace_of(attempts)
    by_size = scheduler_of(tight, order=lambda task: task.cpu)
    assert outcomes(trace, SCHEDULERS["best-fit"])[:, STARTED].tolist() == [0, 400, 300]
    assert outcomes(trace, by_size)[:, STARTED].tolist() == [0, 300, 400]


def test_the_smallest_victim_goes_first() -> None:
    attempts = [
        (1, 0, 0, 0, -1, 0.25, FREE),
        (2, 0, 10, 10, -1, 0.75, FREE),
        (3, 0, 20, 20, -1, 0.25, PRODUCTION),
    ]
    trace = trace_of(attempts)
    smallest = scheduler_of(tight, victim=lambda task: task.cpu)
    # By default the one that started last.
    ours = outcomes(trace, SCHEDULERS["best-fit"], preempts=True)
    assert (ours[:3, OUTCOME] == PREEMPTED).tolist() == [False, True, False]
    own = outcomes(trace, smallest, preempts=True)
    assert (own[:3, OUTCOME] == PREEMPTED).tolist() == [True, False, False]


def at_most_one(task, machine):
    return machine.n_tasks < 1


def test_a_filter_is_kept_on_arrival_and_when_a_machine_gets_room() -> None:
    attempts = [
        (1, 0, 0, 0, 300, 0.25, FREE),
        (2, 0, 10, 10, 110, 0.25, FREE),
        (3, 0, 20, 20, 120, 0.25, FREE),
    ]
    rows = outcomes(trace_of(attempts), scheduler_of(tight, accepts=at_most_one))
    assert rows[:, STARTED].tolist() == [0, 300, 400]
    assert rows[:, ENDED].tolist() == [300, 400, 500]


def only_small(task, machine):
    return machine.cpu_capacity < 1 or task.priority > 4


def test_a_filter_is_asked_before_others_are_evicted() -> None:
    # Without the filter it would go to the first machine, and evict nobody.
    attempts = [(1, 0, 0, 0, -1, 0.5, FREE), (2, 0, 10, 10, -1, 0.5, OTHER)]
    trace = trace_of(attempts, (1.0, 0.5))
    rows = outcomes(trace, scheduler_of(loose, accepts=only_small), preempts=True)
    assert rows[:2, RAN_ON].tolist() == [1, 1]
    assert rows[0, OUTCOME] == PREEMPTED


def infinite_on_large(task, machine):
    return np.inf if machine.cpu_capacity == 1 else 0.0


def test_infinity_is_no_machine() -> None:
    rows = outcomes(
        trace_of([(1, 0, 0, 0, 100, 0.25, FREE)], (1.0,)), scheduler_of(infinite_on_large)
    )
    assert rows[0, STARTED] == -1


def logarithm(task, machine):
    return np.log(machine.n_tasks - 1.0)


def test_nan_is_refused_with_what_was_asked() -> None:
    trace = trace_of([(1, 0, 0, 0, 100, 0.25, FREE)])
    with pytest.raises(UsageError) as raised, np.errstate(invalid="ignore"):
        outcomes(trace, scheduler_of(logarithm))
    line = logarithm.__code__.co_firstlineno
    assert str(raised.value) == (
        f"{__file__}:{line}: the score of own is not a number: got NaN for "
        "task(cpu=0.25, memory=0.25, gpu=0, priority=0) and machine(cpu_capacity=1, "
        "memory_capacity=1, gpu_capacity=0, cpu_free=1, memory_free=1, gpu_free=0, n_tasks=0); "
        "return infinity for a machine that should not be used"
    )


def impatient(task, machine):
    if machine.n_tasks == 0:
        raise ValueError("nobody is there")
    return 0.0


def test_an_error_of_the_function_is_its_own() -> None:
    trace = trace_of([(1, 0, 0, 0, 100, 0.25, FREE)])
    with pytest.raises(ValueError, match="nobody is there"):
        outcomes(trace, scheduler_of(impatient))


def test_an_order_that_is_no_number_is_refused() -> None:
    trace = trace_of([(1, 0, 0, 0, 100, 0.25, FREE)])

    def by_name(task):
        return "first"

    with pytest.raises(UsageError) as raised:
        outcomes(trace, scheduler_of(tight, order=by_name))
    assert str(raised.value) == (
        f"{__file__}:{by_name.__code__.co_firstlineno}: `order` of own returns no number: "
        "got 'first' for task(cpu=0.25, memory=0.25, gpu=0, priority=0)"
    )


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (
            {"score": lambda task: 0.0},
            "scheduler own: `score` cannot be called: expected a function score(task, machine), "
            "got <lambda>(task)",
        ),
        (
            {"victim": 3},
            "scheduler own: `victim` cannot be called: expected a function victim(task), got 3",
        ),
    ],
)
def test_what_is_no_function_of_these_arguments(functions: dict, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        Scheduler(name="own", about="of a test", **functions)
    assert str(raised.value) == message


def test_gpus_are_counted_in_devices() -> None:
    # Two machines with a GPU and a half, and two GPUs: half a GPU goes where least is left.
    capacity = np.array([[UNIT, UNIT, 2000], [UNIT, UNIT, 1500]])
    demand = Demand(
        np.full((1, 2), UNIT // 4),
        np.array([-1]),
        np.array([0]),
        extended=np.array([[500]]),
    )

    def fewest_gpus(task, machine):
        return machine.gpu_free - task.gpu + 100 * abs(machine.gpu_free - 1.5)

    found, _ = pack(
        demand,
        np.arange(1),
        capacity,
        np.arange(2),
        PlacementPolicy.of(scheduler_of(fewest_gpus)),
    )
    assert found.tolist() == [1]
