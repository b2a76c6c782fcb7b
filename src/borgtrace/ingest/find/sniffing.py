"""A first draft of the format of own data, guessed from the names and the values of its columns.

Each guess is stated; where two readings would make two different traces, the draft leaves the question open, and is no
format yet.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from borgtrace.engine.guard import open_file, open_values
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import SourceError, first_line, harmless
from borgtrace.ingest.files.streams import plain_file
from borgtrace.ingest.find.recognition import BegunFile, begun_files, whole_lines
from borgtrace.ingest.find.separators import separator_of
from borgtrace.ingest.read.tables import kind_of
from borgtrace.schema.dialects.units import ISO
from borgtrace.schema.time import write_time
from borgtrace.storage import plain_path
from borgtrace.storage.sparse_copy import local_copies


class NamePattern(NamedTuple):
    """The meaning of columns whose names match a regular expression, in small letters."""

    meaning: str
    pattern: str


_NO_LIMIT = "(?!.*(request|limit|max|capacity))"
ROLES = [
    NamePattern(
        "task",
        r"(task|pod|container|vm)(_?(id|name))?|instance_?id|job(_?(id|name))?|name|id",
    ),
    NamePattern("time", r"time(stamp)?|ts|date_?time|date|start(_time)?|t"),
    NamePattern("end", r"end(_time)?"),
    NamePattern("instance", r"(task|instance)_index"),
    NamePattern("machine", r"(machine|node|host|server)(_?(id|name))?|hostname"),
    NamePattern("cpu", f".*cpu{_NO_LIMIT}.*"),
    NamePattern("memory", f".*mem{_NO_LIMIT}.*"),
]
"""What a column may be; the first column whose whole name fits is taken."""
NO_UNIT = ""
"""Stands for a percentage: of what?"""
_PERCENTAGE = NamePattern(NO_UNIT, "percent|pct|util|%")
UNITS = {
    "cpu": [
        NamePattern("millicores", "milli|mcpu|_m$"),
        _PERCENTAGE,
        NamePattern("cores", ""),
    ],
    "memory": [
        NamePattern("bytes", "bytes"),
        NamePattern("KiB", "kib"),
        NamePattern("MiB", "mib"),
        NamePattern("GiB", "gib"),
        NamePattern("KB", "kb"),
        NamePattern("MB", "mb"),
        NamePattern("GB", "gb"),
        _PERCENTAGE,
    ],
}
"""Units of a resource; the first whose pattern occurs in the name is taken."""
_COUNTERS = "total|seconds"
_INSTANTS = "instant|sample|current"
_KINDS = {"average": "mean over each step", "instant": "usage at one instant"}
_MOST_BATCHES = 16
_LEAST_BYTES = 1e6
"""A median above is one of bytes: no task has a megabyte of GiB, and few have as many MiB."""


class TimeUnit(NamedTuple):
    """A unit of times since 1970, and the least number that is such a time: 10⁸ s after 1970 is 1973."""

    name: str
    microseconds: float
    least: float


EPOCH_UNITS = [
    TimeUnit("ns", microseconds=1e-3, least=1e17),
    TimeUnit("us", microseconds=1.0, least=1e14),
    TimeUnit("ms", microseconds=1e3, least=1e11),
    TimeUnit("s", microseconds=1e6, least=1e8),
]
_SECONDS = EPOCH_UNITS[-1]


@dataclass
class Draft:
    """A declaration in the making, with what was guessed and what was left open.

    Parameters
    ----------
    declaration
        The declaration so far.
    remarks
        A sentence about each guess or open question, by the entry that it is about (``usage.cpu``).
    """

    declaration: dict[str, Any] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed, in sentences."""
        return tuple(self.remarks.values())

    def text(self) -> str:
        """Return the draft as a file for ``--dialect``."""
        lines = [
            "# A first draft: each guess is stated beside it. Correct what is wrong, and fill in what is left open."
        ]
        for name, value in self.declaration.items():
            if not isinstance(value, Mapping):
                lines.append(f"{name} = {_toml(value)}{self._comment(name)}")
        lines.append("\n[usage]")
        for name, value in self.declaration["usage"].items():
            lines.append(f"{name} = {_toml(value)}{self._comment(f'usage.{name}')}")
        return "\n".join(lines) + "\n"

    def _comment(self, name: str) -> str:
        if name not in self.remarks:
            return ""
        # A line break in the name of a column would end the comment.
        printable = (mark if mark.isprintable() else " " for mark in self.remarks[name])
        return f"  # {''.join(printable)}"


def _toml(value: Any) -> str:
    if not isinstance(value, Mapping):
        # TOML knows the escapes of JSON, except for halves of a character; and it forbids U+007F as it is.
        return harmless(json.dumps(value, ensure_ascii=False))
    entries = []
    for name, entry in value.items():
        entries.append(f"{name} = {_toml(entry)}")
    return f"{{ {', '.join(entries)} }}"


