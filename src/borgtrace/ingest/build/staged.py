"""Writing one staged part: Parquet in ``.incomplete``, its ledger entry, then the rename."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from borgtrace.ingest.build.coded_part import SUFFIX
from borgtrace.ingest.build.refused_rows import RefusedRows, quarantined_rows
from borgtrace.ingest.build.staged_writer import CodedWriter, StagedWriter
from borgtrace.ingest.convert.column_checks import count_broken, count_out_of_order
from borgtrace.ingest.convert.nested_lists import unnest
from borgtrace.ingest.files.raw_layout import RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.task_files import TaskOfFile
from borgtrace.schema import TRACE_TABLES, Table
from borgtrace.schema.records import RECORDS
from borgtrace.storage import read_text, write_file
from borgtrace.store.layout import source_key
from borgtrace.store.manifest import SourceEntry, entry_from

SERIES_TABLES = ("series", "samples")
"""What files of series are staged as."""
STAGED_TABLES = (*TRACE_TABLES, *RECORDS, *SERIES_TABLES)
"""Kinds of rows that files are staged as."""


@dataclass(frozen=True)
class StagedPaths:
    """Where the staged files of one source are: all names carry the source's digest."""

    staging: Path
    key: str
    is_shared: bool = False
    """Whether they are copied to a bucket, of which Parquet alone is read."""

    @classmethod
    def of(cls, staging: Path, source: str, *, is_shared: bool = False) -> StagedPaths:
        """Return those of the source of this name."""
        return cls(staging, source_key(source), is_shared)

    def table(self, name: str) -> Path:
        """Rows for a canonical table."""
        return self.staging / name / f"{self.key}.parquet"

    def coded(self, name: str) -> Path:
        """Rows for a canonical table as records of codes."""
        return self.staging / name / f"{self.key}{SUFFIX}"

    def quarantine(self, name: str) -> Path:
        """Refused rows."""
        return self.staging / "quarantine" / name / f"{self.key}.parquet"

    @property
    def entry(self) -> Path:
        """The ledger entry; a source is staged when this exists."""
        return self.staging / "ledger" / f"{self.key}.json"

    def discard(self) -> None:
        """Remove all files of the source, including those of a killed run."""
        # The entry first: without it a part counts as not staged, whatever else is still there.
        self.entry.unlink(missing_ok=True)
        for name in STAGED_TABLES:
            self.table(name).unlink(missing_ok=True)
            self.coded(name).unlink(missing_ok=True)
            self.quarantine(name).unlink(missing_ok=True)


class StagedOutput:
    """The staged output of one raw file: its rows, its refused rows, and counters.

    The files get their names when the ``with`` block ends, and are removed when it fails.
    """

    def __init__(
        self,
        paths: StagedPaths,
        layout: RawLayout,
        task: TaskOfFile | None = None,
    ) -> None:
        self.layout = layout
        self.task = task
        self.rows = _writer_of(paths, layout.table)
        self.lists: list[tuple[RawLayout, StagedWriter]] = []
        for inner in layout.lists:
            self.lists.append((inner, _writer_of(paths, inner.table)))
        self.quarantine = StagedWriter(paths.quarantine(layout.table.name))
        self._begin()

    def _begin(self) -> None:
        self.counters: Counter[str] = Counter()
        self.refused = RefusedRows()
        self._last_time = 0

    @property
    def writers(self) -> list[StagedWriter]:
        """All writers."""
        return [self.rows, *(writer for _, writer in self.lists), self.quarantine]

    def write(self, rows: pa.Table) -> None:
        """Store canonical rows, with the items of their lists; rows without a number are numbered on."""
        if "source_row" not in rows.column_names:
            # Fast readers refuse nothing, so the number of rows before is the number of the row.
            first = self.rows.rows
            numbers = pa.array(np.arange(first, first + len(rows)))
            rows = rows.append_column("source_row", numbers)
        if self.task:
            rows = self.task.added_to(rows)
        self.counters += count_broken(self.layout.table, rows)
        self._count_order(rows)
        for inner, writer in self.lists:
            items = unnest(rows, inner)
            # Few shards have any; a flattened file always leaves a table, so that all three of its records do.
            if items.num_rows or self.layout.dialect.flattened:
                writer.write(items)
        self.rows.write(rows.drop([inner.raw.name for inner, _ in self.lists]))

    def _count_order(self, rows: pa.Table) -> None:
        # Rows of hash shards are in no order, so there is nothing to count.
        time = self.layout.table.time
        if self.layout.dialect.shards == "time" and time and rows.num_rows:
            times = rows.column(time).to_numpy()
            self.counters["time_out_of_order"] += count_out_of_order(times, self._last_time)
            # Kept from chunk to chunk: where a file is cut into chunks must not change the count.
            self._last_time = int(times[-1])

    def refuse(self, source: Source, rows: pa.Table, lines: Sequence[int | None]) -> None:
        """Put rows into quarantine.

        Parameters
        ----------
        source
            Their file.
        rows
            As `borgtrace.ingest.read.validating_reader` refuses them.
        lines
            The line of each.
        """
        self.quarantine.path.parent.mkdir(parents=True, exist_ok=True)
        self.quarantine.write(quarantined_rows(source, rows, lines))
        self.refused.add(source, rows, lines)

    def restart(self) -> None:
        """Forget everything that was written."""
        for writer in self.writers:
            writer.abandon()
        # The counts of the fast reader go too, or its rows would be counted twice.
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, fault: object, *_: object) -> None:
        for writer in self.writers:
            if fault:
                # An interrupt too must leave no half-written part.
                writer.abandon()
            else:
                writer.finish()


def _writer_of(paths: StagedPaths, table: Table) -> StagedWriter:
    path = paths.table(table.name)
    # Usage is nearly all rows.
    if table.name == "instance_usage" and not paths.is_shared:
        return CodedWriter(path, table.key, coded_path=paths.coded(table.name), table=table)
    return StagedWriter(path, table.key)


def make_entry(
    source: Source, output: StagedOutput, sha256: str, **more: int | dict[str, int]
) -> SourceEntry:
    """Make the ledger entry of a staged source; `more` overrides its fields.

    Parameters
    ----------
    source
        The raw file.
    output
        What was written of it; finished.
    sha256
        Digest of the file, in hexadecimal.
    more
        Fields of the entry by name, instead of what follows from `output`.
    """
    n_refused = output.refused.total
    facts: dict[str, Any] = {
        "rows_in": output.rows.rows + n_refused,
        "also": {inner.table.name: writer.rows for inner, writer in output.lists},
        **more,
    }
    counters = output.counters + output.refused.by_reason
    return SourceEntry(
        name=source.name,
        file=source.path.name,
        table=output.layout.table.name,
        raw_table=source.table,
        format=source.format,
        size=source.size,
        sha256=sha256,
        version=source.version,
        part=source.part,
        parts=source.parts,
        stored=output.rows.rows,
        quarantined=n_refused,
        counters=dict(sorted(counters.items())),
        columns=output.rows.columns,
        refusals=output.refused.summary(),
        **facts,
    )


def write_entry(path: Path, entry: SourceEntry) -> None:
    """Write a ledger entry; with it the source counts as staged."""
    write_file(path, json.dumps(asdict(entry), sort_keys=True))


def read_entry(path: Path) -> SourceEntry:
    """Read a ledger entry back."""
    return entry_from(json.loads(read_text(path)))
