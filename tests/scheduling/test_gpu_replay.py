"""Pods on shared GPUs: who fits where, what is used after each, ties, and what is measured of a run."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from borgtrace.scheduling.gpus import GPU_POLICIES
from borgtrace.scheduling.gpus.arrivals import draw_arrivals
from borgtrace.scheduling.gpus.cell import fits, take
from borgtrace.scheduling.gpus.fragmentation import update_fragmentation
from borgtrace.scheduling.gpus.metrics import load_columns
from borgtrace.scheduling.gpus.policy import GpuPolicy
from borgtrace.scheduling.gpus.replay import GpuRun, Placements, make_cell, replay
from tests.scheduling.gpu_cells import Node, Pod, pods_of, run_of

A, NOWHERE = 0, -1
DETERMINED = [name for name, policy in GPU_POLICIES.items() if not policy.draws_ties]


@pytest.mark.parametrize("name", GPU_POLICIES)
@pytest.mark.parametrize(
    ("node", "pods", "expected"),
    [
        # What is asked for is there to the last bit, then nothing is.
        ((1000, 10, 1, "T4"), [(1000, 0, 0, 0, ""), (1, 0, 0, 0, "")], [A, NOWHERE]),
        ((1000, 10, 1, "T4"), [(0, 10, 0, 0, ""), (0, 1, 0, 0, "")], [A, NOWHERE]),
        ((9, 9, 1, "T4"), [(0, 0, 1, 600, ""), (0, 0, 1, 401, ""), (0, 0, 1, 400, "")], [A, -1, A]),
        # 400 are left on each device: no room for 500, nor for a whole one.
        (
            (9, 9, 2, "T4"),
            [(0, 0, 1, 600, ""), (0, 0, 1, 600, ""), (0, 0, 1, 500, ""), (0, 0, 1, 1000, "")],
            [A, A, NOWHERE, NOWHERE],
        ),
        # A device that is used is not whole.
        ((9, 9, 2, "T4"), [(0, 0, 1, 1, ""), (0, 0, 2, 1000, ""), (0, 0, 1, 1000, "")], [A, -1, A]),
        ((9, 9, 2, "T4"), [(0, 0, 1, 500, "P100"), (0, 0, 1, 500, "P100|T4")], [NOWHERE, A]),
        ((9, 9, 0, "T4"), [(1, 0, 0, 0, "P100"), (0, 0, 1, 1, "")], [A, NOWHERE]),
    ],
)
def test_whoever_fits_is_placed(
    node: Node, pods: list[Pod], expected: list[int], name: str
) -> None:
    placements = replay(run_of([node], pods), GPU_POLICIES[name])
    assert placements.node.tolist() == expected


def test_used_devices_and_fragmentation_after_each_pod() -> None:
    """Two devices; typical are a sharing pod of 600 and a whole device, half of the pods each."""
    pods = [(1, 0, 1, 600, ""), (1, 0, 1, 1000, "")] * 2
    placements = replay(run_of([(9, 9, 2, "T4")], pods), GPU_POLICIES["best-fit"])
    assert placements.node.tolist() == [A, A, NOWHERE, NOWHERE]
    assert placements.devices.tolist() == [0b01, 0b10, 0, 0]
    assert placements.used.tolist() == [600, 1600, 1600, 1600]
    # Of 400 and 1000 left, neither kind can use the 400; then nobody can.
    assert placements.fragmentation.tolist() == [400, 400, 400, 400]


def test_the_first_of_equal_nodes_or_any() -> None:
    """Three nodes are equal; drawn ones follow from the seed, and each is drawn about as often."""
    nodes = [(9, 9, 1, "T4")] * 3
    pods = [(1, 0, 1, 500, "")]
    policy = GPU_POLICIES["fgd"]
    assert replay(run_of(nodes, pods), policy).node.tolist() == [0]
    drawn = []
    for seed in range(600):
        drawn += replay(run_of(nodes, pods, draws_ties=True, seed=seed), policy).node.tolist()
    again = replay(run_of(nodes, pods, draws_ties=True, seed=7), policy)
    assert again.node.tolist() == [drawn[7]]
    # Of 600 draws, 200 ± 5 standard deviations of 11.5.
    assert all(142 < number < 258 for number in Counter(drawn).values())
    assert len(Counter(drawn)) == 3


@pytest.mark.parametrize("name", DETERMINED)
def test_scores_that_are_kept_are_those_that_are_computed(name: str) -> None:
    """A plain search that scores every node anew for every pod places all pods the same."""
    random = np.random.default_rng(3)
    models = ["G2", "P100", "T4"]
    nodes: list[Node] = []
    for _ in range(12):
        size = int(random.integers(0, 5))
        nodes.append((int(random.integers(8, 33)) * 1000, 64, size, models[size % 3]))
    pods: list[Pod] = []
    for _ in range(150):
        kind = int(random.integers(0, 4))
        n_gpus, milli = ((0, 0), (1, int(random.integers(1, 10)) * 100), (1, 1000), (2, 1000))[kind]
        spec = ("", "", "T4|G2")[int(random.integers(0, 3))] if kind else ""
        pods.append(
            (int(random.integers(0, 4)) * 500, int(random.integers(0, 4)), n_gpus, milli, spec)
        )
    run = run_of(nodes, pods)
    policy = GPU_POLICIES[name]
    assert replay(run, policy).node.tolist() == plain_placements(run, policy)


def plain_placements(run: GpuRun, policy: GpuPolicy) -> list[int]:
    """Place pods by scoring every node for each."""
    cell = make_cell(run.nodes, run.kinds, run.typical, run.seed)
    own = policy.prepare(run.nodes, run.kinds, run.typical)
    chosen = []
    for node in range(len(run.nodes)):
        update_fragmentation(cell, node)
        policy.changed(cell, own, node)
    for kind in run.arrivals.tolist():
        policy.arrived(cell, own, kind)
        scores = {}
        for node in range(len(run.nodes)):
            if fits(cell, node, kind):
                scores[node] = policy.score(cell, own, node, kind)
        best = max(scores, key=lambda node: (scores[node], -node), default=-1)
        if best >= 0:
            is_sharing = run.kinds.n_gpus[kind] == 1 and run.kinds.gpu_milli[kind] < 1000
            device = policy.device(cell, own, best, kind) if is_sharing else 0
            take(cell, best, kind, device)
            update_fragmentation(cell, best)
            policy.changed(cell, own, best)
        chosen.append(best)
    return chosen


def test_means_by_load() -> None:
    """Four devices; pods of one device each, the third of which fails, and one without GPU after the first."""
    placements = Placements(
        node=np.array([0, 0, 0, -1, 0]),
        devices=np.array([1, 0, 2, 0, 4]),
        used=np.array([1000, 1000, 2000, 2000, 3000]),
        fragmentation=np.array([300.0, 600.0, 1000.0, 1000.0, 1000.0]),
    )
    requested = np.array([1000, 0, 1000, 1000, 1000])
    is_several = np.array([False, False, False, True, False])
    columns = load_columns(placements, requested, is_several, total=4000)
    assert columns.allocation[[25, 50, 75, 100]].tolist() == [25, 50, 50, 75]
    # Both events of the load 25: 450 of 4,000, and of the 3,000 that are free.
    assert columns.fragmentation[25] == 11.25
    assert columns.fragmentation_ratio[[25, 100]].tolist() == [15, 100]
    assert columns.failed[[50, 75, 100]].tolist() == [0, 25, 20]
    assert columns.failed_several[[50, 75, 100]].tolist() == [0, 100, 100]
    # A load without events has those beside it, else what it was after the last one.
    assert columns.allocation[[24, 26, 27, 73, 74]].tolist() == [25, 25, 25, 50, 50]
    assert np.isnan(columns.allocation[[0, 23, 102, 130]]).all()


def test_drawn_arrivals_fill_the_nodes_to_130_percent() -> None:
    pods = pods_of([(1, 0, 1, 300, ""), (1, 0, 2, 1000, ""), (1, 0, 0, 0, "")] * 4)
    arrivals = draw_arrivals(pods, n_nodes=5, total=20_000, seed=1)
    again = draw_arrivals(pods, n_nodes=5, total=20_000, seed=1)
    assert arrivals.pods.tolist() == again.pods.tolist()
    assert arrivals.pods.tolist() != draw_arrivals(pods, 5, 20_000, 2).pods.tolist()
    # All pods of the list come first, each once; what follows is drawn.
    assert sorted(arrivals.pods[:12].tolist()) == list(range(12))
    assert sorted(arrivals.node_rank.tolist()) == list(range(5))
    requested = pods.total[arrivals.pods].sum()
    # The next pod was too much by one of its devices: at most 1,000 are missing, or one pod is over by a device.
    assert 26_000 - 1000 < requested <= 26_000 + 1000


def test_more_than_130_percent_leaves_pods_out() -> None:
    pods = pods_of([(1, 0, 1, 1000, "")] * 20)
    arrivals = draw_arrivals(pods, n_nodes=2, total=10_000, seed=1)
    assert len(arrivals.pods) == 13
    assert len(set(arrivals.pods.tolist())) == 13