def sniff(path: Path) -> Draft:
    """Guess the format of a file of usage.

    Parameters
    ----------
    path
        CSV (plain, gzip, zstd), Parquet or JSON lines.

    Raises
    ------
    SourceError
        It is no table, or no column names a task, a time, or CPU or memory.
    """
    begun = _only_file(path)
    with plain_file(begun.file) as plain, _open_view(begun, plain) as connection:
        try:
            described = connection.execute("DESCRIBE raw").fetchall()
            types = {name: str(type_name) for name, type_name, *_ in described}
            columns = _SniffedColumns(connection, types, _find_roles(path, types))
            return _draft(columns)
        # Also in the midst of it: DuckDB tells the columns from the first rows, and reads the others for the guesses.
        except duckdb.Error as error:
            raise _no_table(path, first_line(error)) from error


def _only_file(path: Path) -> BegunFile:
    (local_path,) = local_copies([path])
    begun = begun_files(path)
    if len(begun) != 1:
        raise SourceError(
            str(path),
            "an archive of several files",
            got=f"{len(begun)} files",
            way_out="unpack it, and name the file that holds the usage",
        )
    (only,) = begun
    return only._replace(file=replace(only.file, copy=Path(local_path)))


def _no_table(path: Path, reason: str) -> SourceError:
    return SourceError(str(path), f"not a table ({reason})", way_out="check the file")


