"""Nodes and pods with GPUs for tests, small enough to compute by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from borgtrace.scheduling.gpus.cell import GpuCell
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.pods import GpuPods
from borgtrace.scheduling.gpus.replay import GpuRun, make_cell

Node = tuple[int, int, int, str]
"""CPU, memory, devices, model."""
Pod = tuple[int, int, int, int, str]
"""CPU, memory, devices, thousandths of each, models."""

TYPICAL: list[Pod] = [
    *5 * [(4000, 0, 1, 500, "")],
    *3 * [(2000, 0, 1, 1000, "")],
    *2 * [(1000, 0, 0, 0, "")],
]
"""Half of the pods share a device, three in ten take a whole one, two in ten none."""


def nodes_of(nodes: Sequence[Node]) -> GpuNodes:
    """Return nodes called a, b, c …"""
    cpu, memory, n_devices, model = zip(*nodes, strict=True)
    models = sorted(set(model))
    return GpuNodes(
        names=[chr(ord("a") + place) for place in range(len(nodes))],
        cpu=np.array(cpu),
        memory=np.array(memory),
        n_devices=np.array(n_devices),
        model=np.array([models.index(name) for name in model]),
        models=models,
    )


def pods_of(pods: Sequence[Pod]) -> GpuPods:
    """Return pods called 0000, 0001, …"""
    columns = list(zip(*pods, strict=True))
    cpu, memory, n_gpus, gpu_milli = (np.array(column) for column in columns[:4])
    names = [f"{place:04}" for place in range(len(pods))]
    return GpuPods(names, cpu, memory, n_gpus, gpu_milli, list(columns[4]))


def cell_of(
    node: Node, left: Sequence[int], pod: Pod, typical: Sequence[Pod] = TYPICAL
) -> tuple[GpuCell, int]:
    """Return a cell of one node on which so much of each device is left, and the kind of a pod."""
    nodes = nodes_of([node])
    pods = pods_of([*typical, pod])
    kinds, kind_of_pod = pods.kinds(nodes.models)
    cell = make_cell(nodes, kinds, pods_of(typical).typical(nodes.models, 100), seed=0)
    cell.left[0, : len(left)] = left
    cell.total_left[0] = sum(left)
    cell.n_whole[0] = list(left).count(1000)
    cell.most_left[0] = max(left)
    return cell, int(kind_of_pod[-1])


def run_of(
    nodes: Sequence[Node], pods: Sequence[Pod], *, draws_ties: bool = False, seed: int = 0
) -> GpuRun:
    """Return pods that arrive in their order."""
    of_nodes = nodes_of(nodes)
    of_pods = pods_of(pods)
    kinds, arrivals = of_pods.kinds(of_nodes.models)
    return GpuRun(
        nodes=of_nodes,
        kinds=kinds,
        typical=of_pods.typical(of_nodes.models),
        arrivals=arrivals,
        draws_ties=draws_ties,
        seed=seed,
    )
