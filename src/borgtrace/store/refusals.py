"""Refused rows in words: their number, and the most frequent reasons with an example each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from borgtrace.store.manifest import Refusal, SourceEntry

MOST_SHOWN = 5
"""Reasons that are shown."""
WORTH_A_LAST_LINE = 0.01
"""Share of refused rows above which the last line says so."""


def most_frequent(entries: Iterable[SourceEntry]) -> list[Refusal]:
    """Return the refusals of files by reason and column, the most frequent first, each with the first example.

    Parameters
    ----------
    entries
        The files.
    """
    of_kind: dict[tuple[str, str], Refusal] = {}
    for entry in sorted(entries, key=lambda entry: entry.name):
        for refusal in entry.refusals:
            kind = (refusal.reason, refusal.column)
            known = of_kind.get(kind)
            first = known or refusal
            n_before = known.rows if known else 0
            of_kind[kind] = replace(first, rows=n_before + refusal.rows)
    return sorted(
        of_kind.values(), key=lambda refusal: (-refusal.rows, refusal.reason, refusal.column)
    )


def describe(refusal: Refusal) -> str:
    """Return a refusal in words: how many rows, and what is wrong in the first."""
    column = f", column {refusal.column}" if refusal.column else ""
    place = f"row {refusal.row + 1:,}" if refusal.line is None else f"line {refusal.line:,}"
    got = "nothing" if refusal.value is None else repr(refusal.value)
    return (
        f"{refusal.reason}: {_rows(refusal.rows)}{column}: "
        f"{refusal.file} {place}: expected {refusal.expected}, got {got}"
    )


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def lines_of_refusals(entries: Iterable[SourceEntry]) -> list[str]:
    """Return the most frequent refusals of files in words, and how many others there are."""
    refusals = most_frequent(entries)
    lines = [describe(refusal) for refusal in refusals[:MOST_SHOWN]]
    others = refusals[MOST_SHOWN:]
    if others:
        n_rows = sum(refusal.rows for refusal in others)
        lines.append(f"for other reasons or in other columns: {_rows(n_rows)}")
    return lines


def warning_of_share(entries: Sequence[SourceEntry], quarantine: Path) -> str:
    """Return the sentence about many refused rows, with the way to look at them; empty where there are few.

    Parameters
    ----------
    entries
        The files.
    quarantine
        The folder that keeps the refused rows.
    """
    n_rows = sum(entry.rows_in for entry in entries)
    n_refused = sum(entry.quarantined for entry in entries)
    if n_refused <= WORTH_A_LAST_LINE * n_rows:
        return ""
    share = f"{n_refused / n_rows:.1%}".replace("%", " %")
    return (
        f"{share} of the rows were refused ({n_refused:,} of {n_rows:,}): look at them in "
        f"{quarantine} (Parquet: file, line, column, value, reason)"
    )
