"""Which task fits on which machine: estimators (fit tests), packers, packings and the state of machines."""

from __future__ import annotations

from borgtrace.placement.estimators import Estimator, Observation, estimators, parse_estimator
from borgtrace.placement.packers import BEST_FIT, FIRST_FIT, Packer, packers, parse_packer
from borgtrace.placement.packing import (
    CAPACITY_RTOL,
    Fitted,
    Packing,
    fit,
    pack,
    pack_fitted,
    predicted_overflow,
    rebalanced,
)

__all__ = [
    "BEST_FIT",
    "CAPACITY_RTOL",
    "FIRST_FIT",
    "Estimator",
    "Fitted",
    "Observation",
    "Packer",
    "Packing",
    "estimators",
    "fit",
    "pack",
    "pack_fitted",
    "packers",
    "parse_estimator",
    "parse_packer",
    "predicted_overflow",
    "rebalanced",
]
