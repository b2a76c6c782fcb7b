"""A triple is a text file: a trace of a few typed rows, questions about it, the tables they must give.

The grammar, in full:

* The first line says in one sentence what the triple is about.  Lines that begin with ``#`` are comments.
* ``== WORD ARGUMENTS`` begins a section, the lines below are its body.
* ``== dialect NAME`` (default 2011), for rows typed under canonical names.
* ``== rows TABLE``: canonical rows; the columns that are not named are NULL or the plainest value.
* ``== file PATH``: a raw file, as it is (``.gz`` is compressed); the files of a triple are ingested into one store.
* ``== again PATH``: the same, ingested into the same store after the files above.
* ``== run COMMAND``: a command of borgtrace that makes the store of the questions below it; ``STORE`` and
  ``OUT`` stand for the store so far and the new one.
* ``== ask KIND ARGUMENTS``: a question; its body is the expected table.

Kinds of questions:

* ``recipe NAME parameter=value … [column=value …]``: a recipe's result; a bracket keeps some rows.
* ``claims NAME``: its findings (``id``, ``measured``, ``verdict``).
* ``applies NAME``: whether it is applicable (``applies``: true or false).
* ``table NAME``: a canonical or derived table, in the order of the columns that are named.
* ``sql QUERY``: what a store answers.
* ``counters``: what a store counted (``table``, ``reason``, ``n``), and nothing else.
* ``quarantine TABLE``: what was refused (``source_row``, ``reason``, ``raw``).
* ``ledger``: a line for each source (``raw_table``, ``part``, ``rows_in``, ``stored``, ``quarantined`` …).
* ``trace COLLECTION INSTANCE``: one task's arrays.
* ``verify``: checks that do not hold (``name``).
* ``refuses``: how the ingest (``error``, its class) or the command (``exit``, its code) fails.

Only the columns of the expected header are compared; rows in order.  ``-`` is NULL, ``(none)`` an empty table.
Times: ``+90s`` is 90 s after the start of the trace, ``@90s`` 90 s on the trace's clock or a duration in µs,
``before`` and ``after`` the two sentinels.  Text with blanks stands in quotes.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from borgtrace.schema import TABLES
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, TRACE_START

FOLDER = Path(__file__).parent
_TIME = re.compile(r"([+@])(\d+(?:\.\d+)?)(us|ms|s|m|h|d)")
_MICROSECONDS = {
    "us": 1,
    "ms": 1_000,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86_400 * 10**6,
}
_WORDS = {
    "-": None,
    "true": True,
    "false": False,
    "before": BEFORE_TRACE,
    "after": AFTER_TRACE,
}


@dataclass(frozen=True)
class Section:
    """One section of a triple: its word, its arguments, the lines below it."""

    word: str
    arguments: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """A table typed by hand: names, and the text of each cell."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Triple:
    """The sections of one file."""

    path: Path
    sections: tuple[Section, ...]

    @property
    def dialect(self) -> str:
        """Name of the trace format of rows typed under canonical names."""
        for section in self.sections:
            if section.word == "dialect":
                return section.arguments
        return "2011"

    @property
    def questions(self) -> tuple[int, ...]:
        """Places of the questions among the sections."""
        places = enumerate(self.sections)
        return tuple(place for place, section in places if section.word == "ask")

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Rows typed under canonical names, by table."""
        rows_of_table = {}
        for section in self.sections:
            if section.word == "rows":
                rows_of_table[section.arguments] = list(_typed_rows(section))
        return rows_of_table

    def upto(self, question: int) -> tuple[Section, ...]:
        """Sections above a question that make its store."""
        makers = ("file", "again", "run", "options")
        return tuple(section for section in self.sections[:question] if section.word in makers)


def read(path: Path) -> Triple:
    """Read a triple."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines, f"{path}: empty"
    assert not lines[0].startswith("=="), f"{path}: the first line says what the triple is about"
    return Triple(path, tuple(_sections(lines[1:])))


def triples() -> Iterator[Triple]:
    """Read all triples, in the order of their names."""
    for path in sorted(FOLDER.rglob("*.txt")):
        yield read(path)


def expected(section: Section) -> Expected:
    """Return the table in the body of a question."""
    lines = [shlex.split(line) for line in section.lines if line.strip()]
    if lines == [["(none)"]]:
        return Expected((), ())
    head, *rows = lines
    for row in rows:
        assert len(row) == len(head), f"{row} has not one cell for each of {head}"
    return Expected(tuple(head), tuple(tuple(row) for row in rows))


def value(text: str) -> Any:
    """Return what a cell means, for a column that holds no text."""
    if text in _WORDS:
        return _WORDS[text]
    match = _TIME.fullmatch(text)
    if match:
        sign, number, unit = match.groups()
        microseconds = round(float(number) * _MICROSECONDS[unit])
        return TRACE_START + microseconds if sign == "+" else microseconds
    try:
        return json.loads(text)
    except ValueError:
        return text


def write(section: Section, folder: Path) -> None:
    """Write the raw file of a section, whose lines are as they are typed, below `folder`."""
    path = folder / section.arguments
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in section.lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _sections(lines: list[str]) -> Iterator[Section]:
    starts = [place for place, line in enumerate(lines) if line.startswith("== ")]
    for start in starts:
        word, _, arguments = lines[start].removeprefix("== ").partition(" ")
        body = []
        for line in lines[start + 1 :]:
            if line.startswith("== "):
                break
            body.append(line)
        while body and not body[-1].strip():
            body.pop()
        yield Section(word, arguments.strip(), tuple(body))


def _typed_rows(section: Section) -> Iterator[dict[str, Any]]:
    typed = expected(section)
    table = TABLES[section.arguments]
    for cells in typed.rows:
        row = {}
        for name, cell in zip(typed.names, cells, strict=True):
            is_text = table.column(name).type in ("string", "enum")
            row[name] = cell if is_text and cell != "-" else value(cell)
        yield row
