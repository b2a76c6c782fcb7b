"""From the windows, terms and stays of tasks to rows (machine, term, slot, CPU, memory): the compiled part."""

from __future__ import annotations

from typing import Final

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

ROW = np.dtype([("machine", "i8"), ("term", "u4"), ("slot", "i4"), ("cpu", "f4"), ("memory", "f4")])
"""What a task used on a machine in a slot; NaN where nothing was measured though its events say that it ran."""
N_COUNTS = 4
DEALT, WITHOUT_MACHINE, WITHOUT_LIMIT, WITHOUT_END = range(N_COUNTS)
"""What `deal` counts: rows, and windows that cannot be dealt."""
NO_MACHINE = -1
_START: Final = TRACE_START
_SLOT: Final = WINDOW
LONGEST: Final = 24 * HOUR
"""Longer windows are not believed: published ones have 300 s at most, and the last may have no end."""


@compiled(inline=True)
def _term(times: Index, first: int, last: int, slot: int) -> int:
    """Return the last term that began before the end of a slot, else the first one of the task."""
    before = int(np.searchsorted(times[first:last], _START + (slot + 1) * _SLOT))
    return first + max(before - 1, 0)


@compiled(inline=True)
def _refusal(machine: int, has_no_terms: bool, length: int) -> int:
    """Return why a window cannot be dealt, 0 where it can."""
    if machine == NO_MACHINE:
        return WITHOUT_MACHINE
    if has_no_terms:
        return WITHOUT_LIMIT
    return WITHOUT_END if length > LONGEST else 0


@compiled()
def deal(
    tasks: Index,
    start: Index,
    end: Index,
    machine: Index,
    cpu: Values,
    memory: Values,
    is_peak: Flags,
    is_whole: bool,
    first_row: Index,
    term_time: Index,
    term_start: Index,
    stay_machine: Index,
    stay_begin: Index,
    stay_end: Index,
    stay_start: Index,
    n_slots: int,
    out_machine: Index,
    out_slot: Index,
    out_term: Index,
    out_usage: Numbers,
    counts: Index,
) -> None:
    """Write the rows of some neighboring tasks, several of one key where several windows share a slot.

    A mean is weighted by the part of the slot that its window covers, so that the rows of a key add up to the mean
    over the slot; a peak counts in every slot that its window touches.

    Parameters
    ----------
    tasks
        First task, and the one after the last.
    start, end, machine, cpu, memory
        Windows of these tasks in their order, shape (n,); times in µs.
    is_peak
        Whether CPU, and memory, are peaks.
    is_whole
        Whether a window counts as a whole slot, that of its start (as the simulator of Google has it).
    first_row
        First window of each of these tasks, and the number of windows.
    term_time, term_start
        Begin of all terms, and the first term of each of these tasks.
    stay_machine, stay_begin, stay_end, stay_start
        Stays on machines, and the first of each of these tasks.
    n_slots
        Slots in which anything may have been measured.
    out_machine, out_slot, out_term, out_usage
        Rows, filled; usage is CPU, then memory.  Where there is no room, rows are only counted.
    counts
        int64 (`N_COUNTS`,), filled.
    """
    counts[:] = 0
    n, touched, on = 0, np.full(n_slots, -1, np.int64), np.full(n_slots, -1, np.int64)
    for task in range(tasks[1] - tasks[0]):
        terms, no_terms = term_start[task], term_start[task + 1]
        for i in range(first_row[task], first_row[task + 1]):
            refusal = _refusal(machine[i], terms == no_terms, end[i] - start[i])
            if refusal:
                counts[refusal] += 1
            else:
                low = (start[i] - _START) // _SLOT
                high = low if is_whole else max(low, (end[i] - _START - 1) // _SLOT)
                for slot in range(max(low, 0), min(high + 1, n_slots)):
                    begin = _START + slot * _SLOT
                    share = (min(end[i], begin + _SLOT) - max(start[i], begin)) / _SLOT
                    if n < out_slot.size:
                        out_machine[n], out_slot[n] = machine[i], slot
                        out_term[n] = _term(term_time, terms, no_terms, slot)
                        out_usage[n, 0] = cpu[i] if is_peak[0] else cpu[i] * share
                        out_usage[n, 1] = memory[i] if is_peak[1] else memory[i] * share
                    touched[slot], on[slot] = task, machine[i]
                    n += 1
        if is_whole or terms == no_terms:
            continue
        for i in range(stay_start[task], stay_start[task + 1]):
            low, high = (stay_begin[i] - _START) // _SLOT, (stay_end[i] - _START - 1) // _SLOT
            for slot in range(max(low, 0), min(high + 1, n_slots)):
                # Where a window was on two machines in a slot, a second row of nothing is added, which is nothing.
                if touched[slot] == task and on[slot] == stay_machine[i]:
                    continue
                if n < out_slot.size:
                    out_machine[n], out_slot[n] = stay_machine[i], slot
                    out_term[n] = _term(term_time, terms, no_terms, slot)
                    out_usage[n] = np.nan
                n += 1
    counts[DEALT] = n
