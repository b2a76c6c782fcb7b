"""Usage windows measured block by block, as numbers that are ready to print, and dealt out to files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.dialects import RawTable
from borgtrace.synth.cpu_process import CpuModel, model_of
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import mix, unit
from borgtrace.synth.measurement import (
    FAULTS,
    MEASURED,
    PERCENTILES,
    PLACES,
    inject_faults,
    measure,
    sample_percentiles,
    traits_of,
)
from borgtrace.synth.number_text import number_code, number_texts
from borgtrace.synth.options import Options
from borgtrace.synth.usage_windows import Windows

TALLY = ("n", "sum_average", "sum2_average", "sum_sampled", "sum2_sampled", "sum_memory")
"""Sums over the printed values of each execution."""
ORDERED_ROWS = 4_000
"""Rows per block of a file in time order: its text stays in the processor's cache until it is compressed."""
SHARD_ROWS = 1_000
"""Rows per block and shard, whose rows are longer."""


def measured_columns(raw: RawTable) -> NDArray[np.int64]:
    """Return which of the measured numbers a raw table holds, in the order of its fields.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> measured_columns(dialect("2011").tables["task_usage"])
    array([ 0,  3,  4,  5,  6,  7,  8, 10,  2,  9, 11, 12, 13, 14,  1])
    """
    return np.array([place for field in raw.fields for place in PLACES.get(field.column, ())])


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of one file.

    Attributes
    ----------
    shard
        Number of the file.
    first
        The first of the windows of the segment that were measured together, n of them.
    rows
        Those of them that are rows of the file, in its order: shape (r,), counted from `first`.
    codes
        What all n say, as ten-bit numbers (:func:`~borgtrace.synth.number_text.number_code`), −1 for missing, undefined
        where they are no rows of any file: int16, shape (n, measured columns).
    """

    shard: int
    first: int
    rows: NDArray[np.int64]
    codes: NDArray[np.int16]


class _Plan(NamedTuple):
    """What to make of a window.

    How CPU is drawn, the executions and their traits, rates of faults, scores of percentiles, which numbers are
    printed, which of those are tallied, and what a reader gets back for each code.
    """

    model: CpuModel
    executions: NDArray[np.void]
    traits: NDArray[np.void]
    rates: FaultRates
    scores: NDArray[np.float64]
    columns: NDArray[np.int64]
    tallied: NDArray[np.int64]
    values: NDArray[np.float64]


class _Found(NamedTuple):
    """What measuring a block writes: codes, which rows are kept, a hash of each; and the sums that it adds to."""

    codes: NDArray[np.int16]
    is_kept: NDArray[np.bool_]
    hashes: NDArray[np.uint64]
    tally: NDArray[np.float64]
    faults: NDArray[np.int64]


class UsageBlocks:
    """The usage of one segment; iterating it measures it.

    Parameters
    ----------
    windows
        Windows of the segment.
    options
        What is generated: the raw table, whose fields decide what is measured; how numbers are printed, and so what a
        reader gets back; the number of files that windows are dealt out to by hash, unordered inside, or none for one
        file in time order; the seed, the rates of faults, and the share of the variance that all tasks have in common.
    """

    def __init__(self, windows: Windows, options: Options) -> None:
        self.windows, self.raw = windows, options.dialect.tables[options.usage_table]
        self.numbers = number_texts(is_short=options.dialect.shards == "time")
        self.shards = shards = options.shards.get(options.usage_table, 0)
        classes = options.profile.classes
        model, rates = model_of(classes, options.shared_factor), options.fault_rates
        self.tally = np.zeros((len(windows.executions), len(TALLY)))
        self.faults = np.zeros(len(FAULTS), dtype=np.int64)
        self.block_size = SHARD_ROWS * max(shards, 4) if shards else ORDERED_ROWS
        traits = traits_of(model, windows.executions, options.draw_seed, rates, classes.drifting)
        columns = measured_columns(self.raw)
        scores = PERCENTILES if PLACES["cpu_usage_distribution"][0] in columns else PERCENTILES[:0]
        tallied = [PLACES[name][0] for name in ("average_cpu", "sampled_cpu", "average_memory")]
        where = np.array([columns.tolist().index(place) for place in tallied])
        self._plan = _Plan(
            model, windows.executions, traits, rates, scores, columns, where, self.numbers.values
        )

    def __iter__(self) -> Iterator[Block]:
        for first in range(0, len(self.windows.rows), self.block_size):
            found = self._measure(self.windows.rows[first : first + self.block_size])
            kept = np.flatnonzero(found.is_kept)
            for shard, rows in self._deal(kept, found.hashes[kept]) if self.shards else [(0, kept)]:
                yield Block(shard, first, rows, found.codes)

    def _deal(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the number of each shard and its rows, in the order of their hashes."""
        # The upper half chooses the file, the whole number the place in it.
        shard = (hashes >> np.uint64(32)) % np.uint64(self.shards)
        for number in range(self.shards):
            mine = np.flatnonzero(shard == number)
            yield number, rows[mine[np.argsort(hashes[mine], kind="stable")]]

    def _measure(self, rows: NDArray[np.void]) -> _Found:
        # 16 bits hold the 11,264 numbers and −1. Rows that are not kept stay undefined and are never read.
        codes = np.empty((len(rows), len(self._plan.columns)), dtype=np.int16)
        is_kept, hashes = np.empty(len(rows), dtype=bool), np.empty(len(rows), dtype=np.uint64)
        # Nobody else has the tally and the faults while the kernel adds to them.
        found = _Found(codes, is_kept, hashes, self.tally, self.faults)
        line = np.empty(1, dtype=MEASURED)
        _measure_block(self._plan, rows, line, line.view("f8"), found)
        return found


@compiled(makes_arrays=False)
def _measure_block(
    plan: _Plan,
    windows: NDArray[np.void],
    lines: NDArray[np.void],
    numbers: NDArray[np.float64],
    found: _Found,
) -> None:
    """Measure windows, inject faults, add what is printed to the tally.

    The one of `lines` is scratch, and `numbers` all of its numbers: a kernel that makes no arrays need not count
    references to them, which would cost as much in every row as measuring it.
    """
    model, executions, traits, rates, scores, columns, tallied, values = plan
    codes, is_kept, hashes, tally, faults = found
    line = lines[0]
    for row in range(len(windows)):
        i, start = windows[row]["execution"], windows[row]["start"]
        execution, trait = executions[i], traits[i]
        own = mix(trait["faults"], np.uint64(start))
        hashes[row] = mix(mix(trait["faults"], np.uint64(4)), np.uint64(start))
        is_kept[row] = unit(own) >= rates.missing_usage
        if not is_kept[row]:
            faults[0] += 1
            continue
        measure(model, execution, trait, start, windows[row]["end"], line)
        inject_faults(own, rates, trait["has_counters"], start, line, faults)
        if len(scores) > 0:
            sample_percentiles(model, own, execution["kind"], scores, line, numbers)
        for number in range(len(columns)):
            value = numbers[columns[number]]
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
