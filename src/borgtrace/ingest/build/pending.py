"""Which sources still have to be staged: new ones, not those that are in already."""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from borgtrace.errors import SourceError
from borgtrace.ingest.build.staged import StagedPaths, read_entry
from borgtrace.ingest.files.sources import Source
from borgtrace.storage.blocks import fetched
from borgtrace.store.digest import file_digest
from borgtrace.store.layout import folder_of, name_alone, source_key
from borgtrace.store.manifest import SourceEntry


@dataclass(frozen=True)
class Pending:
    """Sources to stage, and sources that are in already."""

    new: tuple[Source, ...]
    known: tuple[Source, ...]


def find_pending(
    sources: Sequence[Source], ledger: Iterable[SourceEntry], staging: Path, *, replace: bool
) -> Pending:
    """Compare sources with what the store and the staging area hold, by content and name.

    By content first: which folder tells a source apart depends on the files that were given with it.

    Parameters
    ----------
    sources
        Raw files of this ingest.
    ledger
        Sources whose rows the store holds.
    staging
        The staging area of the store.
    replace
        Take the new content of sources that have changed.

    Raises
    ------
    SourceError
        When a source has changed since, unless `replace`, or two files claim to be the same part.
    """
    held: dict[str, list[SourceEntry]] = defaultdict(list)
    # What is staged comes first: it is newer than what the store holds under that name.
    for entry in {entry.name: entry for entry in (*ledger, *staged_entries(staging))}.values():
        held[_alone(entry)].append(entry)
    same = {
        one.path: next((entry for entry in held[_alone(one)] if _is_same(one, entry)), None)
        for one in sources
    }
    taken = {entry.name for entry in same.values() if entry}
    new: dict[str, list[Source]] = defaultdict(list)
    for source in (one for one in sources if not same[one.path]):
        entries, others = held[_alone(source)], new[_alone(source)]
        # The same part given twice, by a copy in another folder, is no fault.
        if any(one.size == source.size and _digest(one) == _digest(source) for one in others):
            continue
        named = _in_folder(source, entries, taken)
        for one in others:
            if source_key(one.name) == source_key(named.name):
                raise _same_part_twice(one, source)
        for entry in entries:
            if source_key(entry.name) == source_key(named.name):
                if not replace:
                    raise _changed(source, entry)
                StagedPaths.of(staging, entry.name).discard()
        others.append(named)
    return Pending(tuple(chain(*new.values())), tuple(one for one in sources if same[one.path]))


def _alone(item: Source | SourceEntry) -> str:
    # As a file's name: those of two sources must not be one.
    return source_key(name_alone(item.name))


def _in_folder(source: Source, entries: Sequence[SourceEntry], taken: Collection[str]) -> Source:
    """Name the folder of a source: that of the entry which it is another version of, else one that no entry has."""
    folders = [folder_of(entry.name) for entry in entries if entry.name not in taken]
    # Not told apart, it is the one of that name, also where another file has that one's content.
    folders += [
        folder_of(entry.name) for entry in entries if folder_of(entry.name) == source.folder
    ]
    fitting = [folder for folder in folders if source.is_in(folder)]
    if fitting:
        return dataclasses.replace(source, folder=max(fitting, key=len))
    if source.folder or not entries:
        return source
    depth = 1 + max(folder_of(entry.name).count("/") for entry in entries)
    return dataclasses.replace(source, folder="/".join(source.folders[-depth:]))


def staged_entries(staging: Path) -> list[SourceEntry]:
    """Return the ledger entries of all staged sources, by name."""
    return sorted(
        (read_entry(path) for path in (staging / "ledger").glob("*.json")), key=lambda e: e.name
    )


def _is_same(source: Source, entry: SourceEntry) -> bool:
    # The size first: it costs nothing, and most changed files differ in it.
    if source.size != entry.size:
        return False
    return (
        bool(source.version and source.version == entry.version) or _digest(source) == entry.sha256
    )


def _digest(source: Source) -> str:
    with fetched(source.path, source.version) as copy:
        return file_digest(copy)


def _same_part_twice(first: Source, second: Source) -> SourceError:
    what, expected = "two different files claim to be the same part", f"the content of {first.path}"
    way_out = "ingest each into a separate store, or leave one out"
    return SourceError(str(second.path), what, expected=expected, got="another", way_out=way_out)


def _changed(source: Source, entry: SourceEntry) -> SourceError:
    what, expected = (
        "the source has changed since it was ingested",
        f"{entry.size} bytes, sha256 {entry.sha256[:12]}…",
    )
    got, way_out = f"{source.size} bytes of other content", "accept the new content with --replace"
    if not folder_of(entry.name):
        way_out = f"if it is another part, name the folder above both; else {way_out}"
    return SourceError(str(source.path), what, expected=expected, got=got, way_out=way_out)
