"""Recipes: every question, how it is answered, what comes out, and what papers claim."""

from __future__ import annotations

import inspect

from borgtrace.recipe import Claim, Question, recipes
from borgtrace.recipe.criteria import with_tolerance
from generate.text import plain, table

INTRO = """# Questions

`borgtrace analyze STORE NAME` answers a question, `borgtrace report` draws it, and
`borgtrace.recipe.find_recipe(NAME).run(store)` returns its table to a program. Claims are printed as *published –
measured – verdict*, or as "not applicable" if the store cannot tell. Times among the parameters may be
[amounts](../ranges.md) such as `1h30m`.
"""


def page() -> str:
    """Return the page."""
    found = recipes()
    contents = "\n".join(f"- [{recipe.question}](#{name}) `{name}`" for name, recipe in found.items())
    return "\n\n".join([INTRO.strip(), contents, *(_recipe(recipe) for recipe in found.values())]) + "\n"


def _recipe(recipe: Question) -> str:
    blocks = [
        f"## {recipe.name} {{ #{recipe.name} }}",
        f"*{plain(recipe.question)}*",
        plain(inspect.cleandoc(recipe.method)),
    ]
    if recipe.reference:
        blocks.append(f"Source: {plain(recipe.reference)}.")
    blocks.append("Reads " + ", ".join(f"`{name}`" for name in recipe.reads) + "." if recipe.reads else "")
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
        blocks.append(table(["claim", "statement", "kind", "published (tolerance)", "source"], rows))
    return "\n\n".join(block for block in blocks if block)


def _expected(claim: Claim) -> str:
    return with_tolerance(str(claim.published), claim.published.tolerance)
