"""What one question looks like: tables in, one small checked table out, claims beside it.

A recipe is a module of one of the question packages with a constant ``RECIPE``; the module's docstring
is the question.  Nothing here knows which recipes there are: :func:`recipes` finds them.
"""

from borgtrace.question.claims import Claim, Claims, Finding, from_source, headline, unjudged
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
from borgtrace.question.definition import Recipe, Row
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.planned_tables import PlannedTables
from borgtrace.question.question import Question, with_subjects
from borgtrace.question.registry import find_recipe, recipes
from borgtrace.question.result import Provenance, Result
from borgtrace.question.scope import Scope
from borgtrace.question.tables import Tables

__all__ = [
    "Claim",
    "Claims",
    "Criterion",
    "EngineTables",
    "Finding",
    "NotApplicable",
    "PlannedTables",
    "Provenance",
]
__all__ += ["Question", "Recipe", "Result", "Row", "Scope", "Tables"]
__all__ += [
    "above",
    "at_least",
    "at_most",
    "below",
    "between",
    "equals",
    "find_recipe",
    "from_source",
]
__all__ += ["headline", "near", "recipes", "unjudged", "with_subjects"]
