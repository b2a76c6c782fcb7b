"""Experiments about the total usage of several tasks."""

HEADING = "Colocation: sums of tasks"

QUESTIONS = [
    "sum_examples",
    "sum_normality",
    "percentile_error",
]
