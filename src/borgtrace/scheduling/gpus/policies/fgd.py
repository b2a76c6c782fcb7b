"""Fragmentation gradient descent: the node and device where fragmentation grows least, or falls most.

Fragmentation is what typical pods cannot use (:mod:`borgtrace.scheduling.gpus.fragmentation`).  Scores are whole
numbers from 0 to 100, so that many nodes are equal: near no change, one point is 40 thousandths of a device.
"""

import math
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import (
    MOST_DEVICES,
    SHARING,
    WHOLE,
    GpuCell,
    PodKinds,
    TypicalPods,
)
from borgtrace.scheduling.gpus.fragmentation import fragmentation_if
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.policy import GpuPolicy


class Scratch(NamedTuple):
    """Room for what would be left of the devices of a node: shape (`MOST_DEVICES`,)."""

    left: Index


def prepare(nodes: GpuNodes, kinds: PodKinds, typical: TypicalPods) -> Scratch:
    """Return room to work in: typical pods are all that FGD knows, and the cell has them."""
    return Scratch(np.zeros(MOST_DEVICES, np.int64))


@compiled(makes_arrays=False)
def points(before: float, after: float) -> int:
    """Return the score of a change of fragmentation: 50 where there is none, 100 at most."""
    return int(1 / (1 + math.exp(-(before - after) / 1000)) * 100)


@compiled(makes_arrays=False)
def best_placement(cell: GpuCell, own: Scratch, node: int, kind: int) -> tuple[int, int]:
    """Return the score of the best device for a sharing pod, and that device: of equal ones the first."""
    wanted = cell.kinds.gpu_milli[kind]
    cpu_left = cell.cpu_left[node] - cell.kinds.cpu[kind]
    n_devices = cell.n_devices[node]
    for one in range(n_devices):
        own.left[one] = cell.left[node, one]
    best = -1
    chosen = -1
    for one in range(n_devices):
        left = own.left[one]
        if left < wanted:
            continue
        own.left[one] = left - wanted
        after = fragmentation_if(cell, node, cpu_left, own.left)
        own.left[one] = left
        score_there = points(cell.fragmentation[node], after)
        if score_there > best:
            best = score_there
            chosen = one
    return best, chosen


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Scratch, node: int, kind: int) -> float:
    """Return the score of the change of fragmentation, on the best device where the pod shares one."""
    kinds = cell.kinds
    if kinds.pod_class[kind] == SHARING:
        return float(best_placement(cell, own, node, kind)[0])
    wanted = kinds.n_gpus[kind]
    for one in range(cell.n_devices[node]):
        left = cell.left[node, one]
        if wanted > 0 and left == WHOLE:
            wanted -= 1
            left = 0
        own.left[one] = left
    cpu_left = cell.cpu_left[node] - kinds.cpu[kind]
    after = fragmentation_if(cell, node, cpu_left, own.left)
    return float(points(cell.fragmentation[node], after))


@compiled(makes_arrays=False)
def device(cell: GpuCell, own: Scratch, node: int, kind: int) -> int:
    """Return the best device."""
    return best_placement(cell, own, node, kind)[1]


POLICY = GpuPolicy(
    name="fgd",
    title="FGD",
    about="fragmentation grows least (Weng et al., ATC'23)",
    score=score,
    device=device,
    prepare=prepare,
)
