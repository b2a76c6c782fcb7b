"""Checks that the author of an extension can run, the same as our own contract suites.

Each takes one extension, runs it on tiny, empty, incomplete and hostile input, and raises a ContractError that names
everything that is wrong, one sentence each.  ``borgtrace check FILE`` runs them from the command line.
"""

from borgtrace.testing.dialects import check_dialect
from borgtrace.testing.estimators import check_estimator
from borgtrace.testing.forecasters import check_forecaster
from borgtrace.testing.policies import check_policy
from borgtrace.testing.questions import check_question
from borgtrace.testing.recommenders import check_recommender
from borgtrace.testing.schedulers import check_scheduler
from borgtrace.testing.trial import ContractError

__all__ = [
    "ContractError",
    "check_dialect",
    "check_estimator",
    "check_forecaster",
    "check_policy",
    "check_question",
    "check_recommender",
    "check_scheduler",
]
