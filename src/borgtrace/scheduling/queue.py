"""What waits, by kinds of tasks that are alike to a scheduler, each in the order of arrival."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled


class Queue(NamedTuple):
    """What waits: first and last of a kind, neighbors of an attempt, and the kinds with any (a list and its length)."""

    heads: Index
    tails: Index
    links: Index
    active: Index
    places: Index
    n_active: Index


def make_queue(kinds: int, attempts: int) -> Queue:
    """Return a queue in which nothing waits, for so many kinds of attempts and so many of these."""
    none = np.full(kinds, -1, np.int64)
    return Queue(
        none,
        none.copy(),
        np.full((attempts, 2), -1),
        none.copy(),
        none.copy(),
        np.zeros(1, np.int64),
    )


@compiled(makes_arrays=False)
def enqueue(queue: Queue, kind: int, attempt: int) -> None:
    """Let an attempt wait behind the others of its kind."""
    tail = queue.tails[kind]
    queue.links[attempt, 0] = -1
    queue.links[attempt, 1] = tail
    if tail >= 0:
        queue.links[tail, 0] = attempt
    else:
        queue.heads[kind] = attempt
        queue.active[queue.n_active[0]] = kind
        queue.places[kind] = queue.n_active[0]
        queue.n_active[0] += 1
    queue.tails[kind] = attempt


@compiled(makes_arrays=False)
def dequeue(queue: Queue, kind: int, attempt: int) -> None:
    """Let an attempt, wherever it stands, wait no longer."""
    after, before = queue.links[attempt]
    if before >= 0:
        queue.links[before, 0] = after
    else:
        queue.heads[kind] = after
    if after >= 0:
        queue.links[after, 1] = before
    else:
        queue.tails[kind] = before
    if queue.heads[kind] < 0:
        queue.n_active[0] -= 1
        last = queue.active[queue.n_active[0]]
        at = queue.places[kind]
        queue.active[at] = last
        queue.places[last] = at
