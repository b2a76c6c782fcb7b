"""Finding raw files: folders are walked, files told apart by content, everything else named."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Source, tell_apart
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.find.schema_csv import read_schema_csv
from borgtrace.schema import Dialect
from borgtrace.storage import INCOMPLETE, RemotePath

_SCHEMA = "schema.csv"
_BESIDE_DATA = (_SCHEMA, "README", "MD5SUM", "SHA1SUM", "SHA256SUM", "LICENSE")
_DATA_ENDINGS = (".gz", ".csv", ".json", ".parquet")
_NOT_DATA_ENDINGS = (".md", ".txt", ".pdf", INCOMPLETE, ".schema.json", ".part", ".state")
TRUTH = "truth.json"
_AT_ONCE = 16
"""Files of a bucket looked into at a time: that is nearly all waiting."""
Orders = Mapping[str, tuple[str, ...]]


@dataclass
class Discovery:
    """What was found: raw files, and files that should be data but cannot be used."""

    sources: list[Source] = field(default_factory=list)
    faults: list[SourceError] = field(default_factory=list)

    @property
    def generation(self) -> str:
        """The trace that the files are of; all are of one."""
        return self.sources[0].generation

    @property
    def cell(self) -> str:
        """Their cell, as far as any of them says it."""
        return next((source.cell for source in self.sources if source.cell), "")

    @property
    def synthetic(self) -> dict[str, Any] | None:
        """Seed, version, parameters and parts of a synthetic trace; None for a real one."""
        return truth_about(self.sources[0].path)


def discover(places: Iterable[Path], cell: str = "", only: Dialect | None = None) -> Discovery:
    """Find the raw files in files and folders.

    Parameters
    ----------
    places
        Files, or folders that are searched whole.
    cell
        Cell of a 2019 trace: files whose path says another one are left out.
    only
        The format that all of them are of; where None, the files tell.

    Raises
    ------
    SourceError
        When a place does not exist, nothing usable is found, or generations, cells or origins are mixed.
    """
    found = Discovery()
    with ThreadPoolExecutor(
        _AT_ONCE if any(isinstance(place, RemotePath) for place in places) else 1
    ) as pool:
        for one in pool.map(lambda walked: _take(walked, cell, only), _walk(places, found)):
            if isinstance(one, SourceError):
                found.faults.append(one)
            elif one is not None:
                found.sources.append(one)
    if not found.sources:
        raise found.faults[0] if found.faults else _nothing(places)
    found.sources = _of_cell(found.sources, cell) if cell else found.sources
    _agree(found)
    found.sources = tell_apart(found.sources)
    # Whatever the order of arguments and folders, the same files give the same order of work and messages.
    found.sources.sort(key=lambda source: (source.table, source.part or 0, str(source.path)))
    return found


def _walk(places: Iterable[Path], found: Discovery) -> Iterator[tuple[Path, Orders]]:
    for place in places:
        listed = place.listing() if isinstance(place, RemotePath) else {}
        if not (listed or place.exists()):
            raise SourceError(str(place), "no such file or folder", way_out="check the path")
        if listed:
            yield from _walk_listing(listed)
        elif place.is_dir():
            yield from _walk_folder(place, {}, found)
        else:
            yield place, {}


def _walk_listing(
    listed: Mapping[RemotePath, tuple[int | None, int]],
) -> Iterator[tuple[Path, Orders]]:
    """Yield the files of a bucket as `_walk_folder` does those of a folder."""
    files = sorted(path for path, (size, _) in listed.items() if size is not None)
    known = {path.parent: read_schema_csv(path) for path in files if path.name == _SCHEMA}
    for path in files:
        if not path.name.startswith("."):
            yield path, next((known[folder] for folder in path.parents if folder in known), {})


def _walk_folder(folder: Path, orders: Orders, found: Discovery) -> Iterator[tuple[Path, Orders]]:
    """Yield the files of a folder, each with the order of fields that the nearest ``schema.csv`` above it gives."""
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        # One closed folder is a fault like one bad file: the others are read all the same.
        found.faults.append(
            SourceError(str(folder), "permission denied", way_out="make the folder readable")
        )
        return
    # Spark writes folders of that name, with the data inside.
    if not entries and folder.name.endswith(_DATA_ENDINGS):
        fault = SourceError(
            str(folder),
            "an empty folder, named like a file",
            way_out="remove it, or fetch the file",
        )
        found.faults.append(fault)
    if (folder / _SCHEMA).is_file():
        orders = read_schema_csv(folder / _SCHEMA)
    here = folder.resolve()
    for entry in entries:
        # Unlike `Path.is_dir` it raises nothing where permission is lacking; opening the file then says so.
        is_folder = os.path.isdir(entry)  # noqa: PTH112
        if is_folder and entry.resolve() in (here, *here.parents):
            way_out = "remove the link"
            found.faults.append(
                SourceError(str(entry), "a link to a folder that it is in", way_out=way_out)
            )
        elif is_folder:
            yield from _walk_folder(entry, orders, found)
        elif not entry.name.startswith("."):
            yield entry, orders


def _take(
    walked: tuple[Path, Orders], cell: str, only: Dialect | None
) -> Source | SourceError | None:
    path, orders = walked
    # "truth": what the generator knows of a synthetic trace.
    if (
        path.name in _BESIDE_DATA
        or path.name.startswith("truth")
        or path.name.endswith(_NOT_DATA_ENDINGS)
    ):
        return None
    try:
        return classify(path, cell, orders, only)
    except SourceError as fault:
        return fault


def truth_about(path: Path) -> dict[str, Any] | None:
    """Return seed, version, parameters and parts of the synthetic trace that a file is of; None for a real one.

    The nearest ``truth.json`` above the file tells, so a single file of a synthetic trace is called one too.
    """
    known = next(
        (folder / TRUTH for folder in path.absolute().parents if (folder / TRUTH).is_file()), None
    )
    if known is None:
        return None
    try:
        truth = dict(json.loads(known.read_text()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        way_out = "mend it; remove it where the files beside it are a published trace"
        raise SourceError(
            str(known), "not the account of a synthetic trace", way_out=way_out
        ) from error
    about = {key: truth.get(key) for key in ("seed", "version", "parameters")}
    # Earlier generators did not count their files.
    return about | {key: truth[key] for key in ("parts", "targets") if key in truth}


def _nothing(places: Iterable[Path]) -> SourceError:
    expected = "2011 CSV parts or 2019 JSON or Parquet shards"
    way_out = "get some with borgtrace fetch, or generate some with borgtrace synth"
    return SourceError(
        ", ".join(map(str, places)), "no trace files found", expected=expected, way_out=way_out
    )


def origin(synthetic: Mapping[str, object] | None) -> str:
    """Return in words which trace rows are of: Google's, or that of a seed."""
    return f"synthetic, seed {synthetic.get('seed')}" if synthetic else "Google's trace"


def _of_cell(sources: Sequence[Source], cell: str) -> list[Source]:
    """Leave out the files of other cells, which must not be all."""
    if chosen := [source for source in sources if source.cell == cell]:
        return chosen
    got, way_out = (
        ", ".join(sorted({source.cell for source in sources})),
        "choose one of these with --cell",
    )
    raise SourceError("sources", "no file is of this cell", expected=cell, got=got, way_out=way_out)


def _agree(found: Discovery) -> None:
    """Refuse a mix of generations, cells or origins: a store holds one cell of one trace."""
    sources, folders = found.sources, {source.path.parent: source.path for source in found.sources}
    for what, kinds in (
        ("generations", {source.generation: source.path for source in sources}),
        ("cells", {f"cell {s.cell}": s.path for s in sources if s.cell}),
        ("origins", {origin(truth_about(path)): path for path in folders.values()}),
    ):
        if len(kinds) > 1:
            got = "; ".join(f"{kind}: {path}" for kind, path in sorted(kinds.items()))
            way_out = (
                f"ingest each into a separate store{f': --{min(kinds)}' if what == 'cells' else ''}"
            )
            raise SourceError(
                "sources",
                f"the files mix {what}",
                expected="one per store",
                got=got,
                way_out=way_out,
            )
