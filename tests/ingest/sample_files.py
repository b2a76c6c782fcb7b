"""Small files of every trace format, made from what the format declares: a new format is covered without new lines.

The values of a row follow from its number; a row with one odd value is otherwise like the rows around it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema import DIALECTS, Column, Dialect, RawField, RawTable
from borgtrace.schema.dialects import (
    alea,
    alibaba2017,
    alibaba_pai2020,
    azure2017,
    azure2019,
    declare,
)
from borgtrace.schema.dialects.planetlab import PERCENTAGE
from borgtrace.schema.dialects.prometheus import OWNERS_OF_OWNERS
from borgtrace.schema.dialects.raw import BRACED, ENCRYPTED, HASH, HEXADECIMAL, LETTERED
from borgtrace.schema.records import row_of

START = 1_793_491_200
"""Seconds since 1970: a multiple of 300."""
_OWN_TASKS = """
[tasks]
task = "task"
instance = "instance"
machine = "machine"
app = "app"
user = "user"
priority = "priority"
submit = { column = "submit", unit = "s" }
wait = { column = "wait", unit = "s" }
start = { column = "start", unit = "s" }
run = { column = "run", unit = "ms" }
end = { column = "end", unit = "s" }
cpu_request = { column = "cpu_request", unit = "millicores" }
memory_request = { column = "memory_request", unit = "MiB" }
gpus = "gpus"
gpu_share = "gpu_share"
gpu_model = "gpu_model"
[machines]
machine = "machine"
time = { column = "time", unit = "s" }
cpu = { column = "cores", unit = "cores" }
memory = { column = "bytes", unit = "bytes" }
gpus = "gpus"
"""
_OWN_AVERAGES = """
clock = "relative"
step = "300s"
[usage]
task = "task"
instance = "instance"
machine = "machine"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "cores", kind = "average" }
memory = { column = "memory", unit = "bytes", kind = "average" }
cycles_per_instruction = "cpi"
"""
_OWN_INSTANTS = """
clock = "epoch"
[usage]
task = "task"
time = { column = "time", unit = "ns" }
end = { column = "end", unit = "ns" }
cpu = { column = "cpu", unit = "percent_of_largest", kind = "instant" }
memory = { column = "memory", unit = "percent_of_largest", kind = "instant" }
"""
_OWN_COUNTERS = """
clock = "epoch"
step = "300s"
[usage]
task = "task"
time = { column = "time", unit = "us" }
length = { column = "length", unit = "us" }
cpu = { column = "cpu", unit = "s", kind = "counter" }
"""
DECLARATIONS = {
    "own-averages": _OWN_AVERAGES + _OWN_TASKS,
    "own-instants": _OWN_INSTANTS,
    "own-counters": _OWN_COUNTERS,
}
"""Own data: every column that a file can declare, each kind of usage in a declaration of its own."""
CAPACITY = "1024cores,1TiB"


@cache
def sample_dialects() -> dict[str, Dialect]:
    """Return all formats of tables by name, those of own data among them."""
    import tomllib

    own = {name: declare(tomllib.loads(text), name) for name, text in DECLARATIONS.items()}
    # What a program printed is no table of raw fields: such logs have tests of their own.
    tables = {name: dialect for name, dialect in DIALECTS.items() if "log" not in dialect.formats}
    return {**tables, **own}


Row = dict[str, str]
"""Texts by the names of fields."""


@dataclass(frozen=True)
class SampleTable:
    """One raw table of a format as a file."""

    dialect: Dialect
    raw: RawTable
    format: str

    @property
    def file_name(self) -> str:
        """A name by which the table is recognized."""
        if self.dialect.name.startswith("azure-20") and self.raw.parts:
            # Two versions have these readings: the number of files tells.
            return f"{self.raw.name}-file-1-of-{self.raw.parts}.csv"
        ending = {"prometheus": "json", "kaggle": "csv"}.get(self.format, self.format)
        return f"{self.raw.name}-000000000000.{ending}"

    def column(self, field: RawField) -> Column | None:
        """Return the column that a field fills."""
        return row_of(self.raw.table).column(field.column) if field.column else None

    def row(self, number: int) -> Row:
        """Return the sound row of a number."""
        return {field.name: self._text(field, number) for field in self.raw.fields}

    def _text(self, field: RawField, number: int) -> str:
        if field.column == "task" and self.raw.table == "usage_rows":
            # Two rows for each task: of one row of a counter nothing follows.
            number = (number + 1) // 2
        if field.pattern in _TEXT_OF_PATTERN:
            return _TEXT_OF_PATTERN[field.pattern].format(number=number)
        column = self.column(field)
        if column is None:
            return "1"
        if column.name in ("task", "machine"):
            return str(number)
        match column.type:
            case "string":
                return f"{column.name}{number}"
            case "bool":
                return "false"
            case "enum":
                return str(next(iter(self.dialect.codes[column.enum])))
            case "list<float32>" | "list<int64>":
                return json.dumps([number] * (column.length or 1))
        if column.unit == "us":
            return self._time(field, column, number)
        return "1"

    def _time(self, field: RawField, column: Column, number: int) -> str:
        seconds = 300 * number
        if column.name in ("wait", "length", "run"):
            seconds = 300
        elif column.name in ("end", "end_time"):
            seconds += 300
        conversion = self.dialect.conversion
        is_instant = column.name not in ("wait", "length", "run")
        if is_instant and (conversion is None or conversion.clock == "epoch"):
            seconds += START if conversion else 600
        if field.zone:
            return datetime.fromtimestamp(seconds, UTC).isoformat()
        return str(round(seconds * 1e6 / field.scale))

    def content(self, rows: Sequence[Row]) -> bytes:
        """Return the file of some rows."""
        return _WRITERS[self.format](self.raw, rows)


_TEXT_OF_PATTERN = {
    HASH: "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xg{number:03}=",
    ENCRYPTED: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{number:08}+/==",
    LETTERED: "m_{number}",
    BRACED: "{{{number}}}",
    alea.NODES_TIMES_CORES: "normal:excl:1x1",
    PERCENTAGE: "7",
    HEXADECIMAL: "{number:024x}",
    azure2017.EXACT_MEMORY: "1",
    azure2019.MEMORY_BUCKETS: "4",
    alibaba2017.STATES: "Terminated",
    alibaba2017.ID: "{number}",
    alibaba_pai2020.STATES: "Terminated",
    alibaba_pai2020.GPU_TYPE: "T4",
}


def sample_tables(name: str) -> list[SampleTable]:
    """Return the tables of a format in every format of files that it comes in."""
    dialect = sample_dialects()[name]
    tables = []
    for file_format in dialect.formats:
        for raw in dialect.tables.values():
            tables.append(SampleTable(dialect, raw, file_format))
    return tables


def _delimited(raw: RawTable, rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not raw.is_positional:
        writer.writerow([field.name for field in raw.fields])
    writer.writerows([row[field.name] for field in raw.fields] for row in rows)
    return text.getvalue().encode()


def _blank_delimited(raw: RawTable, rows: Sequence[Row]) -> bytes:
    lines = [" ".join(row[field.name] or "-1" for field in raw.fields) for row in rows]
    return "\n".join(["; Version: 2.2", *lines, ""]).encode()


def record(raw: RawTable, row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row as a nested record; what is no list is a text, and what is empty is left out."""
    nested: dict[str, Any] = {}
    for field in raw.fields:
        text = row[field.name]
        if not text:
            continue
        place = nested
        *outer, last = field.path
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = json.loads(text) if text.startswith("[") else text
    return nested


