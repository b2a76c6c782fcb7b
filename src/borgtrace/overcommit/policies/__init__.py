"""Policies: what may be promised on a machine, from what was seen of its tasks."""

from borgtrace.overcommit.policies.distributions import Convolution, Saddlepoint
from borgtrace.overcommit.policies.forecast import Forecast
from borgtrace.overcommit.policies.gaussian import Gpa, OnlineGpa
from borgtrace.overcommit.policies.kubernetes import NodePolicy
from borgtrace.overcommit.policies.limits import Limit
from borgtrace.overcommit.policies.machines import NSigma
from borgtrace.overcommit.policies.parsing import parse_policy
from borgtrace.overcommit.policies.policy import KINDS, Policy, Prediction
from borgtrace.overcommit.policies.reserved import Reservation
from borgtrace.overcommit.policies.tasks import TaskPercentile

__all__ = ["KINDS", "Convolution", "Forecast", "Gpa", "Limit", "NSigma", "NodePolicy", "OnlineGpa", "Policy"]
__all__ += ["Prediction", "Reservation", "Saddlepoint", "TaskPercentile", "parse_policy"]
