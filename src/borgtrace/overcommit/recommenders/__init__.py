"""Recommenders: which limit the tasks of a job should have, back-tested on what they used."""

from borgtrace.overcommit.recommenders.argmin import AutopilotArgmin
from borgtrace.overcommit.recommenders.autopilot import Autopilot
from borgtrace.overcommit.recommenders.horizontal import Hpa
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.registry import (
    RECOMMENDER_KINDS,
    parse_recommender,
    recommenders,
)
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.overcommit.recommenders.table import RECOMMENDERS
from borgtrace.overcommit.recommenders.vpa import Vpa

__all__ = [
    "RECOMMENDERS",
    "RECOMMENDER_KINDS",
    "Autopilot",
    "AutopilotArgmin",
    "Hpa",
    "JobSamples",
    "Recommender",
    "Vpa",
    "parse_recommender",
    "recommenders",
]
