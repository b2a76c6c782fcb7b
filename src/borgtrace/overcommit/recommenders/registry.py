"""The list of recommenders that users can name, and how a name with its parameters is read."""

from borgtrace.overcommit.recommenders.argmin import AutopilotArgmin
from borgtrace.overcommit.recommenders.autopilot import (
    Autopilot,
    AutopilotIntermediate,
    AutopilotMaximum,
)
from borgtrace.overcommit.recommenders.histograms import (
    Crane,
    CraneConfigured,
    Katalyst,
    Koordinator,
)
from borgtrace.overcommit.recommenders.horizontal import Hpa
from borgtrace.overcommit.recommenders.recommender import OwnRequest, Recommender
from borgtrace.overcommit.recommenders.vpa import Vpa, VpaUpdated
from borgtrace.overcommit.rule import parse_rule

ALL_RECOMMENDERS: list[type[Recommender]] = [
    OwnRequest,
    Koordinator,
    Katalyst,
    Crane,
    CraneConfigured,
    AutopilotArgmin,
    Autopilot,
    AutopilotMaximum,
    AutopilotIntermediate,
    Hpa,
    Vpa,
    VpaUpdated,
]
"""All recommenders, in the order of the table."""


def recommenders() -> dict[str, type[Recommender]]:
    """Return the recommender classes by name, in the order of the table.

    Examples
    --------
    >>> recommenders()["request"].about
    "the tasks' own requests"
    """
    return {kind.name: kind for kind in ALL_RECOMMENDERS}


def parse_recommender(text: str) -> Recommender:
    """Return the recommender that a text such as ``autopilot:margin=0.1`` names.

    Raises
    ------
    UsageError
        For an unknown recommender or parameter, or a value out of range.
    """
    return parse_rule(text, recommenders(), Recommender.option)
