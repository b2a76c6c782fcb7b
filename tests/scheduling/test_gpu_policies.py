"""Fragmentation, and the score and the device of each policy, on nodes whose numbers are computed by hand."""

from __future__ import annotations

import pytest

from borgtrace.scheduling.gpus import GPU_POLICIES
from borgtrace.scheduling.gpus.fragmentation import fragmentation_if, update_fragmentation
from tests.scheduling.gpu_cells import TYPICAL, Node, Pod, cell_of, nodes_of, pods_of

T4: Node = (6000, 0, 2, "T4")
SHARING: Pod = (2000, 0, 1, 400, "")
WHOLE: Pod = (2000, 0, 1, 1000, "")
NO_GPU: Pod = (3000, 0, 0, 0, "")


@pytest.mark.parametrize(
    ("cpu_left", "left", "expected"),
    [
        # Sharing: 400 are left on a device that is too small, and so for a whole one; without GPU: all 1400.
        (6000, [1000, 400], 0.5 * 400 + 0.3 * 400 + 0.2 * 1400),
        # As much as is asked for is enough, of CPU and of a device, and one less is not.
        (4000, [500, 0], 0.5 * 0 + 0.3 * 500 + 0.2 * 500),
        (3999, [500, 0], 500),
        (4000, [499, 0], 499),
        (4000, [1000, 999], 0.5 * 0 + 0.3 * 999 + 0.2 * 1999),
        # CPU for nobody: everything is fragmented, whatever the reason.
        (999, [1000, 400], 1400),
        (6000, [0, 0], 0),
    ],
)
def test_fragmentation(cpu_left: int, left: list[int], expected: float) -> None:
    cell, _ = cell_of(T4, left, SHARING)
    assert fragmentation_if(cell, 0, cpu_left, cell.left[0]) == pytest.approx(expected, abs=1e-9)


def test_a_model_that_a_kind_may_not_use_is_fragmented() -> None:
    typical = [pod if pod[3] != 1000 else (*pod[:4], "P100|G2") for pod in TYPICAL]
    cell, _ = cell_of(T4, [1000, 400], SHARING, typical)
    update_fragmentation(cell, 0)
    assert cell.fragmentation[0] == pytest.approx(0.5 * 400 + 0.3 * 1400 + 0.2 * 1400)


@pytest.mark.parametrize(
    ("pod", "score"),
    [
        # Before: 600.  On the first device 700 would be fragmented, on the second 200: 100 / (1 + e^-0.4) = 59.87.
        (SHARING, 59),
        # Left 0 and 400, all of it fragmented: 100 / (1 + e^-0.2) = 54.98.
        (WHOLE, 54),
        # CPU is short for sharing pods then: 0.5 · 1400 + 0.3 · 400 + 0.2 · 1400 = 1100, 100 / (1 + e^0.5) = 37.75.
        (NO_GPU, 37),
    ],
)
def test_fgd(pod: Pod, score: int) -> None:
    cell, kind = cell_of(T4, [1000, 400], pod)
    update_fragmentation(cell, 0)
    policy = GPU_POLICIES["fgd"]
    own = policy.prepare(nodes_of([T4]), cell.kinds, cell.typical)
    assert policy.score(cell, own, 0, kind) == score
    if pod is SHARING:
        assert policy.device(cell, own, 0, kind) == 1


def score_of(name: str, node: Node, left: list[int], pod: Pod) -> float:
    """Return the score of a node that runs nothing but what is missing on its devices."""
    cell, kind = cell_of(node, left, pod)
    policy = GPU_POLICIES[name]
    own = policy.prepare(nodes_of([node]), cell.kinds, cell.typical)
    return policy.score(cell, own, 0, kind)


def test_dot_product() -> None:
    # 100 · (1 − ½ (64/128 · 32/128 + 4/8 · 1/8)) = 90.625
    node = (64_000, 0, 4, "T4")
    assert score_of("dot-product", node, [1000] * 4, (32_000, 0, 1, 1000, "")) == 90


