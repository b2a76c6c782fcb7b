"""Usage windows measured block by block, as numbers that are ready to print, and distributed over files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.dialects import RawTable
from borgtrace.synth.measure.measurement import (
    EMPTY_LIST,
    FAULTS,
    MEASURED,
    MISSING_USAGE,
    PERCENTILES,
    PLACES,
    empty_percentiles,
    inject_faults,
    measure,
    sample_percentiles,
    traits_of,
)
from borgtrace.synth.measure.number_text import number_code, number_texts
from borgtrace.synth.measure.usage_windows import SegmentWindows
from borgtrace.synth.model.cpu_process import CpuModel, model_of
from borgtrace.synth.model.fault_rates import FaultRates
from borgtrace.synth.model.hashing import mix, unit
from borgtrace.synth.options import SynthOptions

TALLY = np.dtype(
    [
        ("n", "f8"),
        ("sum_average", "f8"),
        ("sum2_average", "f8"),
        ("sum_sampled", "f8"),
        ("sum2_sampled", "f8"),
        ("sum_memory", "f8"),
    ]
)
"""Sums over the printed values of an execution."""
ORDERED_ROWS = 4_000
"""Rows per block of a file in time order: its text stays in the processor's cache until it is compressed."""
SHARD_ROWS = 1_000
"""Rows per block and shard, whose rows are longer."""
_ORDER = np.uint64(4)
"""What a task's hash is mixed with for the order of its windows in unordered files: part of the data."""
MISSING = -1
"""The code of a number that is missing."""
EMPTY = -2
"""The code in place of the first number of a list that is empty."""


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
class UsageBlock:
    """Some rows of one file.

    Attributes
    ----------
    shard
        Number of the file.
    first
        The first of the n windows of the segment that were measured together.
    rows
        Those of them that are rows of the file, in its order: shape (r,), counted from `first`.
    codes
        All n windows as ten-bit numbers (:func:`~borgtrace.synth.measure.number_text.number_code`), −1 for missing,
        −2 for an empty list; undefined for windows that are in no file: int16, shape (n, measured columns).
    """

    shard: int
    first: int
    rows: NDArray[np.int64]
    codes: NDArray[np.int16]


class TalliedColumns(NamedTuple):
    """Where the tallied numbers stand among the printed ones."""

    average_cpu: int
    sampled_cpu: int
    average_memory: int


class MeasurementPlan(NamedTuple):
    """What to measure of a window; compiled functions take it as one argument.

    Attributes
    ----------
    model
        How CPU is drawn.
    executions, traits
        The executions, and what was drawn for them.
    rates
        Rates of faults.
    scores
        Normal scores of the percentiles, empty where none is printed.
    columns
        Which numbers are printed.
    tallied
        Which of those are tallied.
    values
        What a reader gets back for each code.
    """

    model: CpuModel
    executions: NDArray[np.void]
    traits: NDArray[np.void]
    rates: FaultRates
    scores: NDArray[np.float64]
    columns: NDArray[np.int64]
    tallied: TalliedColumns
    values: NDArray[np.float64]


class MeasuredBlock(NamedTuple):
    """What measuring a block writes; compiled functions take it as one argument.

    Attributes
    ----------
    codes
        As in :class:`UsageBlock`.
    is_kept, hashes
        Which rows are kept, and a hash of each row.
    tally, faults
        Sums by execution (:data:`TALLY`) and counts of faults, which it adds to.
    """

    codes: NDArray[np.int16]
    is_kept: NDArray[np.bool_]
    hashes: NDArray[np.uint64]
    tally: NDArray[np.void]
    faults: NDArray[np.int64]


