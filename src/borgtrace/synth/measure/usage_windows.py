"""The usage windows of a part of the trace: executions cut at the 300 s grid, in the order of the files."""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.model.hashing import key, mix, unit
from borgtrace.synth.simulate.event_log import Execution, TraceSegment

WINDOW_SECONDS = 300
SHORT_SHARES = (0.31, 0.48, 0.75, 0.83, 1.0)
"""Cumulative shares of short parts of windows below each of :data:`SHORT_LENGTHS` but the first, s.

Of 354,953 usage rows of 2019 7.7 % last for 1 s, 4.3 % for 2, 6.6 % for 3 to 5, 2 % for 6 to 15, 4.5 % for 16 to 75.
"""
SHORT_LENGTHS = (1.0, 2.0, 3.0, 6.0, 16.0, 76.0)
IDENTITY = (
    "collection_id",
    "instance_index",
    "machine_id",
    "alloc_collection_id",
    "alloc_instance_index",
    "collection_type",
)
"""Columns of ``instance_usage`` that are the same in all windows of an execution."""
TIMES = ("start_time", "end_time")

_INTEGERS = (
    *IDENTITY,
    # The process that usage follows: the task's own, or, for an alloc instance, that of the task inside it, whose usage
    # it includes.
    "process_job",
    "process_index",
    "start",
    "end",
)
_FLOATS = ("level", "memory", "wave", "phase", "most_cpu", "most_memory", "steadiness")
EXECUTION = np.dtype(
    [
        *[(name, "i8") for name in _INTEGERS],
        *[(name, "f4") for name in _FLOATS],
        ("kind", "i1"),
    ]
)
"""One execution: what identifies it, [start, end) in s, and the parameters of its process."""
WINDOW = np.dtype(
    [
        ("execution", "i8"),
        ("start", "i8"),
        ("end", "i8"),
    ]
)
"""One window: the number of its execution, and its limits, s."""
_PACK = struct.Struct(f"<{len(_INTEGERS)}q{len(_FLOATS)}fb").pack


@dataclass(frozen=True, slots=True)
class SegmentWindows:
    """Usage windows of one part.

    Attributes
    ----------
    executions
        Structured array with :data:`EXECUTION`, one entry per execution, sorted by collection and instance.
    rows
        Structured array with :data:`WINDOW`, one entry per window, sorted by start, collection and instance.
    """

    executions: NDArray[np.void]
    rows: NDArray[np.void]


