"""Which trace the rows of a store belong to, even while they are only staged."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError, StoreError, shell_word
from borgtrace.ingest.build.pending import staged_entries
from borgtrace.ingest.convert.capacity import Capacity
from borgtrace.ingest.find.discovery import Discovery, origin
from borgtrace.schema.dialects import declare_stored
from borgtrace.storage import read_text, write_file
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest

_UNKNOWN_CAPACITY = Capacity()


@dataclass(frozen=True, slots=True)
class Identity:
    """Which trace rows belong to; kept beside staged parts, whose raw files may be deleted.

    Parameters
    ----------
    generation, cell
        The trace, and its cell as far as it is known.
    synthetic
        Seed, version and parameters of a synthetic trace; None for a real one.
    declaration
        What a file for ``--dialect`` says, where the format is one of own data.
    capacity
        Size of the largest machine, as far as the user gave it.
    time_zone
        Time zone that files of a converted format or the user say; empty where neither does.
    """

    generation: str
    cell: str
    synthetic: dict[str, Any] | None
    declaration: dict[str, Any] | None = None
    capacity: Capacity = _UNKNOWN_CAPACITY
    time_zone: str = ""

    def write(self, layout: Layout) -> None:
        """Leave the identity beside the staged parts."""
        write_file(_file(layout), json.dumps(asdict(self)))


def identify(
    discovery: Discovery,
    present: Manifest | None,
    layout: Layout,
    declaration: dict[str, Any] | None = None,
    capacity: Capacity = _UNKNOWN_CAPACITY,
) -> Identity:
    """Return which trace this ingest is about, and refuse to mix two.

    Parameters
    ----------
    discovery
        The raw files of this ingest; may be none.
    present
        The store's manifest, where there is one.
    layout
        The store, which may hold staged parts without a manifest.
    declaration, capacity
        What the user said of the format and of the largest machine.

    Raises
    ------
    StoreError
        The store, or what is staged in it, is of another generation, cell or origin, or the store is a subset.
    SourceError
        There are neither sources nor staged parts.
    """
    known = _known_identity(present, layout)
    if not discovery.sources:
        # Nothing new to read: cluster the rows staged before, whose raw files may be gone.
        has_rows = present is not None or staged_entries(layout.staging)
        if known is None or not has_rows:
            raise SourceError(
                str(layout.root),
                "nothing is staged here",
                way_out=f"name raw files: borgtrace ingest SRC --store {shell_word(layout.root)}",
            )
        return known
    if present is not None and not present.sources:
        raise StoreError(
            str(layout.root),
            "no files can be added to part of a store",
            expected="a store of whole files",
            got=present.notes[-1] if present.notes else "a store without a ledger",
            way_out="add them to the whole store, and take the subset again",
        )
    new = Identity(
        discovery.generation,
        discovery.cell,
        discovery.synthetic,
        declaration,
        capacity,
        discovery.time_zone,
    )
    if known is None:
        return new
    return agree(layout.root, known, new, "ingest into a separate store")


def agree(
    place: Path,
    known: Identity,
    new: Identity,
    way_out: str,
) -> Identity:
    """Return what two identities say together, and refuse rows of two traces.

    Parameters
    ----------
    place
        The store that the error names.
    known, new
        What it holds, and what is to join.
    way_out
        Of the error.

    Raises
    ------
    StoreError
        They are of another generation, cell, origin or capacity.
    """
    # Loose files do not say their cell; such sources are taken to be of the store's.
    cell = known.cell or new.cell
    # A real and a synthetic trace are never mixed, nor two seeds: no result could name its source.
    compared = (
        ("generation", known.generation, new.generation),
        ("cell", cell, new.cell or cell),
        ("origin", origin(known.synthetic), origin(new.synthetic)),
        ("capacity", _describe_capacity(known.capacity), _describe_capacity(new.capacity)),
        ("time zone", known.time_zone, new.time_zone),
    )
    for aspect, ours, theirs in compared:
        if ours != theirs:
            raise StoreError(
                str(place),
                f"the store holds another {aspect}",
                expected=ours or "none",
                got=theirs or "none",
                way_out=way_out,
            )
    return replace(known, cell=cell)


def _describe_capacity(capacity: Capacity) -> str:
    return ", ".join(f"{amount:.15g}" for amount in capacity if amount is not None)


def identity_of(manifest: Manifest) -> Identity:
    """Return which trace the rows of a store belong to."""
    basis = manifest.basis
    # A store says UTC where nobody said a zone.
    time_zone = manifest.time_zone if basis.get("has_time_zone") else ""
    return Identity(
        manifest.generation,
        manifest.cell,
        manifest.synthetic,
        manifest.declaration or None,
        Capacity(
            basis.get("said_cores"),
            basis.get("said_bytes"),
            basis.get("said_megahertz"),
        ),
        time_zone,
    )


def _known_identity(present: Manifest | None, layout: Layout) -> Identity | None:
    if present is not None:
        return identity_of(present)
    path = _file(layout)
    if not path.exists():
        return None
    fields = json.loads(read_text(path))
    # Earlier versions wrote no capacity.
    capacity = Capacity(*fields.pop("capacity", ()))
    if fields.get("declaration"):
        # Its rows may have been staged by another process.
        declare_stored(fields["declaration"], str(path))
    return Identity(**fields, capacity=capacity)


def forget(layout: Layout) -> None:
    """Remove the identity of staged rows where there are none: it would bind the next run to a trace that is not there.

    Parameters
    ----------
    layout
        Of the store; its lock must be held.
    """
    _file(layout).unlink(missing_ok=True)
    # Only empty folders: the place may turn out to be somebody else's.
    for folder in (*layout.staging.glob("*/"), layout.staging):
        with suppress(OSError):
            folder.rmdir()


def _file(layout: Layout) -> Path:
    return layout.staging / "trace.json"
