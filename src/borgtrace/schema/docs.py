"""``docs/tables.md``, generated from the declarations: ``python -m borgtrace.schema.docs PATH``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from borgtrace.schema.enums import ENUMS
from borgtrace.schema.reasons import REASONS
from borgtrace.schema.tables import TABLES
from borgtrace.schema.types import GENERATIONS, Absent, Column, Table


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
    lines += ["", "# Enumerations", "", "Stored by name; codes are those of the raw files.", ""]
    lines += _enums()
    lines += ["", "# Reason codes", "", "| code | severity | row is | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{r.code}` | {r.severity} | {'quarantined' if r.quarantines else 'stored, counted'} | {r.sentence} |"
        for r in REASONS.values()
    ]
    return "\n".join(lines) + "\n"


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.name}"
    yield ""
    yield f"One row per {table.grain}. Key and order: {', '.join(f'`{name}`' for name in table.key)}."
    yield ""
    yield "| column | type | unit | NULL | meaning | 2011 | 2019 |"
    yield "|---|---|---|---|---|---|---|"
    for column in table.columns:
        sources = " | ".join(_source(column, generation) for generation in GENERATIONS)
        null = "yes" if column.nullable else "no"
        yield f"| `{column.name}` | {_type(column)} | {column.unit} | {null} | {column.doc} | {sources} |"


def _type(column: Column) -> str:
    return f"enum `{column.enum}`" if column.enum else column.type + (f" × {column.length}" if column.length else "")


def _source(column: Column, generation: str) -> str:
    source = column.source[generation]
    return f"– ({source.reason})" if isinstance(source, Absent) else f"`{source}`"


def _enums() -> Iterator[str]:
    yield "| enumeration | meaning | names (code in 2011, code in 2019) |"
    yield "|---|---|---|"
    for enum in ENUMS.values():
        codes = {g: {name: code for code, name in enum.codes.get(g, {}).items()} for g in GENERATIONS}
        names = ", ".join(
            f"`{name}` ({codes['2011'].get(name, '–')}, {codes['2019'].get(name, '–')})" for name in enum.names
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
    print(f"{path} is stale; run: python -m borgtrace.schema.docs {path}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
