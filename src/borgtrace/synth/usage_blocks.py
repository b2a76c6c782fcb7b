"""Usage windows measured block by block, as numbers that are ready to print, and dealt out to files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.dialects import RawTable
from borgtrace.schema.time import SECOND
from borgtrace.synth.cpu_process import MODEL, CpuModel
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import mix, unit
from borgtrace.synth.measurement import (
    AVERAGE,
    FAULTS,
    LISTS,
    MEMORY,
    PERCENTILES,
    SAMPLED,
    SCALARS,
    WIDTH,
    Traits,
    UsageFaults,
    inject_faults,
    measure,
    sample_percentiles,
    traits_of,
)
from borgtrace.synth.number_text import NumberTexts, number_code
from borgtrace.synth.usage_windows import Windows

TALLY: Final = ("n", "sum_average", "sum2_average", "sum_sampled", "sum2_sampled", "sum_memory")
"""Sums over the printed values of each execution."""
ORDERED_ROWS: Final = 4_000
"""Rows per block of a file in time order: its text stays in the processor's cache until it is compressed."""
SHARD_ROWS: Final = 1_000
"""Rows per block and shard, whose rows are longer."""


def measured_columns(raw: RawTable) -> NDArray[np.int64]:
    """Return which of the measured numbers a raw table holds, in the order of its fields.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> measured_columns(dialect("2011").tables["task_usage"])
    array([ 0,  3,  4,  5,  6,  7,  8, 10,  2,  9, 11, 12, 13, 14,  1])
    """
    columns: list[int] = []
    for field in raw.fields:
        if field.column in LISTS:
            columns += range(*LISTS[field.column])
        elif field.column in SCALARS:
            columns.append(SCALARS.index(field.column))
    return np.array(columns)


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of one file.

    Attributes
    ----------
    shard
        Number of the file.
    rows
        Windows of the segment, in the order of the file: shape (r,).
    codes
        What they say, as ten-bit numbers (:func:`~borgtrace.synth.number_text.number_code`), −1 for missing:
        int16, shape (r, measured columns).
    """

    shard: int
    rows: NDArray[np.int64]
    codes: NDArray[np.int16]


class _Plan(NamedTuple):
    """What to make of a window.

    Rates of faults, scores of percentiles, which numbers are printed, which of those are tallied, and what a reader
    gets back for each code.
    """

    rates: UsageFaults
    scores: NDArray[np.float64]
    columns: NDArray[np.int64]
    tallied: NDArray[np.int64]
    values: NDArray[np.float64]


class UsageBlocks:
    """The usage of one segment; iterating it measures it.

    Parameters
    ----------
    windows
        Windows of the segment.
    raw
        The raw table, whose fields decide what is measured.
    texts
        How numbers are printed, and so what a reader gets back.
    seed
        Seed of the draws.
    shards
        Number of files that windows are dealt out to by hash, unordered inside; 0 for one file in time order.
    rates
        Rates of faults.

    Attributes
    ----------
    tally
        Sums per execution: shape (executions, len(TALLY)).
    faults
        Injected faults by kind: shape (len(FAULTS),).
    """

    def __init__(
        self, windows: Windows, raw: RawTable, texts: NumberTexts, seed: int, shards: int, rates: FaultRates
    ) -> None:
        self.windows, self.raw, self.texts, self.shards = windows, raw, texts, shards
        self.tally = np.zeros((len(windows.executions), len(TALLY)))
        self.faults = np.zeros(len(FAULTS), dtype=np.int64)
        self.block_size = SHARD_ROWS * max(shards, 4) if shards else ORDERED_ROWS
        self._traits = traits_of(windows.executions, seed, rates, MODEL)
        columns = measured_columns(raw)
        self._plan = _Plan(
            UsageFaults(rates.missing_usage, rates.bad_counters, rates.above_one, rates.disk_io_until // SECOND),
            PERCENTILES if any(field.column in LISTS for field in raw.fields) else PERCENTILES[:0],
            columns,
            np.array([columns.tolist().index(column) for column in (AVERAGE, SAMPLED, MEMORY)]),
            texts.values,
        )

    def __iter__(self) -> Iterator[Block]:
        for first in range(0, len(self.windows), self.block_size):
            codes, is_kept = self._measure(slice(first, first + self.block_size))
            kept = np.flatnonzero(is_kept)
            for shard, rows in self._deal(first, kept) if self.shards else [(0, kept)]:
                yield Block(shard, first + rows, codes[rows])

    def _deal(self, first: int, kept: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the number of each shard and its rows among `kept`, in the order of their hashes."""
        rows = first + kept
        order = _hashes(self._traits.keys, self.windows.execution[rows], self.windows.start[rows])
        # The upper half chooses the file, the whole number the place in it.
        shard = (order >> np.uint64(32)) % np.uint64(self.shards)
        for number in range(self.shards):
            mine = np.flatnonzero(shard == number)
            yield number, kept[mine[np.argsort(order[mine], kind="stable")]]

    def _measure(self, part: slice) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        w, columns = self.windows, len(self._plan.columns)
        windows = w.execution[part], w.start[part], w.end[part]
        # 16 bits hold the 11,264 numbers and −1. Rows that are not kept stay undefined and are never read.
        codes = np.empty((len(windows[0]), columns), dtype=np.int16)
        is_kept = np.empty(len(codes), dtype=bool)
        # All four are written by the kernel, which adds to the last two; nobody else has them while it runs.
        found = (codes, is_kept, self.tally, self.faults)
        _measure_block(MODEL, w.executions, self._traits, windows, self._plan, np.empty(WIDTH), found)
        return codes, is_kept


