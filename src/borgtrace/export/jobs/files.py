"""Writing one file per job from runs of usage rows: each row is read once, each file is opened once."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine.stored import stored_names
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.export.jobs.formats import FORMATS
from borgtrace.export.jobs.layout import JobsLayout
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.store.columns import as_floats

ROWS = 1 << 18
"""Rows that are held in memory at a time."""


def write_files(
    parts: Sequence[str],
    files: Sequence[FileRows],
    *,
    out: Path,
    layout: JobsLayout,
) -> Sequence[FileRows]:
    """Write whole files.

    Parameters
    ----------
    parts
        Parquet files of ``instance_usage``, in order.
    files
        What to write, in the order of their rows.
    out
        Folder of the export.
    layout
        Format and columns.

    Returns
    -------
    sequence of FileRows
        `files`, once they are written.
    """
    # Other processes make the same folders at the same time.
    for folder in {(out / file.path).parent for file in files}:
        folder.mkdir(exist_ok=True)
    # The writer spans the batches: a large job goes on in the next one.
    with closing(FORMATS[layout.format](out, layout.titles)) as writer:
        for start, batch in read_batches(
            parts,
            files[0].first,
            files[-1].last,
            layout,
        ):
            members = [file for file in files if file.overlaps(start, batch.num_rows)]
            writer.write(start, batch, members)
    return files


def read_batches(
    parts: Sequence[str],
    first: int,
    last: int,
    layout: JobsLayout,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield usage rows, at most `ROWS` at a time, each batch with its first row's number.

    Parameters
    ----------
    parts
        Parquet files of ``instance_usage``, in order.
    first, last
        The rows: from, until.
    layout
        The columns.
    """
    stored = stored_names(TABLES["instance_usage"], parts)
    # A percentile is read from the list that holds it.
    sources = {name: stored[PERCENTILES.get(name, (name, 0))[0]] for name in layout.columns}
    present = sorted({source for source in sources.values() if source})
    start = 0
    for part in parts:
        with pq.ParquetFile(part) as file:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                low = max(first - start, 0)
                high = min(last - start, rows)
                if low < high:
                    # One thread: there is a process for each core already.
                    table = file.read_row_group(group, present, use_threads=False)
                    chosen = _present_columns(table, sources).slice(low, high - low)
                    row = start + low
                    for batch in chosen.combine_chunks().to_batches(ROWS):
                        yield row, batch
                        row += batch.num_rows
                start += rows


def _present_columns(
    table: pa.Table,
    sources: Mapping[str, str | None],
) -> pa.Table:
    """Return columns under their present names; one that a store of an earlier version lacks is NULL."""
    nulls = pa.nulls(table.num_rows, pa.float32())
    columns = {}
    for name, source in sources.items():
        column = table[source].combine_chunks() if source else nulls
        columns[name] = _cells(name, column)
    return pa.table(columns)


def _cells(name: str, column: pa.Array) -> pa.Array:
    """Return what the cells of a column hold: a number, a name, or a list as JSON."""
    if name in PERCENTILES:
        _, place = PERCENTILES[name]
        return pa.array(as_floats(column, place), from_pandas=True)
    if pa.types.is_list(column.type):
        # Through text, which Arrow writes as the shortest that reads back as the same float32.
        texts = pc.binary_join(column.cast(pa.list_(pa.string())), ",")
        return pc.binary_join_element_wise("[", texts, "]", "")
    if pa.types.is_dictionary(column.type):
        return column.cast(pa.string())
    return column