def test_best_fit() -> None:
    # 100 · (1 − ½ (32/128 + 3/8)) = 68.75
    node = (64_000, 0, 4, "T4")
    assert score_of("best-fit", node, [1000] * 4, (32_000, 0, 1, 1000, "")) == 68


@pytest.mark.parametrize(
    ("left", "pod", "score"),
    [
        ([1000] * 4, SHARING, 33 - 4),
        ([1000] * 4, (0, 0, 2, 1000, ""), 33 - 4),
        # On the used device on which least is left: 100 − ⌊640 / 100⌋.
        ([1000, 640, 900, 300], SHARING, 94),
        ([1000, 300, 1000, 300], SHARING, 49),
        ([1000, 300, 1000, 300], (0, 0, 2, 1000, ""), 48),
        ([1000, 300, 1000, 300], NO_GPU, 0),
    ],
)
def test_packing(left: list[int], pod: Pod, score: int) -> None:
    assert score_of("gpu-packing", (8000, 0, 4, "T4"), left, pod) == score


@pytest.mark.parametrize(
    ("others", "score"),
    [
        # 4 of 8 devices are there, half of one is used: ⌊25 · 4500 / 8000⌋ = 14.
        ({"sharing": 1}, 14 + 75),
        ({"sharing": 1, "one": 1}, 14 + 50),
        ({}, 14 + 25),
        # Pods without GPU are of no class.
        ({"none": 2}, 14 + 25),
        ({"one": 1}, 14),
        ({"two": 1, "none": 1}, 14),
    ],
)
def test_clustering(others: dict[str, int], score: int) -> None:
    node = (8000, 0, 4, "T4")
    cell, kind = cell_of(node, [1000, 1000, 1000, 500], SHARING)
    for name, number in others.items():
        cell.n_pods[0, ["none", "sharing", "one", "two"].index(name)] = number
    policy = GPU_POLICIES["gpu-clustering"]
    own = policy.prepare(nodes_of([node]), cell.kinds, cell.typical)
    assert policy.score(cell, own, 0, kind) == score


def test_most_policies_share_the_device_on_which_least_is_left() -> None:
    cell, kind = cell_of((8000, 0, 4, "T4"), [1000, 500, 399, 500], SHARING)
    policy = GPU_POLICIES["best-fit"]
    own = policy.prepare(nodes_of([T4]), cell.kinds, cell.typical)
    assert policy.device(cell, own, 0, kind) == 1


def test_typical_pods_cover_95_of_100() -> None:
    """After 94 pods one kind more is taken: of two that are as frequent, that with more CPU."""
    frequent = [(1000, 0, 1, 500, "")] * 94
    little = [(2000, 0, 1, 1000, "")] * 3
    much = [(3000, 0, 1, 200, "")] * 3
    typical = pods_of([*little, *frequent, *much]).typical(["T4"])
    assert typical.cpu.tolist() == [1000, 3000]
    assert typical.weight.tolist() == [pytest.approx(94 / 97), pytest.approx(3 / 97)]
    # 95 of 100 are enough.
    one_more = pods_of([*frequent, frequent[0], *little, *much[:2]]).typical(["T4"])
    assert one_more.cpu.tolist() == [1000]
    assert one_more.weight.tolist() == [1.0]


def test_ties_of_typical_kinds_go_by_gpus_then_models() -> None:
    pods = [
        (1000, 0, 1, 500, ""),
        (1000, 0, 1, 1000, "T4"),
        (1000, 0, 1, 1000, "P100"),
        (1000, 0, 2, 1000, ""),
    ]
    typical = pods_of(pods).typical(["P100", "T4"], 100)
    assert typical.gpu_milli.tolist() == [1000, 1000, 1000, 500]
    assert typical.n_gpus.tolist() == [2, 1, 1, 1]
    assert typical.allowed.tolist() == [[True, True], [False, True], [True, False], [True, True]]
