"""The works that the package reproduces or uses, in full."""

from __future__ import annotations

from borgtrace.report.papers import PAPERS
from borgtrace.schema.dialects import PUBLISHED, Citation

INTRO = """# Works cited

Questions, claims and messages cite works in a short form ("Verma et al., EuroSys'15, §5.2"). This page has the full
references. For BibTeX of the traces and of borgtrace itself, see [license and citation](data-licence.md).
"""


def page() -> str:
    """Return the page."""
    traces = [citation for one in PUBLISHED for citation in one.citations]
    return "\n".join([INTRO, "## The traces\n", _list(traces), "## The methods\n", _list(PAPERS)])


def _list(works: tuple[Citation, ...] | list[Citation]) -> str:
    ordered = sorted(dict.fromkeys(works), key=lambda work: work.text)
    return "\n".join(f"- {_entry(work)}" for work in ordered) + "\n"


def _entry(work: Citation) -> str:
    return f"{work.text} <{work.address}>" if work.address else work.text
