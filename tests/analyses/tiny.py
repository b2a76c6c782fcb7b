"""Tables of a few rows, written as dictionaries: what is not said is NULL, or the plainest value."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine import connect, read_table
from borgtrace.question import EngineTables, Provenance, Question, Tables
from borgtrace.schema import TABLES
from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.time import SECOND, TRACE_START

Row = Mapping[str, Any]
_PLAIN = {
    "int64": 0,
    "int32": 0,
    "float64": 0.0,
    "bool": False,
    "string": "",
    "enum": "JOB",
}


def at(seconds: float) -> int:
    """Return the trace time `seconds` after its start."""
    return TRACE_START + int(seconds * SECOND)


def arrow(name: str, rows: Sequence[Row]) -> pa.Table:
    """Return a canonical table; rows are numbered in the order given."""
    table = TABLES[name]
    for row in rows:
        assert set(row) <= set(table.names), set(row) - set(table.names)
    filled = [{"source_row": number, **row} for number, row in enumerate(rows)]
    columns = {
        column.name: [
            row.get(column.name, None if column.nullable else _PLAIN[column.type]) for row in filled
        ]
        for column in table.columns
    }
    # An engine sees every column as nullable; so does a table in memory.
    nullable = pa.schema([pa.field(field.name, field.type) for field in arrow_schema(table)])
    return pa.table(columns, schema=nullable)


def tiny(generation: str = "2011", **tables: Sequence[Row]) -> Tables:
    """Return tables of the given rows on DuckDB."""
    made = {name: ibis.memtable(arrow(name, rows)) for name, rows in tables.items()}
    return EngineTables(made, Provenance(generation=generation))


def on(url: str, generation: str, **tables: Sequence[Row]) -> Tables:
    """Return the same tables read from Parquet files by an engine."""
    folder = Path(tempfile.mkdtemp())
    con = connect(url)
    read = {}
    for name in TABLES:
        paths = []
        if tables.get(name):
            pq.write_table(arrow(name, tables[name]), folder / f"{name}.parquet")
            paths = [str(folder / f"{name}.parquet")]
        read[name] = read_table(con, TABLES[name], paths)
    return EngineTables(read, Provenance(generation=generation, engine=url))


def answer(question: Question, tables: Tables, **params: Any) -> list[dict[str, Any]]:
    """Return the rows of a question's answer, which must be applicable."""
    result = question.run(tables, **params)
    assert result.not_applicable is None, result.not_applicable
    rows: list[dict[str, Any]] = result.table.to_pylist()
    return rows


def window(
    task: int, start: float, cpu: float | None, memory: float | None = None, **more: Any
) -> Row:
    """Return a usage window of 300 s (or ``length``) of task (`task`, 0) on machine 1."""
    length = more.pop("length", 300)
    return {
        "collection_id": task,
        "instance_index": 0,
        "machine_id": 1,
        "start_time": at(start),
        "end_time": at(start + length),
        "average_cpu": cpu,
        "average_memory": memory,
        **more,
    }
