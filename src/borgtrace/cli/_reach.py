"""What ``borgtrace fetch --for`` says: which tables questions read, and what a number of parts can answer."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from borgtrace.fetch import Plan, RemoteFile
from borgtrace.question import Question
from borgtrace.question.reach import reaches
from borgtrace.question.scope import duration
from borgtrace.schema import TRACE_TABLES


def reach_of(questions: Sequence[Question], plan: Plan) -> list[dict[str, Any]]:
    """Return a row per number of parts: parts, span in µs, bytes, claims in reach and claims that there are.

    Claims that are about other traces are left out: no number of parts has them in reach.
    """
    published = {file.table: plan.bucket.n_parts(file.table) for file in plan.files}
    numbers = sorted({file.part for file in plan.files if not _is_about_machines(file, plan)})
    every = sum(
        claim.scope.is_about(plan.bucket.dialect) for one in questions for claim in one.claims
    )
    return [
        {
            "parts": found.parts,
            "span": found.span,
            "bytes": _size(plan, set(numbers[: found.parts])),
            "claims_in_reach": found.claims,
            "claims": every,
        }
        for found in reaches(questions, plan.bucket.dialect, published, len(numbers) or 1)
    ]


def _size(plan: Plan, parts: set[int]) -> int:
    wanted = (file for file in plan.files if file.part in parts or _is_about_machines(file, plan))
    return sum(file.version.size or 0 for file in wanted)


def _is_about_machines(file: RemoteFile, plan: Plan) -> bool:
    return TRACE_TABLES[plan.bucket.dialect.tables[file.table].table].is_about_machines


def print_reach(questions: Sequence[Question], plan: Plan) -> None:
    """Print what a number of parts of a plan can answer."""
    names = ", ".join(question.name for question in questions)
    grid = Table("parts", box=None, header_style="bold")
    for heading in ("time", "to fetch", "claims in reach"):
        grid.add_column(heading, justify="right")
    for row in reach_of(questions, plan):
        claims = f"{row['claims_in_reach']} of {row['claims']}"
        grid.add_row(f"{row['parts']:,}", duration(row["span"]), decimal(row["bytes"]), claims)
    out = Console(highlight=False, markup=False)
    out.print(f"{names}: reads {', '.join(dict.fromkeys(file.table for file in plan.files))}")
    out.print(grid)
    out.print()
