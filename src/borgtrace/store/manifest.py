"""What a store holds, where it came from, and what was wrong with it: ``manifest.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, get_type_hints

from borgtrace.errors import SchemaError, StoreError, UsageError, first_line, shell_word
from borgtrace.schema import TABLES, Dialect, dialect
from borgtrace.schema.dialects import declare_stored
from borgtrace.storage import as_path, read_text, refuse_shortage, write_file
from borgtrace.store.compatibility import lacking_columns, unreadable
from borgtrace.store.json_types import has_type
from borgtrace.store.layout import FORMAT_VERSION, Layout

Entry = TypeVar("Entry", "Refusal", "SourceEntry", "Manifest")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEAL = "sha256"
"""Key of the manifest's digest of itself: everything else in it is trusted."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Rows of a file that were refused for one reason, with the first of them as an example.

    ``column`` is what the file calls the column that is wrong, and ``value`` the text in it; empty and None where the
    whole line is. ``line`` counts from 1, and is None for a file without lines, where ``row`` (from 0) says which it
    is. ``expected`` says in words what would have been right.
    """

    reason: str
    column: str
    rows: int
    file: str
    row: int
    line: int | None
    value: str | None
    expected: str
    unknown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One raw file in the ledger: what went in, what was stored, what was refused.

    ``counters`` are numbers by reason code, and ``refusals`` say more of refused rows, the most frequent first;
    ``merged`` counts rows that a flattened source repeats and that were stored once; ``skipped`` counts rows of other
    cells. ``also`` counts rows written to other tables from the same file (2019: constraints unnested from events).
    ``version`` is what a bucket said of the file: one of the same version is not fetched again. ``unknown`` is what a
    later version wrote beside, to be kept.
    """

    name: str
    file: str
    table: str
    raw_table: str
    format: str
    size: int
    sha256: str
    part: int | None
    parts: int | None
    rows_in: int
    stored: int
    quarantined: int
    skipped: int = 0
    merged: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    also: dict[str, int] = field(default_factory=dict)
    version: str = ""
    refusals: tuple[Refusal, ...] = ()
    unknown: dict[str, Any] = field(default_factory=dict)

    @property
    def is_conserved(self) -> bool:
        """Whether every row that came in is accounted for: the law of conservation."""
        return self.rows_in == self.stored + self.quarantined + self.skipped + self.merged


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a store.

    ``digest`` is the store's content digest and ``content`` those of its tables (:mod:`borgtrace.store.content`);
    ``files`` has the SHA-256 of each file. A store of format 1.0 has neither: its ``digest`` is one over its files.
    ``schema`` is the digest of the tables' declaration; ``unknown`` holds what a later version wrote beside, to be kept
    when this one writes the manifest. ``quality`` holds counters found over whole tables (``{table: {reason:
    number}}``), beside those of each source; ``synthetic`` is None for Google's data and describes the generator
    otherwise. ``declaration`` is the format that own data came in, and ``basis`` what the numbers of a converted store
    mean: cores and bytes of the largest machine, what was said of them, and the time in the files (µs) that is 600 s
    here.
    """

    generation: str
    cell: str
    time_zone: str
    code_version: str
    digest: str
    tables: dict[str, int]
    sources: tuple[SourceEntry, ...]
    quality: dict[str, dict[str, int]] = field(default_factory=dict)
    synthetic: dict[str, Any] | None = None
    time_range: dict[str, list[int]] = field(default_factory=dict)
    resource_basis: str = "fraction of the largest machine of this generation"
    notes: tuple[str, ...] = ()
    format_version: str = FORMAT_VERSION
    content: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    schema: str = ""
    declaration: dict[str, Any] = field(default_factory=dict)
    basis: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, Any] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        """The format the trace came in."""
        trace_format = dialect(self.generation)
        conversion = trace_format.conversion
        if conversion is None or conversion.clock == "relative":
            return trace_format
        start = _EPOCH + timedelta(microseconds=self.basis.get("zero", 0))
        return replace(trace_format, origin=start, time_zones={"": self.time_zone})

    @property
    def is_synthetic(self) -> bool:
        """Whether a generator made the trace: nothing here is Google's data then."""
        return self.synthetic is not None

    @property
    def made(self) -> str:
        """Whether a generator or a scheduler of borgtrace made the trace, in a word; empty where neither did."""
        if self.synthetic is None:
            return ""
        return "simulated" if "simulated" in self.synthetic else "synthetic"

    @property
    def counters(self) -> dict[str, dict[str, int]]:
        """All counters by table and reason: those of the sources summed, and the table-wide ones."""
        totals = {table: dict(numbers) for table, numbers in self.quality.items()}
        for entry in self.sources:
            for reason, number in entry.counters.items():
                of_table = totals.setdefault(entry.table, {})
                of_table[reason] = of_table.get(reason, 0) + number
        return {
            table: dict(sorted(numbers.items()))
            for table, numbers in sorted(totals.items())
            if numbers
        }

    def to_json(self) -> str:
        """Return the manifest as indented JSON."""
        data = asdict(self)
        refusals = [refusal for entry in data["sources"] for refusal in entry["refusals"]]
        for item in (data, *data["sources"], *refusals):
            # What a later version wrote goes back to the level it came from.
            item.update(item.pop("unknown"))
        sealed = data | {_SEAL: _digest(data)}
        # Sorted, so that two manifests can be compared as texts.
        return json.dumps(sealed, indent=1, sort_keys=True) + "\n"

    def write(self, path: Path) -> None:
        """Write beside `path`, then rename into place."""
        write_file(path, self.to_json())


