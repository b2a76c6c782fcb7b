"""Finding raw files: folders are walked, files told apart by content, everything else named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError
from borgtrace.ingest.recognition import classify
from borgtrace.ingest.schema_csv import read_schema_csv
from borgtrace.ingest.sources import Source
from borgtrace.storage import INCOMPLETE

_SCHEMA = "schema.csv"
_BESIDE_DATA = (_SCHEMA, "README", "MD5SUM", "SHA1SUM", "SHA256SUM", "LICENSE")
_NOT_DATA_ENDINGS = (".md", ".txt", ".pdf", INCOMPLETE, ".schema.json", ".part", ".state")
TRUTH = "truth.json"
Orders = Mapping[str, tuple[str, ...]]


@dataclass
class Discovery:
    """What was found: raw files, files that should be data but cannot be used, and what was left out."""

    sources: list[Source] = field(default_factory=list)
    faults: list[SourceError] = field(default_factory=list)
    ignored: list[Path] = field(default_factory=list)
    truths: dict[Path, dict[str, Any]] = field(default_factory=dict)
    """What is known of synthetic traces, by the folder whose files it is about."""

    @property
    def synthetic(self) -> dict[str, Any] | None:
        """Seed, version and parameters of a synthetic trace; None for a real one."""
        return next(iter(self.truths.values()), None)

    def origin(self, source: Source) -> str:
        """Return which trace a file is of, by the nearest folder above it that says so."""
        above = source.path.absolute().parents
        return origin(next((self.truths[folder] for folder in above if folder in self.truths), None))

    @property
    def size(self) -> int:
        """Bytes of all raw files."""
        return sum(source.size for source in self.sources)


def discover(places: Iterable[Path], cell: str = "") -> Discovery:
    """Find the raw files in files and folders.

    Parameters
    ----------
    places
        Files, or folders that are searched whole.
    cell
        Cell of a 2019 trace, where folders do not say it.

    Raises
    ------
    SourceError
        When a place does not exist, nothing usable is found, or generations, cells or origins are mixed.
    """
    found = Discovery()
    for path, orders in _walk(places, found):
        _take(path, cell, orders, found)
    if not found.sources:
        raise found.faults[0] if found.faults else _nothing(places)
    _agree(found)
    # Whatever the order of arguments and folders, the same files give the same order of work and messages.
    found.sources.sort(key=lambda source: (source.table, source.part or 0, str(source.path)))
    return found


def _walk(places: Iterable[Path], found: Discovery) -> Iterator[tuple[Path, Orders]]:
    for place in places:
        if not place.exists():
            raise SourceError(str(place), "no such file or folder", way_out="check the path")
        if place.is_file():
            yield place, {}
            # A synthetic trace must be called one even if a single file of it is ingested.
            beside = place.parent / TRUTH
            if beside.is_file() and beside != place:
                yield beside, {}
        else:
            yield from _walk_folder(place, {}, found)


def _walk_folder(folder: Path, orders: Orders, found: Discovery) -> Iterator[tuple[Path, Orders]]:
    """Yield the files of a folder, each with the order of fields that the nearest ``schema.csv`` above it gives."""
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        # One closed folder is a fault like one bad file: the others are read all the same.
        found.faults.append(SourceError(str(folder), "permission denied", way_out="make the folder readable"))
        return
    if folder / _SCHEMA in entries:
        orders = read_schema_csv(folder / _SCHEMA)
    for entry in entries:
        if entry.is_dir():
            yield from _walk_folder(entry, orders, found)
        elif not entry.name.startswith("."):
            yield entry, orders


def _take(path: Path, cell: str, orders: Orders, found: Discovery) -> None:
    if path.name == TRUTH:
        truth = json.loads(path.read_text())
        found.truths[path.absolute().parent] = {key: truth.get(key) for key in ("seed", "version", "parameters")}
    elif path.name in _BESIDE_DATA or path.name.startswith("truth") or path.name.endswith(_NOT_DATA_ENDINGS):
        found.ignored.append(path)
    else:
        try:
            found.sources.append(classify(path, cell, orders))
        except SourceError as fault:
            found.faults.append(fault)


def _nothing(places: Iterable[Path]) -> SourceError:
    return SourceError(
        ", ".join(map(str, places)),
        "no trace files found",
        expected="2011 CSV parts or 2019 JSON or Parquet shards",
        way_out="get some with borgtrace fetch, or generate some with borgtrace synth",
    )


def origin(synthetic: Mapping[str, object] | None) -> str:
    """Return in words which trace rows are of: Google's, or that of a seed."""
    return f"synthetic, seed {synthetic.get('seed')}" if synthetic else "Google's trace"


def _agree(found: Discovery) -> None:
    """Refuse a mix of generations, cells or origins: a store holds one cell of one trace."""
    sources = found.sources
    for what, kinds in (
        ("generations", {source.generation: source.path for source in sources}),
        ("cells", {f"cell {s.cell}": s.path for s in sources if s.cell}),
        ("origins", {found.origin(source): source.path for source in sources}),
    ):
        if len(kinds) > 1:
            listed = "; ".join(f"{kind}: {path}" for kind, path in sorted(kinds.items()))
            raise SourceError(
                "sources",
                f"the files mix {what}",
                expected="one per store",
                got=listed,
                way_out="ingest each into a separate store",
            )
