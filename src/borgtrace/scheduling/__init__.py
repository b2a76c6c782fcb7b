"""What if: how small a cell would hold the workload, and what another scheduler would have done with the trace."""

from borgtrace.scheduling.busiest import busiest_moment
from borgtrace.scheduling.compact import COMPACT, CompactOptions
from borgtrace.scheduling.empty_machines import EMPTY_MACHINES
from borgtrace.scheduling.hours import SIMULATE_HOURS
from borgtrace.scheduling.policies import (
    POLICIES,
    SCHEDULER_KINDS,
    PlacementPolicy,
    parse_policy,
)
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.schedule_question import SimulateOptions
from borgtrace.scheduling.scheduler import MachineView, Scheduler, TaskView
from borgtrace.scheduling.simulate import SIMULATE

__all__ = [
    "COMPACT",
    "EMPTY_MACHINES",
    "POLICIES",
    "SCHEDULER_KINDS",
    "SIMULATE",
    "SIMULATE_HOURS",
    "CompactOptions",
    "MachineView",
    "PlacementPolicy",
    "Scheduler",
    "ScheduleInput",
    "SimulateOptions",
    "TaskView",
    "busiest_moment",
    "parse_policy",
]
