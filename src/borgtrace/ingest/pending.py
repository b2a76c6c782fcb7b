"""Which sources still have to be staged: new ones, not those that are in already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import SourceError
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staged import StagedPaths, read_entry
from borgtrace.store.digest import file_digest
from borgtrace.store.manifest import SourceEntry


@dataclass(frozen=True)
class Pending:
    """Sources to stage, sources that are in already, and ledger names whose content is replaced."""

    new: tuple[Source, ...]
    known: tuple[Source, ...]
    replaced: tuple[str, ...]


def find_pending(sources: Sequence[Source], ledger: Iterable[SourceEntry], staging: Path, *, replace: bool) -> Pending:
    """Compare sources with what the store and the staging area hold, by name and content.

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
        When a source has changed since, or two files claim to be the same part, unless `replace`.
    """
    held = {entry.name: entry for entry in ledger}
    new: dict[str, Source] = {}
    known, replaced = [], []
    for source in sources:
        if source.name in new:
            _same_part_twice(new[source.name], source)
            continue
        # What is staged comes first: it is newer than what the store holds under that name.
        staged = _staged(source, staging)
        before = staged or held.get(source.name)
        if before is None:
            new[source.name] = source
        elif _is_same(source, before):
            known.append(source)
        elif replace:
            new[source.name] = source
            StagedPaths.of(staging, source.name).discard()
            if source.name in held:
                replaced.append(source.name)
        else:
            raise _changed(source, before)
    return Pending(tuple(new.values()), tuple(known), tuple(replaced))


def staged_entries(staging: Path) -> list[SourceEntry]:
    """Return the ledger entries of all staged sources, by name."""
    return sorted((read_entry(path) for path in (staging / "ledger").glob("*.json")), key=lambda e: e.name)


def _staged(source: Source, staging: Path) -> SourceEntry | None:
    path = StagedPaths.of(staging, source.name).entry
    return read_entry(path) if path.exists() else None


def _is_same(source: Source, entry: SourceEntry) -> bool:
    # The size first: it costs nothing, and most changed files differ in it.
    return source.size == entry.size and file_digest(source.path) == entry.sha256


def _same_part_twice(first: Source, second: Source) -> None:
    # The same part given twice, by a copy in another folder, is no fault.
    if first.size == second.size and file_digest(first.path) == file_digest(second.path):
        return
    raise SourceError(
        str(second.path),
        "two different files claim to be the same part",
        expected=f"the content of {first.path}",
        got="another",
        way_out="ingest each into a separate store, or leave one out",
    )


def _changed(source: Source, entry: SourceEntry) -> SourceError:
    return SourceError(
        str(source.path),
        "the source has changed since it was ingested",
        expected=f"{entry.size} bytes, sha256 {entry.sha256[:12]}…",
        got=f"{source.size} bytes of other content",
        way_out="accept the new content with --replace",
    )
