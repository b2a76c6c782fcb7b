"""The usage windows of a part of the trace: executions cut at the 300 s grid, in the order of the files."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.simulate.event_log import Execution, TraceSegment

WINDOW_SECONDS = 300
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
_FLOATS = ("level", "memory", "wave", "phase")
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


def windows_of(segment: TraceSegment, machine_ids: NDArray[np.int64]) -> SegmentWindows:
    """Cut the executions of a segment into windows."""
    executions = _execution_table(segment.executions, machine_ids, segment.start)
    begin = segment.start // SECOND
    end = -(-segment.end // SECOND)
    return SegmentWindows(executions, cut(executions, begin, end))


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
        task.memory * task.memory_share,
        job.wave,
        job.phase,
        task.kind,
    )
