"""Answers of Prometheus to range queries (``/api/v1/query_range``), one metric in each file.

CPU time and memory of containers as cAdvisor counts them, what kube-state-metrics says of requests and owners of pods
and of nodes.  A container is a task of its own, called namespace/pod/container; the owner of its pod is its logical
name.  Sources: the HTTP API of Prometheus, the metrics of cAdvisor and of kube-state-metrics.
"""

from __future__ import annotations

from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Conversion
from borgtrace.schema.dialects.units import TIMES

_TIME = RawField("time", "time", is_mandatory=True, scale=TIMES["s"][0])
_TASK = RawField("task", "task", is_mandatory=True)
_NODE = RawField("node", "machine")


def _amounts(**columns: str) -> tuple[RawField, ...]:
    """List a field for the value of each resource, as the label of that name has it."""
    return tuple(RawField(resource, column) for resource, column in columns.items())


TABLES = (
    RawTable(
        "kube_node_status_capacity",
        "machine_rows",
        (RawField("node", "machine", is_mandatory=True), *_amounts(cpu="cpu", memory="memory")),
    ),
    RawTable("kube_pod_owner", "task_rows", (_TASK, RawField("owner", "app"))),
    RawTable(
        "kube_pod_container_resource_requests",
        "task_rows",
        (_TASK, _NODE, *_amounts(cpu="cpu_request", memory="memory_request")),
    ),
    RawTable(
        "container_cpu_usage_seconds_total",
        "usage_rows",
        (_TASK, _NODE, _TIME, RawField("value", "counter_cpu", is_mandatory=True)),
    ),
    RawTable(
        "container_memory_working_set_bytes",
        "usage_rows",
        (_TASK, _NODE, _TIME, RawField("value", "instant_memory", is_mandatory=True)),
    ),
)

PROMETHEUS = converted_dialect(
    "prometheus",
    "Answers of Prometheus",
    TABLES,
    Conversion(clock="epoch", is_scattered=True),
    STEPS,
    formats=("prometheus",),
)
