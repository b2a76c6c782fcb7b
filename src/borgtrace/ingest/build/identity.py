"""Whose rows a store holds: one trace, also while they are only staged."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError, StoreError
from borgtrace.ingest.build.pending import staged_entries
from borgtrace.ingest.find.discovery import Discovery, origin
from borgtrace.storage import write_file
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Identity:
    """Which trace rows belong to; kept beside staged parts, whose raw files may be deleted."""

    generation: str
    cell: str
    synthetic: dict[str, Any] | None
    declaration: dict[str, Any] | None = None
    """What a file for ``--dialect`` said, where the format is one of own data."""
    capacity: tuple[float | None, float | None] = (None, None)
    """Cores and bytes of the largest machine, as far as the user said them."""

    def write(self, layout: Layout) -> None:
        """Leave the identity beside the staged parts."""
        write_file(_file(layout), json.dumps(asdict(self)))


def identify(
    found: Discovery,
    held: Manifest | None,
    layout: Layout,
    declaration: dict[str, Any] | None = None,
    capacity: tuple[float | None, float | None] = (None, None),
) -> Identity:
    """Return which trace this ingest is about, and refuse to mix two.

    Parameters
    ----------
    found
        The raw files of this ingest; may be none.
    held
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
    known = _known(held, layout)
    # Nothing new to read: what was staged before is clustered, whose raw files may be gone.
    if not found.sources:
        if known is None or not (held or staged_entries(layout.staging)):
            way_out = "name raw files: borgtrace ingest SRC --store …"
            raise SourceError(str(layout.root), "nothing is staged here", way_out=way_out)
        return known
    if held is not None and not held.sources:
        what, expected = "no files can be added to part of a store", "a store of whole files"
        got = held.notes[-1] if held.notes else "a store without a ledger"
        way_out = "add them to the whole store, and take the subset again"
        raise StoreError(str(layout.root), what, expected=expected, got=got, way_out=way_out)
    new = Identity(found.generation, found.cell, found.synthetic, declaration, capacity)
    return new if known is None else agree(layout.root, known, new, "ingest into a separate store")


def agree(place: Path, known: Identity, new: Identity, way_out: str) -> Identity:
    """Return what two say together, and refuse rows of two traces.

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
    # A real and a synthetic trace are never mixed, nor two seeds: no result could say what it is of.
    for what, ours, theirs in (
        ("generation", known.generation, new.generation),
        ("cell", cell, new.cell or cell),
        ("origin", origin(known.synthetic), origin(new.synthetic)),
        ("capacity", _said(known.capacity), _said(new.capacity)),
    ):
        if ours != theirs:
            other, expected, got = (
                f"the store holds another {what}",
                ours or "none",
                theirs or "none",
            )
            raise StoreError(str(place), other, expected=expected, got=got, way_out=way_out)
    return replace(known, cell=cell)


def _said(capacity: tuple[float | None, float | None]) -> str:
    return ", ".join(f"{amount:.15g}" for amount in capacity if amount is not None)


def identity_of(held: Manifest) -> Identity:
    """Return which trace the rows of a store belong to."""
    capacity = (held.basis.get("said_cores"), held.basis.get("said_bytes"))
    return Identity(held.generation, held.cell, held.synthetic, held.declaration or None, capacity)


def _known(held: Manifest | None, layout: Layout) -> Identity | None:
    if held is not None:
        return identity_of(held)
    path = _file(layout)
    if not path.exists():
        return None
    said = json.loads(path.read_text())
    return Identity(**{**said, "capacity": tuple(said.get("capacity", (None, None)))})


def forget(layout: Layout) -> None:
    """Remove what says whose rows are staged where none are: it would bind the next run to a trace that is not there.

    Parameters
    ----------
    layout
        Of the store; its lock must be held.
    """
    _file(layout).unlink(missing_ok=True)
    # Folders alone, and empty ones: the place may turn out to be somebody else's.
    for folder in (*layout.staging.glob("*/"), layout.staging):
        with suppress(OSError):
            folder.rmdir()


def _file(layout: Layout) -> Path:
    return layout.staging / "trace.json"
