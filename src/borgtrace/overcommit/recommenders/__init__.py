"""Recommenders: which limit the tasks of a job should have, back-tested on what they used."""

from __future__ import annotations

from borgtrace.overcommit.recommenders.autopilot import Autopilot, AutopilotIntermediate, AutopilotMaximum
from borgtrace.overcommit.recommenders.recommender import (
    KINDS,
    Crane,
    CraneConfigured,
    Katalyst,
    Koordinator,
    Recommender,
    Request,
)
from borgtrace.overcommit.recommenders.samples import JobSamples, job_samples
from borgtrace.overcommit.recommenders.table import RECOMMENDERS, Backtest
from borgtrace.overcommit.recommenders.vpa import Vpa, VpaUpdated

__all__ = [
    "KINDS",
    "RECOMMENDERS",
    "Autopilot",
    "AutopilotIntermediate",
    "AutopilotMaximum",
    "Backtest",
    "Crane",
    "CraneConfigured",
    "JobSamples",
    "Katalyst",
    "Koordinator",
    "Recommender",
    "Request",
    "Vpa",
    "VpaUpdated",
    "job_samples",
]
