"""Policies: what may be promised on a machine, from what was seen of its tasks."""

from __future__ import annotations

from borgtrace.overcommit.policies.gaussian import Gpa
from borgtrace.overcommit.policies.kubernetes import KatalystRealtime, KoordinatorBatch, KoordinatorProd, NodePolicy
from borgtrace.overcommit.policies.limits import BorgDefault, Limit
from borgtrace.overcommit.policies.machines import MachinePercentile, NSigma
from borgtrace.overcommit.policies.parsing import parse_policy
from borgtrace.overcommit.policies.policy import KINDS, Policy, Prediction
from borgtrace.overcommit.policies.several import Maximum
from borgtrace.overcommit.policies.tasks import Average, Highest, TaskPercentile

__all__ = [
    "KINDS",
    "Average",
    "BorgDefault",
    "Gpa",
    "Highest",
    "KatalystRealtime",
    "KoordinatorBatch",
    "KoordinatorProd",
    "Limit",
    "MachinePercentile",
    "Maximum",
    "NSigma",
    "NodePolicy",
    "Policy",
    "Prediction",
    "TaskPercentile",
    "parse_policy",
]
