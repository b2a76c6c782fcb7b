"""Estimators: fit tests for tasks that share a machine, one small class in one file each.

To add one, write a subclass of :class:`Estimator` with a name in a new module here; the
contract suite, the experiments and the command line find it by itself.
"""

from __future__ import annotations

from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.multi_resource import MultiResource
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import estimators, parse_estimator
from borgtrace.placement.estimators.sizes import Average, Percentile, Request
from borgtrace.placement.estimators.two_targets import TwoTargets

__all__ = [
    "Average",
    "Convolution",
    "CovarianceGpa",
    "Estimator",
    "Gpa",
    "MultiResource",
    "Observation",
    "Percentile",
    "Request",
    "TwoTargets",
    "estimators",
    "parse_estimator",
]
