"""Refused rows of a file: how they are put into quarantine and reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from borgtrace.ingest.files.sources import Source
from borgtrace.store.manifest import Refusal

LONGEST_VALUE = 60
"""Characters of a value that are kept as an example; the quarantine has it whole."""


def quarantined_rows(
    source: Source,
    rows: pa.Table,
    lines: Sequence[int | None],
) -> pa.Table:
    """Return refused rows with the columns that the quarantine has.

    Parameters
    ----------
    source
        Their file.
    rows
        Refused ones, with source_row, reason, column, value and raw text.
    lines
        The line of each.
    """
    file = pa.array([file_label(source)] * rows.num_rows, pa.string())
    return pa.table(
        {
            "file": file.dictionary_encode(),
            "line": pa.array(lines, pa.int64()),
            "source_row": rows.column("source_row"),
            "reason": rows.column("reason"),
            "column": rows.column("column"),
            "value": rows.column("value"),
            "raw": rows.column("raw"),
        }
    )


def file_label(source: Source) -> str:
    """Return what people call a file, without its folders; of an archive its member too."""
    return f"{source.path.name}: {source.member}" if source.member else source.path.name


@dataclass
class RefusedRows:
    """Counts refused rows by reason and column, and keeps the first of each as an example."""

    _of_kind: dict[tuple[str, str], Refusal] = field(default_factory=dict)

    @property
    def by_reason(self) -> Counter[str]:
        """How many rows there are of each reason."""
        counts: Counter[str] = Counter()
        for refusal in self._of_kind.values():
            counts[refusal.reason] += refusal.rows
        return counts

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self.by_reason.total()

    def add(
        self,
        source: Source,
        rows: pa.Table,
        lines: Sequence[int | None],
    ) -> None:
        """Count further rows, which follow those before; for the parameters see `quarantined_rows`."""
        reasons = rows.column("reason").to_pylist()
        columns = [column or "" for column in rows.column("column").to_pylist()]
        counts = Counter(zip(reasons, columns, strict=True))
        first_places: dict[tuple[str, str], int] = {}
        for place, kind in enumerate(zip(reasons, columns, strict=True)):
            first_places.setdefault(kind, place)
        for kind, n_rows in counts.items():
            refusal = self._of_kind.get(kind)
            if refusal is None:
                place = first_places[kind]
                (row,) = rows.slice(place, 1).to_pylist()
                refusal = _example(source, row, lines[place])
            self._of_kind[kind] = replace(refusal, rows=refusal.rows + n_rows)

    def summary(self) -> tuple[Refusal, ...]:
        """Return what is counted, the most frequent first."""
        return tuple(sorted(self._of_kind.values(), key=_frequency))


def _example(source: Source, row: dict[str, object], line: int | None) -> Refusal:
    # Of a line that is refused as a whole, the line itself is what is wrong.
    value = row["value"] if row["column"] else row["raw"]
    return Refusal(
        reason=str(row["reason"]),
        column=str(row["column"] or ""),
        rows=0,
        file=file_label(source),
        row=int(str(row["source_row"])),
        line=line,
        value=None if value is None else _shortened(str(value)),
        expected=str(row["expected"] or ""),
    )


def _shortened(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"


def _frequency(refusal: Refusal) -> tuple[int, str, str]:
    return -refusal.rows, refusal.reason, refusal.column
