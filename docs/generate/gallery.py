"""The gallery: every chart of the demo's cell and of the real parts, with the three lines that drew it."""

from __future__ import annotations

from pathlib import Path

from borgtrace.catalog import headings, questions
from borgtrace.question import Question
from generate.text import plain

CHARTS = Path(__file__).parent.parent / "assets" / "charts"
STORES = {
    "synthetic": "the synthetic cell of the demo (100 machines, 24 h, seed 1)",
    "real-parts": "real parts of the 2011 trace",
}
"""Folders of :data:`CHARTS`, as ``make measured`` writes them, and what each was drawn from."""

INTRO = """# Gallery

This page has every chart that borgtrace draws from two stores: the **synthetic** cell of `borgtrace demo` (100
machines, 24 h, seed 1), which is calibrated to published figures, and **real parts** of Google's trace of 2011: all
machine events, the first 100 parts of job events (139 h) and the first 9 of task events (12.6 h). Questions about
usage have no picture of these parts, because they hold only one window of usage.

The three lines below each picture draw it from your own store. `borgtrace report STORE report.html` draws all of them
on one page, where you can download each with its data. Click a picture for the question that it answers.
"""


def page() -> str:
    """Return the page."""
    blocks, topic = [INTRO.strip()], ""
    for question in questions().values():
        drawn = pictures(question, "", links=True)
        if not drawn:
            continue
        if headings()[question.name] != topic:
            topic = headings()[question.name]
            blocks.append(f"## {topic}")
        blocks += [
            f"### {plain(question.title)} {{ #{question.name} }}",
            *drawn,
            f"```python\n{lines(question.name)}\n```",
        ]
    return "\n\n".join(blocks) + "\n"


def lines(name: str) -> str:
    """Return the three lines that draw the chart of a question."""
    return f'import borgtrace\n\nanswer = borgtrace.open("store").ask("{name}")\nanswer.plot().save("{name}.svg")'


def pictures(question: Question, root: str, *, links: bool = False) -> list[str]:
    """Return a question's charts as Markdown blocks, one per store that it was drawn from.

    Parameters
    ----------
    question
        The question.
    root
        The way from the page to the root of the documentation.
    links
        Whether a picture leads to the question's own place.
    """
    from generate.question_pages import address

    blocks = []
    for store, words in STORES.items():
        path = CHARTS / store / f"{question.name}.svg"
        if not path.exists():
            continue
        alt = f"Chart of {question.name} on {words}"
        image = f"![{alt}]({root}assets/charts/{store}/{path.name}){{ loading=lazy .chart }}"
        blocks.append(
            (f"[{image}]({root}{address(question)})" if links else image)
            + f"\n\n*Drawn from {words}.*"
        )
    return blocks
