"""The laboratory: policies or schedulers × parameters × stores × seeds in one table, resumable, and compared."""

from borgtrace.experiments.laboratory import ExperimentResult, experiment, prepare, run_prepared
from borgtrace.experiments.peaks.plan import PeakPlan
from borgtrace.experiments.plan_file import read_plan
from borgtrace.experiments.schedules.plan import SchedulePlan

__all__ = [
    "ExperimentResult",
    "PeakPlan",
    "SchedulePlan",
    "experiment",
    "prepare",
    "read_plan",
    "run_prepared",
]
