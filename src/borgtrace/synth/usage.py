"""Which usage windows a part of the trace has: runs cut at the 300 s grid, in the order of the files."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.trace_segment import Execution, TraceSegment

WINDOW_SECONDS: Final = 300
FIELDS: Final = np.dtype(
    [
        ("job", "i8"),
        ("index", "i8"),
        ("serial", "i8"),
        ("machine", "i8"),
        ("start", "i8"),
        ("end", "i8"),
        ("level", "f4"),
        ("memory", "f4"),
        ("kind", "i1"),
        ("wave", "f4"),
        ("phase", "f4"),
        ("alloc", "i8"),
        ("alloc_index", "i8"),
        ("is_alloc_set", "i1"),
        ("twin_job", "i8"),
        ("twin_index", "i8"),
    ]
)
"""One run: ids, machine id, [start, end) in s, and the parameters of its process.

``twin_job``, ``twin_index`` name the process it follows: its own, or, for an alloc instance, that of
the task inside it, whose usage it includes."""
_LETTERS: Final = {"i8": "q", "f4": "f", "i1": "b"}
_PACK: Final = struct.Struct("<" + "".join(_LETTERS[FIELDS[name].str[1:]] for name in FIELDS.fields or ())).pack


@dataclass(frozen=True, slots=True)
class Windows:
    """Usage windows of one part, sorted by start, job and index.

    Attributes
    ----------
    runs
        Structured array with :data:`FIELDS`, one entry per run, sorted by job and index.
    run
        Entry of `runs` per window, shape (w,).
    start, end
        Limits of the windows, s, shape (w,).
    """

    runs: NDArray[np.void]
    run: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.run)


def windows_of(segment: TraceSegment, machine_ids: NDArray[np.int64]) -> Windows:
    """Cut the runs of a segment into windows."""
    runs = _table(segment.runs, machine_ids, segment.start)
    first = np.maximum(runs["start"], segment.start // SECOND)
    last = np.minimum(runs["end"], -(-segment.end // SECOND))
    count = np.maximum(-(-last // WINDOW_SECONDS) - first // WINDOW_SECONDS, 0)
    count[last <= first] = 0
    offsets = np.concatenate([[0], np.cumsum(count)])
    run, start, end = _cut(offsets, first, runs["end"].copy())
    order = np.argsort((start - segment.start // SECOND).astype(np.uint16), kind="stable")
    return Windows(runs, run[order], start[order], end[order])


def _table(runs: Sequence[Execution], machine_ids: NDArray[np.int64], since: int) -> NDArray[np.void]:
    ids = machine_ids.tolist()
    packed = b"".join([_packed(run, ids[run.machine]) for run in runs if run.usage_end > since])
    table = np.frombuffer(packed, dtype=FIELDS)
    start, end = np.maximum(table["start"], TRACE_START) // SECOND, -(-table["end"] // SECOND)
    order = np.lexsort((start, table["index"], table["job"]))
    table = table[order]
    table["start"], table["end"] = start[order], end[order]
    return table


def _packed(run: Execution, machine: int) -> bytes:
    """Return the fields of a run as bytes, with times still in µs; packed one by one they cost half."""
    task, job = run.task, run.task.job
    host, guest = job.host, job.guest
    return _PACK(
        job.id,
        task.index,
        task.serial,
        machine,
        run.start,
        run.usage_end,
        task.level * task.cpu_share,
        task.memory * task.memory_share,
        task.kind,
        job.wave,
        job.phase,
        host.id if host else 0,
        task.index if host else -1,
        job.is_alloc_set,
        guest.id if guest else job.id,
        task.index,
    )


@compiled()
def _cut(offsets, first, last):  # type: ignore[no-untyped-def]
    total = offsets[-1]
    run = np.empty(total, dtype=np.int32)
    start = np.empty(total, dtype=np.int64)
    end = np.empty(total, dtype=np.int64)
    for i in range(len(first)):
        window = first[i] // WINDOW_SECONDS
        for row in range(offsets[i], offsets[i + 1]):
            run[row] = i
            start[row] = max(first[i], window * WINDOW_SECONDS)
            window += 1
            end[row] = min(last[i], window * WINDOW_SECONDS)
    return run, start, end
