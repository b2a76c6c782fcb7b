"""Policies: how much may be promised on a machine, from what was seen of its tasks."""

from borgtrace.overcommit.policies.distributions import ConvolutionPolicy, SaddlepointPolicy
from borgtrace.overcommit.policies.forecast import Forecast
from borgtrace.overcommit.policies.gaussian import GpaPolicy, OnlineGpa
from borgtrace.overcommit.policies.kubernetes import RATIOS, NodePolicy
from borgtrace.overcommit.policies.machines import NSigma
from borgtrace.overcommit.policies.policy import HistoryPolicy, Limit, PeakPolicy, Prediction
from borgtrace.overcommit.policies.registry import POLICY_KINDS, parse_policy, policies
from borgtrace.overcommit.policies.tasks import Reservation, TaskPercentile

__all__ = [
    "POLICY_KINDS",
    "RATIOS",
    "ConvolutionPolicy",
    "Forecast",
    "GpaPolicy",
    "HistoryPolicy",
    "Limit",
    "NSigma",
    "NodePolicy",
    "OnlineGpa",
    "PeakPolicy",
    "Prediction",
    "Reservation",
    "SaddlepointPolicy",
    "TaskPercentile",
    "parse_policy",
    "policies",
]
