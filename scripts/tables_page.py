"""``docs/tables.md``, generated from the declarations: ``python scripts/tables_page.py PATH``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from borgtrace.schema.dialects import PUBLISHED, Absent, Dialect
from borgtrace.schema.enums import ENUMS
from borgtrace.schema.reasons import REASONS, Reason
from borgtrace.schema.tables import TABLES
from borgtrace.schema.types import Column, Table

OBSCURED = """
# What Google changed before publishing

The store keeps the published values as they are.

| values | 2011 | 2019 |
|---|---|---|
| users, platforms, names of jobs, collections and attributes | hashed: base64 of a SHA-256 | hashed |
| switches | not published | hashed |
| values of attributes and constraints | hashed, or the rank of the value, from 1 | the same |
| CPU, memory and disk space | rescaled: a share of the largest machine's | CPU and memory: the same |
| the same, rounded | to ten significant bits, 2⁻²⁰ at least, then to four digits | to ten significant bits |
| disk I/O time, CPI, MAI | ratios, not rescaled | CPI and MAI: the same |
| priorities | their rank, 0 to 11 | as they are, 0 to 450 |
| times | microseconds; the trace starts at 600 s | the same |
| times of usage windows | whole seconds, written in microseconds | the same |
| identifiers | whole numbers, unique within the trace | the same |
"""
"""Which columns are hashed, rescaled and rounded: format documents of both traces, and counts over real values."""


def fate(reason: Reason) -> str:
    """Return what becomes of a row, or of the samples of a series."""
    if reason.leaves_out:
        return "left out, counted"
    return "quarantined" if reason.quarantines else "stored, counted"


def tables_page() -> str:
    """Return the page about tables, enumerations and reason codes."""
    lines = [
        "# Tables",
        "",
        "Generated from `borgtrace.schema`. Every table is a folder of Parquet files in the store, sorted",
        "by its key over all files. Missing is NULL, never −1 or 0. Times are µs on the trace's own clock.",
    ]
    for table in TABLES.values():
        lines += ["", *_table(table)]
    lines += OBSCURED.splitlines()
    lines += ["", "# Enumerations", "", "Stored by name; codes are those of the raw files.", ""]
    lines += _enums()
    lines += [
        "",
        "# Reason codes",
        "",
        "| code | severity | row is | meaning |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{r.code}` | {r.severity} | {fate(r)} | {r.sentence} |" for r in REASONS.values()]
    return "\n".join(lines) + "\n"


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.name}"
    yield ""
    yield f"One row per {table.grain}. Key and order: {', '.join(f'`{name}`' for name in table.key)}."
    yield ""
    yield f"| column | type | unit | NULL | meaning | {' | '.join(one.name for one in PUBLISHED)} |"
    yield "|---|---|---|---|---|" + "---|" * len(PUBLISHED)
    for column in table.columns:
        sources = " | ".join(_source(one, table, column) for one in PUBLISHED)
        null = "yes" if column.nullable else "no"
        yield f"| `{column.name}` | {_type(column)} | {column.unit} | {null} | {column.doc} | {sources} |"


def _type(column: Column) -> str:
    return (
        f"enum `{column.enum}`"
        if column.enum
        else column.type + (f" × {column.length}" if column.length else "")
    )


def _source(dialect: Dialect, table: Table, column: Column) -> str:
    source = dialect.source(table.name, column.name)
    return f"– ({source.reason})" if isinstance(source, Absent) else f"`{source}`"


def _enums() -> Iterator[str]:
    yield f"| enumeration | meaning | names ({', '.join(f'code in {one.name}' for one in PUBLISHED)}) |"
    yield "|---|---|---|"
    for enum in ENUMS.values():
        # By name, since one name has another code in each trace.
        codes = [
            {name: code for code, name in one.codes.get(enum.name, {}).items()} for one in PUBLISHED
        ]
        names = ", ".join(
            f"`{name}` ({', '.join(str(known.get(name, '–')) for known in codes)})"
            for name in enum.names
        )
        yield f"| {enum.name} | {enum.doc} | {names} |"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with ``--check`` say whether it is fresh."""
    path = Path(arguments[-1])
    page = tables_page()
    if "--check" not in arguments:
        path.write_text(page)
        return 0
    if path.exists() and path.read_text() == page:
        return 0
    print(f"{path} is stale; run: python scripts/tables_page.py {path}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
