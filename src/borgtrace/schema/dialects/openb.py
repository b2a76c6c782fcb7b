"""Alibaba's GPU trace of 2023 (openb): nodes and pods of a cluster with shared GPUs, CSV with headers.

Pods name no node, so questions about machines have nothing to go by. A pod that was Running or Pending when it was
deleted was killed then, unless that is the last instant of the trace.

Source: the README of cluster-trace-gpu-v2023.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import MIB, MILLICORE, SECOND

NODES = RawTable(
    name="openb_node_list",
    table="machine_rows",
    fields=(
        RawField("sn", "machine", is_mandatory=True),
        RawField("cpu_milli", "cpu", is_mandatory=True, scale=MILLICORE),
        RawField("memory_mib", "memory", is_mandatory=True, scale=MIB),
        RawField("gpu", "gpus", is_mandatory=True),
        RawField("model", "gpu_model"),
    ),
)

PODS = RawTable(
    name="openb_pod_list",
    table="task_rows",
    fields=(
        RawField("name", "task", is_mandatory=True),
        RawField("cpu_milli", "cpu_request", is_mandatory=True, scale=MILLICORE),
        RawField("memory_mib", "memory_request", is_mandatory=True, scale=MIB),
        RawField("num_gpu", "gpus", is_mandatory=True),
        RawField("gpu_milli", "gpu_share", is_mandatory=True),
        RawField("gpu_spec", "gpu_model"),
        RawField("qos"),
        RawField("pod_phase", "status", is_mandatory=True),
        RawField("creation_time", "submit", is_mandatory=True, scale=SECOND),
        RawField("deletion_time", "end", scale=SECOND),
        RawField("scheduled_time", "start", scale=SECOND),
    ),
)

DIALECT = Dialect(
    name="openb",
    title="Alibaba GPU trace 2023",
    tables={table.name: table for table in (NODES, PODS)},
    codes={
        "event_type": {
            **EVENTS_FROM_TIMES,
            "Succeeded": "FINISH",
            "Failed": "FAIL",
            "Running": "KILL",
            "Pending": "KILL",
        },
    },
    absent={"machine_id": "pods name no node"},
    conversion=Conversion(is_cut=True),
    span=timedelta(days=149),
    licence="Alibaba's traces are published for research or study; their folders hold no license.",
    citations=(
        Citation(
            "Q. Weng, L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang: Beware of Fragmentation: "
            "Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent. USENIX ATC 2023.",
            "https://www.usenix.org/conference/atc23/presentation/weng",
        ),
    ),
)