def _records(raw: RawTable, rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(record(raw, row)) + "\n" for row in rows).encode()


def _parquet(raw: RawTable, rows: Sequence[Row]) -> bytes:
    file = io.BytesIO()
    # Every column, also where no row has a value.
    columns = {field.path[0]: None for field in raw.fields}
    records = [{**columns, **record(raw, row)} for row in rows]
    pq.write_table(pa.Table.from_pylist(records), file)
    return file.getvalue()


_LABELS_OF_FIELDS = {
    "owner": "owner_name",
    "label": "label_app",
    "reason": "reason",
}


def staged_rows(folder: Path, raw: RawTable) -> list[dict[str, Any]]:
    """Return the rows of a raw table that are staged in a folder, those of series among them."""
    rows = []
    for part in sorted((folder / raw.table).glob("*.parquet")):
        rows += pq.read_table(part).to_pylist()
    for part in sorted((folder / "samples").glob("*.parquet")):
        described = pq.read_table(folder / "series" / part.name).to_pylist()
        series_of_number = {series["series"]: series for series in described}
        for sample in pq.read_table(part).to_pylist():
            rows.append(_row_of_sample(raw, series_of_number[sample["series"]], sample))
    return sorted(rows, key=lambda row: int(row["source_row"]))


def _row_of_sample(
    raw: RawTable,
    series: Mapping[str, Any],
    sample: Mapping[str, Any],
) -> dict[str, Any]:
    (field,) = (field for field in raw.fields if field.name == series["field"])
    row = {field.column: series["text"] or sample["value"], "source_row": sample["source_row"]}
    names = {"task": series["task"], "machine": series["machine"] or None}
    columns = {field.column for field in raw.fields}
    row |= {name: value for name, value in names.items() if name in columns}
    if raw.table == "usage_rows":
        row["time"] = sample["time"]
    return row


