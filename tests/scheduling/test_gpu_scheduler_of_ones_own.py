"""Schedulers of one's own on shared GPUs: nodes, devices and turns by hand, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from borgtrace import attribute_number
from borgtrace.errors import UsageError
from borgtrace.scheduling import Scheduler
from borgtrace.scheduling.gpus import GpuOptions
from borgtrace.scheduling.gpus.own_policy import policy_of
from borgtrace.scheduling.gpus.queue_replay import PodTimes, replay_stays
from borgtrace.scheduling.gpus.replay import replay
from tests.scheduling.gpu_cells import Node, Pod, run_of

LARGE: Node = (8, 16, 4, "T4")
SMALL: Node = (4, 16, 2, "P100")
QUARTER: Pod = (1, 1, 1, 250, "")
HALF: Pod = (1, 1, 1, 500, "")
WHOLE: Pod = (1, 1, 1, 1000, "")


def fewest_tasks(task, machine):
    return machine.n_tasks


def scheduler_of(
    score: Callable[..., float] = fewest_tasks, **functions: Callable[..., object]
) -> Scheduler:
    return Scheduler(name="own", about="of a test", score=score, **functions)


def nodes_of_pods(scheduler: Scheduler, nodes: list[Node], pods: list[Pod]) -> list[int]:
    return replay(run_of(nodes, pods), policy_of(scheduler)).node.tolist()


def test_the_lowest_score_is_taken_and_of_equal_ones_the_first() -> None:
    assert nodes_of_pods(scheduler_of(), [LARGE, LARGE], 4 * [WHOLE]) == [0, 1, 0, 1]


def test_what_a_node_has_is_a_share_of_the_largest() -> None:
    def cpu_left(task, machine):
        return machine.cpu_free - task.cpu if machine.cpu_capacity == 0.5 else 1 - task.cpu

    # Of the small one half of the largest is free, and less with each pod.
    pods: list[Pod] = [(2, 1, 0, 0, ""), (4, 1, 0, 0, ""), (1, 1, 0, 0, "")]
    assert nodes_of_pods(scheduler_of(cpu_left), [LARGE, SMALL], pods) == [1, 0, 1]


def test_a_score_sees_each_device() -> None:
    def least_on_a_device(task, machine):
        least = 2.0
        for free in machine.devices:
            if task.gpu <= free < least:
                least = free
        return least

    pods = [HALF, QUARTER, WHOLE, HALF, QUARTER]
    # The quarter fills up what the half left; the half is alone on a new device, for a quarter of the first is left.
    placements = replay(run_of([LARGE], pods), policy_of(scheduler_of(least_on_a_device)))
    assert placements.devices.tolist() == [0b1, 0b1, 0b10, 0b100, 0b1]
    # Of both nodes the first is broken, and a quarter fits best there.
    assert nodes_of_pods(scheduler_of(least_on_a_device), [SMALL, LARGE], pods) == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(("model", "expected"), [("P100", [1, 1, 0]), ("T4", [0, 0, 0])])
def test_a_score_sees_the_model(model: str, expected: list[int]) -> None:
    wanted = attribute_number(model)

    def others_last(task, machine):
        return 0 if machine.attributes[0] == wanted else 1

    own = Scheduler(name="own", about="of a test", score=others_last, attributes=("gpu_model",))
    assert nodes_of_pods(own, [LARGE, SMALL], 3 * [WHOLE]) == expected


def test_a_node_without_a_model_has_none() -> None:
    def only_without(task, machine):
        return np.isnan(machine.attributes[0])

    own = Scheduler(name="own", about="of a test", accepts=only_without, attributes=("gpu_model",))
    nodes: list[Node] = [LARGE, (8, 16, 0, "")]
    assert nodes_of_pods(own, nodes, [(1, 1, 0, 0, "")]) == [1]


@pytest.mark.parametrize(
    "declared",
    [
        {"attributes": ("platform_id",)},
        {"attributes": ("gpu_model", "platform_id")},
        {"knows_lifetimes": True},
    ],
)
def test_what_is_not_known_of_nodes_is_refused(declared: dict) -> None:
    own = Scheduler(name="own", about="of a test", **declared)
    with pytest.raises(UsageError) as raised:
        GpuOptions(policies=(own,))
    assert str(raised.value) == (
        "--policy: other attributes and lifetimes are not known where devices are: expected a scheduler "
        'that asks for none, or for attributes=("gpu_model",), got own'
    )


def test_scores_tell_pods_apart_by_their_memory() -> None:
    def by_memory(task, machine):
        # Of the largest memory, 16.
        return abs(machine.n_tasks - task.memory * 16)

    pods: list[Pod] = [(1, 0, 1, 500, ""), (1, 1, 1, 500, ""), (1, 0, 1, 500, ""), (1, 2, 0, 0, "")]
    assert nodes_of_pods(scheduler_of(by_memory), [LARGE, LARGE], pods) == [0, 0, 1, 0]


def test_a_device_is_chosen() -> None:
    def emptiest(task, machine):
        chosen = 0
        for place in range(8):
            if machine.devices[place] > machine.devices[chosen]:
                chosen = place
        return chosen

    pods = [HALF, QUARTER, WHOLE, QUARTER, HALF]
    placements = replay(run_of([LARGE], pods), policy_of(scheduler_of(device=emptiest)))
    # Whole devices are the first untouched ones; then three quarters are more than a half.
    assert placements.devices.tolist() == [0b1, 0b10, 0b100, 0b1000, 0b10]


def test_a_filter_and_infinity_leave_nodes_out() -> None:
    def only_small(task, machine):
        return machine.gpu_capacity == 2

    def infinite_on_small(task, machine):
        return np.inf if machine.gpu_capacity == 2 else 0.0

    pods = 3 * [WHOLE]
    own = scheduler_of(accepts=only_small)
    assert nodes_of_pods(own, [LARGE, SMALL], pods) == [1, 1, -1]
    own = scheduler_of(infinite_on_small)
    assert nodes_of_pods(own, [SMALL, LARGE], pods) == [1, 1, 1]
    # Equal nodes are drawn, and those that are left out are not equal ones.
    drawn = replay(run_of([SMALL, SMALL], pods, draws_ties=True), policy_of(own))
    assert drawn.node.tolist() == [-1, -1, -1]


def test_who_waits_starts_only_where_it_is_wanted() -> None:
    def one_at_a_time(task, machine):
        return machine.n_tasks == 0

    times = PodTimes(np.array([0, 10]), np.array([100, 50]))
    own = policy_of(scheduler_of(accepts=one_at_a_time))
    stays = replay_stays(run_of([LARGE], [HALF, HALF]), times, own, step=50)
    # There is room all the time.
    assert stays.started.tolist() == [0, 100]
    assert replay_stays(
        run_of([LARGE], [HALF, HALF]), times, policy_of(scheduler_of()), step=50
    ).started.tolist() == [0, 10]


def test_the_smallest_in_the_order_of_the_queue_goes_first() -> None:
    pods: list[Pod] = [
        (1, 0, 1, 1000, ""),
        (2, 0, 1, 900, ""),
        (1, 0, 1, 800, ""),
        (1, 0, 1, 800, ""),
    ]
    times = PodTimes(np.array([0, 1, 2, 3]), np.array([10, 10, 10, 10]))
    run = run_of([(8, 8, 1, "T4")], pods)
    by_cpu = policy_of(scheduler_of(order=lambda task: task.cpu))
    assert replay_stays(run, times, by_cpu, step=10).started.tolist() == [0, 30, 10, 20]
    by_arrival = policy_of(scheduler_of())
    assert replay_stays(run, times, by_arrival, step=10).started.tolist() == [0, 10, 20, 30]


def test_a_device_is_not_chosen_by_lifetimes() -> None:
    with pytest.raises(UsageError) as raised:
        Scheduler(
            name="own",
            about="of a test",
            device=lambda task, machine: 0,
            knows_lifetimes=True,
        )
    assert str(raised.value) == (
        "scheduler own: `device` beside lifetimes: expected one of the two: where devices are known, lifetimes are not"
    )


def test_an_order_that_is_no_number_is_refused() -> None:
    own = policy_of(scheduler_of(order=lambda task: "soon"))
    times = PodTimes(np.array([0]), np.array([10]))
    with pytest.raises(UsageError) as raised:
        replay_stays(run_of([LARGE], [HALF]), times, own, step=10)
    assert str(raised.value).endswith(
        "`order` of own returns no number: got 'soon' for task(cpu=0.125, memory=0.0625, gpu=0.5, priority=0)"
    )


SEEN = (
    "task(cpu=0.125, memory=0.0625, gpu=0.5, priority=0) and machine(cpu_capacity=1, memory_capacity=1, "
    "gpu_capacity=4, cpu_free=0.875, memory_free=0.9375, gpu_free=3.5, n_tasks=1, "
    "devices=(0.5, 1, 1, 1, 0, 0, 0, 0))"
)
"""Half a device beside half a device."""


def none_beside_another(task, machine):
    return np.nan if machine.n_tasks > 0 else 0.0


def first(task, machine):
    return 0


def beyond(task, machine):
    return 0 if machine.n_tasks == 0 else 4


def nowhere(task, machine):
    return 0.0 if machine.n_tasks == 0 else np.nan


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (
            {"score": none_beside_another},
            f"the score of own is not a number: got NaN for {SEEN}; "
            "return infinity for a machine that should not be used",
        ),
        (
            {"device": beyond},
            "`device` of own returns no device that the task fits on: expected 0 to 7, with 0.5 free "
            f"in machine.devices, got 4 for {SEEN}",
        ),
        (
            {"device": nowhere},
            "`device` of own returns no device that the task fits on: expected 0 to 7, with 0.5 free "
            f"in machine.devices, got nan for {SEEN}",
        ),
    ],
)
def test_a_wrong_answer_is_named(functions: dict, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        replay(run_of([LARGE], 3 * [HALF]), policy_of(scheduler_of(**functions)))
    assert str(raised.value).endswith(f": {message}")


def test_a_device_that_is_full_is_named() -> None:
    with pytest.raises(UsageError) as raised:
        replay(run_of([LARGE], 3 * [HALF]), policy_of(scheduler_of(device=first)))
    assert "got 0 for task(" in str(raised.value)
    assert "devices=(0, 1, 1, 1, 0, 0, 0, 0))" in str(raised.value)


def test_an_error_is_that_of_the_function() -> None:
    def divides(task, machine):
        return 1 / (machine.n_tasks - 1)

    with pytest.raises(ZeroDivisionError):
        replay(run_of([LARGE], 3 * [HALF]), policy_of(scheduler_of(divides)))


def test_what_numba_cannot_compile_is_named() -> None:
    def reads(task, machine):
        return machine.temperature

    with pytest.raises(UsageError) as raised:
        replay(run_of([LARGE], [HALF]), policy_of(scheduler_of(reads)))
    assert "Numba cannot compile this: got Unknown attribute 'temperature'" in str(raised.value)
