"""Answers of Prometheus to range queries (/api/v1/query_range), one metric in each file.

CPU time and memory of containers as cAdvisor counts them, and what kube-state-metrics says of requests, of owners of
pods and of nodes. A container is a task of its own, called namespace/pod/container; the owner of its pod is its logical
name. A field's name is the label that it comes from.

Sources: the HTTP API of Prometheus, the metrics of cAdvisor and of kube-state-metrics.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

NODE_CAPACITY = RawTable(
    name="kube_node_status_capacity",
    table="machine_rows",
    fields=(
        RawField("node", "machine", is_mandatory=True),
        RawField("cpu", "cpu"),
        RawField("memory", "memory"),
    ),
)

POD_OWNER = RawTable(
    name="kube_pod_owner",
    table="task_rows",
    fields=(
        RawField("task", "task", is_mandatory=True),
        RawField("owner", "app"),
    ),
)

CONTAINER_REQUESTS = RawTable(
    name="kube_pod_container_resource_requests",
    table="task_rows",
    fields=(
        RawField("task", "task", is_mandatory=True),
        RawField("node", "machine"),
        RawField("cpu", "cpu_request"),
        RawField("memory", "memory_request"),
    ),
)

CONTAINER_CPU = RawTable(
    name="container_cpu_usage_seconds_total",
    table="usage_rows",
    fields=(
        RawField("task", "task", is_mandatory=True),
        RawField("node", "machine"),
        RawField("time", "time", is_mandatory=True, scale=SECOND),
        RawField("value", "counter_cpu", is_mandatory=True),
    ),
)

CONTAINER_MEMORY = RawTable(
    name="container_memory_working_set_bytes",
    table="usage_rows",
    fields=(
        RawField("task", "task", is_mandatory=True),
        RawField("node", "machine"),
        RawField("time", "time", is_mandatory=True, scale=SECOND),
        RawField("value", "instant_memory", is_mandatory=True),
    ),
)

_METRICS = (
    NODE_CAPACITY,
    POD_OWNER,
    CONTAINER_REQUESTS,
    CONTAINER_CPU,
    CONTAINER_MEMORY,
)

DIALECT = Dialect(
    name="prometheus",
    title="Answers of Prometheus",
    tables={metric.name: metric for metric in _METRICS},
    formats=("prometheus",),
    conversion=Conversion(clock="epoch", is_scattered=True),
)