def windows_of(
    segment: TraceSegment,
    machine_ids: NDArray[np.int64],
    divided: float = 0.0,
    seed: int = 0,
) -> SegmentWindows:
    """Cut the executions of a segment into windows.

    Parameters
    ----------
    segment
        A part of the trace.
    machine_ids
        Ids of the machines.
    divided
        Share of windows that are divided into several.
    seed
        Decides which.
    """
    executions = _execution_table(segment.executions, machine_ids, segment.start)
    begin = segment.start // SECOND
    end = -(-segment.end // SECOND)
    rows = cut(executions, begin, end)
    if divided > 0.0:
        rows = divide(executions, rows, divided, np.uint64(key(seed, "division")))
        rows = rows[np.argsort(rows["start"], kind="stable")]
    return SegmentWindows(executions, rows)


@compiled()
def divide(
    executions: NDArray[np.void],
    rows: NDArray[np.void],
    share: float,
    seed_key: np.uint64,
) -> NDArray[np.void]:
    """Return windows, of which a share of the whole ones is three short ones and the rest.

    Parameters
    ----------
    executions
        Structured array with :data:`EXECUTION`.
    rows
        Structured array with :data:`WINDOW`.
    share
        Share of the whole windows that are divided.
    seed_key
        Decides which, and where.
    """
    divided = np.empty(4 * len(rows), WINDOW)
    n_rows = 0
    for row in rows:
        execution = executions[row["execution"]]
        # By the process, so that an alloc instance has the same windows as the task inside it.
        own = mix(mix(seed_key, np.uint64(execution["process_job"])), np.uint64(row["start"]))
        own = mix(own, np.uint64(execution["process_index"] + 1))
        start = row["start"]
        is_divided = row["end"] - start == WINDOW_SECONDS and unit(own) < share
        for number in range(3 if is_divided else 0):
            piece = divided[n_rows]
            piece["execution"] = row["execution"]
            piece["start"] = start
            start += _short_length(unit(mix(own, np.uint64(number + 1))))
            piece["end"] = start
            n_rows += 1
        divided[n_rows] = row
        divided[n_rows]["start"] = start
        n_rows += 1
    return divided[:n_rows].copy()


@compiled(inline=True)
def _short_length(u: float) -> int:
    """Return how long a short part of a window is, s: half last for one or two (2019)."""
    for number in range(len(SHORT_SHARES)):
        if u < SHORT_SHARES[number]:
            low = SHORT_LENGTHS[number]
            high = SHORT_LENGTHS[number + 1]
            below = SHORT_SHARES[number - 1] if number else 0.0
            inside = (u - below) / (SHORT_SHARES[number] - below)
            return int(low + inside * (high - low))
    return 75


@compiled()
def cut(
    executions: NDArray[np.void],
    begin: int,
    end: int,
) -> NDArray[np.void]:
    """Return the windows of all executions between two times (s), in the order of their starts.

    Windows that start in the same second stay in the order of the executions.

    Parameters
    ----------
    executions
        Structured array with :data:`EXECUTION`.
    begin, end
        The times, s.
    """
    # First how many windows start in each second or before; then, where the next one that starts in it goes.
    n_seconds = max(end - begin, 0)
    places = np.zeros(n_seconds + 1, np.int64)
    for first, last, _ in _spans(executions, begin, end):
        for window in range(first // WINDOW_SECONDS, -(-last // WINDOW_SECONDS)):
            start = max(first, window * WINDOW_SECONDS)
            places[start - begin + 1] += 1
    places = np.cumsum(places)
    rows = np.empty(places[-1], WINDOW)
    for first, last, number in _spans(executions, begin, end):
        for window in range(first // WINDOW_SECONDS, -(-last // WINDOW_SECONDS)):
            start = max(first, window * WINDOW_SECONDS)
            row = rows[places[start - begin]]
            places[start - begin] += 1
            row["execution"] = number
            row["start"] = start
            window_end = (window + 1) * WINDOW_SECONDS
            row["end"] = min(executions[number]["end"], window_end)
    return rows


@compiled()
def _spans(
    executions: NDArray[np.void],
    begin: int,
    end: int,
) -> Iterator[tuple[int, int, int]]:
    """Yield begin and end (s) of each execution between two times, and its number; skip those outside."""
    for number in range(len(executions)):
        first = max(executions[number]["start"], begin)
        last = min(executions[number]["end"], end)
        # An empty one in the middle of a window would count as one.
        if last > first:
            yield first, last, number


def _execution_table(
    executions: Sequence[Execution],
    machine_ids: NDArray[np.int64],
    since: int,
) -> NDArray[np.void]:
    ids = machine_ids.tolist()
    packed = [
        _packed(execution, ids[execution.machine])
        for execution in executions
        if execution.usage_end > since
    ]
    table = np.frombuffer(b"".join(packed), EXECUTION)
    start = np.maximum(table["start"], TRACE_START) // SECOND
    end = -(-table["end"] // SECOND)
    # Sorted before cutting, so that a stable sort by time alone gives the order of the files.
    order = np.lexsort((start, table["instance_index"], table["collection_id"]))
    table = table[order]
    table["start"] = start[order]
    table["end"] = end[order]
    return table


def _packed(execution: Execution, machine: int) -> bytes:
    """Return the fields of an execution as bytes, with times still in µs."""
    task = execution.task
    job = task.job
    index = task.index
    host = job.host
    guest = job.guest
    memory = task.memory * task.memory_share
    # What an update lowers is not used any more; what one raises need not be used.
    scale = min(task.scale, 1.0)
    # A task is held to its request for memory, except for the few that are meant to exceed it.
    most_memory = job.memory * scale if memory <= job.memory else math.inf
    # Without unpacking any tuple into the call: that takes a quarter of the time.
    return _PACK(
        job.id,
        index,
        machine,
        host.id if host else 0,
        index if host else -1,
        job.is_alloc_set,
        guest.id if guest else job.id,
        index,
        execution.start,
        execution.usage_end,
        task.level * task.cpu_share,
        memory,
        job.wave,
        job.phase,
        task.overuse * job.cpu * scale,
        most_memory,
        task.steadiness,
        task.kind,
    )
