"""What was not measured: gaps of the whole cell, and windows after which no promise could be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from borgtrace.advice.judging import JudgedPolicies
from borgtrace.advice.value_sentences import with_capital
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.lifecycle.by_machine.window_rows import LONGEST
from borgtrace.notation import Notation, integer, percent
from borgtrace.notation.amounts import RESOURCES
from borgtrace.question.study_times import in_words
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.store import Store

SHOWN_GAPS = 3
"""Gaps of the whole cell that are named: the longest."""
CHUNK = 4_000_000
"""Windows that are read at a time."""

Unknown = tuple[str, str]
"""A subject and a sentence."""


def of_gaps(store: Store) -> Iterator[Unknown]:
    """Say when nothing at all was measured, between the first window of usage and the last.

    Parameters
    ----------
    store
        An open store.
    """
    gaps = gaps_of_cell(store)
    if not gaps:
        return
    clock = Notation.of(store).clock
    longest = sorted(gaps, key=lambda gap: (gap.start - gap.stop, gap.start))[:SHOWN_GAPS]
    times = []
    for gap in sorted(longest, key=lambda gap: gap.start):
        begin = TRACE_START + gap.start * WINDOW
        times.append(f"{in_words(len(gap) * WINDOW)} from {clock.wall(begin) or clock.text(begin)}")
    rest = f", and {integer(len(gaps) - len(longest))} shorter ones" if len(gaps) > 3 else ""
    yield (
        "gaps of the cell",
        f"Nothing was measured on any machine for {', '.join(times)}{rest}: "
        "whether promises were kept then is not known.",
    )


def gaps_of_cell(store: Store) -> list[range]:
    """Return the runs of slots in which no window of usage lies, between the first that has one and the last.

    Parameters
    ----------
    store
        An open store.
    """
    measured = measured_slots(store)
    ends = np.flatnonzero(np.diff(measured) > 1)
    return [range(int(measured[end]) + 1, int(measured[end + 1])) for end in ends]


def measured_slots(store: Store) -> Index:
    """Return the slots in which windows of usage lie, ascending."""
    _, last = store.manifest.time_range.get("instance_usage") or (0, TRACE_START)
    n_slots = max((last - TRACE_START) // WINDOW + 1, 1)
    changes = np.zeros(n_slots + 1, np.int64)
    starts = store.array("start_time")
    seconds = store.array("duration")
    for first in range(0, len(starts), CHUNK):
        low, high = _slots_of_windows(
            np.asarray(starts[first : first + CHUNK], np.int64),
            np.asarray(seconds[first : first + CHUNK], np.float64),
        )
        is_within = (low >= 0) & (low < n_slots)
        after = np.minimum(high[is_within] + 1, n_slots)
        changes += np.bincount(low[is_within], minlength=n_slots + 1)
        changes -= np.bincount(after, minlength=n_slots + 1)
    return np.flatnonzero(np.cumsum(changes) > 0)


def _slots_of_windows(start: Index, length: Numbers) -> tuple[Index, Index]:
    """Return the first and the last slot of windows of so many seconds; one whose end is not known has one slot."""
    slot_seconds = WINDOW // SECOND
    begin = start - TRACE_START // SECOND
    is_end_known = length <= LONGEST // SECOND
    seconds = np.where(is_end_known, length, 1.0).astype(np.int64)
    low = begin // slot_seconds
    return low, np.maximum(low, (begin + seconds - 1) // slot_seconds)


def of_unseen_windows(policies: Sequence[JudgedPolicies]) -> Iterator[Unknown]:
    """Say after how many windows of machines no promise was judged, since too little was measured.

    Parameters
    ----------
    policies
        What a walk through the trace shows of each resource.
    """
    for judged in policies:
        # The same of every policy.
        unseen = judged.sums["unseen"][:, 0].sum(axis=0)
        instants = judged.sums["instants"][:, 0].sum(axis=0)
        n_unseen = int(unseen.sum())
        if not n_unseen:
            continue
        n_all = n_unseen + int(instants.sum())
        windows = (
            f"{integer(n_unseen)} of {integer(n_all)} windows of machines "
            f"({percent(n_unseen / n_all, 2)}) were not judged"
        )
        n_blank_periods = int(((unseen > 0) & (instants == 0)).sum())
        yield (
            "not seen",
            f"{with_capital(RESOURCES[judged.resource])}: {windows}: in them, or within "
            f"{in_words(judged.schedule.horizon)} after them, less than half of what ran was measured, or all of it "
            f"used exactly nothing. What broke then is not known.{blank_periods(n_blank_periods, judged)}",
        )


def blank_periods(n: int, judged: JudgedPolicies) -> str:
    """Say that periods were not judged at all; nothing where there are none."""
    period = in_words(judged.schedule.period)
    if n == 0:
        return ""
    if n == 1:
        return f" One period of {period} has no other windows, and is not counted."
    return f" {integer(n)} periods of {period} have no other windows, and are not counted."
