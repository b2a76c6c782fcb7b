"""``borgtrace reproduce``: a paper's tables and figures on a store, published beside measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_papers, complete_styles
from borgtrace.cli.options import JsonOption, MemoryOption, RawOption
from borgtrace.errors import UsageError

if TYPE_CHECKING:
    from borgtrace.reproduction import Reproduction
    from borgtrace.reproduction.files import ReproductionFiles


PaperArgument = Annotated[
    str,
    Argument(
        metavar="PAPER",
        help="A paper, such as zhu2015; --list has all.",
        autocompletion=complete_papers,
    ),
]
ReproducedStoreArgument = Annotated[
    Path | None,
    Argument(
        metavar="STORE",
        help="The store; none with --list; of fgd2023 also a folder with its files.",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    Option(
        "--only",
        metavar="ITEM",
        help="A table or figure, such as fig-8; repeatable; all by default.",
    ),
]
ReproductionFolderOption = Annotated[
    Path,
    Option(
        "--out",
        metavar="DIR",
        help="Folder or URL for PAPER.html, PAPER.csv, figures, tables and references.bib.",
    ),
]
StyleOption = Annotated[
    str,
    Option(
        "--style",
        metavar="STYLE",
        help="Width of the figures: acm-column (3.33 inches) or acm-page (7).",
        autocompletion=complete_styles,
    ),
]
PaperScaleOption = Annotated[
    bool,
    Option(
        "--paper-scale",
        help="Let experiments draw as many samples as the paper; takes minutes.",
    ),
]
ListPapersOption = Annotated[
    bool, Option("--list", help="List the papers, or the tables and figures of one, and stop.")
]

SHOWN_REASONS = 3
"""Why claims are not judged; the page has all reasons, each beside its claim."""


@command(on_interrupt="nothing was written")
def reproduce(
    paper: PaperArgument = "",
    store: ReproducedStoreArgument = None,
    only: OnlyOption = None,
    out: ReproductionFolderOption = Path("reproduced"),
    style: StyleOption = "acm-column",
    paper_scale: PaperScaleOption = False,
    memory: MemoryOption = "4GB",
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListPapersOption = False,
) -> None:
    """Redraw a paper's tables and figures on a store.

    What the paper published stands beside what the store has, with the reason where that cannot be judged, or a figure
    cannot be drawn. The page needs no network; figures are SVG and PDF at the width of a column.

    Example: borgtrace reproduce zhu2015 cell-2011 --only fig-8
    """
    from borgtrace.cli.console import steps, talk
    from borgtrace.cli.printing import print_json
    from borgtrace.cli.reproduction_text import print_outcomes
    from borgtrace.reproduction import ReproductionOptions, find_paper
    from borgtrace.reproduction import reproduce as reproduce_paper
    from borgtrace.reproduction.files import write_reproduction

    if list_names:
        print_papers_or_items(paper)
        return
    if store is None:
        raise without_store(paper)
    chosen = find_paper(paper)
    # Before the store is opened: a wrong name costs no time.
    chosen.chosen(only or ())
    options = ReproductionOptions(tuple(only or ()), style, paper_scale)
    opened = chosen.opens(store, memory)
    with steps() as report:
        reproduction = reproduce_paper(chosen, opened, options, report)
    files = write_reproduction(reproduction, out, raw=raw)
    for name, error in reproduction.errors.items():
        talk.print(f"{name}: {error}")
    if as_json:
        print_json({"page": str(files.page), "rows": reproduction.rows()}, indent=1)
    else:
        print_outcomes(reproduction, raw=raw)
        print_files(reproduction, files, out)
    # The page is written, but not everything was answered: the first refusal is the exit code.
    for error in reproduction.errors.values():
        raise error


def print_papers_or_items(paper: str) -> None:
    """Print the tables and figures of a paper, or the papers where none is named."""
    from borgtrace.cli.reproduction_text import print_items, print_papers
    from borgtrace.reproduction import find_paper

    if paper:
        print_items(find_paper(paper))
    else:
        print_papers()


def without_store(paper: str) -> UsageError:
    """Return the error of a command that names no store, and maybe no paper."""
    return UsageError(
        "STORE" if paper else "PAPER",
        "no store named" if paper else "no paper named",
        way_out="borgtrace reproduce PAPER STORE, or borgtrace reproduce --list",
    )


def print_files(reproduction: Reproduction, files: ReproductionFiles, out: Path) -> None:
    """Print how much was reproduced, and where the page and the figures are."""
    from borgtrace.cli.answers import print_reasons
    from borgtrace.cli.console import counted, print_prose, talk

    print_reasons(reproduction.findings, n_reasons=SHOWN_REASONS)
    print_prose(reproduction.summary)
    figures = counted(files.n_figures, "figure")
    talk.print(f"Page: {files.page}; {figures} in {out / 'figures'}")
