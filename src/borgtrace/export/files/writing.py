"""Writing the files of a layout: queries are answered in batches, which go to their files."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.export.files.alea import alea_queries
from borgtrace.export.files.batsim import batsim_queries
from borgtrace.export.files.cloudsim import cloudsim_queries
from borgtrace.export.files.kwok import kwok_queries
from borgtrace.export.files.omega import omega_queries
from borgtrace.export.files.opendc import opendc_queries
from borgtrace.export.files.planetlab import planetlab_queries
from borgtrace.export.files.queries import ExportQuery, MachineSize
from borgtrace.export.files.raw import raw_queries
from borgtrace.export.files.swf import swf_queries
from borgtrace.export.result import ExportResult, LedgerLine
from borgtrace.storage import as_path, check_free, new_folder
from borgtrace.store import Store

LAYOUTS: Mapping[str, Callable[[Store, MachineSize], list[ExportQuery]]] = {
    "opendc": opendc_queries,
    "swf": swf_queries,
    "cloudsim": cloudsim_queries,
    "omega": omega_queries,
    "planetlab": planetlab_queries,
    "batsim": batsim_queries,
    "alea": alea_queries,
    "kwok": kwok_queries,
    "raw": raw_queries,
}
"""Layouts, and what each of them asks of a store."""


def export_files(
    store: Store,
    out: Path | str,
    layout: str,
    capacity: tuple[float | None, float | None] = (None, None),
) -> ExportResult:
    """Write the files of a layout.

    Parameters
    ----------
    store
        Where from.
    out
        Folder to create.
    layout
        ``"opendc"`` (tasks and fragments, Parquet), ``"swf"`` (a line for each attempt), ``"cloudsim"`` (CSV of
        2011, as the readers of CloudSim Plus take it), ``"omega"`` (distributions of jobs, as Google's
        cluster-scheduler-simulator takes them), ``"planetlab"`` (a file of percentages for each task and day, as
        CloudSim takes them), ``"batsim"`` (jobs as JSON, a platform as XML), ``"alea"`` (its SWF of 21 fields, machines
        and failures), ``"kwok"`` (manifests of Kubernetes) or ``"raw"`` (the files of its trace: CSV of 2011, JSON
        lines of 2019).
    capacity
        Cores and bytes of the largest machine, for a store that does not know them.

    Raises
    ------
    UsageError
        The size of the largest machine is not known, or its trace has no raw files.
    """
    out = as_path(out)
    check_free(out)
    queries = LAYOUTS[layout](store, _machine_size(store, capacity))
    with new_folder(out) as folder, store.expect_current():
        rows = [n_rows for query in queries for n_rows in _write_files(store, query, folder)]
        ledger = [_count_rows(store, query) for query in queries if query.ledger]
        if store.manifest.synthetic:
            # What is made of these files must say so, too.
            (folder / "truth.json").write_text(json.dumps(store.manifest.synthetic))
    return ExportResult(
        out,
        files=len(rows),
        tasks=0,
        rows=sum(rows),
        ledger=tuple(ledger),
    )


def _machine_size(
    store: Store,
    capacity: tuple[float | None, float | None],
) -> MachineSize:
    cores, n_bytes = capacity
    basis = store.manifest.basis
    return MachineSize(cores or basis.get("cores"), n_bytes or basis.get("bytes"))


def _count_rows(store: Store, query: ExportQuery) -> LedgerLine:
    """Count what was written, and what was left out."""
    counts = store.sql(query.ledger, query.parameters_of(query.ledger)).to_pylist()
    rows_by_reason = {row["reason"]: row["rows"] for row in counts}
    return LedgerLine(
        what=query.what,
        written=rows_by_reason.pop(None, 0),
        left_out=rows_by_reason,
        cut=sum(row.get("cut", 0) for row in counts if row["reason"] is None),
    )


def _write_files(
    store: Store,
    query: ExportQuery,
    folder: Path,
) -> list[int]:
    """Write the files of a query; return the rows of each."""
    rows: dict[int, int] = {}
    answer = store.stream(query.sql, query.parameters_of(query.sql))
    for part, batches in _batches_by_part(answer):
        rows[part] = _write_file(folder / query.file_name(part), query, batches)
    for part in range(query.n_files):
        if part not in rows:
            rows[part] = _write_file(folder / query.file_name(part), query, [])
    return list(rows.values())


class PartBatch(NamedTuple):
    """Some rows of one part."""

    part: int
    batch: pa.RecordBatch


def _batches_by_part(
    answer: pa.RecordBatchReader,
) -> Iterator[tuple[int, Iterable[pa.RecordBatch]]]:
    """Yield the rows of each part; all of them as part 0 where there is no column ``part``."""
    if "part" not in answer.schema.names:
        yield 0, answer
        return
    for part, pieces in groupby(_pieces(answer), itemgetter(0)):
        yield part, (piece.batch for piece in pieces)


def _pieces(answer: pa.RecordBatchReader) -> Iterator[PartBatch]:
    """Yield the rows of each batch by part."""
    for batch in answer:
        # Rows come part by part, so a batch has few of them.
        for part in batch["part"].unique():
            yield PartBatch(part.as_py(), batch.filter(pc.equal(batch["part"], part)))


def _write_file(
    path: Path,
    query: ExportQuery,
    batches: Iterable[pa.RecordBatch],
) -> int:
    """Write one file; return its rows."""
    path.parent.mkdir(exist_ok=True)
    # The ending of its name decides whether the file is compressed.
    with pa.output_stream(path) as file:
        if query.schema:
            return _write_parquet(file, query.schema, batches)
        return _write_lines(file, query, batches)


def _write_parquet(
    file: pa.NativeFile,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> int:
    rows = 0
    with pq.ParquetWriter(file, schema) as parquet:
        for batch in batches:
            parquet.write_batch(batch.cast(schema))
            rows += batch.num_rows
    return rows


def _write_lines(
    file: pa.NativeFile,
    query: ExportQuery,
    batches: Iterable[pa.RecordBatch],
) -> int:
    rows = 0
    file.write(query.head.encode())
    for batch in batches:
        file.write("".join(batch["line"].to_pylist()).encode())
        rows += batch.num_rows
    file.write(query.tail.encode())
    return rows
