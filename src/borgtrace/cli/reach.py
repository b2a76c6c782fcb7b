"""What ``borgtrace fetch --for`` prints: which tables questions read, and which claims some parts can judge."""

from collections.abc import Sequence
from typing import Any

from rich.filesize import decimal
from rich.table import Table

from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.fetch import FetchPlan, RemoteFile
from borgtrace.question import Question
from borgtrace.question.reach import reaches
from borgtrace.question.scope import duration
from borgtrace.schema import TRACE_TABLES


def reach_of(questions: Sequence[Question], plan: FetchPlan) -> list[dict[str, Any]]:
    """Return a row per number of parts: parts, span in µs, bytes, claims in reach and claims that there are.

    Claims that are about other traces are left out: no number of parts has them in reach.
    """
    dialect = plan.bucket.dialect
    published_parts = {file.table: plan.bucket.n_parts(file.table) for file in plan.files}
    numbers = sorted({file.part for file in plan.files if not is_about_machines(file, plan)})
    claims = [claim for question in questions for claim in question.claims]
    n_claims = sum(claim.scope.is_about(dialect) for claim in claims)
    rows = []
    for reach in reaches(questions, dialect, published_parts, len(numbers) or 1):
        rows.append(
            {
                "parts": reach.parts,
                "span": reach.span,
                "bytes": size_of_parts(plan, set(numbers[: reach.parts])),
                "claims_in_reach": reach.claims,
                "claims": n_claims,
            }
        )
    return rows


def size_of_parts(plan: FetchPlan, parts: set[int]) -> int:
    """Return the bytes of some parts; tables about machines come whole."""
    size = 0
    for file in plan.files:
        if file.part in parts or is_about_machines(file, plan):
            size += file.version.size or 0
    return size


def is_about_machines(file: RemoteFile, plan: FetchPlan) -> bool:
    """Return whether a file belongs to a table about machines."""
    return TRACE_TABLES[plan.bucket.dialect.tables[file.table].table].is_about_machines


def print_reach(questions: Sequence[Question], plan: FetchPlan) -> None:
    """Print what a number of parts of a plan can answer."""
    names = ", ".join(question.name for question in questions)
    grid = Table("parts", box=None, header_style="bold")
    for heading in ("time", "to fetch", "claims in reach"):
        grid.add_column(heading, justify="right")
    for row in reach_of(questions, plan):
        claims = f"{row['claims_in_reach']} of {row['claims']}"
        grid.add_row(f"{row['parts']:,}", duration(row["span"]), decimal(row["bytes"]), claims)
    out = HarmlessConsole()
    tables = ", ".join(dict.fromkeys(file.table for file in plan.files))
    out.print(f"{names}: reads {tables}")
    out.print(grid)
    out.print()
