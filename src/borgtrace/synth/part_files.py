"""Tables cut by time: one folder a table, ``part-?????-of-?????.csv.gz``, with ``schema.csv`` and ``SHA256SUM``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from borgtrace.schema.dialects import Dialect, RawTable
from borgtrace.synth.event_log import TraceSegment
from borgtrace.synth.event_rows import event_rows
from borgtrace.synth.gzip_files import CompressedBlock, GzipFile
from borgtrace.synth.machines import Machines
from borgtrace.synth.raw_rows import RawRows

_SCHEMA_ORDER: Final = (
    *("job_events", "task_events", "machine_events", "machine_attributes", "task_constraints", "task_usage"),
)
"""Tables as the published ``schema.csv`` lists them."""


def schema_text(tables: Mapping[str, RawTable]) -> str:
    r"""Return ``schema.csv``: every field of every table.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> print(*schema_text(dialect("2011").tables).splitlines()[:2], sep="\n")
    file pattern,field number,content,format,mandatory
    job_events/part-?????-of-?????.csv.gz,1,time,INTEGER,YES
    """
    lines = ["file pattern,field number,content,format,mandatory"]
    for name in _SCHEMA_ORDER:
        single = "part-00000-of-00001" if tables[name].parts == 1 else "part-?????-of-?????"
        lines += [
            f"{name}/{single}.csv.gz,{number},{field.name},{field.format},{'YES' if field.is_mandatory else 'NO'}"
            for number, field in enumerate(tables[name].fields, 1)
        ]
    return "\n".join(lines) + "\n"


class PartFiles:
    """Writes the tables of a dialect as CSV: part by part, or as one file where only one is published.

    Parameters
    ----------
    out
        The folder of the trace.
    dialect, machines
        The trace format, and the machines of the cell.
    parts
        Number of parts.
    tables
        Raw tables to write.

    Attributes
    ----------
    rows
        Rows written so far, by raw table.
    """

    def __init__(self, out: Path, dialect: Dialect, machines: Machines, parts: int, tables: frozenset[str]) -> None:
        self.out, self.machines, self.parts = out, machines, parts
        self._tables = dialect.tables
        self._spelled = {name: RawRows(dialect, dialect.tables[name]) for name in tables}
        self._digests: dict[str, str] = {}
        self._single = {name: self._open(name, 0) for name in tables if dialect.tables[name].parts == 1}
        self.rows: dict[str, int] = dict.fromkeys(sorted(tables), 0)

    def write(self, segment: TraceSegment) -> None:
        """Write the events of one segment."""
        rows = event_rows(segment, self.machines)
        for name, spelled in self._spelled.items():
            if self._tables[name].table in rows:
                lines = [spelled.csv_line(row) for row in rows[self._tables[name].table]]
                self.rows[name] += len(lines)
                # Small tables are one file in the bucket; it stays open over all parts.
                file = self._single.get(name) or self._open(name, segment.number)
                file.write("".join(lines).encode())
                if name not in self._single:
                    self._close(file)

    def add_usage(self, table: str, number: int, pieces: Mapping[int, CompressedBlock], rows: int) -> None:
        """Write part `number` of the table of usage.

        Parameters
        ----------
        table
            The raw table.
        number
            Number of the part.
        pieces
            Compressed text; there is one piece, as a part is one file.
        rows
            Rows in it.
        """
        self.rows[table] += rows
        file = self._open(table, number)
        for piece in pieces.values():
            file.append(piece)
        self._close(file)

    def close(self) -> None:
        """Finish the single files and write ``schema.csv`` and ``SHA256SUM``."""
        for file in self._single.values():
            self._close(file)
        (self.out / "schema.csv").write_text(schema_text(self._tables))
        lines = (f"{digest}  {name}\n" for name, digest in sorted(self._digests.items()))
        (self.out / "SHA256SUM").write_text("".join(lines))

    def _open(self, table: str, number: int) -> GzipFile:
        parts = self._tables[table].parts if self._tables[table].parts == 1 else self.parts
        return GzipFile(self.out / table / f"part-{number:05d}-of-{parts:05d}.csv.gz")

    def _close(self, file: GzipFile) -> None:
        self._digests[str(file.path.relative_to(self.out))] = file.close()
