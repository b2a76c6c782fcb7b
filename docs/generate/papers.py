"""What the papers say, claim by claim, and which recipe measures it."""

from __future__ import annotations

from borgtrace.recipe import recipes
from generate.text import plain, table

INTRO = """# What the papers say and what we measure

Every published statement that a recipe can judge, with the number its authors print. Run
`borgtrace analyze STORE --out DIR` and read `DIR/claims.csv`, or open the report: each line then carries the number
measured on *your* store and the verdict. A claim about a month cannot be judged on an hour: it then says "not
applicable", and why.

Synthetic stores are marked as such wherever their numbers appear; they are calibrated to published figures, so a
claim that holds on one shows that the tool measures what it should, not that the world is so.
"""


def page() -> str:
    """Return the page."""
    rows = [
        [
            claim.id,
            plain(claim.statement),
            str(claim.published),
            f"[{name}](reference/recipes.md#{name})",
            plain(claim.source),
        ]
        for name, recipe in recipes().items()
        for claim in recipe.claims
    ]
    rows.sort(key=lambda row: row[0])
    count = f"{len(rows)} claims, measured by {len({row[3] for row in rows})} recipes.\n"
    return "\n".join(
        [INTRO, count, table(["claim", "statement", "published", "measured by", "source"], rows)]
    )
