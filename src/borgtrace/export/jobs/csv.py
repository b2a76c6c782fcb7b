"""Text files without a header: all rows of a batch are formatted at once, then cut at line ends."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from borgtrace.export.jobs.file_rows import FileRows

_NEWLINE = ord("\n")


class CsvFiles:
    """Writes the CSV files of an export, batch by batch.

    Formatting a batch at once and looking for its line ends is what makes this fast: a call of Arrow's
    writer costs more than the rows of most jobs.

    Parameters
    ----------
    out
        Folder of the export.
    titles
        Columns and their titles, which these files do not hold.
    """

    suffix = ".csv"

    def __init__(
        self,
        out: Path,
        titles: Mapping[str, str],
    ) -> None:
        self._out = out
        # Names and lists are in quotes; no text of the trace breaks a line.
        self._options = pa_csv.WriteOptions(include_header=False, quoting_style="needed")

    def close(self) -> None:
        """Do nothing: no file stays open between two batches."""

    def write(
        self,
        start: int,
        batch: pa.RecordBatch,
        files: Sequence[FileRows],
    ) -> None:
        """Append the rows of `batch`, whose first is row `start` of the table, to their files.

        Parameters
        ----------
        start
            Number of the first row of `batch`.
        batch
            Rows of ``instance_usage``.
        files
            Files that have rows in it, in their order.
        """
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(batch, sink, self._options)
        text = sink.getvalue()
        is_line_end = np.frombuffer(text, np.uint8) == _NEWLINE
        line_starts = [0, *(np.flatnonzero(is_line_end) + 1).tolist()]
        # Slices of a memory view are written without a copy.
        view = memoryview(text)
        for file in files:
            first, last = file.within(start, batch.num_rows)
            # A job that began in an earlier batch is continued.
            mode = "wb" if file.first >= start else "ab"
            with (self._out / file.path).open(mode, buffering=0) as handle:
                handle.write(view[line_starts[first] : line_starts[last]])
