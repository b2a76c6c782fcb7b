"""What a store holds, where it came from, and what was wrong with it: ``manifest.json``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from borgtrace.errors import StoreError, UsageError, first_line
from borgtrace.schema import TABLES, Dialect, dialect
from borgtrace.schema.dialects import declare
from borgtrace.storage import as_path, write_file
from borgtrace.store.compatibility import lacking_columns, unreadable
from borgtrace.store.layout import FORMAT_VERSION, Layout

Entry = TypeVar("Entry", "SourceEntry", "Manifest")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEAL = "sha256"
"""Key of the manifest's digest of itself: everything else that it says is taken on trust."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One raw file in the ledger: what went in, what was stored, what was refused.

    ``counters`` are numbers by reason code; ``merged`` counts rows that a flattened source repeats
    and that were stored once; ``skipped`` counts rows of other cells.
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
    """Rows written to other tables from the same file (2019: constraints unnested from events)."""
    version: str = ""
    """What a bucket said of the file: one of the same version is not fetched again."""
    unknown: dict[str, Any] = field(default_factory=dict)
    """What a later version wrote beside; kept."""

    @property
    def is_conserved(self) -> bool:
        """The law of conservation: every row that came in is accounted for."""
        return self.rows_in == self.stored + self.quarantined + self.skipped + self.merged


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a store.

    ``digest`` is the store's content digest and ``content`` those of its tables
    (:mod:`borgtrace.store.content`); ``files`` has the SHA-256 of each file.  A store of format 1.0 has
    neither: its ``digest`` is one over its files.  ``schema`` is the digest of the tables' declaration;
    ``unknown`` holds what a later version wrote beside, to be kept when this one writes the manifest.
    ``quality`` holds counters found over whole tables (``{table: {reason: number}}``), beside those
    of each source; ``synthetic`` is None for Google's data and describes the generator otherwise.
    ``declaration`` is the format that own data came in, and ``basis`` what the numbers of a converted store mean: cores
    and bytes of the largest machine, what was said of them, and the time in the files (µs) that is 600 s here.
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
        known = dialect(self.generation)
        if known.conversion is None or known.conversion.clock == "relative":
            return known
        return replace(known, origin=_EPOCH + timedelta(microseconds=self.basis["zero"]))

    @property
    def is_synthetic(self) -> bool:
        """Whether a generator made the trace: nothing here is Google's data then."""
        return self.synthetic is not None

    @property
    def made(self) -> str:
        """Whether a generator or a scheduler of borgtrace made the trace, in a word; empty where neither did."""
        return (
            ""
            if self.synthetic is None
            else "simulated"
            if "simulated" in self.synthetic
            else "synthetic"
        )

    @property
    def counters(self) -> dict[str, dict[str, int]]:
        """All counters by table and reason: those of the sources summed, and the table-wide ones."""
        total: dict[str, dict[str, int]] = {
            name: dict(found) for name, found in self.quality.items()
        }
        for entry in self.sources:
            for reason, number in entry.counters.items():
                table = total.setdefault(entry.table, {})
                table[reason] = table.get(reason, 0) + number
        return {name: dict(sorted(found.items())) for name, found in sorted(total.items()) if found}

    def to_json(self) -> str:
        """Return the manifest as indented JSON."""
        data = asdict(self)
        for item in (data, *data["sources"]):
            # What a later version wrote goes back to the level it came from.
            item.update(item.pop("unknown"))
        # Sorted, so that two manifests can be compared as texts.
        return json.dumps(data | {_SEAL: _sealed(data)}, indent=1, sort_keys=True) + "\n"

    def write(self, path: Path) -> None:
        """Write beside `path`, then rename into place."""
        write_file(path, self.to_json())


_HINTS: dict[type, dict[str, Any]] = {
    kind: get_type_hints(kind) for kind in (SourceEntry, Manifest)
}
"""Declared types of the fields, once: a store may have thousands of sources."""


