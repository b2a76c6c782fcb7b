"""The files of a reproduction: the page, a folder of figures, tables, published beside measured, and references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from borgtrace.engine.csv_text import csv_text, write_csv
from borgtrace.report.paper.bibtex import bibtex
from borgtrace.reproduction.page import page_of
from borgtrace.reproduction.references import works_cited
from borgtrace.reproduction.reproduction import CLAIM_COLUMNS, ReproducedAnswer, Reproduction
from borgtrace.storage import as_path, replacing, write_file


@dataclass(frozen=True, slots=True)
class ReproductionFiles:
    """What was written.

    Attributes
    ----------
    page
        The page.
    n_figures
        Figures, each as SVG and PDF.
    """

    page: Path
    n_figures: int


def write_reproduction(
    reproduction: Reproduction, out: str | Path, *, raw: bool = False
) -> ReproductionFiles:
    """Write a reproduction into a folder; each file appears whole or not at all.

    Parameters
    ----------
    reproduction
        The reproduced paper.
    out
        The folder; files that are there are replaced.
    raw
        Whether texts of CSV stay as they are, those that a spreadsheet takes for formulas included.
    """
    folder = as_path(out)
    name = reproduction.paper.name
    n_figures = 0
    for stem, answer in shown_answers(reproduction):
        if answer.figure is not None:
            n_figures += 1
            for ending in (".svg", ".pdf"):
                answer.figure.save(folder / "figures" / f"{stem}{ending}")
        assert answer.result is not None
        with replacing(folder / "tables" / f"{stem}.csv") as draft:
            write_csv(answer.result.table, draft, raw=raw)
    rows = [[row[column] for column in CLAIM_COLUMNS] for row in reproduction.rows()]
    write_file(folder / f"{name}.csv", csv_text([CLAIM_COLUMNS, *rows], raw=raw))
    write_file(folder / "references.bib", bibtex(works_cited(reproduction)))
    page = folder / f"{name}.html"
    write_file(page, page_of(reproduction))
    return ReproductionFiles(page, n_figures)


def shown_answers(reproduction: Reproduction) -> Iterator[tuple[str, ReproducedAnswer]]:
    """Yield each answer that is shown with the name of its files, such as ``zhu2015-fig-8``."""
    for item in reproduction.items:
        n_shown = 0
        for answer in item.answers:
            if answer.asked.shape == "nothing" or not answer.is_answered:
                continue
            n_shown += 1
            stem = f"{reproduction.paper.name}-{item.item.slug}"
            yield (stem if n_shown == 1 else f"{stem}-{answer.question.name}"), answer
