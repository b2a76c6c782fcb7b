"""What if: how small a cell would hold the workload, and what another scheduler would have done with the trace."""

from borgtrace.scheduling.busiest import busiest_moment
from borgtrace.scheduling.compact import COMPACT, CompactOptions
from borgtrace.scheduling.hours import SIMULATE_HOURS
from borgtrace.scheduling.policies import POLICIES, PlacementPolicy, parse_policy
from borgtrace.scheduling.schedule_question import SimulateOptions
from borgtrace.scheduling.simulate import SIMULATE

__all__ = [
    "COMPACT",
    "POLICIES",
    "SIMULATE",
    "SIMULATE_HOURS",
    "CompactOptions",
    "PlacementPolicy",
    "SimulateOptions",
    "busiest_moment",
    "parse_policy",
]
