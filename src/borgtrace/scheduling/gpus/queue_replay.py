"""Pods come and go at their times, and wait while they fit nowhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import (
    N_CLASSES,
    NO_NODE,
    SHARING,
    GpuCell,
    change,
    fits,
    take,
)
from borgtrace.scheduling.gpus.fragmentation import update_fragmentation
from borgtrace.scheduling.gpus.policy import GpuPolicy
from borgtrace.scheduling.gpus.replay import (
    GpuRun,
    KeptScores,
    choosing,
    make_cell,
    make_scores,
)
from borgtrace.scheduling.heap import Heap, make_heap, pop, push

NEVER = -1
EMPTY, USED, FRAGMENTED, WAITING, RUNNING = range(5)
"""What is added up over time, each multiplied by how long it was so."""
N_LEVELS = 5


class PodTimes(NamedTuple):
    """When pods come, and how long they run; both int64, shape (pods,), in seconds, sorted by the first."""

    submitted: Index
    duration: Index


class Stays(NamedTuple):
    """What became of the pods.

    Attributes
    ----------
    started
        Shape (pods,): second at which each started; −1: never.
    node, devices
        Shape (pods,): where it ran, and on which devices, as bits.
    totals
        Shape (steps, `N_LEVELS`): levels times seconds.
    """

    started: Index
    node: Index
    devices: Index
    totals: Numbers


class LevelClock(NamedTuple):
    """What is so now, and since when.

    Attributes
    ----------
    now
        Shape (1,): second.
    levels
        Shape (`N_LEVELS`,).
    """

    now: Index
    levels: Numbers


class StayReplay(NamedTuple):
    """All that a replay reads and changes.

    Attributes
    ----------
    cell, own, kept
        Nodes, what the policy knows, and its scores.
    kinds, times
        Of each pod, by the time of its arrival.
    clock
        What is so now.
    ends
        Running pods by the second of their end.
    turns
        Shape (kinds of pods,): of waiting pods, those of the lowest are tried first.
    queue, n_waiting
        Shape (pods,) and (1,): waiting pods by turn and arrival, and how many they are.
    stays
        What became of the pods.
    """

    cell: GpuCell
    own: Any
    kept: KeptScores
    kinds: Index
    times: PodTimes
    clock: LevelClock
    ends: Heap
    turns: Index
    queue: Index
    n_waiting: Index
    stays: Stays


@compiled(makes_arrays=False)
def advance(state: StayReplay, time: int, step: int) -> None:
    """Add up the levels until a time, step by step."""
    clock = state.clock
    now = clock.now[0]
    while now < time:
        place = now // step
        until = min(time, (place + 1) * step)
        for level in range(N_LEVELS):
            state.stays.totals[place, level] += clock.levels[level] * (until - now)
        now = until
    clock.now[0] = now


@compiled(makes_arrays=False)
def is_empty(cell: GpuCell, node: int) -> bool:
    """Whether a node runs no pod."""
    n_pods = 0
    for pod_class in range(N_CLASSES):
        n_pods += cell.n_pods[node, pod_class]
    return n_pods == 0


@compiled(makes_arrays=False)
def wait_for_turn(state: StayReplay, pod: int) -> None:
    """Add a pod to the queue, behind those whose turn is not later."""
    turn = state.turns[state.kinds[pod]]
    place = state.n_waiting[0]
    while place > 0 and state.turns[state.kinds[state.queue[place - 1]]] > turn:
        state.queue[place] = state.queue[place - 1]
        place -= 1
    state.queue[place] = pod
    state.n_waiting[0] += 1


@cache
def changing(policy: GpuPolicy) -> tuple[Callable[..., None], Callable[..., int]]:
    """Return the compiled functions that start a pod on a node, and that end one, by a policy."""
    choose_device = policy.device
    changed = policy.changed

    @compiled(makes_arrays=False)
    def note(state: StayReplay, node: int, before: float) -> None:
        update_fragmentation(state.cell, node)
        state.clock.levels[FRAGMENTED] += state.cell.fragmentation[node] - before
        state.kept.state[node] += 1
        changed(state.cell, state.own, node)

    @compiled(makes_arrays=False)
    def start(state: StayReplay, pod: int, node: int) -> None:
        cell = state.cell
        kind = state.kinds[pod]
        levels = state.clock.levels
        before = cell.fragmentation[node]
        levels[EMPTY] -= is_empty(cell, node)
        device = 0
        if cell.kinds.pod_class[kind] == SHARING:
            device = choose_device(cell, state.own, node, kind)
        state.stays.devices[pod] = take(cell, node, kind, device)
        note(state, node, before)
        levels[USED] += cell.kinds.total[kind]
        levels[RUNNING] += 1
        now = state.clock.now[0]
        state.stays.node[pod] = node
        state.stays.started[pod] = now
        push(state.ends, float(now + state.times.duration[pod]), pod, 0)

    @compiled(makes_arrays=False)
    def end(state: StayReplay, pod: int) -> int:
        cell = state.cell
        kind = state.kinds[pod]
        levels = state.clock.levels
        node = state.stays.node[pod]
        before = cell.fragmentation[node]
        change(cell, node, kind, state.stays.devices[pod], 1)
        note(state, node, before)
        levels[EMPTY] += is_empty(cell, node)
        levels[USED] -= cell.kinds.total[kind]
        levels[RUNNING] -= 1
        return node

    return start, end


@cache
def replaying_stays(policy: GpuPolicy) -> Callable[..., None]:
    """Return the compiled replay of pods that come and go by a policy; compiled once, and kept on disk."""
    choose = choosing(policy)
    start, end = changing(policy)
    changed = policy.changed
    takes = policy.takes

    @compiled(makes_arrays=False)
    def arrive(state: StayReplay, pod: int, draws: bool) -> None:
        node = choose(state.cell, state.own, state.kept, state.kinds[pod], draws)
        if node == NO_NODE:
            wait_for_turn(state, pod)
        else:
            start(state, pod, node)

    @compiled(makes_arrays=False)
    def admit(state: StayReplay, node: int) -> None:
        # Only this node has got room: none of the others may take somebody who waits.
        n_left = 0
        for number in range(state.n_waiting[0]):
            pod = state.queue[number]
            kind = state.kinds[pod]
            if fits(state.cell, node, kind) and takes(state.cell, state.own, node, kind):
                start(state, pod, node)
            else:
                state.queue[n_left] = pod
                n_left += 1
        state.n_waiting[0] = n_left

    @compiled(makes_arrays=False)
    def replay(state: StayReplay, draws: bool, step: int) -> None:
        cell = state.cell
        levels = state.clock.levels
        for node in range(len(cell.cpu_left)):
            update_fragmentation(cell, node)
            levels[FRAGMENTED] += cell.fragmentation[node]
            levels[EMPTY] += 1
            changed(cell, state.own, node)
        ends = state.ends
        submitted = state.times.submitted
        arriving = 0
        while arriving < len(submitted) or ends.size[0] > 0:
            # Who leaves at an instant makes room for who comes then.
            if ends.size[0] > 0 and (
                arriving == len(submitted) or ends.keys[0] <= submitted[arriving]
            ):
                advance(state, int(ends.keys[0]), step)
                pod = ends.values[0, 0]
                pop(ends)
                admit(state, end(state, pod))
            else:
                advance(state, submitted[arriving], step)
                arrive(state, arriving, draws)
                arriving += 1
            levels[WAITING] = state.n_waiting[0]

    return replay


def replay_stays(run: GpuRun, times: PodTimes, policy: GpuPolicy, step: int) -> Stays:
    """Place pods that come and go; whoever fits nowhere waits, and is tried when a pod leaves.

    Waiting pods are tried in the order of their arrival, unless the policy has another, all of them: a small one may
    overtake a large one.

    Parameters
    ----------
    run
        Who arrives where.
    times
        When, and for how long.
    policy
        Who chooses.
    step
        Seconds over which levels are added up.
    """
    cell = make_cell(run.nodes, run.kinds, run.typical, run.seed)
    n = len(run.arrivals)
    # Nobody ends later than if they all ran one after the other; steps after the last event are cut off.
    latest = int(times.submitted.max(initial=0) + times.duration.sum())
    stays = Stays(
        started=np.full(n, NEVER),
        node=np.full(n, NO_NODE),
        devices=np.zeros(n, np.int64),
        totals=np.zeros((latest // step + 1, N_LEVELS)),
    )
    state = StayReplay(
        cell=cell,
        own=policy.prepare(run.nodes, run.kinds, run.typical),
        kept=make_scores(len(run.nodes), run.kinds, policy),
        kinds=run.arrivals,
        times=times,
        clock=LevelClock(now=np.zeros(1, np.int64), levels=np.zeros(N_LEVELS)),
        ends=make_heap(n + 1),
        turns=policy.turns(run.nodes, run.kinds),
        queue=np.zeros(n, np.int64),
        n_waiting=np.zeros(1, np.int64),
        stays=stays,
    )
    replaying_stays(policy)(state, run.draws_ties or policy.draws_ties, step)
    policy.finished(state.own)
    n_steps = -(-int(state.clock.now[0]) // step)
    return stays._replace(totals=stays.totals[:n_steps])
