"""The compiled part: from the windows, terms and stays of tasks to rows of machine, term, slot, CPU and memory."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

Records = npt.NDArray[np.void]
WINDOW_ROW = np.dtype(
    [
        ("machine", "i8"),
        ("term", "u4"),
        ("slot", "i4"),
        ("cpu", "f4"),
        ("memory", "f4"),
    ]
)
"""What a task used on a machine in a slot; NaN where nothing was measured though its events say that it ran."""
N_COUNTS = 4
N_ROWS, WITHOUT_MACHINE, WITHOUT_LIMIT, WITHOUT_END = range(N_COUNTS)
NAMES_OF_COUNTS = ("n_dealt", "without_machine", "without_limit", "without_end")
"""What :func:`fill_rows` counts: rows, and windows that belong to no machine."""
NO_MACHINE = -1
_START = TRACE_START
_SLOT = WINDOW
LONGEST = 24 * HOUR
"""Longer windows are not believed: published ones have 300 s at most, and the last may have no end."""


@compiled(inline=True)
def _term_in_force(
    times: Index,
    first: int,
    last: int,
    slot: int,
) -> int:
    """Return the last term that began before the end of a slot, else the first one of the task."""
    end_of_slot = _START + (slot + 1) * _SLOT
    n_begun = int(np.searchsorted(times[first:last], end_of_slot))
    return first + max(n_begun - 1, 0)


@compiled()
def _term_at(
    times: Index,
    is_positive: Flags,
    first: int,
    last: int,
    time: int,
) -> int:
    """Return the last term that began by a time and whose requests are all above 0, or −1, as Google's simulator."""
    n_begun = int(np.searchsorted(times[first:last], time, side="right"))
    for term in range(first + n_begun - 1, first - 1, -1):
        if is_positive[term]:
            return term
    return -1


@compiled(inline=True)
def _refusal(
    machine: int,
    has_limit: bool,
    length: int,
) -> int:
    """Return why a window belongs to no machine, 0 where it does."""
    if machine == NO_MACHINE:
        return WITHOUT_MACHINE
    if not has_limit:
        return WITHOUT_LIMIT
    return WITHOUT_END if length > LONGEST else 0


@compiled(inline=True)
def _slot_of(time: int) -> int:
    return (time - _START) // _SLOT


class MachineWindows(NamedTuple):
    """Windows of neighboring tasks, in their order: int64 (n,) in µs and of ids, float32 (n,)."""

    start: Index
    end: Index
    machine: Index
    cpu: Values
    memory: Values


class TaskStarts(NamedTuple):
    """First window, term and stay of each of some tasks, and the number of all: int64 (n + 1,) each."""

    window: Index
    term: Index
    stay: Index


class SlotRules(NamedTuple):
    """How windows count in slots.

    Attributes
    ----------
    is_peak
        Whether CPU, and memory, are peaks.
    is_whole
        Whether a window counts as a whole slot, that of its start, under the limits in force at its start (as Google's
        simulator has it).
    n_slots
        Slots in which anything may have been measured.
    """

    is_peak: Flags
    is_whole: bool
    n_slots: int