@compiled(makes_arrays=False)
def _measure_block(
    model: CpuModel,
    executions: NDArray[np.void],
    traits: Traits,
    windows: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
    plan: _Plan,
    line: NDArray[np.float64],
    found: tuple[NDArray[np.int16], NDArray[np.bool_], NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """Measure windows, inject faults, add what is printed to the tally.

    `line` is scratch: a kernel that makes no arrays need not count references to them, which would cost as much in
    every row as measuring it.
    """
    rates, scores, columns, tallied, values = plan
    codes, is_kept, tally, faults = found
    execution, start, end = windows
    for row in range(len(execution)):
        i = execution[row]
        own = mix(traits.keys[i, 1], np.uint64(start[row]))
        is_kept[row] = unit(own) >= rates.missing
        if not is_kept[row]:
            faults[0] += 1
            continue
        measure(model, executions, traits, i, start[row], end[row], line)
        inject_faults(own, rates, traits.factors[i, 7] == 0.0, start[row], line, faults)
        if len(scores) > 0:
            sample_percentiles(model, own, executions[i]["kind"], scores, line)
        for number in range(len(columns)):
            value = line[columns[number]]
            codes[row, number] = -1 if value < 0.0 else number_code(value)
        # What a reader gets back, not what was measured: the sums must agree to the last bit with the files.
        average, sampled = values[codes[row, tallied[0]]], values[codes[row, tallied[1]]]
        _add(tally, i, average, sampled, values[codes[row, tallied[2]]])


@compiled(inline=True)
def _add(tally: NDArray[np.float64], i: int, average: float, sampled: float, memory: float) -> None:
    """Add one printed window to the :data:`TALLY` of its execution."""
    tally[i, 0] += 1.0
    tally[i, 1] += average
    tally[i, 2] += average * average
    tally[i, 3] += sampled
    tally[i, 4] += sampled * sampled
    tally[i, 5] += memory


@compiled()
def _hashes(keys: NDArray[np.uint64], execution: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a hash of every window."""
    out = np.empty(len(execution), dtype=np.uint64)
    for row in range(len(execution)):
        out[row] = mix(mix(keys[execution[row], 1], np.uint64(4)), np.uint64(start[row]))
    return out
