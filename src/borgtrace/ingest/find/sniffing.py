"""A first draft of the format of own data: what the names and the values of its columns let guess, and what not.

A guess is said; what two readings would make two different traces of is left open, and the draft is then no format yet.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from borgtrace.engine.embedded import without_bar
from borgtrace.errors import SourceError, first_line
from borgtrace.schema.dialects.units import ISO
from borgtrace.schema.sql import literal
from borgtrace.schema.time import write_time
from borgtrace.storage.sparse_copy import local_copies

_NAMES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("sniffing.toml").read_text("utf-8")
)
"""Roles and units of columns, told by expressions of their names."""
_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))
"""Least number that is a time since 1970 in a unit: 10⁸ s after 1970 is 1973."""
_COUNTERS = r"total|seconds"
_LEAST_BYTES = 1e6
"""A median above is one of bytes: no task has a megabyte of GiB, and few have as many MiB."""


@dataclass
class Draft:
    """A declaration in the making, with what was guessed and what was left open."""

    declaration: dict[str, Any] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed, in sentences."""
        return tuple(self.said.values())

    def text(self) -> str:
        """Return the draft as a file for ``--dialect``."""
        lines = [
            "# A first draft: each guess is said beside it. Correct what is wrong, and fill in what is left open."
        ]
        for name, value in self.declaration.items():
            if not isinstance(value, Mapping):
                lines.append(f"{name} = {json.dumps(value)}{self._comment(name)}")
        lines.append("\n[usage]")
        for name, value in self.declaration["usage"].items():
            lines.append(f"{name} = {_toml(value)}{self._comment(f'usage.{name}')}")
        return "\n".join(lines) + "\n"

    def _comment(self, name: str) -> str:
        return f"  # {self.said[name]}" if name in self.said else ""


def _toml(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    inner = ", ".join(
        f"{name} = {json.dumps(each, ensure_ascii=False)}" for name, each in value.items()
    )
    return f"{{ {inner} }}"


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
    with without_bar(duckdb.connect()) as connection:
        try:
            connection.execute(f"CREATE VIEW raw AS SELECT * FROM {_reader(path)}")
            kinds = {row[0]: str(row[1]) for row in connection.execute("DESCRIBE raw").fetchall()}
        except duckdb.Error as error:
            raise SourceError(
                str(path), f"not a table ({first_line(error)})", way_out="check the file"
            ) from error
        roles = _roles(path, kinds)
        draft = Draft({"name": "own"})
        usage: dict[str, Any] = {"task": roles["task"]}
        _sniff_time(connection, roles, kinds, draft, usage)
        for name in ("instance", "machine"):
            if name in roles:
                usage[name] = roles[name]
        for name, guess in (("cpu", _cpu), ("memory", _memory)):
            if name in roles:
                usage[name] = guess(connection, roles, draft)
    draft.declaration["usage"] = usage
    return draft


def _reader(path: Path) -> str:
    named = literal(*local_copies([path]))
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return f"read_parquet({named})"
    packed = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}.get(head[:2], "none")
    if ".json" in path.name or head[:1] == b"{":
        return f"read_json({named}, format='newline_delimited', compression='{packed}')"
    return f"read_csv({named}, header=true, delim=',', compression='{packed}')"


