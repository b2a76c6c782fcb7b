"""Claims that were published about the very trace of a store: only these are counted at the head of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from borgtrace.question import Finding
from borgtrace.report.sections import PageSection
from borgtrace.store.manifest import Manifest


def findings_of_publisher(
    manifest: Manifest, sections: Iterable[PageSection]
) -> Sequence[Finding] | None:
    """Return the published claims about the trace of a store; None where nobody published any about it.

    Whoever looks at a cell of their own, or at a synthetic one, has not come for the numbers of another: these stand
    beside the measured ones, but how many agree says nothing of the store.

    Parameters
    ----------
    manifest
        Of the store.
    sections
        The questions of the page.
    """
    if manifest.is_synthetic:
        return None
    findings: list[Finding] = []
    for section in sections:
        claims = {claim.id: claim for claim in section.question.claims}
        for finding in section.findings:
            is_of_trace = manifest.dialect.trace in claims[finding.id].scope.traces
            if finding.kind == "published" and is_of_trace:
                findings.append(finding)
    return findings or None
