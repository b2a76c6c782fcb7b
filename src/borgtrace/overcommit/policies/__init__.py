"""Policies: what may be promised on a machine, from what was seen of its tasks."""

from borgtrace.overcommit.policies.distributions import Convolution, Saddlepoint
from borgtrace.overcommit.policies.forecast import Forecast
from borgtrace.overcommit.policies.gaussian import Gpa, OnlineGpa
from borgtrace.overcommit.policies.kubernetes import NodePolicy
from borgtrace.overcommit.policies.machines import NSigma
from borgtrace.overcommit.policies.policy import KINDS, Limit, Policy, Prediction, parse_policy
from borgtrace.overcommit.policies.tasks import Reservation, TaskPercentile

__all__ = [
    "KINDS",
    "Convolution",
    "Forecast",
    "Gpa",
    "Limit",
    "NSigma",
    "NodePolicy",
    "OnlineGpa",
    "Policy",
]
__all__ += [
    "Prediction",
    "Reservation",
    "Saddlepoint",
    "TaskPercentile",
    "parse_policy",
]
