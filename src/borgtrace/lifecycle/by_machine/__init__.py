"""Usage by machine: who used what on which machine in which slot of 300 s, with the limit in force.

A store is sorted by task; what happens on a machine would be found by reading all of it.  One pass deals usage and
limits into buckets of machines, kept beside the store.
"""

from borgtrace.lifecycle.by_machine.layout import MachineUsage, Rows, expected_size, machine_usage
from borgtrace.lifecycle.by_machine.metrics import METRICS, Metric, default_metric, find_metric

__all__ = [
    "METRICS",
    "MachineUsage",
    "Metric",
    "Rows",
    "default_metric",
    "expected_size",
    "find_metric",
]
__all__ += ["machine_usage"]
