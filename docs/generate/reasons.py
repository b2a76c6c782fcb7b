"""Reason codes: what ingest refuses, and what it counts."""

from __future__ import annotations

from borgtrace.schema.reasons import REASONS, SEVERITIES, Reason
from generate.text import plain, table

INTRO = """# Reason codes

Bad rows are data. Ingest rejects a row only if it cannot be stored faithfully. A rejected row is kept in the store's
`quarantine`, as Parquet with these columns:

| column | what it holds |
| --- | --- |
| `file` | The file; in an archive, with the name of its member. |
| `line` | The line in the file, from 1; NULL for files that have no lines, such as Parquet. |
| `source_row` | The row, from 0. |
| `reason` | One of the codes below. |
| `column` | The wrong column, as the file calls it; NULL where the whole line is wrong. |
| `value` | The text in that column; NULL where it is empty. |
| `raw` | The whole line, or the row as JSON. |

Stores of earlier versions have `source_row`, `reason` and `raw` alone. Everything else is stored and counted. For
each file, rows in = rows stored + rows quarantined. `borgtrace info` shows the counters and the most frequent
refusals, and `--strict` makes rejected rows an error.
"""


def fate(reason: Reason) -> str:
    """Return what becomes of a row, or of the samples of a series."""
    if reason.leaves_out:
        return "left out"
    return "quarantined" if reason.quarantines else "stored"


def page() -> str:
    """Return the page."""
    rows = [
        [
            f"`{reason.code}`",
            reason.severity,
            fate(reason),
            plain(reason.sentence),
        ]
        for severity in reversed(SEVERITIES)
        for reason in REASONS.values()
        if reason.severity == severity
    ]
    return INTRO + "\n" + table(["code", "severity", "the row is", "meaning"], rows)
