"""Find raw files: walk folders, recognize each file by its content, and name all others."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.files.limits import read_side_file
from borgtrace.ingest.files.sources import Source, tell_apart
from borgtrace.ingest.find.beside_data import SCHEMA, is_beside_data, may_be_beside_data
from borgtrace.ingest.find.recognition import RecognizedFile, recognize
from borgtrace.ingest.find.schema_csv import read_schema_csv
from borgtrace.schema import Dialect
from borgtrace.schema.time import is_time_zone
from borgtrace.storage import RemotePath, refuse_shortage

_DATA_ENDINGS = (".gz", ".csv", ".json", ".parquet")
TRUTH = "truth.json"
_AT_ONCE = 16
"""Files of a bucket looked into at a time: that is nearly all waiting."""
Orders = Mapping[str, tuple[str, ...]]
"""Fields of raw tables in the order of a ``schema.csv``."""


@dataclass
class Discovery:
    """Raw files, files that should be data but cannot be used, and published tables that are left out."""

    sources: list[Source] = field(default_factory=list)
    faults: list[SourceError] = field(default_factory=list)
    unread: list[SourceError] = field(default_factory=list)

    @property
    def generation(self) -> str:
        """The trace that the files are of; all are of one."""
        return self.sources[0].generation

    @property
    def cell(self) -> str:
        """Their cell, as far as any of them names it."""
        return next((source.cell for source in self.sources if source.cell), "")

    @property
    def time_zone(self) -> str:
        """The time zone of their local times, as far as any of them or the user says it; all are of one."""
        return next((source.time_zone for source in self.sources if source.time_zone), "")

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about tables and columns that are not read."""
        sentences = [f"{fault.where}: {fault.what}: {fault.got}." for fault in self.unread]
        for source in self.sources:
            if source.unread:
                columns = ", ".join(source.unread)
                sentences.append(
                    f"{source.file_name}: not read, as {source.table} has none: {columns}."
                )
        return tuple(sentences)

    @property
    def synthetic(self) -> dict[str, Any] | None:
        """Seed, version, parameters and parts of a synthetic trace; None for a real one."""
        return truth_about(self.sources[0].path)


def discover(
    places: Iterable[Path],
    cell: str = "",
    only: Dialect | None = None,
    time_zone: str = "",
) -> Discovery:
    """Find the raw files in files and folders.

    Parameters
    ----------
    places
        Files, or folders that are searched whole.
    cell
        Cell of a 2019 trace: files whose path says another one are left out.
    only
        The format that all of them are of; where None, the files tell.
    time_zone
        The zone of their local times, whatever the files say.

    Raises
    ------
    SourceError
        When a place does not exist, nothing usable is found, or generations, cells or origins are mixed.
    UsageError
        The times of the files are no local ones.
    """
    discovery = Discovery()
    is_remote = any(isinstance(place, RemotePath) for place in places)
    with ThreadPoolExecutor(_AT_ONCE if is_remote else 1) as pool:
        walked = _walk(places, discovery.faults)
        recognized = pool.map(lambda file: (file, _recognize(file, cell, only)), walked)
        descriptions: list[SourceError] = []
        for walked_file, file in recognized:
            is_doubtful = not walked_file.is_named and may_be_beside_data(walked_file.path.name)
            faults = descriptions if is_doubtful else discovery.faults
            faults += file.faults
            discovery.sources += file.sources
            discovery.unread += file.unread
    if not discovery.sources:
        refusals = (*discovery.faults, *discovery.unread, *descriptions)
        raise refusals[0] if refusals else _nothing_found(places)
    if cell:
        discovery.sources = _sources_of_cell(discovery.sources, cell)
    if time_zone:
        discovery.sources = _in_time_zone(discovery.sources, time_zone)
    _require_one_trace(discovery.sources)
    discovery.sources = tell_apart(discovery.sources)
    # Whatever the order of arguments and folders, the same files give the same order of work and messages.
    discovery.sources.sort(key=lambda source: (source.table, source.part or 0, str(source.path)))
    return discovery


