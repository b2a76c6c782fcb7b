"""Pictures for papers: their size, their letters, what they say of themselves, and what they cite."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

import borgtrace
from borgtrace import catalog
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables, NotApplicable, Provenance, Question, Result
from borgtrace.report.paper import STYLES, PaperFigure, paper_figure
from borgtrace.report.paper.bibtex import bibtex
from borgtrace.report.paper.outlined import outlined
from borgtrace.report.paper.pdf import embedded_fonts, objects_of
from borgtrace.report.papers import PAPERS
from borgtrace.schema.dialects import DIALECTS

from . import questions_of_tests as questions
from .conftest import HASH

SVG = "{http://www.w3.org/2000/svg}"


def answer(name: str, **provenance: object) -> Result:
    """The answer to one of the test questions, of 200 steps."""
    question = next(question for question in questions.QUESTIONS if question.name == name)
    # Drawn without many points, which take the time.
    question = replace(question, compute=questions.answer(200))
    origin = Provenance("folder/cell", "ab" * 32, **provenance)  # type: ignore[arg-type]
    return replace(question.run(EngineTables({}, Provenance())), provenance=origin)


@pytest.fixture(scope="module")
def picture() -> PaperFigure:
    """A chart of two panels in a column."""
    return paper_figure(answer("side_by_side"))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "name", ["queue_steps", "side_by_side", "facets", "heat_map", "interactive"]
)
def test_a_picture_is_as_wide_as_its_place(name: str, style: str) -> None:
    """Every shape of chart: 3.33 and 7 inches are 239.76 and 504 points."""
    inches = {"acm-column": 3.33, "acm-page": 7.0}[style]
    figure = paper_figure(answer(name), style)
    [width] = re.findall(r'<svg[^>]* width="([\d.]+)in"', figure.svg)
    assert float(width) == pytest.approx(inches, abs=1e-4)
    [[pdf_width]] = re.findall(rb"/MediaBox \[0 0 (([\d.]+)) [\d.]+\]", figure.pdf)[:1] and [
        [float(re.findall(rb"/MediaBox \[0 0 ([\d.]+)", figure.pdf)[0])]
    ]
    assert pdf_width == pytest.approx(inches * 72, abs=0.01)
    # Its own unit is a point, within a hundredth: letters of 7 are 7 points high.
    [unit_width] = re.findall(r'viewBox="0 0 ([\d.]+)', figure.svg)
    assert float(unit_width) == pytest.approx(inches * 72, rel=0.012)


def test_letters_of_the_svg_are_outlines(picture: PaperFigure) -> None:
    root = ElementTree.fromstring(picture.svg)
    assert list(root.iter(f"{SVG}text")) == []
    assert "font-family" not in picture.svg
    names = {group.get("aria-label") for group in root.iter(f"{SVG}g")}
    assert {"hour", "CPU"} <= names
    outlines = [
        group.find(f"{SVG}path")
        for group in root.iter(f"{SVG}g")
        if group.get("aria-label") == "hour"
    ]
    assert all(path is not None and len(path.get("d", "")) > 100 for path in outlines)


def test_the_pdf_brings_its_fonts(picture: PaperFigure) -> None:
    objects, _ = objects_of(picture.pdf)
    descriptors = [body for body in objects.values() if b"/Type /FontDescriptor" in body]
    assert descriptors
    assert all(b"/FontFile2" in body for body in descriptors)


def test_letters_are_as_wide_as_the_pdf_says(picture: PaperFigure) -> None:
    """The renderer writes the widths beside the font; Liberation Sans has digits of 1,139 of 2,048 units."""
    objects, _ = objects_of(picture.pdf)
    widths_of_fonts = {}
    for body in objects.values():
        if b"/CIDFontType2" in body:
            [name] = re.findall(rb"/BaseFont /(\S+)", body)
            [widths] = re.findall(rb"/W \[(.*?)\]\n", body, re.DOTALL)
            spans = re.findall(rb"(\d+) (\d+) ([\d.]+)", widths)
            widths_of_fonts[name.decode()] = [
                (int(first), int(last), float(width)) for first, last, width in spans
            ]
    fonts = embedded_fonts(picture.pdf)
    assert fonts
    for font in fonts:
        assert font.outlines.units_per_em == 2048
        for first, last, width in widths_of_fonts[font.name]:
            for glyph in range(first, last + 1):
                assert font.outlines.advance(glyph) * 1000 == pytest.approx(width, abs=0.01)
        assert font.outlines.advance(font.glyphs["0"]) == pytest.approx(1139 / 2048)


def test_outlines_of_letters_are_theirs(picture: PaperFigure) -> None:
    """A digit 0 has an edge and a hole, 1 an edge, a space nothing; all of them stand on the line."""
    font = next(font for font in embedded_fonts(picture.pdf) if not font.is_bold)
    assert [len(font.outlines.contours(font.glyphs[digit])) for digit in "01"] == [2, 1]
    heights = [point.y for contour in font.outlines.contours(font.glyphs["1"]) for point in contour]
    # The digits of Liberation Sans are 1,409 units high.
    assert (min(heights), max(heights)) == (0, 1409)


def test_a_text_is_placed_by_its_anchor(picture: PaperFigure) -> None:
    fonts = embedded_fonts(picture.pdf)
    text = (
        '<text text-anchor="{}" font-size="20px" transform="translate(5,6)" fill="#123">00</text>'
    )
    # Two digits of 0.556 em are 22.2 wide.
    begins = {}
    for anchor in ("start", "middle", "end"):
        svg = outlined(
            f'<svg xmlns="http://www.w3.org/2000/svg">{text.format(anchor)}</svg>', fonts
        )
        group = ElementTree.fromstring(svg).find(f"{SVG}g")
        assert group is not None
        assert (group.get("transform"), group.get("fill")) == ("translate(5,6)", "#123")
        path = group.find(f"{SVG}path")
        assert path is not None
        begins[anchor] = min(float(x) for x in re.findall(r"[ML](-?[\d.]+)", path.get("d", "")))
    width = 2 * 20 * 1139 / 2048
    assert begins["start"] - begins["middle"] == pytest.approx(width / 2, abs=0.01)
    assert begins["start"] - begins["end"] == pytest.approx(width, abs=0.01)


def test_both_files_say_what_they_were_computed_from(picture: PaperFigure) -> None:
    [description] = re.findall(r"<dc:description>(.*?)</dc:description>", picture.svg)
    facts = json.loads(unescape(description))
    assert facts["question"] == "side_by_side"
    assert (facts["store"], facts["digest"]) == ("cell", "ab" * 32)
    assert "seconds" not in facts
    [subject] = re.findall(rb"/Subject <FEFF([0-9A-F]+)>", picture.pdf)
    assert bytes.fromhex(subject.decode()).decode("utf-16-be") == unescape(description)
    [title] = re.findall(r"<dc:title>(.*?)</dc:title>", picture.svg)
    assert title == "How large is the queue, and which shapes can a chart have?"


def test_the_table_of_the_pdf_is_right(picture: PaperFigure) -> None:
    """A reader begins at the end: the table of objects says where each of them is."""
    pdf = picture.pdf
    start = int(pdf.rpartition(b"startxref\n")[2].split(b"\n")[0])
    lines = pdf[start:].split(b"\n")
    assert lines[0] == b"xref"
    n_objects = int(lines[1].split()[1])
    for number in range(1, n_objects):
        place = int(lines[2 + number][:10])
        assert pdf[place:].startswith(b"%d 0 obj\n" % number)
    # The length of each stream is the one that it says.
    objects, root = objects_of(pdf)
    assert b"/Type /Catalog" in objects[root]
    for body in objects.values():
        dictionary, stream, data = body.partition(b"\nstream\n")
        if stream:
            [length] = re.findall(rb"/Length (\d+)", dictionary)
            assert data[int(length) :].strip() == b"endstream"


def test_the_same_answer_gives_the_same_bytes(picture: PaperFigure) -> None:
    """The renderer itself numbers fonts and shades in another order each time."""
    for _ in range(4):
        assert paper_figure(answer("side_by_side")) == picture


def test_a_synthetic_cell_is_called_so_in_its_picture() -> None:
    label = 'aria-label="Synthetic cell, not recorded"'
    assert label in paper_figure(answer("heat_map", is_synthetic=True)).svg
    assert label not in paper_figure(answer("heat_map")).svg


def test_a_figure_is_saved_by_the_ending_of_its_file(
    picture: PaperFigure, tmp_path: object
) -> None:
    folder = str(tmp_path)
    assert picture.save(f"{folder}/a.svg").read_text("utf-8") == picture.svg
    assert picture.save(f"{folder}/a.pdf").read_bytes() == picture.pdf
    assert picture.save(f"{folder}/a.bib").read_text("utf-8") == picture.bibtex
    with pytest.raises(UsageError) as caught:
        picture.save(f"{folder}/a.eps")
    assert str(caught.value) == (
        f"path: no format of a figure: expected .svg, .pdf or .bib, got {folder}/a.eps"
    )


def test_the_caption_says_what_is_shown_and_of_what() -> None:
    question = answer("heat_map", is_synthetic=True, code_version="1.2.3", where="priority > 8")
    assert paper_figure(question).caption == (
        "How large is the queue, and which shapes can a chart have? Data: synthetic cell in the format of "
        "Google cluster trace 2011, tasks where priority > 8 (store abababababab, borgtrace 1.2.3)."
    )


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        paper_figure(answer("heat_map"), "acm-colum")
    assert str(caught.value) == (
        "style: no such style: expected acm-column, acm-page, got acm-colum; did you mean acm-column?"
    )


def test_an_answer_without_rows_has_no_figure() -> None:
    question = questions.QUESTIONS[-1]
    with pytest.raises(NotApplicable, match="the trace has <no> usage & is short"):
        paper_figure(question.run(EngineTables({})))


def test_references_are_those_of_the_trace_the_question_and_the_software(
    picture: PaperFigure,
) -> None:
    keys = re.findall(r"@misc\{(\w+),", picture.bibtex)
    # The trace of 2011 by its publishers, and the paper that a claim of the question is from.
    assert {"reiss2011", "wilkes2011", "reiss2012"} <= set(keys)
    assert "title = {{borgtrace: Cluster traces, from raw archives to answers}}" in picture.bibtex


def test_every_work_becomes_an_entry_of_its_own() -> None:
    works = {work.text: work for work in PAPERS}
    for dialect in DIALECTS.values():
        works |= {work.text: work for work in dialect.citations}
    entries = bibtex(works.values())
    keys = re.findall(r"@misc\{([a-z]+\d*[a-z]?),", entries)
    assert len(keys) == len(set(keys)) == len(works)
    # Braces match in each, and what LaTeX would take for a command is escaped.
    for entry in entries.split("\n\n"):
        assert entry.count("{") == entry.count("}")
    assert "author = {D. Klusáček and G. Podolníková and Š. Tóth}" in entries
    assert "klusacek2016" in keys
    assert "author = {{Alibaba Group}}" in entries


WAITS = (1, 2, 4, 8)


@pytest.fixture(scope="module")
def store_of_waits(tmp_path_factory: pytest.TempPathFactory) -> borgtrace.Store:
    """Four tasks, each submitted at a second of its own, that wait for 1, 2, 4 and 8 s."""
    root = tmp_path_factory.mktemp("waits")
    lines = []
    for number, wait in enumerate(WAITS):
        submitted = (700 + number) * 1_000_000
        for time, event in ((submitted, 0), (submitted + wait * 1_000_000, 1)):
            machine = 7 if event else ""
            lines.append(
                f"{time},,{100 + number},0,{machine},{event},{HASH},2,9,0.25,0.125,0.001,0"
            )
    (root / "raw" / "task_events").mkdir(parents=True)
    path = root / "raw" / "task_events" / "part-00000-of-00001.csv"
    path.write_text("\n".join(sorted(lines, key=lambda line: int(line.split(",")[0]))) + "\n")
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return borgtrace.open(root / "store")


def test_a_distribution_is_drawn_at_every_tenth_of_a_percent(
    store_of_waits: borgtrace.Store,
) -> None:
    few = store_of_waits.ask("scheduling_delay")
    assert len(set(few.table["percent"].to_pylist())) < 30
    full = store_of_waits.ask("scheduling_delay", curve="full").table
    rows = [row for row in full.to_pylist() if row["group"] == "all"]
    percents = [tenth / 10 for tenth in range(1001)]
    assert [row["percent"] for row in rows] == percents
    assert [row["seconds"] for row in rows] == pytest.approx(np.percentile(WAITS, percents))
    # Which is what a figure draws.
    drawn_rows = few.full_curve().table if few.full_curve else None
    assert drawn_rows == full
    assert len(few.figure().svg) > len(paper_figure(few).svg)


CURVES = [question for question in catalog.questions().values() if "curve" in question.parameters]


@pytest.mark.parametrize("question", CURVES, ids=lambda question: question.name)
def test_a_full_curve_has_what_the_table_has(
    question: Question, store_of_waits: borgtrace.Store
) -> None:
    """All seven distributions: where the store can answer, each row of the table is one of the curve."""
    few = store_of_waits.ask(question.name)
    full = store_of_waits.ask(question.name, curve="full")
    assert few.not_applicable == full.not_applicable
    rows = {json.dumps(row) for row in full.table.to_pylist()}
    assert {json.dumps(row) for row in few.table.to_pylist()} <= rows


def test_all_distributions_have_a_curve() -> None:
    assert sorted(question.name for question in CURVES) == [
        "job_delay",
        "job_durations",
        "job_efficiency",
        "job_interarrivals",
        "job_sizes",
        "machine_downtime",
        "scheduling_delay",
    ]
