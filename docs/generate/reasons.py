"""Reason codes: what ingest refuses, and what it counts."""

from __future__ import annotations

from borgtrace.schema.reasons import REASONS, SEVERITIES, Reason
from generate.text import plain, table

INTRO = """# Reason codes

Bad rows are data. Ingest rejects a row only if it cannot be stored faithfully; it is then kept as text, with its file
and line, in the store's `quarantine`. Everything else is stored and counted. For each file, rows in = rows stored +
rows quarantined. `borgtrace info` shows the counters, and `--strict` makes rejected rows an error.
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
