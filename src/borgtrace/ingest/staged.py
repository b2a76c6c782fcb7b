"""Writing one staged part: Parquet in ``.incomplete``, its ledger entry, then the rename."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest.sources import Source
from borgtrace.store.layout import INCOMPLETE
from borgtrace.store.manifest import SourceEntry, entry_from

ROW_GROUP = 1 << 19
REFUSED = pa.schema([("source_row", pa.int64()), ("reason", pa.string()), ("raw", pa.string())])


@dataclass
class StagedWriter:
    """Collects the rows of one raw file for one canonical table (and its quarantine)."""

    path: Path
    rows: int = 0
    columns: tuple[str, ...] = ()
    _writer: pq.ParquetWriter | None = field(default=None, repr=False)

    @property
    def unfinished(self) -> Path:
        """The file while it is written; its name is this process's own, should two ever meet."""
        return self.path.with_name(f"{self.path.name}.{os.getpid()}{INCOMPLETE}")

    def write(self, table: pa.Table) -> None:
        """Append rows; the first table fixes the columns."""
        if self._writer is None:
            self.columns = tuple(table.column_names)
            encodings = {"source_row": "DELTA_BINARY_PACKED"} if "source_row" in self.columns else None
            self._writer = pq.ParquetWriter(
                self.unfinished,
                table.schema,
                compression="lz4",  # read once, by the sort: half the cost of zstd, and as small here
                use_dictionary=[
                    item.name for item in table.schema if item.name != "source_row" and not pa.types.is_list(item.type)
                ],
                column_encoding=encodings,
                write_statistics=[name for name in ("collection_id", "time") if name in self.columns],
            )
        if table.num_rows:
            self._writer.write_table(table, row_group_size=ROW_GROUP)
        self.rows += table.num_rows

    def finish(self) -> None:
        """Close the file and give it its name; nothing where nothing was written."""
        if self._writer is not None:
            self._writer.close()
            self.unfinished.replace(self.path)

    def abandon(self) -> None:
        """Close and remove the unfinished file."""
        if self._writer is not None:
            self._writer.close()
            self.unfinished.unlink(missing_ok=True)
            self._writer, self.rows = None, 0


@dataclass(frozen=True)
class StagedPaths:
    """Where the staged files of one source are: all names carry the source's digest."""

    staging: Path
    key: str

    def table(self, name: str) -> Path:
        """Rows for a canonical table."""
        return self.staging / name / f"{self.key}.parquet"

    def quarantine(self, name: str) -> Path:
        """Refused rows."""
        return self.staging / "quarantine" / name / f"{self.key}.parquet"

    @property
    def entry(self) -> Path:
        """The ledger entry; a source is staged when this exists."""
        return self.staging / "ledger" / f"{self.key}.json"


def staged_key(name: str) -> str:
    """Return a file name for a source name: ``task_usage/part-00001`` → ``task_usage-part-00001``."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


def make_entry(
    source: Source,
    table: str,
    sha256: str,
    rows_in: int,
    writer: StagedWriter,
    quarantined: Counter[str],
    counters: Counter[str],
    **more: int | dict[str, int],
) -> SourceEntry:
    """Make the ledger entry of a staged source."""
    return SourceEntry(
        name=source.name,
        file=source.path.name,
        table=table,
        raw_table=source.table,
        format=source.format,
        size=source.size,
        sha256=sha256,
        part=source.part if source.format != "kaggle" else None,
        parts=source.parts,
        rows_in=rows_in,
        stored=writer.rows,
        quarantined=sum(quarantined.values()),
        counters=dict(sorted((counters + quarantined).items())),
        columns=writer.columns,
        **more,  # type: ignore[arg-type]
    )


def write_entry(path: Path, entry: SourceEntry) -> None:
    """Write a ledger entry; with it the source counts as staged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    incomplete = path.with_name(f"{path.name}.{os.getpid()}{INCOMPLETE}")
    incomplete.write_text(json.dumps(asdict(entry), sort_keys=True))
    incomplete.replace(path)


def read_entry(path: Path) -> SourceEntry:
    """Read a ledger entry back."""
    return entry_from(json.loads(path.read_text()))
