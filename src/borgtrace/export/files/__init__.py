"""A store as input of simulators and as raw files of its own trace: some files, each the answer to a query."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.errors import UsageError
from borgtrace.export.files.raw import Place, delimited, raw_queries
from borgtrace.export.jobs import ExportResult
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.data_files import read_rows
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.schema.sql import literals
from borgtrace.schema.time import TRACE_START
from borgtrace.storage import as_path, check_free, new_folder
from borgtrace.store import Store

CLOCK = 1000
"""MHz of a core for OpenDC, where cores have a clock: its topology must say the same."""
_SQL = {path.stem: path.read_text("utf-8") for path in Path(__file__).parent.glob("*.sql")}
_PLAIN = "rtrim(rtrim(CAST(CAST(CAST({} AS VARCHAR) AS DECIMAL(38, 12)) AS VARCHAR), '0'), '.')"
"""Numbers for CloudSim Plus, which takes those with an exponent for missing ones."""
_FIELDS = read_rows(Path(__file__).with_name("opendc_fields.csv"))
LAYOUTS: dict[str, tuple[str, ...]] = {
    "opendc": ("tasks.parquet", "fragments.parquet"),
    "swf": ("jobs.swf",),
    "cloudsim": ("machine_events.csv.gz", "task_events.csv.gz", "task_usage.csv.gz"),
    "omega": (
        "init_cluster_state.log",
        "interarrival_cmb.log",
        "csizes_cmb.log",
        "runtimes_cmb.log",
    ),
    "raw": (),
}
"""Layouts and their files; what raw files there are depends on the store."""


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
        cluster-scheduler-simulator takes them) or ``"raw"`` (the files of its trace: CSV of 2011, JSON lines of 2019).
    capacity
        Cores and bytes of the largest machine, for a store that does not know them.

    Raises
    ------
    UsageError
        The size of the largest machine is not known, or its trace has no raw files.
    """
    out = as_path(out)
    check_free(out)
    queries, head = (
        (raw_queries(store), "") if layout == "raw" else _simulated(store, layout, capacity)
    )
    rows = []
    with new_folder(out) as folder:
        for named, query in queries:
            for part, batches in _cut(store.stream(query)):
                path = folder / named(part=part)
                path.parent.mkdir(exist_ok=True)
                rows.append(_write(path, batches, head))
        if synthetic := store.manifest.synthetic:
            # What is made of these files must say so, too.
            (folder / "truth.json").write_text(json.dumps(synthetic))
    return ExportResult(out, len(rows), 0, sum(rows))


def _simulated(
    store: Store, layout: str, capacity: tuple[float | None, float | None]
) -> tuple[list[tuple[Place, str]], str]:
    basis, dialect = store.manifest.basis, store.manifest.dialect
    cores, size = capacity[0] or basis.get("cores"), capacity[1] or basis.get("bytes")
    if layout != "cloudsim" and not (cores and (size or layout == "swf")):
        way_out = "add --capacity 64cores,256GiB, with the size of yours"
        raise UsageError(
            "--capacity", "nothing says how much the largest machine has", way_out=way_out
        )
    start = int(dialect.wall_clock(TRACE_START, store.manifest.cell).timestamp())
    parts: dict[str, Any] = {
        "cores": cores,
        "bytes": size,
        "clock": CLOCK,
        "zero": TRACE_START,
        "origin": 1000 * start,
    }
    parts["terminal"] = literals(TERMINAL_EVENTS)
    # Where a trace has no tiers nothing is production.
    parts["production"] = next(
        (low for name, low, _ in dialect.tiers if name == "production"), 2**31
    )
    parts["cell"] = literals(((store.manifest.cell or dialect.trace).replace(" ", "-"),))
    # Where files do not tell which of two came first, what was there goes before what comes.
    ranks = literals((*TERMINAL_EVENTS, "REMOVE", "SUBMIT", "SCHEDULE", "ADD"))
    parts["tie"] = "0" if dialect.tie_order == "file" else f"list_position([{ranks}], type)"
    parts |= {name: delimited(GOOGLE_2011, raw, _PLAIN) for name, raw in GOOGLE_2011.tables.items()}
    parts["lives"] = _SQL.get(f"{layout}_lives", "").format(**parts)
    queries = [
        (name.format, _SQL[f"{layout}_{name.split('.')[0]}"].format(**parts))
        for name in LAYOUTS[layout]
    ]
    if layout != "swf":
        return queries, ""
    machines = "(SELECT max(cpu_capacity) AS cpu FROM machine_events GROUP BY machine_id)"
    most = cores * store.sql(f"SELECT coalesce(sum(cpu), 1) AS n FROM {machines}")["n"][0].as_py()
    return queries, f"; Version: 2.2\n; MaxProcs: {most:.0f}\n; UnixStartTime: {start}\n"


def _cut(batches: pa.RecordBatchReader) -> Iterator[tuple[int, Iterable[pa.RecordBatch]]]:
    """Yield the rows of each file: all, or those of one ``part`` after the other."""
    if "part" not in batches.schema.names:
        yield 0, batches
        return
    # Rows come part by part, so that a batch has few.
    pieces = (
        (part.as_py(), batch.filter(pc.equal(batch["part"], part)))
        for batch in batches
        for part in batch["part"].unique()
    )
    for part, found in groupby(pieces, itemgetter(0)):
        yield part, (piece for _, piece in found)


def _write(path: Path, batches: Iterable[pa.RecordBatch], head: str) -> int:
    rows = 0
    # By its ending a file is compressed.
    with pa.output_stream(path) as file, ExitStack() as stack:
        file.write(head.encode())
        if path.suffix == ".parquet":
            parquet = stack.enter_context(pq.ParquetWriter(file, _schema(path.stem)))
        for batch in batches:
            if path.suffix == ".parquet":
                parquet.write_batch(batch.cast(parquet.schema))
            else:
                file.write("".join(batch["line"].to_pylist()).encode())
            rows += batch.num_rows
    return rows


def _schema(file: str) -> pa.Schema:
    instant = pa.timestamp("ms", "UTC")
    listed = [
        (row["name"], row["type"], row["is_required"] == "no")
        for row in _FIELDS
        if row["file"] == file
    ]
    return pa.schema(
        [pa.field(name, instant if kind == "instant" else kind, may) for name, kind, may in listed]
    )
