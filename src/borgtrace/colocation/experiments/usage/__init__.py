"""Experiments about the usage of single tasks."""

HEADING = "Colocation: usage in single seconds"

QUESTIONS = [
    "colocation_preparation",
    "relative_difference",
    "usage_deviation",
    "deviation_regression",
    "usage_stationarity",
    "usage_changes",
    "usage_shapes",
]
