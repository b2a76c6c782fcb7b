"""What a store holds of raw files, line by line, beside what a judge says of each line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

import borgtrace
from borgtrace.schema import TRACE_TABLES
from borgtrace.store.layout import Layout
from tests.ingest.declared_2011 import Fate

Line = TypeVar("Line")
# Spellings of numbers, flags and nothing, at the edges of every type, and what is only nearly one.
_NUMBERS = (
    "-1 +1 -0 007 +007 00 01 1.5 1e3 0x10 0X1f 0b11 0x1_0 0b1_1 0xffffffffffffffff 0x00000000000000001 0b12 0bad -0x1 "
    "1_000 1d 1f 1e 1e+ 1.0 .5 5. . - + -- --1 1-1 1e-3 1E5"
)
_AMOUNTS = "-0.0 -0.1 -1e-50 1e38 1e39 -1e39 1e-45 1e-46 1e999 0.1234567890123456789 16777217 1.2.3"
_EDGES = (
    "2 3 4 8 9 11 127 128 2147483647 2147483648 4294967296 9223372036854775807 9223372036854775808 "
    "18446744073709551615 18446744073709551616 018446744073709551615 +18446744073709551615 -9223372036854775808 "
    "-9223372036854775809 123456789012345678901234567890123456789012"
)
_WORDS = "x nan NaN inf -inf Infinity null NULL None true false True TRUE t yes"
_BLANKS = [
    "",
    " ",
    " 1",
    "1 ",
    "\t1",
    "1\t",
    "\v1",
    "1 000",
    "１",
    "²",
    "٣",
    "'1'",
    '"1"',
    "\ufeff1",
]
SPELLINGS = [
    *_NUMBERS.split(),
    *_AMOUNTS.split(),
    *_EDGES.split(),
    *_WORDS.split(),
    *_BLANKS,
]


def differences(
    store: Path,
    raw_table: str,
    parts: Sequence[Sequence[Line]],
    judge: Callable[[Line], Fate],
    count_odd: Callable[[Iterable[dict[str, Any]]], Counter[str]],
    seen: Counter[str],
) -> list[str]:
    """Compare what a store holds of the files of a raw table with what is due; `seen` counts the reasons that came up.

    Parameters
    ----------
    store
        The store that all files went into.
    raw_table, parts
        The table, and the lines of each of its files by number.
    judge
        Says what becomes of a line.
    count_odd
        Counts what is odd in the rows that are stored.
    seen
        Changed.
    """
    manifest = borgtrace.open(store).manifest
    entries = {entry.part: entry for entry in manifest.sources if entry.raw_table == raw_table}
    table = next(iter(entries.values())).table
    stored, found = _stored(store, table), []
    for number, lines in enumerate(parts):
        if number not in entries:
            found.append(f"{raw_table} {number}: the whole file was refused: {lines}")
            continue
        refused = _refused(Layout(store).refused(table, entries[number].name))
        right: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()
        for row, line in enumerate(lines):
            fate, held = judge(line), stored.get((number, row))
            if not line.strip():
                # A blank line is no row: it is neither stored nor refused.
                agrees = row not in refused and held is None
            elif fate.reasons:
                agrees = refused.get(row) in fate.reasons and held is None
                reasons[refused.get(row, "")] += 1
            else:
                agrees = (
                    row not in refused and held is not None and fate.values.items() <= held.items()
                )
                right.append(fate.values)
                reasons["unknown_field"] += fate.is_odd
            if not agrees:
                found.append(
                    f"{raw_table} {number}:{row} {line!r}: {fate}, got {refused.get(row)} {held}"
                )
        expected = +(count_odd(right) + reasons)
        if entries[number].counters != expected and not found:
            found.append(
                f"{raw_table} {number}: counters {expected}, got {entries[number].counters}"
            )
        seen.update(expected)
    return found


def _stored(store: Path, table: str) -> dict[tuple[int, int], dict[str, Any]]:
    rows = borgtrace.open(store).sql(f"select * from {table}").to_pylist()
    return {(row["source_part"], row["source_row"]): row for row in rows}


def _refused(path: Path) -> dict[int, str]:
    return (
        {row["source_row"]: row["reason"] for row in pq.read_table(path).to_pylist()}
        if path.exists()
        else {}
    )


def declared_reasons(tables: Iterable[str]) -> set[str]:
    """Return the reasons of all checks that columns of tables declare."""
    columns = (column for table in tables for column in TRACE_TABLES[table].columns)
    return {check.reason for column in columns for check in column.checks}
