"""What is done with traces once they are chosen: measured, gathered, scaled and written, here or on another machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from borgtrace.datasets.buffers import reused_array
from borgtrace.datasets.chosen import blocks_of
from borgtrace.datasets.formats import FORMATS
from borgtrace.datasets.formats.arrays import (
    IDENTITY,
    FeatureNames,
    TraceArrays,
    TraceColumns,
    side_by_side,
)
from borgtrace.datasets.gathering import POINTS, Gatherer
from borgtrace.datasets.metadata import DatasetFile
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.scaling import Scaling, SeriesMoments, measure_running, measure_series
from borgtrace.datasets.series import scale, take_columns
from borgtrace.datasets.trace_rows import TraceRows, TraceSpans
from borgtrace.kernels.arrays import Index
from borgtrace.storage import replacing
from borgtrace.store import Store


class TraceWork:
    """Measures traces of a store, and writes them.  Pickled, it holds no trace.

    Parameters
    ----------
    store, options
        As for :func:`~borgtrace.datasets.build.build`.
    names
        What each trace has.
    """

    def __init__(self, store: Store, options: DatasetOptions, names: FeatureNames) -> None:
        self.options = options
        self.names = names
        self.gatherer = Gatherer(store, options.features, options.selection.gaps)

    def measure(self, traces: TraceSpans, index: Index) -> SeriesMoments:
        """Measure the series of the traces at some positions."""
        if self.options.is_original:
            # In one thread, in the order given.
            blocks = blocks_of(traces, index, POINTS)
            series = (self.gatherer.gather(traces, block).series for block in blocks)
            return measure_running(series, len(self.options.features))
        return measure_series(self.gatherer.gather(traces, index).series)

    def write(
        self,
        traces: TraceRows,
        index: Index,
        path: Path,
        scalings: tuple[Scaling, ...],
    ) -> DatasetFile:
        """Write a file of the traces at some positions.

        Parameters
        ----------
        traces, index
            The traces, in their order.
        path
            The file.
        scalings
            How each series is scaled.
        """
        write_format = FORMATS[self.options.format].write
        with replacing(path) as draft:
            records = write_format(
                draft,
                self.names,
                self._scaled(traces, index, scalings),
                is_compressed=self.options.gzip,
            )
            return DatasetFile(path.name, records, draft.stat().st_size)

    def _scaled(
        self,
        traces: TraceRows,
        index: Index,
        scalings: tuple[Scaling, ...],
    ) -> Iterator[TraceArrays]:
        """Gather and scale traces, block by block; the next block overwrites the last."""
        for block in blocks_of(traces, index, POINTS):
            gathered = self.gatherer.gather(traces, block)
            masks = []
            for k, (values, scaling) in enumerate(zip(gathered.series, scalings, strict=True)):
                mask = reused_array(f"mask {k}", len(values), np.uint8)
                scale(values, scaling.offset, scaling.divisor, mask)
                masks.append(mask)
            columns = take_trace_columns(traces, block, self.names)
            yield TraceArrays(
                offsets=gathered.offsets,
                values=side_by_side(gathered.series, np.float32),
                mask=side_by_side(masks, np.uint8),
                identity=columns.identity,
                numbers=columns.numbers,
                codes=columns.codes,
            )


def take_trace_columns(
    traces: TraceRows,
    index: Index,
    names: FeatureNames,
) -> TraceColumns:
    """Return identity, static numbers and codes of static words of some traces."""
    identity = np.empty((len(index), len(IDENTITY)), np.int64)
    take_columns(tuple(getattr(traces, name) for name in IDENTITY), index, identity)
    numbers = [traces.static_numbers[name][index] for name in names.numbers]
    codes = [traces.static_codes[name][index] for name in names.words]
    return TraceColumns(
        identity=identity,
        numbers=side_by_side(numbers, np.float32, len(index)),
        codes=side_by_side(codes, np.int64, len(index)),
    )
