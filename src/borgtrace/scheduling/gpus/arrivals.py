"""Which pods arrive in which order: the list of a workload shuffled, and drawn from until enough is requested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.pods import GpuPods

LOAD_PERCENT = 130
"""Of all GPUs, how much pods request together."""


@dataclass(frozen=True, slots=True)
class PodArrivals:
    """The arrivals of one run.

    Attributes
    ----------
    pods
        Shape (arrivals,): places in the list of pods, sorted by name.
    node_rank
        Shape (nodes,): of each node, sorted by name; the lowest wins ties.
    """

    pods: Index
    node_rank: Index


def draw_arrivals(pods: GpuPods, n_nodes: int, total: int, seed: int) -> PodArrivals:
    """Draw arrivals as FGD's simulator does, by another generator of random numbers.

    Pods come in random order.  Where all of them request less than `LOAD_PERCENT` of the GPUs, pods that are drawn from
    the list, with replacement, follow, until one device of the next would be too much.  Where they request more, some
    drawn at random do not come.

    Parameters
    ----------
    pods
        The workload.
    n_nodes
        How many nodes there are.
    total
        Thousandths of all GPUs.
    seed
        The same seed gives the same arrivals.
    """
    random = np.random.default_rng(seed)
    target = LOAD_PERCENT * total // 100
    order = random.permutation(len(pods))
    requested = int(pods.total.sum())
    if 0 < requested < target:
        order = np.concatenate([order, more_pods(pods, target - requested, random)])
    elif requested > target:
        order = without_some(pods, order, requested - target, random)
    return PodArrivals(pods=order, node_rank=random.permutation(n_nodes))


def more_pods(pods: GpuPods, missing: int, random: np.random.Generator) -> Index:
    """Draw pods until one device of the next would request more than is missing."""
    drawn: list[int] = []
    totals = pods.total
    while True:
        pod = int(random.integers(len(pods)))
        # One device, and not all that it requests: so the published runs stop.
        if pods.gpu_milli[pod] > missing:
            return np.array(drawn, dtype=np.int64)
        drawn.append(pod)
        missing -= int(totals[pod])


def without_some(pods: GpuPods, order: Index, surplus: int, random: np.random.Generator) -> Index:
    """Leave out pods at random until the others request no more than they should."""
    leaving = random.permutation(len(order))
    removed = np.cumsum(pods.total[order[leaving]])
    n_leaving = int(np.searchsorted(removed, surplus)) + 1
    return np.delete(order, leaving[:n_leaving])
