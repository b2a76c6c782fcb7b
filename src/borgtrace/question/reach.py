"""What a number of parts of a published trace can answer, known before any of them is fetched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from borgtrace.question.question import Question
from borgtrace.schema import TRACE_TABLES, Dialect
from borgtrace.store.coverage import Coverage, StoreCoverage

_STEPS = (1, 10, 100)
"""Numbers of parts that people ask about."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What so many parts reach.

    Attributes
    ----------
    parts
        Parts of each table; those about machines are always whole.
    span
        Time that the parts cover, in µs.
    claims
        Claims of the questions whose scope such a store meets; fewer may be judged, where it has too few tasks or
        nothing to measure.
    """

    parts: int
    span: int
    claims: int


def tables_read(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return the tables of a trace that questions read and their claims name; none where one reads them all.

    Parameters
    ----------
    questions
        The questions.

    Examples
    --------
    >>> from borgtrace.catalog import find
    >>> tables_read([find("task_totals"), find("machine_shapes")])
    ('instance_events', 'machine_events')
    """
    if not all(question.reads for question in questions):
        return ()
    named = [
        name
        for q in questions
        for tables in (q.reads, *(c.scope.tables for c in q.claims))
        for name in tables
    ]
    # The table of tasks is made at ingest; questions that need usage for it name usage too.
    return tuple(dict.fromkeys("instance_events" if name == "tasks" else name for name in named))


def reaches(
    questions: Sequence[Question], dialect: Dialect, published: Mapping[str, int | None], most: int
) -> list[Reach]:
    """Return what 1, 10, 100 and `most` parts reach, and each number at which a further claim is in reach.

    Parameters
    ----------
    questions
        What is asked.
    dialect
        Format of the trace.
    published
        Number of parts of each raw table; None where nobody knows.
    most
        Largest number of parts to look at.
    """
    found: list[Reach] = []
    for n in range(1, most + 1):
        held = _held(dialect, published, n)
        claims = sum(
            not c.scope.objection(held, one.reads or TRACE_TABLES)
            for one in questions
            for c in one.claims
        )
        if n in (*_STEPS, most) or claims > found[-1].claims:
            found.append(
                Reach(
                    n,
                    min((table.span for table in held.tables.values() if table.rows), default=0),
                    claims,
                )
            )
    return found


def _held(dialect: Dialect, published: Mapping[str, int | None], n: int) -> StoreCoverage:
    """Return the coverage of a store of the first n parts of some raw tables."""
    whole = dialect.span // timedelta(microseconds=1)
    tables = dict.fromkeys(TRACE_TABLES, Coverage(0))
    for name, of in published.items():
        raw = dialect.tables[name]
        is_about_machines = TRACE_TABLES[raw.table].is_about_machines
        taken = (of or n) if is_about_machines else min(n, of or n)
        span = whole * taken // of if of and dialect.shards == "time" else whole
        for one in (raw, *raw.lists):
            tables[one.table] = Coverage(
                1, tuple(range(taken)), taken if is_about_machines else of, span
            )
    return StoreCoverage(dialect, tables, None)
