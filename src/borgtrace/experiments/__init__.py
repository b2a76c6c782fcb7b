"""The laboratory: policies × parameters × stores × seeds in one table, resumable, and compared at the same risk."""

from borgtrace.experiments.laboratory import ExperimentResult, experiment, run_prepared
from borgtrace.experiments.plan import ExperimentPlan
from borgtrace.experiments.plan_file import read_plan
from borgtrace.experiments.running import prepare

__all__ = [
    "ExperimentPlan",
    "ExperimentResult",
    "experiment",
    "prepare",
    "read_plan",
    "run_prepared",
]
