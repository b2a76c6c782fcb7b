"""Exported files in the terms of DataCite's metadata schema 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from borgtrace.export.result import ExportResult
from borgtrace.store import Store
from borgtrace.store.citation import CitedFiles, DoiRegistration, datacite_record

KEYWORDS = ("cluster-trace", "scheduling", "borgtrace")


def datacite(
    store: Store,
    layout: str,
    exported: ExportResult,
    *,
    creators: Sequence[str],
    publisher: str,
    year: int,
) -> dict[str, Any]:
    """Return the metadata that DataCite asks for of exported files.

    Parameters
    ----------
    store, layout
        Where from, and how they are laid out: ``jobs``, ``opendc`` …
    exported
        What was written.
    creators
        Who made it, as ``"Family, Given"``.
    publisher
        Who publishes it, such as ``"Zenodo"``; named later where empty.
    year
        When it is published.

    Examples
    --------
    ::

        exported = export_files(store, "opendc", "opendc")
        record = datacite(
            store, "opendc", exported, creators=["Lovelace, Ada"], publisher="Zenodo", year=2026
        )
    """
    manifest = store.manifest
    cell = f", cell {manifest.cell}" if manifest.cell else ""
    made = f"{manifest.made} cell in the format of " if manifest.made else ""
    files = CitedFiles(
        title=f"Files in the layout {layout}: {made}{manifest.dialect.title}{cell}",
        kind="Cluster trace",
        identity=manifest.digest,
        identity_type="digest of the store",
        sizes=[f"{exported.files} files", f"{exported.rows} rows"],
        formats=[layout],
        keywords=KEYWORDS,
        is_synthetic=bool(manifest.made),
    )
    registration = DoiRegistration(creators=creators, publisher=publisher, year=year)
    return datacite_record(files, manifest.dialect, registration)