class UsageBlocks:
    """The usage of one segment; iterating it measures it.

    Parameters
    ----------
    windows
        Windows of the segment.
    options
        What is generated.  The fields of the raw table decide what is measured, the number of files whether windows are
        distributed by hash, unordered inside, or are in one file in time order.

    Attributes
    ----------
    raw
        The raw table.
    numbers
        How numbers are printed, and so what a reader gets back.
    shards
        Number of files that windows are distributed over, 0 for one file in time order.
    tally
        Sums by execution (:data:`TALLY`).
    faults
        Injected faults, in the order of :data:`~borgtrace.synth.measure.measurement.FAULTS`.
    block_size
        Windows that are measured together.
    """

    def __init__(self, windows: SegmentWindows, options: SynthOptions) -> None:
        self.windows = windows
        self.raw = options.dialect.tables[options.usage_table]
        self.numbers = number_texts(is_short=options.dialect.shards == "time")
        self.shards = options.shards.get(options.usage_table, 0)
        self.block_size = SHARD_ROWS * max(self.shards, 4) if self.shards else ORDERED_ROWS
        self.tally = np.zeros(len(windows.executions), dtype=TALLY)
        self.faults = np.zeros(len(FAULTS), dtype=np.int64)
        self._plan = self._make_plan(options)

    def _make_plan(self, options: SynthOptions) -> MeasurementPlan:
        classes = options.profile.classes
        model = model_of(classes, options.shared_factor)
        rates = options.fault_rates
        columns = measured_columns(self.raw)
        place_of = {place: number for number, place in enumerate(columns.tolist())}
        has_percentiles = PLACES["cpu_usage_distribution"][0] in place_of
        traits = traits_of(
            model,
            self.windows.executions,
            options.draw_seed,
            rates,
            classes.drifting,
        )
        return MeasurementPlan(
            model=model,
            executions=self.windows.executions,
            traits=traits,
            rates=rates,
            scores=PERCENTILES if has_percentiles else PERCENTILES[:0],
            columns=columns,
            tallied=TalliedColumns(
                average_cpu=place_of[PLACES["average_cpu"][0]],
                sampled_cpu=place_of[PLACES["sampled_cpu"][0]],
                average_memory=place_of[PLACES["average_memory"][0]],
            ),
            values=self.numbers.values,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows measured so far that are kept."""
        return int(self.tally["n"].sum())

    def __iter__(self) -> Iterator[UsageBlock]:
        for first in range(0, len(self.windows.rows), self.block_size):
            windows = self.windows.rows[first : first + self.block_size]
            measured = self._measure(windows)
            kept = np.flatnonzero(measured.is_kept)
            if self.shards:
                for shard, rows in self._shards_of(kept, measured.hashes[kept]):
                    yield UsageBlock(shard, first, rows, measured.codes)
            else:
                yield UsageBlock(0, first, kept, measured.codes)

    def _shards_of(
        self,
        rows: NDArray[np.int64],
        hashes: NDArray[np.uint64],
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the number of each shard and its rows, in the order of their hashes."""
        # The upper half chooses the file, the whole number the place in it.
        shard_of_row = (hashes >> np.uint64(32)) % np.uint64(self.shards)
        for shard in range(self.shards):
            members = np.flatnonzero(shard_of_row == shard)
            order = np.argsort(hashes[members], kind="stable")
            yield shard, rows[members[order]]

    def _measure(self, rows: NDArray[np.void]) -> MeasuredBlock:
        n_numbers = len(self._plan.columns)
        measured = MeasuredBlock(
            # 16 bits hold the 11,264 numbers and −1.  Rows that are not kept stay undefined and are never read.
            codes=np.empty((len(rows), n_numbers), dtype=np.int16),
            is_kept=np.empty(len(rows), dtype=bool),
            hashes=np.empty(len(rows), dtype=np.uint64),
            # No other thread has the tally and the faults while the kernel adds to them.
            tally=self.tally,
            faults=self.faults,
        )
        line = np.empty(1, dtype=MEASURED)
        _measure_block(self._plan, rows, line, line.view("f8"), measured)
        return measured


@compiled(makes_arrays=False)
def _measure_block(
    plan: MeasurementPlan,
    windows: NDArray[np.void],
    lines: NDArray[np.void],
    numbers: NDArray[np.float64],
    measured: MeasuredBlock,
) -> None:
    """Measure windows, inject faults, add what is printed to the tally.

    `lines` is one record of scratch space, and `numbers` all of its numbers: a kernel that makes no arrays need not
    count references to them, which would cost as much in every row as measuring it.
    """
    line = lines[0]
    for row in range(len(windows)):
        number = windows[row]["execution"]
        start = windows[row]["start"]
        execution = plan.executions[number]
        trait = plan.traits[number]
        own = mix(trait["faults"], np.uint64(start))
        order_key = mix(trait["faults"], _ORDER)
        measured.hashes[row] = mix(order_key, np.uint64(start))
        measured.is_kept[row] = unit(own) >= plan.rates.missing_usage
        if not measured.is_kept[row]:
            measured.faults[MISSING_USAGE] += 1
            continue
        end = windows[row]["end"]
        # A part of a window that is divided has the spikes of the whole: short rows of 2019 have as high ones.
        end_of_spikes = end
        if plan.rates.divided_windows > 0.0:
            end_of_spikes = start + 300
        measure(plan.model, execution, trait, start, end_of_spikes, line)
        has_counters = trait["has_counters"]
        inject_faults(own, plan.rates, has_counters, start, line, measured.faults)
        if len(plan.scores) > 0:
            kind = execution["kind"]
            sample_percentiles(plan.model, own, kind, plan.scores, line, numbers)
            empty_percentiles(own, plan.rates, end - start, numbers, measured.faults)
        _write_codes(plan.columns, numbers, row, measured.codes)
        # What a reader gets back, not what was measured: the sums must agree to the last bit with the files.
        average = plan.values[measured.codes[row, plan.tallied.average_cpu]]
        sampled = plan.values[measured.codes[row, plan.tallied.sampled_cpu]]
        memory = plan.values[measured.codes[row, plan.tallied.average_memory]]
        tally = measured.tally[number]
        _add_to_tally(tally, average, sampled, memory)


@compiled(inline=True)
def _write_codes(
    columns: NDArray[np.int64],
    numbers: NDArray[np.float64],
    row: int,
    codes: NDArray[np.int16],
) -> None:
    """Write the code of each number of a row."""
    for column in range(len(columns)):
        value = numbers[columns[column]]
        if value >= 0.0:
            codes[row, column] = number_code(value)
        else:
            codes[row, column] = EMPTY if value == EMPTY_LIST else MISSING


@compiled(inline=True)
def _add_to_tally(
    tally: NDArray[np.void],
    average: float,
    sampled: float,
    memory: float,
) -> None:
    """Add one printed window to the :data:`TALLY` of its execution."""
    tally["n"] += 1.0
    tally["sum_average"] += average
    tally["sum2_average"] += average * average
    tally["sum_sampled"] += sampled
    tally["sum2_sampled"] += sampled * sampled
    tally["sum_memory"] += memory
