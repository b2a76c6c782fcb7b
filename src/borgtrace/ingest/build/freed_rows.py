"""Giving the disk of staged rows back as soon as the new store has them: not all rows need to be there twice.

From the first rows that are freed, staged parts and finished files are one whole.  A record beside the parts says so:
what the parts are, how their rows are cut into files, and which of the files are finished.  It is on the disk before
rows are freed, so that a run that finds it finishes the build, before it stages anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from borgtrace.engine.stored import is_current
from borgtrace.errors import StoreError
from borgtrace.ingest.build.coded_part import damaged_part, read_runs
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.kernels.arrays import Index
from borgtrace.schema import Table
from borgtrace.storage import RemotePath, can_free_blocks, flush, free_blocks, read_text, replacing
from borgtrace.store.layout import Layout, part_name

LEAST_STAGED = 1 << 28
"""Bytes of staged records below which they stay: little is gained, and each file waits for the disk."""


def has_freed_rows(layout: Layout) -> bool:
    """Whether a build was killed that had freed staged rows."""
    # Those in a bucket stay.
    return not isinstance(layout.staging, RemotePath) and _file(layout).exists()


def finished_files(layout: Layout) -> set[Path]:
    """Return the files of a killed build that alone have rows which were staged."""
    if not has_freed_rows(layout):
        return set()
    return {_file_of(layout, number) for number in _read_record(layout).finished}


def can_free(staging: Path, n_bytes: int) -> bool:
    """Whether rows are freed while a new store is made of staged records.

    Parameters
    ----------
    staging
        Where they are, or will be: an existing folder of that file system.
    n_bytes
        Of the records.
    """
    return n_bytes >= LEAST_STAGED and can_free_blocks(staging)


@dataclass(frozen=True)
class _Record:
    """What is known of freed rows.

    Parameters
    ----------
    parts
        Name, source_part and bytes of each staged part.
    cuts
        First collection of each file but the first.
    finished
        Bytes of each finished file, by its number.
    """

    parts: tuple[tuple[str, int, int], ...]
    cuts: tuple[int, ...]
    finished: Mapping[int, int]


class FreedRows:
    """Rows of usage that are freed as the files of a new store are finished.

    Parameters
    ----------
    layout
        The store.
    table
        That of usage.
    parts
        All staged parts that have records of it.

    Raises
    ------
    StoreError
        Rows were freed before, and a file that has them is not there as it was, or the parts are others.
    """

    def __init__(self, layout: Layout, table: Table, parts: Sequence[StagedPart]) -> None:
        self._layout = layout
        self._table = table
        self._parts = parts
        self._lock = Lock()
        self._cuts: tuple[int, ...] | None = None
        self._finished: dict[int, int] = {}
        self._bounds: list[tuple[Path, list[Index]]] = []
        if has_freed_rows(layout):
            self._go_on(_read_record(layout))

    def _go_on(self, record: _Record) -> None:
        if record.parts != self._described_parts():
            raise damaged_part(_file(self._layout), self._layout.staging)
        for number, n_bytes in record.finished.items():
            self._require_whole(_file_of(self._layout, number), n_bytes)
        self._cuts = record.cuts
        self._finished = dict(record.finished)

    def _described_parts(self) -> tuple[tuple[str, int, int], ...]:
        described = [(part.path.name, part.part, part.path.stat().st_size) for part in self._parts]
        return tuple(sorted(described))

    def _require_whole(self, path: Path, n_bytes: int) -> None:
        """Require a finished file: its rows are nowhere else."""
        found = path.stat().st_size if path.exists() else None
        if found != n_bytes:
            raise StoreError(
                str(path),
                "the file that alone has rows of a build that was interrupted is not as it was",
                expected=f"{n_bytes} bytes",
                got="none" if found is None else f"{found}",
                way_out=f"remove {self._layout.staging} and ingest the files again",
            )
        if not is_current(self._table, [path]):
            raise StoreError(
                str(path),
                "another version of borgtrace began this build",
                expected="the columns of this version",
                got="others",
                way_out=f"finish it with that version, or remove {self._layout.staging} and ingest the files again",
            )

    def begin(self, cuts: Sequence[int]) -> tuple[int, ...]:
        """Take the plan of the files, and return the one to follow: that of a killed build, if there was one.

        Parameters
        ----------
        cuts
            First collection of each file but the first.
        """
        if self._cuts is None:
            self._cuts = tuple(int(cut) for cut in cuts)
        for part in self._parts:
            runs = read_runs(part.path, self._table)
            self._bounds.append((part.path, [run.bounds(self._cuts) for run in runs]))
        for number in self._finished:
            # The build may have been killed before they were.
            self._free_range(number)
        return self._cuts

    def is_finished(self, number: int) -> bool:
        """Whether a file was finished by a build that was killed."""
        return number in self._finished

    def finish(self, number: int) -> None:
        """Free the staged rows of a file that was written; several threads may do so.

        Parameters
        ----------
        number
            Of the file, from 0.
        """
        path = _file_of(self._layout, number)
        flush(path, path.parent, self._layout.unfinished, self._layout.root)
        with self._lock:
            self._finished[number] = path.stat().st_size
            self._write_record()
        self._free_range(number)

    def _write_record(self) -> None:
        record = {
            "parts": self._described_parts(),
            "cuts": self._cuts,
            "finished": self._finished,
        }
        with replacing(_file(self._layout)) as draft:
            draft.write_text(json.dumps(record))
            flush(draft)
        flush(self._layout.staging)

    def _free_range(self, number: int) -> None:
        for path, bounds_of_runs in self._bounds:
            ranges = [(int(bounds[number]), int(bounds[number + 1])) for bounds in bounds_of_runs]
            free_blocks(path, ranges)


def _file(layout: Layout) -> Path:
    return layout.staging / "freed.json"


def _file_of(layout: Layout, number: int) -> Path:
    return layout.unfinished / "instance_usage" / part_name(number)


def _read_record(layout: Layout) -> _Record:
    try:
        fields: dict[str, Any] = json.loads(read_text(_file(layout)))
        parts = tuple((str(name), int(part), int(size)) for name, part, size in fields["parts"])
        cuts = np.array(fields["cuts"], np.int64)
        finished = {int(number): int(size) for number, size in fields["finished"].items()}
        if (np.diff(cuts) <= 0).any() or not set(finished) <= set(range(len(cuts) + 1)):
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise damaged_part(_file(layout), layout.staging) from error
    return _Record(parts, tuple(cuts.tolist()), finished)
