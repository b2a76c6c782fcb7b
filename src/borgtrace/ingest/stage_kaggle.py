"""Staging the flattened 2019 sample (``borg_traces_data.csv``): one row, three canonical rows.

The file joins instance_events, collection_events and instance_usage of eight cells; people pass it
around with extra columns.  Integer codes are trusted, its own labels (``event``, ``failed``) are
not.  What the join repeated is stored once and counted.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.errors import UsageError
from borgtrace.ingest.careful_v3 import sift_records
from borgtrace.ingest.constraints import unnest_constraints
from borgtrace.ingest.counts import count_suspicions
from borgtrace.ingest.kaggle_rows import RECORDS, record_of
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staged import StagedPaths, StagedWriter, make_entry
from borgtrace.ingest.streams import open_stream
from borgtrace.store.manifest import SourceEntry

USAGE = "instance_usage"


@dataclass
class _Rows:
    """The rows of one cell: their numbers, their text, and how many belong to which cell."""

    numbers: list[int] = field(default_factory=list)
    rows: list[dict[str, str]] = field(default_factory=list)
    cells: Counter[str] = field(default_factory=Counter)


def stage_kaggle(source: Source, paths: StagedPaths) -> SourceEntry:
    """Check the flattened rows of one cell and write usage, instance and collection events.

    The ledger counts rows of the file: those of other cells as skipped, and usage rows that the
    join repeated as merged.

    Raises
    ------
    UsageError
        When the file mixes cells and none, or an unknown one, was chosen.
    """
    chosen, sha256 = _read(source)
    refused = _refused(chosen)
    kept = [i for i, number in enumerate(chosen.numbers) if number not in refused]
    counters: Counter[str] = Counter()
    writers = {table: StagedWriter(paths.table(table)) for table in (*RECORDS, "instance_constraints")}
    for table in RECORDS:
        _write(table, chosen, kept, writers, counters)
    for writer in writers.values():
        writer.finish()
    _write_refused(paths, refused)
    reasons = Counter(reason for reason, _ in refused.values())
    also = {table: writer.rows for table, writer in writers.items() if table != USAGE}
    return make_entry(
        source,
        USAGE,
        sha256,
        sum(chosen.cells.values()),
        writers[USAGE],
        reasons,
        counters,
        skipped=sum(chosen.cells.values()) - len(chosen.rows),
        merged=len(kept) - writers[USAGE].rows,
        also=also,
    )


def _read(source: Source) -> tuple[_Rows, str]:
    found = _Rows()
    everything: list[dict[str, str]] = []
    with open_stream(source.path, is_gzip=source.is_gzip) as (stream, raw):
        text = io.TextIOWrapper(stream, "utf-8", "replace", newline="")
        for row in csv.DictReader(text):
            everything.append(row)
            found.cells[row.get("cluster") or ""] += 1
        text.detach()
        sha256 = raw.hexdigest()
    cell = _choose(source, found.cells)
    for number, row in enumerate(everything):
        if row.get("cluster") == cell:
            found.numbers.append(number)
            found.rows.append(row)
    return found, sha256


def _choose(source: Source, cells: Counter[str]) -> str:
    known = ", ".join(f"{cell} ({number} rows)" for cell, number in sorted(cells.items()))
    if source.cell in cells:
        return source.cell
    if not source.cell and len(cells) == 1:
        return next(iter(cells))
    raise UsageError(
        "--cell",
        f"{source.path} mixes cells, and a store holds one",
        expected=f"one of {known}",
        got=source.cell or "none",
        way_out=f"choose one: --cell {min(cells)}",
    )


def _lines(table: str, chosen: _Rows, kept: list[int] | None = None) -> Iterator[pa.Table]:
    picked = range(len(chosen.rows)) if kept is None else kept
    yield pa.table(
        {
            "source_row": pa.array([chosen.numbers[i] for i in picked], pa.int64()),
            "line": pa.array([record_of(table, chosen.rows[i]) for i in picked], pa.string()),
        }
    )


def _refused(chosen: _Rows) -> dict[int, tuple[str, str]]:
    """Rows any of whose three records is refused: number → (reason, raw text)."""
    refused: dict[int, tuple[str, str]] = {}
    text = dict(zip(chosen.numbers, chosen.rows, strict=True))
    for table in RECORDS:
        for sifted, _ in sift_records(table, _lines(table, chosen)):
            for number, reason in zip(
                sifted.refused.column("source_row").to_pylist(),
                sifted.refused.column("reason").to_pylist(),
                strict=True,
            ):
                refused.setdefault(number, (reason, ",".join(map(str, text[number].values()))))
    return refused


def _write(
    table: str, chosen: _Rows, kept: list[int], writers: dict[str, StagedWriter], counters: Counter[str]
) -> None:
    for sifted, lists in sift_records(table, _lines(table, chosen, kept)):
        first = _first_of_each(sifted.rows)
        rows = sifted.rows.take(first)
        counters += count_suspicions(rows) if table == USAGE else Counter()
        writers[table].write(rows)
        if table == "instance_events":
            writers["instance_constraints"].write(unnest_constraints(rows, lists.take(first)))


def _first_of_each(rows: pa.Table) -> pa.Array:
    """Positions of the first of each set of equal rows (their numbers aside), in order."""
    numbered = rows.drop(["source_row"]).append_column("n", pa.array(range(len(rows)), pa.int64()))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("numbered", numbered)
        names = ", ".join(f'"{name}"' for name in numbered.column_names if name != "n")
        query = f"SELECT min(n) AS n FROM numbered GROUP BY {names} ORDER BY n"
        return pc.cast(connection.sql(query).to_arrow_table().column("n"), pa.int64())


def _write_refused(paths: StagedPaths, refused: dict[int, tuple[str, str]]) -> None:
    if not refused:
        return
    writer = StagedWriter(paths.quarantine(USAGE))
    writer.path.parent.mkdir(parents=True, exist_ok=True)
    numbers = sorted(refused)
    writer.write(
        pa.table(
            {
                "source_row": pa.array(numbers, pa.int64()),
                "reason": [refused[number][0] for number in numbers],
                "raw": [refused[number][1] for number in numbers],
            }
        )
    )
    writer.finish()
