"""Which sources still have to be staged: those that the store does not hold yet."""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.build.staged import StagedPaths, read_entry
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import source_digest
from borgtrace.storage.sparse_copy import local_copy
from borgtrace.store.layout import folder_of, name_alone, source_key
from borgtrace.store.manifest import SourceEntry


@dataclass(frozen=True)
class Pending:
    """Sources to stage, and sources that are in already."""

    new: tuple[Source, ...]
    known: tuple[Source, ...]


def find_pending(
    sources: Sequence[Source],
    ledger: Iterable[SourceEntry],
    staging: Path,
    *,
    replace: bool,
) -> Pending:
    """Compare sources with those in the store and in the staging area, by content and name.

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
    # A staged source replaces one of the same name in the store: it is newer.
    staged = staged_entries(staging)
    staged_names = {entry.name for entry in staged}
    entry_of_name = {entry.name: entry for entry in (*ledger, *staged)}
    entries_alike: dict[str, list[SourceEntry]] = defaultdict(list)
    for entry in entry_of_name.values():
        entries_alike[_key_without_folder(entry)].append(entry)
    known, unknown, names_taken = _divide(sources, entries_alike)
    new_alike: dict[str, list[Source]] = defaultdict(list)
    for source in unknown:
        key = _key_without_folder(source)
        entries = entries_alike[key]
        others = new_alike[key]
        # The same part given twice, by a copy in another folder, is no fault.
        if any(_is_copy(other, source) for other in others):
            continue
        named = _with_folder(source, entries, names_taken)
        for other in others:
            if source_key(other.name) == source_key(named.name):
                raise _same_part_twice(other, source)
        for entry in entries:
            if source_key(entry.name) == source_key(named.name):
                if not replace:
                    raise _changed(source, entry, is_staged=entry.name in staged_names)
                StagedPaths.of(staging, entry.name).discard()
        others.append(named)
    return Pending(tuple(chain(*new_alike.values())), tuple(known))


class _Divided(NamedTuple):
    """Sources whose content is in already, the others, and the names under which the former are."""

    known: list[Source]
    unknown: list[Source]
    names_taken: set[str]


def _divide(
    sources: Sequence[Source],
    entries_alike: Mapping[str, Sequence[SourceEntry]],
) -> _Divided:
    divided = _Divided([], [], set())
    for source in sources:
        same = _same_content(source, entries_alike.get(_key_without_folder(source), ()))
        if same is None:
            divided.unknown.append(source)
        else:
            # In the folder by which the store tells it from others of its name.
            divided.known.append(dataclasses.replace(source, folder=folder_of(same.name)))
            divided.names_taken.add(same.name)
    return divided


def staged_entries(staging: Path) -> list[SourceEntry]:
    """Return the ledger entries of all staged sources, by name."""
    entries = [read_entry(path) for path in (staging / "ledger").glob("*.json")]
    return sorted(entries, key=lambda entry: entry.name)


def _key_without_folder(item: Source | SourceEntry) -> str:
    # As a file's name: those of two sources must not be one.
    return source_key(name_alone(item.name))


def _with_folder(
    source: Source,
    entries: Sequence[SourceEntry],
    names_taken: Collection[str],
) -> Source:
    """Name the folder of a source: that of the entry which it is another version of, else one that no entry has."""
    folders = [folder_of(entry.name) for entry in entries if entry.name not in names_taken]
    # Without a folder it is the source of that name, even if another file now has that source's content.
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


def _same_content(source: Source, entries: Iterable[SourceEntry]) -> SourceEntry | None:
    return next((entry for entry in entries if _has_content_of(source, entry)), None)


def _has_content_of(source: Source, entry: SourceEntry) -> bool:
    # The size first: it costs nothing, and most changed files differ in it.
    if source.size != entry.size:
        return False
    if source.is_of_one_task and source.name != entry.name:
        return False
    if source.version and source.version == entry.version:
        return True
    return _digest(source) == entry.sha256


def _is_copy(source: Source, other: Source) -> bool:
    if source.is_of_one_task:
        return False
    return source.size == other.size and _digest(source) == _digest(other)


def _digest(source: Source) -> str:
    with local_copy(source.path, source.version) as copy:
        return source_digest(dataclasses.replace(source, copy=copy))


def _same_part_twice(first: Source, second: Source) -> SourceError:
    return SourceError(
        str(second.path),
        "two different files claim to be the same part",
        expected=f"the content of {first.path}",
        got="another",
        way_out="ingest each into a separate store, or leave one out",
    )


def _changed(source: Source, entry: SourceEntry, *, is_staged: bool) -> SourceError:
    way_out = "accept the new content with --replace"
    if not folder_of(entry.name):
        way_out = f"if it is another part, name the folder above both; else {way_out}"
    return SourceError(
        str(source.path),
        f"the source has changed since it was {'staged' if is_staged else 'ingested'}",
        expected=f"{entry.size} bytes, sha256 {entry.sha256[:12]}…",
        got=f"{source.size} bytes of other content",
        way_out=way_out,
    )
