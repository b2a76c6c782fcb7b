"""The tasks of a pool in real time: when each comes and leaves, and what ran at the same time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.tasks.pool import SLOT, TaskPool, UsageColumn
from borgtrace.colocation.tasks.streams import SHUFFLES, SPAN
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.question import NotApplicable

SLOTS_PER_HOUR = 3600 // SLOT
LEAST_PRESENCE = 0.9
"""Share of the slots of a span that a task must be measured in; with more gaps, repeated values would look calm."""


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
    def of(cls, pool: TaskPool) -> Timeline:
        """Lay the windows of a pool on the clock; windows of one slot are averaged, weighted by length.

        Parameters
        ----------
        pool
            Tasks with time stamps.

        Raises
        ------
        NotApplicable
            The pool has no time stamps.
        """
        slot_of_window = pool.slots()
        # 2019 has several short windows in one slot, and a slot is what the simulation measures.
        is_first = np.append(True, np.diff(slot_of_window) != 0)
        is_first[pool.offsets[:-1]] = True
        starts = np.flatnonzero(is_first)

        weights = window_weights(pool)
        total = np.add.reduceat(weights * pool.inst, starts)
        usage = total / np.add.reduceat(weights, starts)

        slot = slot_of_window[starts]
        offsets = np.searchsorted(starts, pool.offsets)
        first_of_task = offsets[:-1]
        last_of_task = offsets[1:] - 1
        return cls(
            begin=slot[first_of_task],
            end=slot[last_of_task] + 1,
            offsets=offsets,
            slot=slot,
            usage=usage.astype(np.float32),
        )


def window_weights(pool: TaskPool) -> Numbers:
    """Return the length of each window in seconds, float64 (W,); 1 where lengths are unknown."""
    if pool.seconds is None:
        return np.ones(len(pool.inst))
    return pool.seconds.astype(np.float64)


@dataclass(frozen=True, eq=False)
class BusySpan:
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
    pool: TaskPool,
    slots: int,
    most: int | None = None,
    seed: int = 0,
) -> BusySpan:
    """Find the interval of `slots` slots that most tasks run through; of several, the earliest.

    Parameters
    ----------
    pool
        Tasks with time stamps.
    slots
        T, length of the interval in slots of 300 s.
    most
        Keep at most this many tasks, drawn by `seed`.
    seed
        Seed of that draw.

    Raises
    ------
    NotApplicable
        The pool has no clock, or fewer than two tasks run through any such interval.
    """
    hours = f"{slots / SLOTS_PER_HOUR:g} hours"
    slot = pool.slots()
    begin = slot[pool.offsets[:-1]]
    end = slot[pool.offsets[1:] - 1] + 1
    is_long = end - begin >= slots
    # The number of tasks through an interval only grows where one begins: no other start needs to be tried.
    starts = np.unique(begin[is_long])
    NotApplicable.unless(len(starts), f"no task runs for {hours}")

    # For every start at once: tasks that began by then, less those that end too early.
    earliest_starts = np.sort(begin[is_long])
    latest_starts = np.sort(end[is_long] - slots)
    n_begun = np.searchsorted(earliest_starts, starts, "right")
    n_ended = np.searchsorted(latest_starts, starts, "left")
    first = int(starts[np.argmax(n_begun - n_ended)])

    candidates = np.flatnonzero((begin <= first) & (end >= first + slots))
    n_present = count_slots_within(pool.offsets, slot, candidates, first, slots)
    tasks = candidates[n_present >= LEAST_PRESENCE * slots]
    NotApplicable.unless(len(tasks) >= 2, f"fewer than two tasks run through the same {hours}")
    if most is not None and len(tasks) > most:
        tasks = np.random.default_rng([seed, SPAN]).permutation(tasks)[:most]
    return BusySpan(first, slots, tasks.astype(np.int64))


@compiled()
def count_slots_within(offsets: Index, slot: Index, tasks: Index, first: int, slots: int) -> Index:
    """Count the slots of an interval in which each of some tasks was measured, int64 (n,).

    Parameters
    ----------
    offsets, slot
        Windows of task i are ``offsets[i]:offsets[i + 1]``, and the slot of each window, ascending within a task.
    tasks
        int64 (n,): which tasks.
    first, slots
        First slot of the interval, and its length.

    Examples
    --------
    >>> slot = np.array([7, 2, 3, 3, 4, 5])
    >>> count_slots_within(np.array([0, 1, 6]), slot, np.array([1, 0]), first=3, slots=2).tolist()
    [2, 0]
    """
    counts = np.zeros(len(tasks), np.int64)
    for i in range(len(tasks)):
        last_slot = first - 1
        for window in range(offsets[tasks[i]], offsets[tasks[i] + 1]):
            # Several windows of one slot follow each other.
            if slot[window] > last_slot and slot[window] < first + slots:
                counts[i] += 1
                last_slot = slot[window]
    return counts


def longest_busy_span(
    pool: TaskPool,
    hours: int,
    enough: int,
    most: int | None = None,
    seed: int = 0,
) -> BusySpan:
    """Find the busiest span of `hours`, or of half, a quarter … of it, until `enough` tasks run through it.

    In a small pool a third of its tasks are enough.  If even one hour has fewer, return the span with most tasks.

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
    # A small pool never has so many tasks at once: asking for them would end in spans of an hour.
    enough = min(enough, max(2, len(pool) // 3))
    spans: list[BusySpan] = []
    slots = hours * SLOTS_PER_HOUR
    while slots >= SLOTS_PER_HOUR:
        with suppress(NotApplicable):
            spans.append(busiest_span(pool, slots, most, seed))
        if spans and len(spans[-1].tasks) >= enough:
            return spans[-1]
        shortest = slots
        slots //= 2
    if not spans:
        # The shortest span says once more why there is none.
        return busiest_span(pool, shortest)
    return max(spans, key=lambda span: len(span.tasks))


def series(pool: TaskPool, span: BusySpan, column: UsageColumn = "inst") -> Values:
    """Lay out the usage of the span's tasks in its slots, float32 (n, T).

    Several windows of a slot are averaged, weighted by length.  A slot without a window repeats the slot before it; at
    the start, the first one that has a window.

    Parameters
    ----------
    pool
        Where the windows are.
    span
        Slots and tasks.
    column
        Which usage.
    """
    out = np.zeros((len(span.tasks), span.slots), np.float32)
    fill_series(
        pool.offsets,
        pool.slots(),
        getattr(pool, column),
        window_weights(pool),
        span.tasks,
        span.first,
        out,
    )
    return out


@compiled()
def fill_series(
    offsets: Index,
    slot: Index,
    values: Values,
    weights: Numbers,
    tasks: Index,
    first: int,
    out: Values,
) -> None:
    """Fill `out`, float32 (n, T), with the means of some tasks in the slots from `first` on, as :func:`series` says.

    Parameters
    ----------
    offsets, slot, values, weights
        Windows of task i are ``offsets[i]:offsets[i + 1]``; slot, usage and weight of each window.
    tasks, first
        int64 (n,): which tasks; the first slot.
    out
        What is filled.
    """
    slots = out.shape[1]
    total = np.zeros(slots)
    length = np.zeros(slots)
    for row in range(len(tasks)):
        total[:] = 0.0
        length[:] = 0.0
        for window in range(offsets[tasks[row]], offsets[tasks[row] + 1]):
            position = slot[window] - first
            if 0 <= position < slots:
                total[position] += weights[window] * np.float64(values[window])
                length[position] += weights[window]
        mean = 0.0
        for position in range(slots):
            # What comes before the first measured slot repeats it.
            if length[position] > 0.0:
                mean = total[position] / length[position]
                break
        for position in range(slots):
            if length[position] > 0.0:
                mean = total[position] / length[position]
            out[row, position] = mean


def shuffled(values: Values, seed: int) -> Values:
    """Shuffle every row on its own: the same values, nothing simultaneous left.

    Parameters
    ----------
    values
        float32 (n, T).
    seed
        Seed of the orders.
    """
    return np.random.default_rng([seed, SHUFFLES]).permuted(values, axis=1)
