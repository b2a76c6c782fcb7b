"""Alibaba's GPU trace of 2023 (openb): nodes and pods of a cluster with shared GPUs, CSV with headers.

Pods name no node, so questions about machines have nothing to go by.  A pod that was Running or Pending when it was
deleted was killed then.  Source: the README of ``cluster-trace-gpu-v2023``.
"""

from datetime import timedelta

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Conversion
from borgtrace.schema.dialects.units import CPU, MEMORY, TIMES

_SECONDS, _MILLI, _MIB = TIMES["s"][0], CPU["millicores"][0], MEMORY["MiB"][0]

NODES = RawTable(
    "openb_node_list",
    "machine_rows",
    (
        RawField("sn", "machine", is_mandatory=True),
        RawField("cpu_milli", "cpu", is_mandatory=True, scale=_MILLI),
        RawField("memory_mib", "memory", is_mandatory=True, scale=_MIB),
        RawField("gpu", "gpus", is_mandatory=True),
        RawField("model", "gpu_model"),
    ),
)
PODS = RawTable(
    "openb_pod_list",
    "task_rows",
    (
        RawField("name", "task", is_mandatory=True),
        RawField("cpu_milli", "cpu_request", is_mandatory=True, scale=_MILLI),
        RawField("memory_mib", "memory_request", is_mandatory=True, scale=_MIB),
        RawField("num_gpu", "gpus", is_mandatory=True),
        RawField("gpu_milli", "gpu_share", is_mandatory=True),
        RawField("gpu_spec", "gpu_model"),
        RawField("qos", ""),
        RawField("pod_phase", "status", is_mandatory=True),
        RawField("creation_time", "submit", is_mandatory=True, scale=_SECONDS),
        RawField("deletion_time", "end", scale=_SECONDS),
        RawField("scheduled_time", "start", scale=_SECONDS),
    ),
)

OPENB = converted_dialect(
    "openb",
    "Alibaba GPU trace 2023",
    (NODES, PODS),
    Conversion(),
    {**STEPS, "Succeeded": "FINISH", "Failed": "FAIL", "Running": "KILL", "Pending": "KILL"},
    absent={"machine_id": "pods name no node"},
    span=timedelta(days=149),
    citations=(
        Citation(
            "Q. Weng, L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang: Beware of Fragmentation: Scheduling "
            "GPU-Sharing Workloads with Fragmentation Gradient Descent. USENIX ATC 2023.",
            "https://www.usenix.org/conference/atc23/presentation/weng",
        ),
    ),
    licence=licences.ALIBABA,
)
