"""``borgtrace report``: every answer about a store on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    NamesArgument,
    StoreArgument,
)
from borgtrace.schema.bounds import CHART_WIDTH

if TYPE_CHECKING:
    from borgtrace.report import Summary


ReportPageArgument = Annotated[Path, Argument(metavar="OUT.html", help="The page to write.")]
ThemeOption = Annotated[
    Literal["auto", "paper"],
    Option("--theme", help="Colors of the reader's screen, or light ones."),
]
WidthOption = Annotated[
    int | None,
    CHART_WIDTH,
    Option(
        "--width",
        metavar="PX",
        help="Width of the charts, px; that of the page by default.",
    ),
]


@command()
def report(
    store: StoreArgument,
    out: ReportPageArgument,
    names: NamesArgument = None,
    sources: FromOption = None,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    theme: ThemeOption = "auto",
    width: WidthOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one self-contained page with all answers.

    It begins with how full the cell is, what waits, and what packing would save; each question with its chart and
    claims opens in place. With --from, those of your own code stand last. The page needs no network. The same store
    and version give the same page, byte for byte: answers are kept in STORE/cache, and written again in seconds.

    Example: borgtrace report cell-2011 report.html
    """
    import borgtrace
    from borgtrace.catalog import QUESTION_KINDS
    from borgtrace.cli.console import steps
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.report import write
    from borgtrace.report.answering import answering_beside

    names_in_own_code(sources, QUESTION_KINDS)
    opened = borgtrace.open(store, memory=memory)
    # Before the bar, which has a thread of its own.
    aside = answering_beside(opened, names or (), engine=engine, memory=memory)
    with aside as beside, steps() as progress:
        summary = write(
            opened,
            out,
            names or (),
            engine=engine,
            memory=memory,
            theme=theme,
            width=width,
            progress=progress,
            beside=beside,
        )
    print_summary(summary, as_json=as_json)
    # The page is written, but the command has not answered everything: the first refusal is its exit code.
    for error in summary.refused.values():
        raise error


def print_summary(summary: Summary, *, as_json: bool) -> None:
    """Print where the page is, how much it holds, and which questions were refused."""
    from borgtrace.cli.console import counted, talk
    from borgtrace.cli.printing import print_json

    for name, error in summary.refused.items():
        talk.print(f"{name}: {error}")
    size = f"{summary.size / 1e6:.1f} MB"
    questions = counted(summary.n_questions, "question")
    kept = f"; {counted(summary.n_kept, 'answer')} kept from before" if summary.n_kept else ""
    talk.print(f"{questions}, {counted(summary.n_charts, 'chart')}, {size}{kept}")
    if as_json:
        print_json(
            {
                "path": str(summary.path),
                "questions": summary.n_questions,
                "charts": summary.n_charts,
                "kept": summary.n_kept,
                "bytes": summary.size,
                "refused": {name: str(error) for name, error in summary.refused.items()},
            }
        )
    else:
        print(summary.path)
