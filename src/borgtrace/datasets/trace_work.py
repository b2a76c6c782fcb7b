"""What is done with traces once they are chosen: measured, gathered, scaled and written, here or on another machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from borgtrace.datasets.buffers import reused_array
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
from borgtrace.datasets.series import scale
from borgtrace.datasets.trace_rows import TraceRows, TraceSpans
from borgtrace.kernels.runs import spans
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

    def measure(self, traces: TraceSpans) -> SeriesMoments:
        """Measure the series of some traces."""
        if self.options.is_original:
            # In one thread, in the order given.
            blocks = spans(traces.length, POINTS)
            parts = (traces.spans_between(first, last) for first, last in blocks)
            series = (self.gatherer.gather(part).series for part in parts)
            return measure_running(series, len(self.options.features))
        return measure_series(self.gatherer.gather(traces).series)

    def write(
        self,
        traces: TraceRows,
        path: Path,
        scalings: tuple[Scaling, ...],
    ) -> DatasetFile:
        """Write a file into a folder that is nobody else's, and that is removed where this fails.

        Parameters
        ----------
        traces
            Its traces, in their order.
        path
            The file.
        scalings
            How each series is scaled.
        """
        records = FORMATS[self.options.format].write(
            path,
            self.names,
            self._scaled(traces, scalings),
            is_compressed=self.options.gzip,
        )
        return DatasetFile(path.name, records, path.stat().st_size)

    def write_at_once(
        self,
        traces: TraceRows,
        path: Path,
        scalings: tuple[Scaling, ...],
    ) -> DatasetFile:
        """Write a file as :meth:`write` does, of which others see all or nothing: tasks of Spark may be tried again."""
        with replacing(path) as draft:
            file = self.write(traces, draft, scalings)
        return replace(file, name=path.name)

    def _scaled(self, traces: TraceRows, scalings: tuple[Scaling, ...]) -> Iterator[TraceArrays]:
        """Gather and scale traces, block by block; the next block overwrites the last."""
        for first, last in spans(traces.length, POINTS):
            block = traces.rows_between(first, last)
            gathered = self.gatherer.gather(block)
            masks = []
            for k, (values, scaling) in enumerate(zip(gathered.series, scalings, strict=True)):
                mask = reused_array(f"mask {k}", len(values), np.uint8)
                scale(values, scaling.offset, scaling.divisor, mask)
                masks.append(mask)
            columns = columns_of(block, self.names)
            yield TraceArrays(
                offsets=gathered.offsets,
                values=side_by_side(gathered.series, np.float32),
                mask=side_by_side(masks, np.uint8),
                identity=columns.identity,
                numbers=columns.numbers,
                codes=columns.codes,
            )


def columns_of(traces: TraceRows, names: FeatureNames) -> TraceColumns:
    """Return identity, static numbers and codes of static words of some traces."""
    identity = [getattr(traces, name) for name in IDENTITY]
    numbers = [traces.static_numbers[name] for name in names.numbers]
    codes = [traces.static_codes[name] for name in names.words]
    return TraceColumns(
        identity=side_by_side(identity, np.int64),
        numbers=side_by_side(numbers, np.float32, len(traces)),
        codes=side_by_side(codes, np.int64, len(traces)),
    )