@contextmanager
def _open_view(begun: BegunFile, plain: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection whose view ``raw`` is the table of a file, of which it can read nothing else."""
    kind = kind_of(begun.head)
    if kind is not None:
        ((name, _),) = kind.columns(plain).items()
        with closing(open_values()) as values:
            # The first rows are enough to tell what columns are.
            batches = islice(kind.batches(plain, name), _MOST_BATCHES)
            values.register("raw", pa.Table.from_batches(batches))
            yield values
        return
    with open_file(plain) as connection:
        try:
            connection.execute(f"CREATE VIEW raw AS SELECT * FROM {_reader_sql(begun, plain)}")
        except duckdb.Error as error:
            raise _no_table(begun.file.path, first_line(error)) from error
        yield connection


def _reader_sql(begun: BegunFile, plain: Path) -> str:
    file_sql = literal(str(plain_path(plain)))
    if begun.head.startswith(b"PAR1"):
        return f"read_parquet({file_sql})"
    if ".json" in begun.file.file_name or begun.head[:1] == b"{":
        return f"read_json({file_sql}, format = 'newline_delimited')"
    separator = separator_of(whole_lines(begun.head))
    return f"read_csv({file_sql}, header = true, delim = {literal(separator)})"


@dataclass(frozen=True)
class _SniffedColumns:
    """The columns of the view ``raw``: their types, and the column of each role."""

    connection: duckdb.DuckDBPyConnection
    types: Mapping[str, str]
    of_role: Mapping[str, str]

    def quoted(self, role: str) -> str:
        """Return the column of a role, quoted."""
        return quoted(self.of_role[role])

    def value(self, query_sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Return the first value of a query."""
        return self.connection.execute(query_sql, parameters).fetchall()[0][0]


def _find_roles(path: Path, types: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each role that some column fits."""
    of_role: dict[str, str] = {}
    for role, pattern in ROLES:
        for column in types:
            words = re.sub(r"[^a-z0-9%]+", "_", column.lower()).strip("_")
            if column not in of_role.values() and re.fullmatch(pattern, words):
                of_role[role] = column
                break
    for needed in ("task", "time"):
        if needed not in of_role:
            raise _no_column_for(needed, path, types)
    if "cpu" not in of_role and "memory" not in of_role:
        raise _no_column_for("cpu", path, types)
    return of_role


def _no_column_for(role: str, path: Path, types: Mapping[str, str]) -> SourceError:
    return SourceError(
        str(path),
        f"no column is called like a {role}",
        got=", ".join(types),
        way_out=f"write a file with [usage] and {role} = its column, and add --dialect FILE.toml",
    )


def _draft(columns: _SniffedColumns) -> Draft:
    draft = Draft({"name": "own"})
    usage: dict[str, Any] = {"task": columns.of_role["task"]}
    _guess_times(columns, draft, usage)
    for role in ("instance", "machine"):
        if role in columns.of_role:
            usage[role] = columns.of_role[role]
    if "cpu" in columns.of_role:
        usage["cpu"] = _guess_cpu(columns, draft)
    if "memory" in columns.of_role:
        usage["memory"] = _guess_memory(columns, draft)
    draft.declaration["usage"] = usage
    return draft


def _guess_times(columns: _SniffedColumns, draft: Draft, usage: dict[str, Any]) -> None:
    """Guess the unit of times, their clock, and how long a window is."""
    column = columns.of_role["time"]
    time_sql = columns.quoted("time")
    if columns.types[column].startswith(("TIMESTAMP", "DATE", "VARCHAR")):
        clock = "epoch"
        microseconds = 1.0
        time_sql = f"epoch_us(TRY_CAST({time_sql} AS TIMESTAMPTZ))"
        usage["time"] = {
            "column": column,
            "unit": ISO,
            "zone": "UTC",
        }
        draft.remarks["usage.time"] = (
            f"column {column}: guessed that times which do not state their zone are UTC"
        )
    else:
        largest = float(columns.value(f"SELECT max({time_sql}) FROM raw") or 0)
        epoch_unit = next((unit for unit in EPOCH_UNITS if largest >= unit.least), None)
        clock = "epoch" if epoch_unit else "relative"
        unit = epoch_unit or _SECONDS
        microseconds = unit.microseconds
        usage["time"] = {"column": column, "unit": unit.name}
        start = "1970" if epoch_unit else "the start of the trace"
        draft.remarks["usage.time"] = (
            f"column {column}: guessed from its size to be {unit.name} since {start}"
        )
    draft.declaration["clock"] = clock
    if "end" in columns.of_role:
        usage["end"] = {**usage["time"], "column": columns.of_role["end"]}
        return
    step = _usual_step(columns, time_sql, microseconds)
    if step:
        _guess_step(draft, step)


def _usual_step(columns: _SniffedColumns, time_sql: str, microseconds: float) -> int:
    """Return the most common time between two rows of a task, in µs; 0 where there is none."""
    keys_sql = columns.quoted("task")
    if "instance" in columns.of_role:
        keys_sql += f", {columns.quoted('instance')}"
    step = columns.value(
        f"""
        SELECT mode(step) FROM (
            SELECT round(moment - lag(moment) OVER (PARTITION BY {keys_sql} ORDER BY moment)) AS step
            FROM (SELECT {time_sql} * $microseconds AS moment, {keys_sql} FROM raw)
        )
        WHERE step > 0
        """,
        {"microseconds": microseconds},
    )
    return int(step or 0)


def _guess_step(draft: Draft, step: int) -> None:
    written = write_time(step)
    draft.declaration["step"] = written
    draft.remarks["step"] = (
        f"step {written}: guessed, the most common time between two rows of a task"
    )
    draft.declaration["label"] = "start"
    draft.remarks["label"] = "label start: guessed, a row is about the step that begins at its time"


def _guess_cpu(columns: _SniffedColumns, draft: Draft) -> dict[str, Any]:
    column = columns.of_role["cpu"]
    if re.search(_COUNTERS, column.lower()):
        draft.remarks["usage.cpu"] = (
            f"column {column}: guessed from its name to be a counter of CPU seconds"
        )
        return {
            "column": column,
            "unit": "s",
            "kind": "counter",
        }
    unit = _unit_in_name("cpu", column)
    if _may_be_counter(columns):
        draft.remarks["usage.cpu"] = (
            f"column {column} never falls: add kind, counter (then with unit s) or average"
        )
        return {"column": column, "unit": unit}
    kind = _kind_in_name(column)
    if not unit:
        draft.remarks["usage.cpu"] = f"column {column}: add the unit, percent of what?"
        return {"column": column, "kind": kind}
    draft.remarks["usage.cpu"] = f"column {column}: guessed to be the {_KINDS[kind]} in {unit}"
    return {
        "column": column,
        "unit": unit,
        "kind": kind,
    }


def _may_be_counter(columns: _SniffedColumns) -> bool:
    """Whether the values of no task ever fall, though they change."""
    cpu_sql = columns.quoted("cpu")
    task_sql = columns.quoted("task")
    time_sql = columns.quoted("time")
    return bool(
        columns.value(
            f"""
            SELECT count_if(falls) = 0 AND count(DISTINCT amount) > 1 + count(DISTINCT task)
            FROM (
                SELECT
                    {cpu_sql} AS amount,
                    {task_sql} AS task,
                    {cpu_sql} < lag({cpu_sql}) OVER (PARTITION BY {task_sql} ORDER BY {time_sql}) AS falls
                FROM raw
            )
            """
        )
    )


def _guess_memory(columns: _SniffedColumns, draft: Draft) -> dict[str, Any]:
    column = columns.of_role["memory"]
    kind = _kind_in_name(column)
    unit = _unit_in_name("memory", column)
    if unit is None:
        median = columns.value(f"SELECT median({columns.quoted('memory')}) FROM raw")
        is_large = isinstance(median, int | float) and median >= _LEAST_BYTES
        unit = "bytes" if is_large else NO_UNIT
    if not unit:
        draft.remarks["usage.memory"] = f"column {column}: add the unit, such as MiB"
        return {"column": column, "kind": kind}
    draft.remarks["usage.memory"] = f"column {column}: guessed to be the {_KINDS[kind]} in {unit}"
    return {
        "column": column,
        "unit": unit,
        "kind": kind,
    }


def _kind_in_name(column: str) -> str:
    return "instant" if re.search(_INSTANTS, column.lower()) else "average"


def _unit_in_name(resource: str, column: str) -> str | None:
    """Return the unit that a name implies, `NO_UNIT` where it implies a percentage; None where it implies nothing."""
    for unit, pattern in UNITS[resource]:
        if re.search(pattern, column.lower()):
            return unit
    return None
