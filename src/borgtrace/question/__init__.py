"""What one question looks like: tables in, one small checked table out, claims beside it.

A question is a module with a constant ``QUESTION``: the columns of its answer, how it is computed and drawn, and what
is claimed about it.  :mod:`borgtrace.catalog` knows which questions there are.
"""

from borgtrace.question import charts
from borgtrace.question.answer import Answer, Row, Rows
from borgtrace.question.answer import AnswerColumn as Column
from borgtrace.question.claims import Claim, Finding, headline, unjudged
from borgtrace.question.criteria import (
    Criterion,
    above,
    at_least,
    at_most,
    below,
    between,
    equals,
    near,
)
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.measures import Measure, query_answer, sql
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.planned_tables import PlannedTables
from borgtrace.question.provenance import Provenance
from borgtrace.question.question import Question, Result
from borgtrace.question.scope import Scope
from borgtrace.question.shared_tables import SharedTable
from borgtrace.question.store_question import Report, StoreQuestion
from borgtrace.question.subjects import Subjects, with_subjects
from borgtrace.question.tables import Tables

__all__ = [
    "Answer",
    "Claim",
    "Column",
    "Criterion",
    "EngineTables",
    "Finding",
    "Measure",
    "NotApplicable",
    "PlannedTables",
    "Provenance",
    "Question",
    "Report",
    "Result",
    "Row",
    "Rows",
    "Scope",
    "SharedTable",
    "StoreQuestion",
    "Subjects",
    "Tables",
    "above",
    "at_least",
    "at_most",
    "below",
    "between",
    "charts",
    "equals",
    "headline",
    "near",
    "query_answer",
    "sql",
    "unjudged",
    "with_subjects",
]
