"""Which task fits on which machine: estimators (fit tests), packers, packings and the state of machines."""

from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.multi_resource import MultiResource
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import ESTIMATOR_KINDS, estimators, parse_estimator
from borgtrace.placement.estimators.sizes import Average, Percentile, Request
from borgtrace.placement.fitting import Fitted, fit, require_capacity
from borgtrace.placement.packers import BEST_FIT, FIRST_FIT, Packer, packers, parse_packer
from borgtrace.placement.packing import (
    CAPACITY_RTOL,
    Packing,
    pack,
    pack_fitted,
    predicted_overflow,
    rebalanced,
)

__all__ = [
    "BEST_FIT",
    "CAPACITY_RTOL",
    "ESTIMATOR_KINDS",
    "FIRST_FIT",
    "Average",
    "Convolution",
    "CovarianceGpa",
    "Estimator",
    "Fitted",
    "Gpa",
    "MultiResource",
    "Observation",
    "Packer",
    "Packing",
    "Percentile",
    "Request",
    "estimators",
    "fit",
    "pack",
    "pack_fitted",
    "packers",
    "parse_estimator",
    "parse_packer",
    "predicted_overflow",
    "rebalanced",
    "require_capacity",
]
