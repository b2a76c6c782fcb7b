"""A dataset in the terms of DataCite's metadata schema 4, as one registers a DOI with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from borgtrace.datasets.metadata import Metadata
from borgtrace.datasets.publishing import CC_BY, KEYWORDS, is_cc_by, title_of
from borgtrace.schema import Dialect


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
        Who publishes it, such as ``"Zenodo"``.
    year
        When it is published.
    """
    n_traces = sum(about.counts.values())
    title = title_of(about, dialect)
    identity = {
        "alternateIdentifier": about.raw["identity"],
        "alternateIdentifierType": "borgtrace identity",
    }
    return {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Time series of usage"},
        "titles": [{"title": title}],
        "creators": [{"name": name} for name in creators],
        "publisher": {"name": publisher},
        "publicationYear": str(year),
        "subjects": [{"subject": word} for word in KEYWORDS],
        "version": about.raw["code_version"],
        "alternateIdentifiers": [identity],
        "relatedIdentifiers": list(_sources(dialect)),
        "sizes": [f"{n_traces} traces", f"{about.windows} windows"],
        "formats": [about.format],
        "rightsList": [_rights(about, dialect)],
        "descriptions": [
            {"description": f"{title}. Made by borgtrace.", "descriptionType": "Abstract"}
        ],
    }


def _rights(about: Metadata, dialect: Dialect) -> dict[str, str]:
    rights = {"rights": dialect.licence or "The terms of the trace are not known."}
    if is_cc_by(about, dialect):
        rights |= {"rightsUri": CC_BY, "rightsIdentifier": "CC-BY-4.0"}
    return rights


def _sources(dialect: Dialect) -> Iterator[dict[str, str]]:
    """Yield the works that describe the trace, as far as they have an address."""
    for work in dialect.citations:
        if work.address:
            yield {
                "relatedIdentifier": work.address,
                "relatedIdentifierType": "URL",
                "relationType": "IsDerivedFrom",
            }
