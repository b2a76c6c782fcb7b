"""The tasks of a pool on the clock of slots: when they come and leave, and what really ran at the same time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.pool import SLOT, Pool, UsageColumn
from borgtrace.kernels.arrays import Index, Values
from borgtrace.question import NotApplicable


@dataclass(frozen=True, eq=False)
class Timeline:
    """Tasks on the clock of slots.

    Attributes
    ----------
    begin, end
        int64 (n,): first slot of a task, and the slot after its last.
    offsets, slot, usage
        CSR: the slots in which a task was measured, ascending, and its usage there (float32).
    """

    begin: Index
    end: Index
    offsets: Index
    slot: Index
    usage: Values

    @classmethod
    def of(cls, pool: Pool) -> Timeline:
        """Lay the windows of a pool on the clock; windows of one slot are averaged by length.

        Raises
        ------
        NotApplicable
            The pool has no time stamps.
        """
        slot = pool.slots()
        # 2019 has several short windows in one slot, and a slot is what the simulation measures.
        is_first = np.append(True, np.diff(slot) != 0)
        is_first[pool.offsets[:-1]] = True
        starts = np.flatnonzero(is_first)
        weights = np.ones(len(slot)) if pool.seconds is None else pool.seconds.astype(np.float64)
        usage = np.add.reduceat(weights * pool.inst, starts) / np.add.reduceat(weights, starts)
        offsets = np.searchsorted(starts, pool.offsets)
        known = slot[starts]
        begin = known[offsets[:-1]]
        end = known[offsets[1:] - 1] + 1
        return cls(begin, end, offsets, known, usage.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Span:
    """An interval and the tasks that ran through it.

    Attributes
    ----------
    first, slots
        First slot (of 300 s, on the trace's clock), and their number T.
    tasks
        int64 (n,): tasks of the pool with windows before, after or at both ends, and in at least 90 % of the slots.
    """

    first: int
    slots: int
    tasks: Index


def busiest_span(
    pool: Pool,
    slots: int,
    most: int | None = None,
    seed: int = 0,
) -> Span:
    """Find the interval of `slots` slots that most tasks run through, the earliest of equals.

    Parameters
    ----------
    pool
        Tasks with time stamps.
    slots
        T, length of the interval in slots of 300 s.
    most
        Keep only so many tasks, drawn by `seed`.
    seed
        Seed of that draw.

    Raises
    ------
    NotApplicable
        The pool has no clock, or fewer than two tasks run through any such interval.
    """
    slot = pool.slots()
    begin = slot[pool.offsets[:-1]]
    end = slot[pool.offsets[1:] - 1] + 1
    is_long = end - begin >= slots
    # The number of tasks through an interval only grows where one begins: no other start needs to be tried.
    starts = np.unique(begin[is_long])
    NotApplicable.unless(len(starts), f"no task runs for {slots * SLOT / 3600:g} hours")
    ordered_begin = np.sort(begin[is_long])
    latest = np.sort(end[is_long] - slots)
    # Tasks that began by then, less those that end too early: counted for every start at once.
    alive = np.searchsorted(ordered_begin, starts, "right") - np.searchsorted(
        latest, starts, "left"
    )
    first = int(starts[np.argmax(alive)])
    candidates = np.flatnonzero((begin <= first) & (end >= first + slots))
    present = np.array(
        [_n_slots(slot[pool.offsets[i] : pool.offsets[i + 1]], first, slots) for i in candidates]
    )
    # A few lost samples are filled in; with more, repeated values would make the series look calm.
    tasks = candidates[present >= 0.9 * slots]
    NotApplicable.unless(
        len(tasks) >= 2, f"fewer than two tasks run through the same {slots * SLOT / 3600:g} hours"
    )
    if most is not None and len(tasks) > most:
        tasks = np.random.default_rng([seed, 4]).permutation(tasks)[:most]
    return Span(first, slots, tasks.astype(np.int64))


def longest_busy_span(
    pool: Pool,
    hours: int,
    enough: int,
    most: int | None = None,
    seed: int = 0,
) -> Span:
    """The busiest span of `hours`, or of half, a quarter … of it, until `enough` tasks run through it.

    In a small pool a third of its tasks are enough.  Where even one hour has fewer, the span with most tasks.

    Parameters
    ----------
    pool
        Tasks with time stamps.
    hours
        Longest span that is tried.
    enough
        Number of tasks that is sought.
    most, seed
        As for :func:`busiest_span`.

    Raises
    ------
    NotApplicable
        The pool has no clock, or no two tasks run through the same hour.
    """
    # A small pool never has so many at once: asking for them would end in spans of an hour.
    enough = min(enough, max(2, len(pool) // 3))
    spans: list[Span] = []
    slots = hours * 3600 // SLOT
    while slots >= 3600 // SLOT:
        with suppress(NotApplicable):
            spans.append(busiest_span(pool, slots, most, seed))
        if spans and len(spans[-1].tasks) >= enough:
            return spans[-1]
        tried = slots
        slots = slots // 2
    # Where there is none, the shortest says why once more.
    return max(spans, key=lambda span: len(span.tasks)) if spans else busiest_span(pool, tried)


def _n_slots(slot: Index, first: int, slots: int) -> int:
    return len(np.unique(slot[(slot >= first) & (slot < first + slots)]))


def series(pool: Pool, span: Span, column: UsageColumn = "inst") -> Values:
    """Usage of the span's tasks in its slots: float32 (n, T); several windows of a slot are averaged by length.

    A slot without a window repeats the slot before (the first one after, at the start).

    Parameters
    ----------
    pool
        Where the windows are.
    span
        Slots and tasks.
    column
        Which usage.
    """
    values = np.asarray(getattr(pool, column), np.float64)
    slots = pool.slots()
    seconds = pool.seconds
    out = np.zeros((len(span.tasks), span.slots), np.float32)
    for row, task in enumerate(span.tasks):
        window = slice(pool.offsets[task], pool.offsets[task + 1])
        slot = slots[window] - span.first
        is_inside = (slot >= 0) & (slot < span.slots)
        weight = (
            np.ones(is_inside.sum())
            if seconds is None
            else seconds[window][is_inside].astype(np.float64)
        )
        total = np.bincount(slot[is_inside], weight * values[window][is_inside], span.slots)
        length = np.bincount(slot[is_inside], weight, span.slots)
        known = np.flatnonzero(length)
        mean = np.divide(total, length, out=np.zeros(span.slots), where=length > 0)
        # The last slot at or before each that has a window; before the first one, the first.
        out[row] = mean[
            known[np.maximum(np.searchsorted(known, np.arange(span.slots), "right") - 1, 0)]
        ]
    return out


def shuffled(values: Values, seed: int) -> Values:
    """Every row in an order of its own: the same values, nothing simultaneous left.

    Parameters
    ----------
    values
        float32 (n, T).
    seed
        Seed of the orders.
    """
    return np.random.default_rng([seed, 5]).permuted(values, axis=1)