def _roles(path: Path, kinds: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for role, pattern in _NAMES["roles"].items():
        for column in kinds:
            plain = re.sub(r"[^a-z0-9%]+", "_", column.lower()).strip("_")
            if column not in found.values() and re.fullmatch(pattern, plain):
                found.setdefault(role, column)
    for needed in ("task", "time"):
        if needed not in found:
            raise _nothing_named(path, needed, kinds)
    if not {"cpu", "memory"} & set(found):
        raise _nothing_named(path, "cpu", kinds)
    return found


def _nothing_named(path: Path, what: str, kinds: Mapping[str, str]) -> SourceError:
    return SourceError(
        str(path),
        f"no column is called like a {what}",
        got=", ".join(kinds),
        way_out=f"write a file with [usage] and {what} = its column, and add --dialect FILE.toml",
    )


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    return connection.execute(query).fetchall()[0][0]


def _sniff_time(
    connection: duckdb.DuckDBPyConnection,
    roles: Mapping[str, str],
    kinds: Mapping[str, str],
    draft: Draft,
    usage: dict[str, Any],
) -> None:
    """Say what the times are, and how long a window is."""
    column = roles["time"]
    if kinds[column].startswith(("TIMESTAMP", "DATE", "VARCHAR")):
        usage["time"] = {"column": column, "unit": ISO, "zone": "UTC"}
        clock, scale = "epoch", f'epoch_us(TRY_CAST("{column}" AS TIMESTAMPTZ))'
        draft.said["usage.time"] = (
            f"column {column}: guessed that times which do not say their zone are UTC"
        )
    else:
        largest = float(_one(connection, f'SELECT max("{column}") FROM raw') or 0)
        unit = next((name for least, name in _EPOCHS if largest >= least), None)
        clock = "epoch" if unit else "relative"
        unit = unit or "s"
        usage["time"] = {"column": column, "unit": unit}
        start = "1970" if clock == "epoch" else "the start of the trace"
        draft.said["usage.time"] = (
            f"column {column}: guessed from its size to be {unit} since {start}"
        )
        scale = f'"{column}" * {({"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6})[unit]!r}'
    draft.declaration["clock"] = clock
    if "end" in roles:
        usage["end"] = {**usage["time"], "column": roles["end"]}
        return
    keys = ", ".join(f'"{roles[name]}"' for name in ("task", "instance") if name in roles)
    step = _one(
        connection,
        f"SELECT mode(d) FROM (SELECT round(t - lag(t) OVER (PARTITION BY {keys} ORDER BY t)) AS d FROM "
        f"(SELECT {scale} AS t, {keys} FROM raw)) WHERE d > 0",
    )
    if step:
        draft.declaration["step"] = write_time(int(step))
        draft.said["step"] = (
            f"step {draft.declaration['step']}: guessed, the most common time between two rows of a task"
        )
        draft.declaration["label"] = "start"
        draft.said["label"] = (
            "label start: guessed, a row is about the step that begins at its time"
        )


def _cpu(
    connection: duckdb.DuckDBPyConnection, roles: Mapping[str, str], draft: Draft
) -> dict[str, Any]:
    column = roles["cpu"]
    if re.search(_COUNTERS, column.lower()):
        draft.said["usage.cpu"] = (
            f"column {column}: guessed from its name to be a counter of CPU seconds"
        )
        return {"column": column, "unit": "s", "kind": "counter"}
    kind, unit = _kind(column), _unit("cpu", column)
    task, order = f'"{roles["task"]}"', f'PARTITION BY "{roles["task"]}" ORDER BY "{roles["time"]}"'
    values = f'SELECT "{column}" AS x, {task} AS task, "{column}" < lag("{column}") OVER ({order}) AS falls FROM raw'
    if _one(
        connection,
        f"SELECT count_if(falls) = 0 AND count(DISTINCT x) > 1 + count(DISTINCT task) FROM ({values})",
    ):
        draft.said["usage.cpu"] = (
            f"column {column} never falls: add kind, counter (then with unit s) or average"
        )
        return {"column": column, "unit": unit}
    if not unit:
        draft.said["usage.cpu"] = f"column {column}: add the unit, percent of what?"
        return {"column": column, "kind": kind}
    draft.said["usage.cpu"] = f"column {column}: guessed to be the {_WORDS[kind]} in {unit}"
    return {"column": column, "unit": unit, "kind": kind}


_WORDS = {"average": "mean over each step", "instant": "usage at one instant"}


def _kind(column: str) -> str:
    return "instant" if re.search(r"instant|sample|current", column.lower()) else "average"


def _unit(resource: str, column: str) -> str | None:
    """Return the unit that a name says, empty where it says a percentage; None where it says nothing."""
    marks = _NAMES[f"{resource}_units"]
    return next((unit for mark, unit in marks.items() if re.search(mark, column.lower())), None)


def _memory(
    connection: duckdb.DuckDBPyConnection, roles: Mapping[str, str], draft: Draft
) -> dict[str, Any]:
    column = roles["memory"]
    kind = _kind(column)
    unit = _unit("memory", column)
    if unit is None:
        median = _one(connection, f'SELECT median("{column}") FROM raw')
        unit = "bytes" if isinstance(median, int | float) and median >= _LEAST_BYTES else ""
    if not unit:
        draft.said["usage.memory"] = f"column {column}: add the unit, such as MiB"
        return {"column": column, "kind": kind}
    draft.said["usage.memory"] = f"column {column}: guessed to be the {_WORDS[kind]} in {unit}"
    return {"column": column, "unit": unit, "kind": kind}
