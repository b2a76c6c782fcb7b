"""What a number of parts of a published trace can answer, before any of them is fetched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from borgtrace.question.question import Question
from borgtrace.schema import TRACE_TABLES, Dialect
from borgtrace.store.coverage import Coverage, StoreCoverage

_NUMBERS_OF_PARTS = (1, 10, 100)
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
    names: list[str] = []
    for question in questions:
        if not question.reads:
            return ()
        names += question.reads
        for claim in question.claims:
            names += claim.scope.tables
    # The table of tasks is made at ingest; questions that need usage for it name usage too.
    return tuple(dict.fromkeys("instance_events" if name == "tasks" else name for name in names))


def reaches(
    questions: Sequence[Question],
    dialect: Dialect,
    published: Mapping[str, int | None],
    most: int,
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
    steps: list[Reach] = []
    for parts in range(1, most + 1):
        store = _store_of(dialect, published, parts)
        claims = _claims_in_reach(questions, store)
        if parts in (*_NUMBERS_OF_PARTS, most) or claims > steps[-1].claims:
            spans = [table.span for table in store.tables.values() if table.rows]
            steps.append(Reach(parts, min(spans, default=0), claims))
    return steps


def _claims_in_reach(questions: Sequence[Question], store: StoreCoverage) -> int:
    in_reach = 0
    for question in questions:
        for claim in question.claims:
            if not claim.scope.objection(store, question.reads or TRACE_TABLES):
                in_reach += 1
    return in_reach


def _store_of(dialect: Dialect, published: Mapping[str, int | None], parts: int) -> StoreCoverage:
    """Return the coverage of a store of the first parts of some raw tables."""
    whole_span = dialect.span // timedelta(microseconds=1)
    tables = dict.fromkeys(TRACE_TABLES, Coverage(0))
    for name, n_published in published.items():
        raw = dialect.tables[name]
        if TRACE_TABLES[raw.table].is_about_machines:
            taken = n_published or parts
            total: int | None = taken
        else:
            taken = min(parts, n_published or parts)
            total = n_published
        is_cut_by_time = bool(n_published) and dialect.shards == "time"
        span = whole_span * taken // n_published if is_cut_by_time and n_published else whole_span
        for table in (raw, *raw.lists):
            tables[table.table] = Coverage(1, tuple(range(taken)), total, span)
    return StoreCoverage(dialect, tables, None)
