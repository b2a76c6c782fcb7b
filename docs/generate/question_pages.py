"""Questions: an index, and a page per topic with how each is answered, what comes out, and what papers claim."""

from __future__ import annotations

import inspect
import re
from functools import cache

from borgtrace.catalog import headings, questions
from borgtrace.question import Claim, Question
from borgtrace.question.criteria import with_tolerance
from generate import gallery
from generate.text import plain, table

INTRO = """# Questions

`borgtrace analyze STORE NAME` answers a question, `borgtrace report` draws the answer, and `store.ask(NAME)` returns
table, chart and claims [to a program](../jobs/python.md). Claims are printed as *published – measured – verdict*, or
as "not applicable" if the store lacks what they need. Parameters that are times may be [amounts](../ranges.md) such
as `1h30m`. `borgtrace fetch 2011 DEST --for NAME --dry-run` says [how many
parts](../jobs/get-the-data.md#what-the-parts-can-answer) a question needs.
"""


@cache
def topics() -> dict[str, list[Question]]:
    """Return the questions by topic, in the order of the report."""
    by_heading: dict[str, list[Question]] = {}
    for name, question in questions().items():
        by_heading.setdefault(headings()[name], []).append(question)
    return by_heading


def slug(topic: str) -> str:
    """Return the name of a topic's page.

    >>> slug("Utilization, by tier")
    'utilization-by-tier'
    """
    return re.sub(r"\W+", "-", topic.lower()).strip("-")


def address(question: Question) -> str:
    """Return where a question stands, from the root of the documentation."""
    return f"questions/{slug(headings()[question.name])}.md#{question.name}"


def index() -> str:
    """Return the page that lists all questions."""
    blocks = [INTRO.strip()]
    for topic, of_topic in topics().items():
        rows = [
            [f"[{plain(question.title)}](../{address(question)})", f"`{question.name}`"]
            for question in of_topic
        ]
        blocks.append(f"## {topic}\n\n{table(['question', 'name'], rows)}")
    return "\n\n".join(blocks) + "\n"


def page(topic: str) -> str:
    """Return the page of a topic."""
    of_topic = topics()[topic]
    contents = "\n".join(f"- [{question.title}](#{question.name})" for question in of_topic)
    return (
        "\n\n".join([f"# {topic}", contents, *(_section(question) for question in of_topic)]) + "\n"
    )


def _section(question: Question) -> str:
    blocks = [
        f"## {question.name} {{ #{question.name} }}",
        f"*{plain(question.title)}*",
        plain(inspect.cleandoc(question.method)),
    ]
    if question.reference:
        blocks.append(f"Source: {plain(question.reference)}.")
    blocks += gallery.pictures(question, "../")
    blocks.append(
        "Reads " + ", ".join(f"`{name}`" for name in question.reads) + "." if question.reads else ""
    )
    if question.parameters:
        rows = [[f"`{name}`", f"`{default!r}`"] for name, default in question.parameters.items()]
        blocks.append(table(["parameter", "default"], rows))
    blocks.append(f"Result: one row per {question.answer.grain}.")
    rows = [[f"`{c.name}`", c.type, c.unit, plain(c.doc)] for c in question.schema.columns]
    blocks.append(table(["column", "type", "unit", "meaning"], rows))
    if question.claims:
        rows = [
            [claim.id, plain(claim.statement), claim.kind, _expected(claim), plain(claim.source)]
            for claim in question.claims
        ]
        blocks.append(
            table(["claim", "statement", "kind", "published (tolerance)", "source"], rows)
        )
    return "\n\n".join(block for block in blocks if block)


def _expected(claim: Claim) -> str:
    return with_tolerance(str(claim.criterion), claim.criterion.tolerance)
