"""A store as input of simulators and as raw files of its own trace: some files, each the answer to a query."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from borgtrace.errors import UsageError
from borgtrace.export.jobs import ExportResult
from borgtrace.schema import TABLES, TERMINAL_EVENTS, Dialect, RawTable
from borgtrace.schema.data_files import read_rows
from borgtrace.schema.sql import literals
from borgtrace.schema.time import TRACE_START
from borgtrace.storage import check_free, local, new_folder
from borgtrace.store import Store

CLOCK = 1000
"""MHz of a core for OpenDC, where cores have a clock: its topology must say the same."""
_SQL = {path.stem: path.read_text("utf-8") for path in Path(__file__).parent.glob("*.sql")}
_OPTIONS = [pa_csv.WriteOptions(include_header=False, delimiter=each, quoting_style="none") for each in ", "]
_FIELDS = read_rows(Path(__file__).with_name("opendc_fields.csv"))
LAYOUTS: dict[str, dict[str, str]] = {
    "opendc": {"tasks.parquet": "opendc_tasks", "fragments.parquet": "opendc_fragments"},
    "swf": {"jobs.swf": "swf"},
    "raw": {},
}
"""Layouts, with the query of each file; those of raw files are made from their dialect."""


def export_files(
    store: Store, out: Path | str, layout: str, capacity: tuple[float | None, float | None] = (None, None)
) -> ExportResult:
    """Write the files of a layout.

    Parameters
    ----------
    store
        Where from.
    out
        Folder to create.
    layout
        ``"opendc"`` (tasks and fragments, Parquet), ``"swf"`` (a line for each attempt) or ``"raw"`` (the CSV files of
        2011).
    capacity
        Cores and bytes of the largest machine, for a store that does not know them.

    Raises
    ------
    UsageError
        The size of the largest machine is not known, or its trace has no raw files in CSV.
    """
    out = local(out)
    check_free(out)
    queries = _raw(store) if layout == "raw" else _simulated(store, LAYOUTS[layout], capacity)
    rows = 0
    with new_folder(out) as folder:
        for name, (query, head) in queries.items():
            (folder / name).parent.mkdir(exist_ok=True)
            rows += _write(folder / name, store.stream(query), head)
        if synthetic := store.manifest.synthetic:
            # What is made of these files must say so, too.
            (folder / "truth.json").write_text(json.dumps(synthetic))
    return ExportResult(out, len(queries), 0, rows)


def _simulated(store: Store, files: dict[str, str], capacity: tuple[float | None, float | None]) -> dict[str, Any]:
    basis, dialect = store.manifest.basis, store.manifest.dialect
    cores, size = capacity[0] or basis.get("cores"), capacity[1] or basis.get("bytes")
    if not cores or not (size or "jobs.swf" in files):
        way_out = "add --capacity 64cores,256GiB, with the size of yours"
        raise UsageError("--capacity", "nothing says how much the largest machine has", way_out=way_out)
    start = int(dialect.wall_clock(TRACE_START, store.manifest.cell).timestamp())
    parts: dict[str, Any] = {"cores": cores, "bytes": size, "clock": CLOCK, "zero": TRACE_START, "origin": 1000 * start}
    parts["terminal"] = literals(TERMINAL_EVENTS)
    parts["lives"] = _SQL["opendc_lives"].format(**parts)
    machines = "SELECT max(cpu_capacity) AS cpu FROM machine_events GROUP BY machine_id"
    most = store.sql(f"SELECT coalesce(sum(cpu), 1) AS n FROM ({machines})")["n"][0].as_py() * cores
    head = f"; Version: 2.2\n; MaxProcs: {most:.0f}\n; UnixStartTime: {start}\n"
    return {name: (_SQL[query].format(**parts), head if query == "swf" else "") for name, query in files.items()}


def _raw(store: Store) -> dict[str, Any]:
    dialect = store.manifest.dialect
    if dialect.conversion or not all(raw.is_positional for raw in dialect.tables.values()):
        got = dialect.title
        raise UsageError("--layout raw", "raw files are written in CSV", expected="a store of 2011", got=got)
    found = {}
    for name, raw in dialect.tables.items():
        for part in store.sql(f"SELECT DISTINCT source_part AS n FROM {raw.table} ORDER BY n")["n"].to_pylist():
            # The parts of the source, so that an ingest gives the rows their places again.
            file = f"{name}/part-{part:05d}-of-{raw.parts:05d}.csv.gz"
            fields = ", ".join(f'{_field(dialect, raw, each.column)} AS "{each.name}"' for each in raw.fields)
            found[file] = (f"SELECT {fields} FROM {raw.table} WHERE source_part = {part} ORDER BY source_row", "")
    return found


def _field(dialect: Dialect, raw: RawTable, column: str) -> str:
    declared = TABLES[raw.table].column(column)
    if declared.enum:
        cases = " ".join(f"WHEN '{word}' THEN {code}" for code, word in dialect.codes[declared.enum].items())
        return f"CASE {column} {cases} END"
    return f"CAST({column} AS INTEGER)" if declared.type == "bool" else column


def _write(path: Path, batches: pa.RecordBatchReader, head: str) -> int:
    rows, schema, make = 0, batches.schema, partial(pa_csv.CSVWriter, write_options=_OPTIONS[path.suffix == ".swf"])
    if path.suffix == ".parquet":
        schema, make = _schema(path.stem), pq.ParquetWriter
    # By its ending a file is compressed.
    with pa.output_stream(path) as file:
        file.write(head.encode())
        with make(file, schema) as writer:
            for batch in batches:
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
                rows += batch.num_rows
    return rows


def _schema(file: str) -> pa.Schema:
    instant = pa.timestamp("ms", "UTC")
    listed = [(row["name"], row["type"], row["is_required"] == "no") for row in _FIELDS if row["file"] == file]
    return pa.schema([pa.field(name, instant if kind == "instant" else kind, may) for name, kind, may in listed])