def first_data_files(places: Iterable[Path], most: int) -> list[Path]:
    """Return the first files of some places that may hold data; texts only where there is nothing else.

    Parameters
    ----------
    places
        Files and folders, as for `discover`.
    most
        How many of a folder at most; those that are named are returned all.
    """
    files = []
    descriptions: list[Path] = []
    n_of_folder: Counter[Path] = Counter()
    for file in _walk(places, []):
        if file.is_named:
            files.append(file.path)
        elif may_be_beside_data(file.path.name):
            descriptions.append(file.path)
        elif not is_beside_data(file.path.name):
            n_of_folder[file.path.parent] += 1
            if n_of_folder[file.path.parent] <= most:
                files.append(file.path)
    return files or descriptions[:most]


class _WalkedFile(NamedTuple):
    """A file, and the order of fields that the nearest ``schema.csv`` above it gives."""

    path: Path
    orders: Orders
    is_named: bool = False
    """Whether the user named it, rather than a folder that it is in."""


def _walk(places: Iterable[Path], faults: list[SourceError]) -> Iterator[_WalkedFile]:
    for place in places:
        listing = place.listing() if isinstance(place, RemotePath) else {}
        if listing:
            yield from _walk_listing(listing)
        elif not place.exists():
            raise SourceError(str(place), "no such file or folder", way_out="check the path")
        elif place.is_dir():
            yield from _walk_folder(place, {}, faults)
        else:
            yield _WalkedFile(place, {}, is_named=True)


def _walk_listing(
    listing: Mapping[RemotePath, tuple[int | None, int]],
) -> Iterator[_WalkedFile]:
    """Yield the files of a bucket as `_walk_folder` does those of a folder."""
    files = sorted(path for path, (size, _) in listing.items() if size is not None)
    orders_of_folder = {}
    for path in files:
        if path.name == SCHEMA:
            orders_of_folder[path.parent] = read_schema_csv(path)
    for path in files:
        above = (orders_of_folder[folder] for folder in path.parents if folder in orders_of_folder)
        yield _WalkedFile(path, next(above, {}))


def _walk_folder(folder: Path, orders: Orders, faults: list[SourceError]) -> Iterator[_WalkedFile]:
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        # One closed folder is a fault like one bad file: the others are read all the same.
        faults.append(
            SourceError(str(folder), "permission denied", way_out="make the folder readable")
        )
        return
    # Spark writes folders of that name, with the data inside.
    if not entries and folder.name.endswith(_DATA_ENDINGS):
        faults.append(
            SourceError(
                str(folder),
                "an empty folder, named like a file",
                way_out="remove it, or fetch the file",
            )
        )
    if (folder / SCHEMA).is_file():
        orders = read_schema_csv(folder / SCHEMA)
    here = folder.resolve()
    for entry in entries:
        # Unlike `Path.is_dir` it raises nothing where permission is lacking; opening the file then says so.
        is_folder = os.path.isdir(entry)  # noqa: PTH112
        if is_folder and is_beside_data(f"{entry.name}/"):
            continue
        if is_folder and entry.resolve() in (here, *here.parents):
            faults.append(
                SourceError(
                    str(entry),
                    "a link to a folder that it is in",
                    way_out="remove the link",
                )
            )
        elif is_folder:
            yield from _walk_folder(entry, orders, faults)
        else:
            yield _WalkedFile(entry, orders)


def _recognize(file: _WalkedFile, cell: str, only: Dialect | None) -> RecognizedFile:
    if not file.is_named and is_beside_data(file.path.name):
        return RecognizedFile([], [], [])
    try:
        return recognize(file.path, cell, file.orders, only)
    except SourceError as fault:
        return RecognizedFile([], [fault], [])


