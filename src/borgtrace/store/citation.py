"""What is made of a trace, in the terms of DataCite's metadata schema 4, as one registers a DOI with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from borgtrace.schema import Dialect
from borgtrace.version import __version__

CC_BY = "https://creativecommons.org/licenses/by/4.0/"
CITATION_FILE = "datacite.json"
"""Beside what it describes."""
TO_BE_ASSIGNED = "(:tba)"
"""DataCite's word for what is named later."""


@dataclass(frozen=True, kw_only=True)
class DoiRegistration:
    """Who publishes something, and when.

    Parameters
    ----------
    creators
        Who made it, as ``"Family, Given"``.
    publisher
        Who publishes it, such as ``"Zenodo"``; named later where empty.
    year
        When it is published.
    """

    creators: Sequence[str]
    publisher: str
    year: int


@dataclass(frozen=True, kw_only=True)
class CitedFiles:
    """What is published.

    Parameters
    ----------
    title, kind
        What it is, such as ``"Time series of usage"``.
    identity, identity_type
        Digest of what it was made from, and what that is called.
    sizes, formats, keywords
        How much there is, in which formats, and words to find it by.
    is_synthetic
        Whether a generator made it: then nobody's license holds.
    version
        Of borgtrace that made it.
    """

    title: str
    kind: str
    identity: str
    identity_type: str
    sizes: Sequence[str]
    formats: Sequence[str]
    keywords: Sequence[str]
    is_synthetic: bool
    version: str = __version__


def datacite_record(
    files: CitedFiles, dialect: Dialect, registration: DoiRegistration
) -> dict[str, Any]:
    """Return the metadata that DataCite asks for; the DOI itself is what one gets for them.

    Parameters
    ----------
    files
        What is published.
    dialect
        The format of the trace that it was made from.
    registration
        Who publishes it.
    """
    identity = {
        "alternateIdentifier": files.identity,
        "alternateIdentifierType": files.identity_type,
    }
    abstract = f"{files.title}. Made by borgtrace."
    return {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": files.kind},
        "titles": [{"title": files.title}],
        "creators": [{"name": name} for name in registration.creators],
        "publisher": {"name": registration.publisher or TO_BE_ASSIGNED},
        "publicationYear": str(registration.year),
        "subjects": [{"subject": word} for word in files.keywords],
        "version": files.version,
        "alternateIdentifiers": [identity],
        "relatedIdentifiers": list(_sources(dialect)),
        "sizes": list(files.sizes),
        "formats": list(files.formats),
        "rightsList": [_rights(dialect, is_synthetic=files.is_synthetic)],
        "descriptions": [{"description": abstract, "descriptionType": "Abstract"}],
    }


def is_cc_by(dialect: Dialect, *, is_synthetic: bool) -> bool:
    """Whether a trace is published under CC-BY 4.0; a synthetic one is nobody's publication."""
    return not is_synthetic and "CC-BY 4.0" in (dialect.licence or "")


def _rights(dialect: Dialect, *, is_synthetic: bool) -> dict[str, str]:
    rights = {"rights": dialect.licence or "The terms of the trace are not known."}
    if is_cc_by(dialect, is_synthetic=is_synthetic):
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
