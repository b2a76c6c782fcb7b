"""What a policy for GPUs is made of: a score of nodes, and the choice of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import GpuCell, PodKinds, TypicalPods, best_device
from borgtrace.scheduling.gpus.nodes import GpuNodes


class NoStatistics(NamedTuple):
    """What a policy knows that needs to know nothing of the workload."""

    nothing: Index


def no_statistics(nodes: GpuNodes, kinds: PodKinds, typical: TypicalPods) -> NoStatistics:
    """Return nothing: most policies look at a node and a pod alone."""
    return NoStatistics(np.zeros(1, np.int64))


@compiled(makes_arrays=False)
def least_left(cell: GpuCell, own: Any, node: int, kind: int) -> int:
    """Choose the device on which least is left."""
    return best_device(cell, node, kind)


@compiled(makes_arrays=False)
def nothing_changed(cell: GpuCell, own: Any, node: int) -> None:
    """Note nothing: most policies keep nothing of a node."""


@compiled(makes_arrays=False)
def nothing_arrived(cell: GpuCell, own: Any, kind: int) -> bool:
    """Return False: what most policies know does not change."""
    return False


@compiled(makes_arrays=False)
def takes_all(cell: GpuCell, own: Any, node: int, kind: int) -> bool:
    """Return True: most policies take every node on which a pod fits."""
    return True


def by_arrival(nodes: GpuNodes, kinds: PodKinds) -> Index:
    """Return the same turn for all kinds: of most policies, who came first is tried first."""
    return np.zeros(len(kinds.cpu), np.int64)


def nothing_failed(own: Any) -> None:
    """Raise nothing: our policies do not fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPolicy:
    """How to choose among the nodes that take a pod, and among the devices of a node that take a sharing one.

    Functions are compiled (:func:`borgtrace.compiled`); they get the nodes as they are before the pod is placed, what
    `prepare` returned, a node and a kind of pods, and are asked only where the pod fits.  A score is kept until its
    node changes, so that it must follow from these alone.

    Parameters
    ----------
    name
        How users call it.
    title
        What tables call it.
    about
        What it does, in a few words.
    score
        ``score(cell, own, node, kind)``: the highest is chosen; −infinity: not this one.
    device
        ``device(cell, own, node, kind)``: for a pod that shares a device, which one.
    prepare
        ``prepare(nodes, kinds, typical)``: what the policy knows of a workload, as a named tuple of arrays; it sees
        what pods are in the list, and not when they arrive.
    changed
        ``changed(cell, own, node)``: called for each node at the start, and after each change of it.
    arrived
        ``arrived(cell, own, kind)``: called for each pod before it is placed.  Returns whether what the policy knows
        has changed, so that all scores are computed anew.
    takes
        ``takes(cell, own, node, kind)``: whether a pod that waits may start on a node that has got room for it.
    turns
        ``turns(nodes, kinds)``: of pods that wait, those of the lowest are tried first; int64 (kinds,).
    finished
        ``finished(own)``: called after the last pod; raises what went wrong.
    scored_by
        What of a pod the score depends on: ``"shape"``, its CPU and GPUs; ``"request"``, its memory, too; or
        ``"kind"``, the models it may use, too.
    draws_ties
        Whether equal nodes are drawn, whatever the rule for ties.
    """

    name: str
    title: str
    about: str
    score: Callable[..., float]
    device: Callable[..., int] = least_left
    prepare: Callable[[GpuNodes, PodKinds, TypicalPods], Any] = no_statistics
    changed: Callable[..., None] = nothing_changed
    arrived: Callable[..., bool] = nothing_arrived
    takes: Callable[..., bool] = takes_all
    turns: Callable[[GpuNodes, PodKinds], Index] = by_arrival
    finished: Callable[[Any], None] = nothing_failed
    scored_by: Literal["shape", "request", "kind"] = "shape"
    draws_ties: bool = False