@compiled()
def fill_rows(
    windows: MachineWindows,
    starts: TaskStarts,
    term_time: Index,
    is_positive: Flags,
    stays: Records,
    rules: SlotRules,
    rows: Records,
) -> Index:
    """Write the rows of some neighboring tasks, several of one key where several windows share a slot.

    A mean is weighted by the part of the slot that its window covers, so that the rows of a key add up to the mean
    over the slot; a peak counts in every slot that its window touches.

    Parameters
    ----------
    windows, starts
        Windows of these tasks, and where those, terms and stays of each begin.
    term_time, is_positive
        Begin of all terms, µs, and whether the requests of both resources are above 0.
    stays
        Stays of these tasks on machines, records of :data:`~borgtrace.lifecycle.by_machine.terms.STAY`.
    rules
        How windows count in slots.
    rows
        Records of :data:`WINDOW_ROW`, filled.  Where there is no room, rows are only counted.

    Returns
    -------
    int64 (`N_COUNTS`,)
    """
    counts = np.zeros(N_COUNTS, np.int64)
    n = 0
    last_use = _LastUse(
        np.full(rules.n_slots, -1, np.int64),
        np.full(rules.n_slots, -1, np.int64),
    )
    for task in range(starts.window.size - 1):
        terms = _TaskTerms(
            term_time,
            is_positive,
            starts.term[task],
            starts.term[task + 1],
        )
        has_terms = terms.first < terms.end
        for i in range(starts.window[task], starts.window[task + 1]):
            length = windows.end[i] - windows.start[i]
            has_limit = has_terms
            if rules.is_whole:
                has_limit = _term_of_whole(terms, windows.start[i]) >= 0
            refusal = _refusal(windows.machine[i], has_limit, length)
            if refusal:
                counts[refusal] += 1
            else:
                n = _fill_window(windows, i, task, terms, rules, last_use, rows, n)
        if rules.is_whole or not has_terms:
            continue
        for s in range(starts.stay[task], starts.stay[task + 1]):
            n = _fill_stay(stays[s], task, terms, rules, last_use, rows, n)
    counts[N_ROWS] = n
    return counts


class _TaskTerms(NamedTuple):
    """Begin of all terms, whether their requests are above 0, and which of them are the task's."""

    time: Index
    is_positive: Flags
    first: int
    end: int


@compiled(inline=True)
def _term_of_whole(terms: _TaskTerms, start: int) -> int:
    """Return the term of a window that counts as a whole slot, −1 without one."""
    return _term_at(terms.time, terms.is_positive, terms.first, terms.end, start)


class _LastUse(NamedTuple):
    """The last task that used something in each slot, and where."""

    task: Index
    machine: Index


@compiled(inline=True)
def _fill_window(
    windows: MachineWindows,
    i: int,
    task: int,
    terms: _TaskTerms,
    rules: SlotRules,
    last_use: _LastUse,
    rows: Records,
    n: int,
) -> int:
    """Write the rows of a window from row n on, and return the number of rows."""
    start = windows.start[i]
    end = windows.end[i]
    low = _slot_of(start)
    high = low if rules.is_whole else max(low, _slot_of(end - 1))
    for slot in range(max(low, 0), min(high + 1, rules.n_slots)):
        begin = _START + slot * _SLOT
        share = (min(end, begin + _SLOT) - max(start, begin)) / _SLOT
        if n < rows.size:
            cpu = windows.cpu[i]
            memory = windows.memory[i]
            row = rows[n]
            row["machine"] = windows.machine[i]
            row["slot"] = slot
            if rules.is_whole:
                row["term"] = _term_of_whole(terms, start)
            else:
                row["term"] = _term_in_force(terms.time, terms.first, terms.end, slot)
            row["cpu"] = cpu if rules.is_peak[0] else cpu * share
            row["memory"] = memory if rules.is_peak[1] else memory * share
        last_use.task[slot] = task
        last_use.machine[slot] = windows.machine[i]
        n += 1
    return n


@compiled(inline=True)
def _fill_stay(
    stay: Any,
    task: int,
    terms: _TaskTerms,
    rules: SlotRules,
    last_use: _LastUse,
    rows: Records,
    n: int,
) -> int:
    """Write rows of NaN for the slots of a stay without usage, from row n on, and return the number of rows."""
    machine = stay["machine"]
    low = _slot_of(stay["start"])
    high = _slot_of(stay["end"] - 1)
    for slot in range(max(low, 0), min(high + 1, rules.n_slots)):
        # Where windows were on two machines in a slot, a second row of NaN is added, which changes nothing.
        if last_use.task[slot] == task and last_use.machine[slot] == machine:
            continue
        if n < rows.size:
            row = rows[n]
            row["machine"] = machine
            row["slot"] = slot
            row["term"] = _term_in_force(terms.time, terms.first, terms.end, slot)
            row["cpu"] = np.nan
            row["memory"] = np.nan
        n += 1
    return n
