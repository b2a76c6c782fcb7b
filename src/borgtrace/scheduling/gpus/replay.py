"""Pods arrive one after the other and stay: which node takes each, and what is used and fragmented after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers, ShortIndex
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import (
    MOST_DEVICES,
    N_CLASSES,
    NO_NODE,
    SHARING,
    WHOLE,
    GpuCell,
    PodKinds,
    TypicalPods,
    draw_below,
    fits,
    take,
)
from borgtrace.scheduling.gpus.fragmentation import update_fragmentation
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.policy import GpuPolicy


class KeptScores(NamedTuple):
    """Scores of nodes, each kept until its node changes.

    Attributes
    ----------
    scored_as
        Shape (kinds of pods,): kinds with the same number have the same scores.
    scores
        Shape (such numbers, nodes).
    scored_at
        Shape (such numbers, nodes): which state of the node a score is of.
    state
        Shape (nodes,): number of its state.
    """

    scored_as: Index
    scores: Numbers
    scored_at: ShortIndex
    state: ShortIndex


class Placements(NamedTuple):
    """What became of the pods, in the order of their arrival.

    Attributes
    ----------
    node
        Shape (pods,): which took the pod; −1: none did.
    devices
        Shape (pods,): on which of its devices, as bits.
    used
        Shape (pods,): thousandths of GPUs that all pods have then.
    fragmentation
        Shape (pods,): thousandths of GPUs that typical pods cannot use then.
    """

    node: Index
    devices: Index
    used: Index
    fragmentation: Numbers


def make_cell(nodes: GpuNodes, kinds: PodKinds, typical: TypicalPods, seed: int) -> GpuCell:
    """Return nodes without pods.

    Parameters
    ----------
    nodes
        In the order in which they win ties.
    kinds, typical
        Kinds of pods, and typical ones.
    seed
        Of random choices.
    """
    n = len(nodes)
    left = np.where(np.arange(MOST_DEVICES) < nodes.n_devices[:, None], WHOLE, 0)
    return GpuCell(
        cpu_left=nodes.cpu.copy(),
        memory_left=nodes.memory.copy(),
        left=left,
        total_left=left.sum(axis=1),
        n_whole=nodes.n_devices.copy(),
        most_left=left.max(axis=1, initial=0),
        n_devices=nodes.n_devices.copy(),
        model=nodes.model.copy(),
        cpu_capacity=nodes.cpu.copy(),
        n_pods=np.zeros((n, N_CLASSES), np.int64),
        fragmentation=np.zeros(n),
        kinds=kinds,
        typical=typical,
        random=np.array([seed], np.uint64),
    )


def make_scores(n_nodes: int, kinds: PodKinds, policy: GpuPolicy) -> KeptScores:
    """Return scores of which none is known."""
    scored_as = numbers_of_kinds(kinds, policy.scored_by)
    n_scored = int(scored_as.max(initial=-1)) + 1
    return KeptScores(
        scored_as=scored_as,
        scores=np.zeros((n_scored, n_nodes)),
        scored_at=np.full((n_scored, n_nodes), -1, np.int32),
        state=np.zeros(n_nodes, np.int32),
    )


def numbers_of_kinds(kinds: PodKinds, scored_by: Literal["shape", "request", "kind"]) -> Index:
    """Return a number for each kind of pods: those with the same have the same scores.

    Parameters
    ----------
    kinds
        Kinds of pods.
    scored_by
        As of :class:`GpuPolicy`.
    """
    if scored_by == "shape":
        return kinds.shape
    if scored_by == "kind":
        return np.arange(len(kinds.cpu))
    requests = np.column_stack([kinds.shape, kinds.memory])
    return np.unique(requests, axis=0, return_inverse=True)[1].reshape(-1)


@compiled(makes_arrays=False)
def forget(kept: KeptScores) -> None:
    """Drop all scores."""
    for node in range(len(kept.state)):
        kept.state[node] += 1


def choosing(policy: GpuPolicy) -> Callable[..., int]:
    """Return the compiled search for the best node by a policy, for a pod that arrives."""
    score = policy.score
    arrived = policy.arrived

    @compiled(makes_arrays=False)
    def choose(cell: GpuCell, own: Any, kept: KeptScores, kind: int, draws: bool) -> int:
        if arrived(cell, own, kind):
            forget(kept)
        row = kept.scored_as[kind]
        best = -np.inf
        chosen = NO_NODE
        n_equal = 1
        for node in range(len(cell.cpu_left)):
            if not fits(cell, node, kind):
                continue
            if kept.scored_at[row, node] != kept.state[node]:
                kept.scores[row, node] = score(cell, own, node, kind)
                kept.scored_at[row, node] = kept.state[node]
            value = kept.scores[row, node]
            if value > best:
                best = value
                chosen = node
                n_equal = 1
            elif draws and value == best and chosen != NO_NODE:
                n_equal += 1
                if draw_below(cell.random, n_equal) == 0:
                    chosen = node
        return chosen

    return choose


@cache
def replaying(policy: GpuPolicy) -> Callable[..., None]:
    """Return the compiled replay of arrivals by a policy; compiled once, and kept on disk."""
    choose = choosing(policy)
    choose_device = policy.device
    changed = policy.changed

    @compiled(makes_arrays=False)
    def replay(
        cell: GpuCell,
        own: Any,
        kept: KeptScores,
        arrivals: Index,
        draws: bool,
        placements: Placements,
    ) -> None:
        fragmented = 0.0
        for node in range(len(cell.cpu_left)):
            update_fragmentation(cell, node)
            fragmented += cell.fragmentation[node]
            changed(cell, own, node)
        used = 0
        for place in range(len(arrivals)):
            kind = arrivals[place]
            node = choose(cell, own, kept, kind, draws)
            placements.node[place] = node
            if node != NO_NODE:
                device = 0
                if cell.kinds.pod_class[kind] == SHARING:
                    device = choose_device(cell, own, node, kind)
                placements.devices[place] = take(cell, node, kind, device)
                used += cell.kinds.total[kind]
                fragmented -= cell.fragmentation[node]
                update_fragmentation(cell, node)
                fragmented += cell.fragmentation[node]
                kept.state[node] += 1
                changed(cell, own, node)
            placements.used[place] = used
            placements.fragmentation[place] = fragmented

    return replay


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRun:
    """One run: a workload's pods in the order of their arrival, on nodes in the order in which they win ties.

    Attributes
    ----------
    nodes
        In that order; see :meth:`GpuNodes.in_order`.
    kinds, typical
        Kinds of pods, and typical ones.
    arrivals
        Shape (arrivals,): the kind of each pod.
    draws_ties
        Whether equal nodes are drawn.
    seed
        Of what is drawn.
    """

    nodes: GpuNodes
    kinds: PodKinds
    typical: TypicalPods
    arrivals: Index
    draws_ties: bool = False
    seed: int = 0


def replay(run: GpuRun, policy: GpuPolicy) -> Placements:
    """Place pods as they arrive; whoever fits nowhere has failed, and does not come again.

    Parameters
    ----------
    run
        Who arrives where.
    policy
        Who chooses.
    """
    cell = make_cell(run.nodes, run.kinds, run.typical, run.seed)
    own = policy.prepare(run.nodes, run.kinds, run.typical)
    n = len(run.arrivals)
    placements = Placements(
        node=np.full(n, NO_NODE),
        devices=np.zeros(n, np.int64),
        used=np.zeros(n, np.int64),
        fragmentation=np.zeros(n),
    )
    kept = make_scores(len(run.nodes), run.kinds, policy)
    draws = run.draws_ties or policy.draws_ties
    replaying(policy)(cell, own, kept, run.arrivals, draws, placements)
    policy.finished(own)
    return placements
