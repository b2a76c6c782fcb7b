"""Questions: an index, and a page per topic with how each is answered, what comes out, and what papers claim."""

from __future__ import annotations

import inspect
import re
from functools import cache

from borgtrace.catalog import questions
from borgtrace.question import Claim, Question
from borgtrace.question.criteria import with_tolerance
from generate import gallery
from generate.text import plain, table

INTRO = """# Questions

`borgtrace analyze STORE NAME` answers a question, `borgtrace report` draws it, and `store.analyze(NAME)` returns its
table, chart and claims [to a program](../jobs/python.md). Claims are printed as *published – measured – verdict*, or
as "not applicable" if the store cannot tell. Times among the parameters may be [amounts](../ranges.md) such as
`1h30m`. [How many parts](../jobs/get-the-data.md#what-the-parts-can-answer) a question needs, `borgtrace fetch
--for NAME --dry-run` tells.
"""


@cache
def topics() -> dict[str, list[Question]]:
    """Return the questions by topic, in the order of the report."""
    found: dict[str, list[Question]] = {}
    for recipe in questions().values():
        found.setdefault(recipe.topic, []).append(recipe)
    return found


def slug(topic: str) -> str:
    """Return the name of a topic's page.

    >>> slug("Utilization, by tier")
    'utilization-by-tier'
    """
    return re.sub(r"\W+", "-", topic.lower()).strip("-")


def address(recipe: Question) -> str:
    """Return where a question stands, from the root of the documentation."""
    return f"questions/{slug(recipe.topic)}.md#{recipe.name}"


def index() -> str:
    """Return the page that lists all questions."""
    blocks = [INTRO.strip()]
    for topic, found in topics().items():
        rows = [
            [f"[{plain(recipe.question)}](../{address(recipe)})", f"`{recipe.name}`"]
            for recipe in found
        ]
        blocks.append(f"## {topic}\n\n{table(['question', 'name'], rows)}")
    return "\n\n".join(blocks) + "\n"


def page(topic: str) -> str:
    """Return the page of a topic."""
    found = topics()[topic]
    contents = "\n".join(f"- [{recipe.question}](#{recipe.name})" for recipe in found)
    return "\n\n".join([f"# {topic}", contents, *(_recipe(recipe) for recipe in found)]) + "\n"


def _recipe(recipe: Question) -> str:
    blocks = [
        f"## {recipe.name} {{ #{recipe.name} }}",
        f"*{plain(recipe.question)}*",
        plain(inspect.cleandoc(recipe.method)),
    ]
    if recipe.reference:
        blocks.append(f"Source: {plain(recipe.reference)}.")
    blocks += gallery.pictures(recipe, "../")
    blocks.append(
        "Reads " + ", ".join(f"`{name}`" for name in recipe.reads) + "." if recipe.reads else ""
    )
    if recipe.parameters:
        rows = [[f"`{name}`", f"`{default!r}`"] for name, default in recipe.parameters.items()]
        blocks.append(table(["parameter", "default"], rows))
    blocks.append(f"Result: one row per {recipe.result.grain}.")
    rows = [[f"`{c.name}`", c.type, c.unit, plain(c.doc)] for c in recipe.result.columns]
    blocks.append(table(["column", "type", "unit", "meaning"], rows))
    if recipe.claims:
        rows = [
            [claim.id, plain(claim.statement), claim.kind, _expected(claim), plain(claim.source)]
            for claim in recipe.claims
        ]
        blocks.append(
            table(["claim", "statement", "kind", "published (tolerance)", "source"], rows)
        )
    return "\n\n".join(block for block in blocks if block)


def _expected(claim: Claim) -> str:
    return with_tolerance(str(claim.published), claim.published.tolerance)
