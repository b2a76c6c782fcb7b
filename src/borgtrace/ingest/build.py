"""Staged parts (and the tables a store has) → the next version of the store."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from borgtrace._version import __version__
from borgtrace.engine.stored import is_current
from borgtrace.errors import StoreError
from borgtrace.ingest.cluster import cluster, sorting_connection
from borgtrace.ingest.finish import count_rows, finish
from borgtrace.ingest.inputs import StagedPart, number_parts, present_relation, staged_constants, staged_relation
from borgtrace.ingest.progress import Progress
from borgtrace.ingest.staged import StagedPaths, staged_key
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.evolution import schema_digest
from borgtrace.store.content import store_digest
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, SourceEntry
from borgtrace.store.swap import commit_next


@dataclass(frozen=True)
class Inputs:
    """What a build starts from: sources already in the store, and those staged beside it."""

    dialect: Dialect
    cell: str
    held: tuple[SourceEntry, ...]
    staged: tuple[SourceEntry, ...]
    synthetic: dict[str, Any] | None
    unknown: dict[str, Any] = field(default_factory=dict)


def build(layout: Layout, inputs: Inputs, memory: str, threads: int, progress: Progress) -> Manifest:
    """Cluster all tables that have new rows, rebuild the index, and put the result in place.

    Raises
    ------
    StoreError
        When rows went missing on the way (the law of conservation), which would be our fault.
    """
    work = layout.unfinished
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with sorting_connection(memory, threads, layout.spill) as connection:
        builder = _Builder(layout, inputs, work, connection, progress)
        manifest = builder.run()
    manifest.write(work / layout.manifest.name)
    commit_next(layout)
    shutil.rmtree(layout.spill, ignore_errors=True)
    return manifest


@dataclass
class _Builder:
    layout: Layout
    inputs: Inputs
    work: Path
    connection: duckdb.DuckDBPyConnection
    progress: Progress

    def run(self) -> Manifest:
        files = {name: self._cluster(name) for name in TRACE_TABLES}
        self._conserve({name: count_rows(paths) for name, paths in files.items()})
        finished = finish(self.connection, files, self.inputs.dialect, self.work, self.progress)
        self._move_quarantine()
        return Manifest(
            generation=self.inputs.dialect.trace,
            cell=self.inputs.cell,
            time_zone=self.inputs.dialect.time_zone(self.inputs.cell),
            code_version=__version__,
            digest=store_digest(finished.content),
            schema=schema_digest(TABLES.values()),
            unknown=self.inputs.unknown,
            content=finished.content,
            files=finished.files,
            tables=finished.rows,
            sources=self.entries,
            quality=finished.quality,
            synthetic=self.inputs.synthetic,
            time_range=finished.time_range,
        )

    @property
    def entries(self) -> tuple[SourceEntry, ...]:
        replaced = {entry.name for entry in self.inputs.staged}
        kept = [entry for entry in self.inputs.held if entry.name not in replaced]
        return tuple(sorted((*kept, *self.inputs.staged), key=lambda entry: entry.name))

    def _cluster(self, name: str) -> list[Path]:
        """Return the table's files: new ones where it has new rows, else the present ones."""
        parts = self._staged_parts(name)
        present = self.layout.parts(name)
        if not parts and not self._replaces(name) and (not present or is_current(TABLES[name], present)):
            return present
        relations = [staged_relation(TABLES[name], parts)] if parts else []
        if present:
            relations.append(self._kept(name, present))
        expected = sum(self._rows_staged(name, entry) for entry in self.inputs.staged)
        self.progress.begin(f"cluster {name}", expected, "rows")
        cluster(
            self.connection,
            TABLES[name],
            " UNION ALL ".join(relations),
            self.work / name,
            {} if present else staged_constants(TABLES[name], parts),
            lambda rows: self.progress.advance(f"cluster {name}", rows),
        )
        return sorted((self.work / name).glob("part-*.parquet"))

    def _kept(self, name: str, present: Sequence[Path]) -> str:
        """Rows the store holds, without those of replaced sources, numbered as the parts are now."""
        now, before = number_parts(self.entries), number_parts(self.inputs.held)
        replaced = {entry.name for entry in self.inputs.staged}
        moved = {before[e.name]: now[e.name] for e in self._feeding(name, self.inputs.held) if e.name not in replaced}
        gone = [before[e.name] for e in self._feeding(name, self.inputs.held) if e.name in replaced]
        relation = present_relation(TABLES[name], present, moved)
        if not gone:
            return relation
        listed = ", ".join(map(str, gone))
        return f"{relation} WHERE source_part NOT IN ({listed})"

    def _replaces(self, name: str) -> bool:
        replaced = {entry.name for entry in self.inputs.staged}
        return any(entry.name in replaced for entry in self._feeding(name, self.inputs.held))

    @staticmethod
    def _feeding(name: str, entries: Sequence[SourceEntry]) -> list[SourceEntry]:
        return [entry for entry in entries if entry.table == name or entry.also.get(name)]

    def _staged_parts(self, name: str) -> list[StagedPart]:
        numbers = number_parts(self.entries)
        paths = [
            (StagedPaths(self.layout.staging, staged_key(entry.name)).table(name), numbers[entry.name])
            for entry in self.inputs.staged
        ]
        return [StagedPart(path, number) for path, number in paths if path.exists()]

    @staticmethod
    def _rows_staged(name: str, entry: SourceEntry) -> int:
        return entry.stored if entry.table == name else entry.also.get(name, 0)

    def _conserve(self, rows: Mapping[str, int]) -> None:
        for entry in self.entries:
            if not entry.is_conserved:
                raise _lost(self.layout, entry.name, entry.rows_in, entry.stored + entry.quarantined)
        for name, found in rows.items():
            expected = sum(self._rows_staged(name, entry) for entry in self.entries)
            if found != expected:
                raise _lost(self.layout, name, expected, found)

    def _move_quarantine(self) -> None:
        """Collect refused rows: those the store keeps already, and those of the staged sources."""
        target = self.work / self.layout.quarantine.name
        staged = {staged_key(entry.name) for entry in self.inputs.staged}
        for path in sorted(self.layout.quarantine.glob("*/*.parquet")):
            if path.stem not in staged:
                _copy(path, target)
        for path in sorted((self.layout.staging / "quarantine").glob("*/*.parquet")):
            _copy(path, target)


def _copy(path: Path, target: Path) -> None:
    folder = target / path.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, folder / path.name)


def _lost(layout: Layout, what: str, expected: int, got: int) -> StoreError:
    return StoreError(
        str(layout.root),
        f"rows of {what} are not conserved",
        expected=f"{expected} rows",
        got=f"{got}",
        way_out="this is a bug of borgtrace: nothing was put in place; please report it",
    )
