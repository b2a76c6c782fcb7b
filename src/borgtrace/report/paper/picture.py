"""An answer as a picture for a paper: SVG and PDF, with its provenance and what to cite."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.question import NotApplicable, Result
from borgtrace.report.drawable import specification
from borgtrace.report.paper.bibtex import bibtex
from borgtrace.report.paper.layout import picture_of_width
from borgtrace.report.paper.outlined import outlined
from borgtrace.report.paper.pdf import embedded_fonts, rewritten
from borgtrace.report.papers import papers_cited
from borgtrace.schema.dialects import DECLARED, DIALECTS, Citation
from borgtrace.storage import as_path, write_file

POINTS_PER_INCH = 72
SIZE = re.compile(r'<svg([^>]*?) width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True, slots=True)
class PaperStyle:
    """A place in a paper: its width in inches."""

    inches: float

    @property
    def points(self) -> float:
        """The width in points."""
        return self.inches * POINTS_PER_INCH


STYLES: Mapping[str, PaperStyle] = {
    "acm-column": PaperStyle(3.33),
    "acm-page": PaperStyle(7.0),
}
"""Places in a paper by name: a column of ACM's two, and both."""


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A picture for a paper.

    Parameters
    ----------
    svg
        Its letters are outlines, so that it needs no font.
    pdf
        It brings its fonts with it.
    caption
        What the picture shows, and of what.
    bibtex
        The trace, the papers whose methods or numbers it has, and this software.
    """

    svg: str
    pdf: bytes
    caption: str
    bibtex: str

    def save(self, path: str | Path) -> Path:
        """Write the picture, or its references, and return the path.

        Parameters
        ----------
        path
            Ends with ``.svg``, ``.pdf`` or ``.bib``.

        Raises
        ------
        UsageError
            For another ending.
        """
        target = as_path(path)
        contents = {".svg": self.svg.encode(), ".pdf": self.pdf, ".bib": self.bibtex.encode()}
        if target.suffix not in contents:
            raise UsageError(
                "path", "no format of a figure", expected=".svg, .pdf or .bib", got=str(path)
            )
        write_file(target, contents[target.suffix])
        return target

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.svg


def paper_figure(result: Result, style: str = "acm-column") -> PaperFigure:
    """Draw an answer for a paper.

    Parameters
    ----------
    result
        The answer.
    style
        One of `STYLES`: ``"acm-column"`` is 3.33 inches wide, ``"acm-page"`` 7.

    Raises
    ------
    UsageError
        For an unknown style.
    NotApplicable
        The answer has nothing to draw.
    """
    if style not in STYLES:
        raise UsageError(
            "style",
            "no such style",
            expected=", ".join(STYLES),
            got=style,
            way_out=did_you_mean(style, STYLES),
        )
    chart = result.plot()
    if chart is None:
        raise NotApplicable(result.not_applicable or "the answer is empty")
    width = STYLES[style].points
    drawing = picture_of_width(specification(chart), width, note_of(result))
    return pictured(result, scaled(drawing, width))


def note_of(result: Result) -> str:
    """Return what a picture says of its cell, wherever it is copied to; nothing where the cell was recorded."""
    is_made = result.provenance.is_synthetic or result.provenance.is_simulated
    return "Synthetic cell, not recorded" if is_made else ""


def scaled(picture: str, width: float) -> str:
    """Return a picture of exactly the width that is asked for, in points; it is within a unit of it before."""
    match = SIZE.search(picture)
    assert match is not None
    height = float(match[3]) * width / float(match[2])
    return SIZE.sub(rf'<svg\1 width="{width:.6g}" height="{height:.6g}"', picture, count=1)


def pictured(result: Result, picture: str) -> PaperFigure:
    """Return a figure from a picture whose unit is a point."""
    # Here: a command that draws nothing need not load the renderer.
    import vl_convert

    provenance = provenance_of(result)
    pdf = bytes(vl_convert.svg_to_pdf(picture))
    letters = outlined(picture, embedded_fonts(pdf))
    information = {
        "Title": result.question.title,
        "Subject": provenance,
        "Creator": f"borgtrace {result.provenance.code_version}",
    }
    return PaperFigure(
        svg=with_metadata(in_inches(letters), information),
        pdf=rewritten(pdf, information),
        caption=caption_of(result),
        bibtex=bibtex(works_of(result)),
    )


def caption_of(result: Result) -> str:
    """Say what a picture shows, and of what."""
    facts = result.provenance
    dialect = DECLARED.get(facts.generation) or DIALECTS.get(facts.generation)
    trace = dialect.title if dialect else facts.generation
    if facts.cell:
        trace += f", cell {facts.cell}"
    if facts.is_simulated:
        trace = f"simulated cell in the format of {trace}"
    elif facts.is_synthetic:
        trace = f"synthetic cell in the format of {trace}"
    tasks = f", tasks where {facts.where}" if facts.where else ""
    source = f"{trace}{tasks} (store {facts.digest[:12]}, borgtrace {facts.code_version})"
    return f"{result.question.title} Data: {source}."


def provenance_of(result: Result) -> str:
    """Return as JSON what an answer was computed from and with; the same each time."""
    facts = asdict(result.provenance)
    del facts["seconds"]
    # Where the store lies is nothing that readers of a paper can use.
    facts["store"] = Path(result.provenance.store).name
    return json.dumps({"question": result.question.name, **facts}, sort_keys=True)


def in_inches(picture: str) -> str:
    """Write the size of a picture in inches: editors take a number without a unit for pixels."""
    match = SIZE.search(picture)
    assert match is not None
    width, height = (float(length) / POINTS_PER_INCH for length in match.groups()[1:])
    return SIZE.sub(rf'<svg\1 width="{width:.6g}in" height="{height:.6g}in"', picture, count=1)


def with_metadata(picture: str, information: Mapping[str, str]) -> str:
    """Put into an SVG what it shows and where that is from, in the terms of Dublin Core."""
    elements = {
        "title": information["Title"],
        "description": information["Subject"],
        "creator": information["Creator"],
    }
    described = "".join(
        f"<dc:{name}>{escape(text, quote=False)}</dc:{name}>" for name, text in elements.items()
    )
    metadata = (
        '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<rdf:Description rdf:about="">{described}</rdf:Description></rdf:RDF></metadata>'
    )
    head, end, rest = picture.partition(">")
    return head + end + metadata + rest


def works_of(result: Result) -> list[Citation]:
    """Return what a picture rests on: the trace, the papers that its question names, and this software."""
    generation = result.provenance.generation
    dialect = DECLARED.get(generation) or DIALECTS.get(generation)
    works = list(dialect.citations) if dialect else []
    sources = [result.question.reference, *(finding.source for finding in result.findings)]
    works += papers_cited(" ".join(sources))
    version = result.provenance.code_version.partition("+")[0]
    software = f"The borgtrace authors: borgtrace: Cluster traces, from raw archives to answers. Version {version}."
    works.append(Citation(software, ""))
    # A paper may be the reference of the trace and of the question.
    return list({work.text: work for work in works}.values())
