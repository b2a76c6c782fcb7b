"""Which usage windows a part of the trace has: executions cut at the 300 s grid, in the order of the files."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.event_log import Execution, TraceSegment

WINDOW_SECONDS: Final = 300
IDENTITY: Final = (
    *("collection_id", "instance_index", "machine_id"),
    *("alloc_collection_id", "alloc_instance_index", "collection_type"),
)
"""Columns of ``instance_usage`` that are the same in all windows of an execution."""
TIMES: Final = ("start_time", "end_time")
_INTEGERS: Final = (*IDENTITY, "process_job", "process_index", "start", "end")
_FLOATS: Final = ("level", "memory", "wave", "phase")
FIELDS: Final = np.dtype([*((name, "i8") for name in _INTEGERS), *((name, "f4") for name in _FLOATS), ("kind", "i1")])
"""One execution: what identifies it, [start, end) in s, and the parameters of its process.

``process_job``, ``process_index`` name the process it follows: its own, or, for an alloc instance, that of
the task inside it, whose usage it includes."""
WINDOW: Final = np.dtype([("execution", "i8"), ("start", "i8"), ("end", "i8")])
"""One window: the entry of its execution, and its limits, s."""
_PACK: Final = struct.Struct(f"<{len(_INTEGERS)}q{len(_FLOATS)}fb").pack


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
    first = np.maximum(executions["start"], segment.start // SECOND)
    last = np.minimum(executions["end"], -(-segment.end // SECOND))
    count = np.maximum(-(-last // WINDOW_SECONDS) - first // WINDOW_SECONDS, 0)
    # An empty run in the middle of a window would count as one.
    count[last <= first] = 0
    rows = np.empty(count.sum(), dtype=WINDOW)
    mine = rows["execution"] = np.repeat(np.arange(len(executions)), count)
    # Numbers of windows since time 0: those of an execution follow each other.
    window = np.arange(len(rows)) + (first // WINDOW_SECONDS - np.cumsum(count) + count)[mine]
    rows["start"] = np.maximum(first[mine], window * WINDOW_SECONDS)
    rows["end"] = np.minimum(executions["end"][mine], (window + 1) * WINDOW_SECONDS)
    since = rows["start"] - segment.start // SECOND
    # NumPy sorts 16 bits by radix, twice as fast; only a part of more than 18 hours needs more.
    order = np.argsort(since.astype(np.uint16) if since.max(initial=0) < 2**16 else since, kind="stable")
    return Windows(executions, rows[order])


def _table(executions: Sequence[Execution], machine_ids: NDArray[np.int64], since: int) -> NDArray[np.void]:
    ids = machine_ids.tolist()
    table = np.frombuffer(b"".join([_packed(e, ids[e.machine]) for e in executions if e.usage_end > since]), FIELDS)
    start, end = np.maximum(table["start"], TRACE_START) // SECOND, -(-table["end"] // SECOND)
    # Sorted before cutting, so that a stable sort by time alone gives the order of the files.
    order = np.lexsort((start, table["instance_index"], table["collection_id"]))
    table = table[order]
    table["start"], table["end"] = start[order], end[order]
    return table


def _packed(execution: Execution, machine: int) -> bytes:
    """Return the fields of an execution as bytes, with times still in µs; packed one by one they cost half."""
    task, job = execution.task, execution.task.job
    host, guest = job.host, job.guest
    return _PACK(
        *(job.id, task.index, machine),
        *(host.id if host else 0, task.index if host else -1, job.is_alloc_set),
        *(guest.id if guest else job.id, task.index, execution.start, execution.usage_end),
        *(task.level * task.cpu_share, task.memory * task.memory_share, job.wave, job.phase, task.kind),
    )
