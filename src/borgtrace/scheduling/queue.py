"""The queue of a replay: waiting tasks in groups that a scheduler treats alike, each in the order of arrival."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled

AFTER, BEFORE = range(2)
"""Neighbors of an attempt among the others of its kind: columns of `links`."""


class Queue(NamedTuple):
    """What waits.

    Attributes
    ----------
    heads, tails
        Shape (kinds,): first and last attempt of each kind; −1: none waits.
    links
        Shape (attempts, 2): the neighbors of each; −1: none.
    active, n_active
        Kinds of which any waits: a list, and in an array of one element how many these are.
    places
        Shape (kinds,): where each stands in `active`.
    """

    heads: Index
    tails: Index
    links: Index
    active: Index
    places: Index
    n_active: Index


def make_queue(kinds: int, attempts: int) -> Queue:
    """Return a queue in which nothing waits, for so many kinds of attempts and so many of these."""
    nothing = np.full(kinds, -1, np.int64)
    return Queue(
        heads=nothing,
        tails=nothing.copy(),
        links=np.full((attempts, 2), -1),
        active=nothing.copy(),
        places=nothing.copy(),
        n_active=np.zeros(1, np.int64),
    )


@compiled(makes_arrays=False)
def enqueue(queue: Queue, kind: int, attempt: int) -> None:
    """Let an attempt wait behind the others of its kind."""
    tail = queue.tails[kind]
    queue.links[attempt, AFTER] = -1
    queue.links[attempt, BEFORE] = tail
    if tail >= 0:
        queue.links[tail, AFTER] = attempt
    else:
        queue.heads[kind] = attempt
        queue.active[queue.n_active[0]] = kind
        queue.places[kind] = queue.n_active[0]
        queue.n_active[0] += 1
    queue.tails[kind] = attempt


@compiled(makes_arrays=False)
def dequeue(queue: Queue, kind: int, attempt: int) -> None:
    """Let an attempt, wherever it stands, wait no longer."""
    after = queue.links[attempt, AFTER]
    before = queue.links[attempt, BEFORE]
    if before >= 0:
        queue.links[before, AFTER] = after
    else:
        queue.heads[kind] = after
    if after >= 0:
        queue.links[after, BEFORE] = before
    else:
        queue.tails[kind] = before
    if queue.heads[kind] < 0:
        queue.n_active[0] -= 1
        last = queue.active[queue.n_active[0]]
        place = queue.places[kind]
        queue.active[place] = last
        queue.places[last] = place
