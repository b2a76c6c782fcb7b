"""Which usage windows a part of the trace has: executions cut at the 300 s grid, in the order of the files."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.event_log import Execution, TraceSegment

WINDOW_SECONDS = 300
IDENTITY = (
    *("collection_id", "instance_index", "machine_id"),
    *("alloc_collection_id", "alloc_instance_index", "collection_type"),
)
"""Columns of ``instance_usage`` that are the same in all windows of an execution."""
TIMES = ("start_time", "end_time")
_INTEGERS = (*IDENTITY, "process_job", "process_index", "start", "end")
_FLOATS = ("level", "memory", "wave", "phase")
FIELDS = np.dtype(
    [*((name, "i8") for name in _INTEGERS), *((name, "f4") for name in _FLOATS), ("kind", "i1")]
)
"""One execution: what identifies it, [start, end) in s, and the parameters of its process.

``process_job``, ``process_index`` name the process it follows: its own, or, for an alloc instance, that of
the task inside it, whose usage it includes."""
WINDOW = np.dtype([("execution", "i8"), ("start", "i8"), ("end", "i8")])
"""One window: the entry of its execution, and its limits, s."""
_PACK = struct.Struct(f"<{len(_INTEGERS)}q{len(_FLOATS)}fb").pack


@dataclass(frozen=True, slots=True)
class Windows:
    """Usage windows of one part.

    Attributes
    ----------
    executions
        Structured array with :data:`FIELDS`, one entry per execution, sorted by collection and instance.
    rows
        Structured array with :data:`WINDOW`, one entry per window, sorted by start, collection and instance.
    """

    executions: NDArray[np.void]
    rows: NDArray[np.void]


def windows_of(segment: TraceSegment, machine_ids: NDArray[np.int64]) -> Windows:
    """Cut the executions of a segment into windows."""
    executions = _table(segment.executions, machine_ids, segment.start)
    return Windows(executions, _cut(executions, segment.start // SECOND, -(-segment.end // SECOND)))


@compiled()
def _cut(executions: NDArray[np.void], begin: int, end: int) -> NDArray[np.void]:
    """Return the windows of all executions between two times (s), in the order of their starts.

    Windows that start in the same second stay in the order of the executions.
    """
    # How many windows start in each second or before; then, where the next one that starts in it goes.
    places = np.zeros(max(end - begin, 0) + 1, np.int64)
    for first, last, _ in _spans(executions, begin, end):
        for window in range(first // WINDOW_SECONDS, -(-last // WINDOW_SECONDS)):
            places[max(first, window * WINDOW_SECONDS) - begin + 1] += 1
    places = np.cumsum(places)
    rows = np.empty(places[-1], WINDOW)
    for first, last, i in _spans(executions, begin, end):
        for window in range(first // WINDOW_SECONDS, -(-last // WINDOW_SECONDS)):
            start = max(first, window * WINDOW_SECONDS)
            row = rows[places[start - begin]]
            places[start - begin] += 1
            row["execution"], row["start"] = i, start
            row["end"] = min(executions[i]["end"], (window + 1) * WINDOW_SECONDS)
    return rows


@compiled()
def _spans(executions: NDArray[np.void], begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield begin and end (s) of each execution between two times, and its number; without those that are not there."""
    for i in range(len(executions)):
        first, last = max(executions[i]["start"], begin), min(executions[i]["end"], end)
        # An empty one in the middle of a window would count as one.
        if last > first:
            yield first, last, i


def _table(
    executions: Sequence[Execution], machine_ids: NDArray[np.int64], since: int
) -> NDArray[np.void]:
    ids = machine_ids.tolist()
    table = np.frombuffer(
        b"".join([_packed(e, ids[e.machine]) for e in executions if e.usage_end > since]), FIELDS
    )
    start, end = np.maximum(table["start"], TRACE_START) // SECOND, -(-table["end"] // SECOND)
    # Sorted before cutting, so that a stable sort by time alone gives the order of the files.
    order = np.lexsort((start, table["instance_index"], table["collection_id"]))
    table = table[order]
    table["start"], table["end"] = start[order], end[order]
    return table


def _packed(execution: Execution, machine: int) -> bytes:
    """Return the fields of an execution as bytes, with times still in µs; packed one by one they cost half."""
    task, job = execution.task, execution.task.job
    host, guest, index, kind = job.host, job.guest, task.index, task.kind
    host_id, place, is_set = host.id if host else 0, index if host else -1, job.is_alloc_set
    process, start, end = guest.id if guest else job.id, execution.start, execution.usage_end
    level, memory, wave, phase = (
        task.level * task.cpu_share,
        task.memory * task.memory_share,
        job.wave,
        job.phase,
    )
    # Without unpacking any tuple into the call: that takes a quarter of the time.
    return _PACK(
        job.id,
        index,
        machine,
        host_id,
        place,
        is_set,
        process,
        index,
        start,
        end,
        level,
        memory,
        wave,
        phase,
        kind,
    )
