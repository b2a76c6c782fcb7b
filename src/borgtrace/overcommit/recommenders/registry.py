"""The list of recommenders that users can name, and how a name with its parameters is read."""

from collections.abc import Mapping
from typing import Any

from borgtrace.extensions import Registry
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

OURS: list[type[Recommender]] = [
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
"""All of borgtrace's, in the order of the table."""


def is_recommender(value: Any) -> bool:
    """Whether an object is a class of recommenders."""
    return isinstance(value, type) and issubclass(value, Recommender)


RECOMMENDER_KINDS = Registry[type[Recommender]](
    "recommender",
    "borgtrace.recommenders",
    {kind.name: kind for kind in OURS},
    is_recommender,
    "a class derived from borgtrace.Recommender",
)
"""Classes of recommenders by name, those of others included."""


def recommenders() -> Mapping[str, type[Recommender]]:
    """Return the recommender classes by name: ours in the order of the table, then those of others.

    Examples
    --------
    >>> recommenders()["request"].about
    "the tasks' own requests"
    """
    return RECOMMENDER_KINDS


def parse_recommender(text: str) -> Recommender:
    """Return the recommender that a text such as ``autopilot:margin=0.1`` names.

    Raises
    ------
    UsageError
        For an unknown recommender or parameter, or a value out of range.
    """
    return parse_rule(text, recommenders(), Recommender.option)
