"""Usage by machine: who used what on which machine in which slot of 300 s, with the limit in force.

A store is sorted by task, so finding what happens on one machine would mean reading all of it.  One pass distributes
usage and limits over buckets of machines, kept beside the store.
"""

from borgtrace.lifecycle.by_machine.limits import PartitionLimits
from borgtrace.lifecycle.by_machine.machine_usage import (
    MachineUsage,
    expected_size,
    machine_usage,
    machine_usage_of_cluster,
)
from borgtrace.lifecycle.by_machine.metrics import METRICS, Metric, default_metric, find_metric
from borgtrace.lifecycle.by_machine.row_files import Rows

__all__ = [
    "METRICS",
    "MachineUsage",
    "Metric",
    "PartitionLimits",
    "Rows",
    "default_metric",
    "expected_size",
    "find_metric",
    "machine_usage",
    "machine_usage_of_cluster",
]
