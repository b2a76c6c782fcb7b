"""From the windows, terms and stays of tasks to rows (machine, term, slot, CPU, memory): the compiled part."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW

Records = npt.NDArray[np.void]
ROW = np.dtype(
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
DEALT, WITHOUT_MACHINE, WITHOUT_LIMIT, WITHOUT_END = range(N_COUNTS)
"""What `deal` counts: rows, and windows that cannot be dealt."""
NO_MACHINE = -1
_START = TRACE_START
_SLOT = WINDOW
LONGEST = 24 * HOUR
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


class Windows(NamedTuple):
    """Windows of neighboring tasks, in their order: int64 (n,) in µs and of ids, float32 (n,)."""

    start: Index
    end: Index
    machine: Index
    cpu: Values
    memory: Values


class Starts(NamedTuple):
    """First window, term and stay of each of some tasks, and the number of all: int64 (n + 1,) each."""

    window: Index
    term: Index
    stay: Index


class Manner(NamedTuple):
    """How windows are dealt.

    Attributes
    ----------
    is_peak
        Whether CPU, and memory, are peaks.
    is_whole
        Whether a window counts as a whole slot, that of its start (as the simulator of Google has it).
    n_slots
        Slots in which anything may have been measured.
    """

    is_peak: Flags
    is_whole: bool
    n_slots: int


@compiled()
def deal(
    windows: Windows,
    starts: Starts,
    term_time: Index,
    stays: Records,
    manner: Manner,
    rows: Records,
) -> Index:
    """Write the rows of some neighboring tasks, several of one key where several windows share a slot.

    A mean is weighted by the part of the slot that its window covers, so that the rows of a key add up to the mean
    over the slot; a peak counts in every slot that its window touches.

    Parameters
    ----------
    windows, starts
        Windows of these tasks, and where those, terms and stays of each begin.
    term_time
        Begin of all terms, µs.
    stays
        Stays of these tasks on machines, records of :data:`~borgtrace.lifecycle.by_machine.terms.STAY`.
    manner
        How windows are dealt.
    rows
        Records of :data:`ROW`, filled.  Where there is no room, rows are only counted.

    Returns
    -------
    int64 (`N_COUNTS`,)
    """
    start = windows.start
    end = windows.end
    machine = windows.machine
    is_peak, is_whole, n_slots = manner
    counts = np.zeros(N_COUNTS, np.int64)
    n = 0
    touched = np.full(n_slots, -1, np.int64)
    on = np.full(n_slots, -1, np.int64)
    for task in range(starts.window.size - 1):
        terms = starts.term[task]
        no_terms = starts.term[task + 1]
        for i in range(starts.window[task], starts.window[task + 1]):
            refusal = _refusal(machine[i], terms == no_terms, end[i] - start[i])
            if refusal:
                counts[refusal] += 1
            else:
                low = (start[i] - _START) // _SLOT
                high = low if is_whole else max(low, (end[i] - _START - 1) // _SLOT)
                for slot in range(max(low, 0), min(high + 1, n_slots)):
                    begin = _START + slot * _SLOT
                    share = (min(end[i], begin + _SLOT) - max(start[i], begin)) / _SLOT
                    if n < rows.size:
                        row = rows[n]
                        cpu = windows.cpu[i]
                        memory = windows.memory[i]
                        row["machine"] = machine[i]
                        row["slot"] = slot
                        row["term"] = _term(term_time, terms, no_terms, slot)
                        row["cpu"] = cpu if is_peak[0] else cpu * share
                        row["memory"] = memory if is_peak[1] else memory * share
                    touched[slot] = task
                    on[slot] = machine[i]
                    n += 1
        if is_whole or terms == no_terms:
            continue
        for stay in stays[starts.stay[task] : starts.stay[task + 1]]:
            low = (stay["start"] - _START) // _SLOT
            high = (stay["end"] - _START - 1) // _SLOT
            for slot in range(max(low, 0), min(high + 1, n_slots)):
                # Where a window was on two machines in a slot, a second row of nothing is added, which is nothing.
                if touched[slot] == task and on[slot] == stay["machine"]:
                    continue
                if n < rows.size:
                    row = rows[n]
                    row["machine"] = stay["machine"]
                    row["slot"] = slot
                    row["term"] = _term(term_time, terms, no_terms, slot)
                    row["cpu"] = row["memory"] = np.nan
                n += 1
    counts[DEALT] = n
    return counts
