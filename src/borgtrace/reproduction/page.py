"""A reproduced paper as one self-contained page."""

from __future__ import annotations

import shlex
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from borgtrace.notation import integer
from borgtrace.question import Finding, unjudged
from borgtrace.report.drawable import drawable_text
from borgtrace.report.holdings import span_of_store, trace_name
from borgtrace.report.page_picture import PHONE, WIDE, page_picture
from borgtrace.report.paper.bibtex import bibtex
from borgtrace.report.paper.picture import note_of
from borgtrace.report.values import ShownTable, environment, shown_table
from borgtrace.reproduction.references import works_cited
from borgtrace.reproduction.reproduction import ReproducedAnswer, ReproducedItem, Reproduction
from borgtrace.version import __version__

if TYPE_CHECKING:
    import jinja2

COMMANDS = {
    "overcommit": "overcommit",
    "compaction": "compact",
    "gpu_scheduling": "simulate gpus",
}
"""Of questions that `borgtrace analyze` does not ask."""


def page_of(reproduction: Reproduction) -> str:
    """Return the page, which needs no network."""
    works = works_cited(reproduction)
    page = _template().render(
        reproduction=reproduction,
        paper=reproduction.paper,
        manifest=reproduction.manifest,
        trace=trace_name(reproduction.manifest),
        span=span_of_store(reproduction.manifest),
        store=reproduction.store_name,
        picture=picture_of,
        table=table_of,
        commands=commands_of,
        measured=measured,
        without_verdict=without_verdict,
        amount=amount,
        works=works,
        bibtex=bibtex(works),
        version=__version__,
    )
    # A NUL is lost on the way to what a browser shows, and a lone surrogate cannot be written to a file.
    return drawable_text(page)


def picture_of(answer: ReproducedAnswer) -> Markup:
    """Return the figure of an answer as a picture with a text in its place; nothing where there is none."""
    chart = answer.drawn.plot() if answer.drawn is not None else None
    if answer.drawn is None or chart is None:
        return Markup("")
    width = WIDE if answer.asked.is_wide else PHONE
    return page_picture(chart, answer.question.title, width=width, note=note_of(answer.drawn))


def table_of(answer: ReproducedAnswer) -> ShownTable | None:
    """Return the first rows of an answer that is shown as a table, or cannot be drawn."""
    if answer.asked.shape == "nothing" or answer.figure is not None or not answer.is_answered:
        return None
    assert answer.result is not None
    return shown_table(answer.result.table, answer.question.schema, has_codes=True)


def commands_of(reproduced: ReproducedItem, store: str) -> list[str]:
    """Return the commands that answer the questions of an item, each once."""
    commands = [command_of(answer, store) for answer in reproduced.answers]
    return list(dict.fromkeys(commands))


def command_of(answer: ReproducedAnswer, store: str) -> str:
    """Return the command that answers the question alone."""
    command = COMMANDS.get(answer.question.name)
    words = ["borgtrace", *(command or "analyze").split(), store]
    if command is None:
        words.append(answer.question.name)
    for name in ("policies", "what_ifs"):
        option = "--policy" if name == "policies" else "--what-if"
        for value in answer.asked.parameters.get(name, ()):
            words += [option, value]
    return shlex.join(words)


def measured(findings: list[Finding]) -> list[Finding]:
    """Return the claims with a measured value."""
    return [finding for finding in findings if finding.is_measured]


def without_verdict(findings: list[Finding]) -> list[str]:
    """Return why claims have no verdict: each reason once, with those of which it is said where these are not all.

    Parameters
    ----------
    findings
        The claims of an item.
    """
    by_reason = unjudged(findings)
    sentences = []
    for outcome, claims in by_reason.items():
        sentence = f"{outcome[0].upper()}{outcome[1:]}"
        if len(claims) == len(findings) and all(claim.is_measured for claim in claims):
            sentences.append(f"{sentence}.")
            continue
        statements = [claim_text(claim) for claim in claims]
        sentences.append(f"{sentence}: {'; '.join(statements)}.")
    return sentences


def claim_text(claim: Finding) -> str:
    """Write a claim: what was measured stands in the table, with what was published."""
    if claim.is_measured:
        return claim.statement
    return f"{claim.statement} (published: {amount(claim.expected)})"


def amount(text: str) -> str:
    """Write a count as the page writes all of them.

    Examples
    --------
    >>> amount("25424731"), amount("0.4423"), amount("2 of 18,217,975")
    ('25,424,731', '0.4423', '2 of 18,217,975')
    """
    return integer(int(text)) if text.isdecimal() else text


@cache
def _template() -> jinja2.Template:
    template: jinja2.Template = environment("borgtrace.reproduction").get_template(
        "reproduction.html.j2"
    )
    return template
