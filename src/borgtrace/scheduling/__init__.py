"""What if: how small a cell would hold the workload, and what another scheduler would have done with the trace."""

from borgtrace.scheduling.compact import COMPACT
from borgtrace.scheduling.hours import SIMULATE_HOURS
from borgtrace.scheduling.policies import POLICIES, Policy, parse_policy
from borgtrace.scheduling.simulate import SIMULATE

__all__ = ["COMPACT", "POLICIES", "Policy", "SIMULATE", "SIMULATE_HOURS", "parse_policy"]