def _sealed(data: dict[str, Any]) -> str:
    """Return the SHA-256 of what a manifest says, however it is spaced."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def entry_from(data: dict[str, Any]) -> SourceEntry:
    """Rebuild a ledger entry from its JSON."""
    # JSON has no tuples, and an entry has to compare equal after it was read back.
    return _known(SourceEntry, {**data, "columns": tuple(data.get("columns", ()))})


def _known(kind: type[Entry], data: dict[str, Any]) -> Entry:
    """Make a value of what this version knows of `data`, and set the rest aside in ``unknown``."""
    names = {item.name for item in fields(kind)}
    hints = _HINTS[kind]
    for name in sorted(names & data.keys()):
        if not _fits(data[name], hints[name]):
            raise TypeError(f"{name} is {str(data[name])[:40]!r}")
    unknown = {name: value for name, value in data.items() if name not in names}
    return kind(
        **{name: value for name, value in data.items() if name in names} | {"unknown": unknown}
    )


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of a declared type; every integer is a count, a size, a number or a time."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is UnionType:
        return any(_fits(value, one) for one in inner)
    if kind is dict:
        return isinstance(value, dict) and all(_fits(each, inner[1]) for each in value.values())
    if kind in (list, tuple):
        return isinstance(value, kind) and all(_fits(each, inner[0]) for each in value)
    # A flag is an integer to Python.
    if kind is int:
        return type(value) is int and 0 <= value < 2**63
    return kind is Any or isinstance(value, kind)


def read_manifest(root: Path) -> Manifest:
    """Read the manifest of the store at `root`.

    Raises
    ------
    StoreError
        When there is no store, it is half-built, damaged, or of a version that cannot be read.
    """
    layout = Layout(as_path(root))
    try:
        data = json.loads(layout.manifest.read_text())
        return _from_json(layout.root, data)
    except FileNotFoundError:
        # There was none, or an ingest has begun to put the next version in place just now.
        raise _missing(layout) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unreadable(root, "manifest.json is damaged", first_line(error)) from error


def _from_json(root: Path, data: dict[str, Any]) -> Manifest:
    found = str(data.get("format_version", "none"))
    if found.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise unreadable(root, "store of another format version", found, FORMAT_VERSION)
    # One of an earlier version has no digest of its own.
    is_sealed, seal = _SEAL in data, data.pop(_SEAL, None)
    if is_sealed and seal != _sealed(data):
        raise unreadable(
            root,
            "manifest.json has changed since it was written",
            _sealed(data)[:12],
            str(seal)[:12],
        )
    data["sources"] = tuple(entry_from(entry) for entry in data["sources"])
    data["notes"] = tuple(data.get("notes", ()))
    # JSON sorted them by name: back into the order in which tables are declared, which is the order people see.
    data["tables"] = {name: data["tables"][name] for name in TABLES if name in data["tables"]}
    manifest = _known(Manifest, data)
    try:
        if manifest.declaration:
            declare(manifest.declaration, str(root))
        dialect(manifest.generation)
    except UsageError as error:
        raise unreadable(
            root, "store of an unknown trace format", error.got or "", error.expected
        ) from error
    lacking_columns(
        Layout(root), manifest.schema, manifest.format_version
    )  # refuses what cannot be read
    return manifest


def _missing(layout: Layout) -> StoreError:
    root, ingest = str(layout.root), f"borgtrace ingest SRC --store {layout.root}"
    if layout.is_remote:
        half, none = (
            ("the store is half-published", "tables without it"),
            ("there is no such store", None),
        )
        (what, got), way_out = (
            half if any(map(layout.parts, TABLES)) else none,
            f"make one: {ingest}",
        )
        return StoreError(root, what, expected="manifest.json", got=got, way_out=way_out)
    if layout.staging.exists() or layout.next.exists() or layout.discarded.exists():
        what, expected, got = (
            "the store is half-built",
            "manifest.json",
            "an ingest that did not finish",
        )
        return StoreError(root, what, expected=expected, got=got, way_out=f"finish it: {ingest}")
    if not layout.root.exists():
        return StoreError(root, "there is no such store", way_out=f"make one: {ingest}")
    what, expected = "not a borgtrace store", "a folder with manifest.json"
    got = (
        f"{sum(1 for _ in layout.root.iterdir())} other entries"
        if layout.root.is_dir()
        else "a file"
    )
    return StoreError(root, what, expected=expected, got=got, way_out=f"make one: {ingest}")
