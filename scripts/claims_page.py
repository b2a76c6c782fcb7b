"""Lists every claim: its kind, on which stores it is judged, and what became of it on measured stores.

``scripts/claims_page.py OUT [NAME=claims.csv …]`` writes Markdown.  The files are those of ``analyze --out`` and
``colocate --out``; those in docs/measured by default.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

from borgtrace.catalog import questions
from borgtrace.question.scope_text import scope_words

MEASURED = Path(__file__).parents[1] / "docs" / "measured"


def outcomes(path: Path) -> dict[str, str]:
    """Return what became of each claim: the measured value with the verdict, or why it is not judged."""
    with path.open(newline="") as file:
        return {
            row["id"]: row["reason"]
            or f"{row['measured']}: {row['verdict']}" + (f" ({row['note']})" if row["note"] else "")
            for row in csv.DictReader(file)
        }


def page(stores: dict[str, Path]) -> str:
    """Return the list as Markdown."""
    found = {name: outcomes(path) for name, path in stores.items()}
    claims = [
        (question.name, claim) for question in questions().values() for claim in question.claims
    ]
    kinds = Counter(claim.kind for _, claim in claims)
    lines = [
        f"{len(claims)} claims: {', '.join(f'{n} {kind}' for kind, n in kinds.items())}.",
        "",
        "| claim | question | kind | judged on | " + " | ".join(found) + " |",
        "|---" * (4 + len(found)) + "|",
    ]
    for name, claim in claims:
        said = (each.get(claim.id, "not asked").replace("|", "\\|") for each in found.values())
        lines.append(
            f"| {claim.id} | {name} | {claim.kind} | {scope_words(claim.scope)} | {' | '.join(said)} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    given = dict(argument.split("=", 1) for argument in sys.argv[2:])
    files = {name: Path(path) for name, path in given.items()} or {
        p.stem: p for p in sorted(MEASURED.glob("*.csv"))
    }
    Path(sys.argv[1]).write_text(page(files))
