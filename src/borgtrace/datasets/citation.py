"""A dataset in the terms of DataCite's metadata schema 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from borgtrace.datasets.metadata import Metadata
from borgtrace.datasets.publishing import KEYWORDS, title_of
from borgtrace.schema import Dialect
from borgtrace.store.citation import CitedFiles, DoiRegistration, datacite_record


def datacite(
    about: Metadata, dialect: Dialect, *, creators: Sequence[str], publisher: str, year: int
) -> dict[str, Any]:
    """Return the metadata that DataCite asks for; the DOI itself is what one gets for them.

    Parameters
    ----------
    about
        The dataset.
    dialect
        The format of its trace.
    creators
        Who made it, as ``"Family, Given"``.
    publisher
        Who publishes it, such as ``"Zenodo"``; named later where empty.
    year
        When it is published.
    """
    n_traces = sum(about.counts.values())
    files = CitedFiles(
        title=title_of(about, dialect),
        kind="Time series of usage",
        identity=about.raw["identity"],
        identity_type="borgtrace identity",
        sizes=[f"{n_traces} traces", f"{about.windows} windows"],
        formats=[about.format],
        keywords=KEYWORDS,
        is_synthetic=about.raw["store"]["synthetic"] is not None,
        version=about.raw["code_version"],
    )
    registration = DoiRegistration(creators=creators, publisher=publisher, year=year)
    return datacite_record(files, dialect, registration)