def answer(raw: RawTable, rows: Sequence[Row]) -> dict[str, Any]:
    """Return rows as the answer of Prometheus that they come from."""
    series = []
    for row in rows:
        labels = {"__name__": raw.name}
        if "task" in row:
            labels |= {"namespace": "n", "pod": row["task"], "container": "c"}
        if raw.name in OWNERS_OF_OWNERS:
            _, label_of_owned = OWNERS_OF_OWNERS[raw.name]
            labels = {"__name__": raw.name, "namespace": "n", label_of_owned: row["task"]}
        if "node" in row:
            labels["node"] = row["node"]
        for name, label in _LABELS_OF_FIELDS.items():
            if name in row:
                labels[label] = row[name]
        samples = [("value", "")] if "value" in row else []
        samples += [(name, name) for name in ("cpu", "memory") if name in row]
        for name, resource in samples or [("", "")]:
            time: Any = row.get("time", str(START))
            if time.lstrip("-").isdecimal() and len(time) < 30:
                time = int(time)
            value = [time, row[name] if name else "1"]
            series.append(
                {"metric": labels | ({"resource": resource} if resource else {}), "values": [value]}
            )
    return {"status": "success", "data": {"resultType": "matrix", "result": series}}


def _answer(raw: RawTable, rows: Sequence[Row]) -> bytes:
    return json.dumps(answer(raw, rows)).encode()


_KAGGLE_NAMES = {
    ("instance_events", "type"): "instance_events_type",
    ("collection_events", "type"): "collections_events_type",
}


def _flattened(raw: RawTable, rows: Sequence[Row]) -> bytes:
    """Write rows of one table as a flattened file, in which the fields of the others are sound."""
    text = io.StringIO()
    tables = DIALECTS["kaggle-2019"].tables
    lines = []
    for number, row in enumerate(rows, 1):
        line: dict[str, Any] = {"cluster": "a"}
        for other in tables.values():
            sample = SampleTable(DIALECTS["kaggle-2019"], other, "kaggle")
            fields = record(other, row if other is raw else sample.row(number))
            if other is raw:
                fields = {field.path[0]: "" for field in other.fields} | fields
            for name, value in fields.items():
                line.setdefault(_KAGGLE_NAMES.get((other.name, name), name), value)
                if other is raw:
                    line[_KAGGLE_NAMES.get((other.name, name), name)] = value
        lines.append(line)
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue().encode()


_WRITERS = {
    "csv": _delimited,
    "swf": _blank_delimited,
    "json": _records,
    "parquet": _parquet,
    "prometheus": _answer,
    "kaggle": _flattened,
}