def truth_about(path: Path) -> dict[str, Any] | None:
    """Return seed, version, parameters and parts of the synthetic trace that a file is of; None for a real one.

    The nearest ``truth.json`` above the file decides, so a single file of a synthetic trace is called one too.
    """
    truths = (folder / TRUTH for folder in path.absolute().parents)
    nearest = next((truth for truth in truths if truth.is_file()), None)
    if nearest is None:
        return None
    try:
        truth = dict(json.loads(read_side_file(nearest)))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        refuse_shortage(error, nearest)
        raise SourceError(
            str(nearest),
            "not the account of a synthetic trace",
            way_out="correct it; remove it where the files beside it are a published trace",
        ) from error
    about = {key: truth.get(key) for key in ("seed", "version", "parameters")}
    for key in ("parts", "targets"):
        # Earlier generators did not count their files.
        if key in truth:
            about[key] = truth[key]
    return about


def _nothing_found(places: Iterable[Path]) -> SourceError:
    return SourceError(
        ", ".join(str(place) for place in places),
        "no trace files found",
        expected="2011 CSV parts or 2019 JSON or Parquet shards",
        way_out="get some with borgtrace fetch, or generate some with borgtrace synth",
    )


def origin(synthetic: Mapping[str, object] | None) -> str:
    """Return in words which trace rows are of: Google's, or that of a seed."""
    return f"synthetic, seed {synthetic.get('seed')}" if synthetic else "Google's trace"


def _in_time_zone(sources: Sequence[Source], time_zone: str) -> list[Source]:
    """Take local times for those of a zone, whatever the files say."""
    if not any(source.has_local_times for source in sources):
        raise UsageError(
            "--time-zone",
            f"has no effect on {sources[0].dialect.name}",
            expected="files whose times name no zone",
            way_out="leave it out",
        )
    return [replace(source, time_zone=time_zone) for source in sources]


def _require_time_zones(sources: Sequence[Source]) -> None:
    """Refuse a zone of a file that nobody knows."""
    for source in sources:
        if source.time_zone and not is_time_zone(source.time_zone):
            raise SourceError(
                str(source.path),
                "no such time zone",
                expected="a name such as Europe/Berlin",
                got=source.time_zone,
                way_out="say --time-zone",
            )


def _sources_of_cell(sources: Sequence[Source], cell: str) -> list[Source]:
    """Leave out the files of other cells, which must not be all."""
    chosen = [source for source in sources if source.cell == cell]
    if not chosen:
        raise SourceError(
            "sources",
            "no file is of this cell",
            expected=cell,
            got=", ".join(sorted({source.cell for source in sources})),
            way_out="choose one of these with --cell",
        )
    return chosen


def _require_one_trace(sources: Sequence[Source]) -> None:
    """Refuse a mix of generations, cells or origins: a store holds one cell of one trace."""
    generations = {source.generation: source.path for source in sources}
    _require_one("generations", generations, "ingest each into a separate store")
    cells = {f"cell {source.cell}": source.path for source in sources if source.cell}
    first_cell = min(cells, default="")
    _require_one("cells", cells, f"ingest each into a separate store: --{first_cell}")
    file_of_folder = {source.path.parent: source.path for source in sources}
    _require_time_zones(sources)
    zones = {source.time_zone: source.path for source in sources if source.time_zone}
    _require_one("time zones", zones, "ingest each into a separate store, or say --time-zone")
    origins = {origin(truth_about(path)): path for path in file_of_folder.values()}
    _require_one("origins", origins, "ingest each into a separate store")


def _require_one(what: str, kinds: Mapping[str, Path], way_out: str) -> None:
    if len(kinds) > 1:
        raise SourceError(
            "sources",
            f"the files mix {what}",
            expected="one per store",
            got="; ".join(f"{kind}: {path}" for kind, path in sorted(kinds.items())),
            way_out=way_out,
        )
