"""The numbered observations and measures of Zhu et al., side by side: which of them hold here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from borgtrace.recipe import Finding
from borgtrace.report.sections import Section

# Only what the source line numbers: other claims of the same paper have no place in the list.
_NUMBERED = re.compile(r"^Zhu et al\.,.*?\b(Observation|Measure) (\d+)")


@dataclass(frozen=True, slots=True)
class Observed:
    """A finding about a numbered statement, and the section it belongs to."""

    label: str
    anchor: str
    finding: Finding


def observed(sections: Iterable[Section]) -> list[Observed]:
    """Return the findings on observations, then those on measures, by number.

    Examples
    --------
    >>> observed([])
    []
    """
    found = [
        (*_place(number), Observed(f"{number[1]} {number[2]}", section.anchor, finding))
        for section in sections
        for finding in section.findings
        if (number := _NUMBERED.search(finding.source))
    ]
    return [item for *_, item in sorted(found, key=lambda entry: entry[:2])]


def _place(number: re.Match[str]) -> tuple[bool, int]:
    """Observations come before measures."""
    return number[1] == "Measure", int(number[2])