# Computed once: a store may have thousands of sources.
_FIELD_TYPES: dict[type, dict[str, Any]] = {
    Refusal: get_type_hints(Refusal),
    SourceEntry: get_type_hints(SourceEntry),
    Manifest: get_type_hints(Manifest),
}
"""Declared types of the fields."""


def _digest(data: dict[str, Any]) -> str:
    """Return the SHA-256 of what a manifest says, however it is spaced."""
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def entry_from(data: dict[str, Any]) -> SourceEntry:
    """Rebuild a ledger entry from its JSON."""
    # JSON has no tuples, and an entry has to compare equal after it was read back.
    return _from_fields(
        SourceEntry,
        {
            **data,
            "columns": tuple(data.get("columns", ())),
            "refusals": tuple(
                _from_fields(Refusal, refusal) for refusal in data.get("refusals", ())
            ),
        },
    )


def _from_fields(kind: type[Entry], data: dict[str, Any]) -> Entry:
    """Make a value of the fields that this version knows, with the others in ``unknown``."""
    names = {item.name for item in fields(kind)}
    types = _FIELD_TYPES[kind]
    for name in sorted(names & data.keys()):
        if not has_type(data[name], types[name]):
            value = str(data[name])
            raise TypeError(f"{name} is {value[:40]!r}")
    known = {name: value for name, value in data.items() if name in names}
    known["unknown"] = {name: value for name, value in data.items() if name not in names}
    return kind(**known)


def read_manifest(root: Path) -> Manifest:
    """Read the manifest of the store at `root`.

    Raises
    ------
    StoreError
        When there is no store, it is half-built, damaged, or of a version that cannot be read.
    """
    layout = Layout(as_path(root))
    try:
        data = json.loads(read_text(layout.manifest))
        return _from_json(layout.root, data)
    except FileNotFoundError:
        # There was none, or an ingest has just begun to put the next version in place.
        raise _no_manifest(layout) from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        refuse_shortage(error, layout.manifest)
        raise unreadable(root, "manifest.json is damaged", first_line(error)) from error


def _from_json(root: Path, data: dict[str, Any]) -> Manifest:
    version = str(data.get("format_version", "none"))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise unreadable(root, "store of another format version", version, FORMAT_VERSION)
    _check_seal(root, data)
    # A ledger entry names a table, below whose folder its refused rows are.
    tables = [f"quarantine/{entry['table']}" for entry in data["sources"]]
    _check_names(root, [*data.get("files", {}), *tables])
    data["sources"] = tuple(entry_from(entry) for entry in data["sources"])
    data["notes"] = tuple(data.get("notes", ()))
    # JSON sorted them by name: back into the order in which tables are declared, which is the order people see.
    n_rows = data["tables"]
    data["tables"] = {name: n_rows[name] for name in TABLES if name in n_rows}
    manifest = _from_fields(Manifest, data)
    try:
        if manifest.declaration:
            declare_stored(manifest.declaration, str(root))
        dialect(manifest.generation)
    except (UsageError, SchemaError) as error:
        what = "store of an unknown trace format"
        raise unreadable(root, what, error.got or "", error.expected) from error
    # Refuses what cannot be read.
    lacking_columns(Layout(root), manifest.schema, manifest.format_version)
    return manifest


def is_sealed(layout: Layout) -> bool:
    """Whether the manifest of a store has a digest of itself, which is compared whenever it is read."""
    return _SEAL in json.loads(read_text(layout.manifest))


def _check_seal(root: Path, data: dict[str, Any]) -> None:
    """Take the digest of a manifest out of what it says, and compare them."""
    # A manifest of an earlier version has no digest of itself.
    if _SEAL not in data:
        return
    seal = data.pop(_SEAL)
    digest = _digest(data)
    if seal != digest:
        what = "manifest.json has changed since it was written"
        raise unreadable(root, what, digest[:12], str(seal)[:12])


def _check_names(root: Path, names: Iterable[str]) -> None:
    """Refuse names of files that are not below the store: whoever made it could have any file read."""
    for name in names:
        path = PurePosixPath(name)
        is_below = not path.is_absolute() and ".." not in path.parts and str(path) == name
        if not is_below or "\0" in name or "\\" in name:
            what = "manifest.json names a file that is not in the store"
            raise unreadable(root, what, repr(name[:80]), "a path below the store")


def _no_manifest(layout: Layout) -> StoreError:
    """Return the error of a place without a manifest, which says what is there instead."""
    root = str(layout.root)
    ingest = f"borgtrace ingest SRC --store {shell_word(root)}"
    make_one = f"make one: {ingest}"
    if layout.is_remote:
        if not any(layout.parts(table) for table in TABLES):
            return StoreError(
                root,
                "there is no such store",
                expected="manifest.json",
                way_out=make_one,
            )
        return StoreError(
            root,
            "the store is half-published",
            expected="manifest.json",
            got="tables without it",
            way_out=make_one,
        )
    if layout.staging.exists() or layout.next.exists() or layout.discarded.exists():
        return StoreError(
            root,
            "the store is half-built",
            expected="manifest.json",
            got="an ingest that did not finish",
            way_out=f"finish it: {ingest}",
        )
    if not layout.root.exists():
        return StoreError(root, "there is no such store", way_out=make_one)
    got = "a file"
    if layout.root.is_dir():
        n_entries = len(list(layout.root.iterdir()))
        got = f"{n_entries} other entries"
    return StoreError(
        root,
        "not a borgtrace store",
        expected="a folder with manifest.json",
        got=got,
        way_out=make_one,
    )
