"""Series of Prometheus: what cAdvisor measures of containers, and what kube-state-metrics says of pods and nodes.

A container is a task of its own, called namespace/pod/container; the workload that owns its pod, such as a Deployment,
is its logical name. A field's
name is the label that it comes from; ``value`` is the value of a sample.

Sources: the HTTP API of Prometheus, the metrics of cAdvisor and of kube-state-metrics.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

OF_RESOURCE = "cpu", "memory"
"""Values of the label ``resource`` that are read."""
OWNER_LABELS = (
    "label_app_kubernetes_io_name",
    "label_app",
    "label_k8s_app",
)
"""Labels of pods that name an application, the usual one first."""


_PLACE = tuple(RawField(label, label) for label in ("cluster", "namespace", "pod", "container"))
"""Labels that say where in a cluster a container is; collectors give them other names, too."""


def _machine_field() -> RawField:
    return RawField("node", "machine")


def _task_field() -> RawField:
    return RawField("task", "task", is_mandatory=True)


def _usage(name: str, column: str) -> RawTable:
    """Declare a metric whose samples are measurements of containers."""
    return RawTable(
        name=name,
        table="usage_rows",
        fields=(
            _task_field(),
            _machine_field(),
            *_PLACE,
            RawField("time", "time", is_mandatory=True, scale=SECOND),
            RawField("value", column, is_mandatory=True),
        ),
    )


def _of_nodes(name: str) -> RawTable:
    """Declare a metric of the resources of nodes, which its label ``resource`` names."""
    return RawTable(
        name=name,
        table="machine_rows",
        fields=(
            RawField("node", "machine", is_mandatory=True),
            RawField("cpu", "cpu"),
            RawField("memory", "memory"),
        ),
    )


def _of_node(name: str, column: str) -> RawTable:
    """Declare an older metric of one resource of nodes."""
    return RawTable(
        name=name,
        table="machine_rows",
        fields=(
            RawField("node", "machine", is_mandatory=True),
            RawField("value", column),
        ),
    )


def _of_container(name: str, *fields: RawField) -> RawTable:
    """Declare a metric that says something of containers or pods."""
    return RawTable(name=name, table="task_rows", fields=(_task_field(), *fields))


_OWNER = RawField("owner", "app"), RawField("owner_kind", "owner_kind")

NODE_CAPACITY = _of_nodes("kube_node_status_capacity")
NODE_ALLOCATABLE = _of_nodes("kube_node_status_allocatable")
CONTAINER_REQUESTS = _of_container(
    "kube_pod_container_resource_requests",
    _machine_field(),
    RawField("cpu", "cpu_request"),
    RawField("memory", "memory_request"),
)
CONTAINER_LIMITS = _of_container(
    "kube_pod_container_resource_limits",
    _machine_field(),
    RawField("cpu", "cpu_limit"),
    RawField("memory", "memory_limit"),
)
POD_OWNER = _of_container("kube_pod_owner", *_OWNER)
REPLICASET_OWNER = _of_container("kube_replicaset_owner", *_OWNER)
JOB_OWNER = _of_container("kube_job_owner", *_OWNER)
OWNERS_OF_OWNERS = {
    REPLICASET_OWNER.name: ("ReplicaSet", "replicaset"),
    JOB_OWNER.name: ("Job", "job_name"),
}
"""Metrics that say what owns the owner of a pod: the kind of that owner, and the label that names it."""
POD_LABELS = _of_container("kube_pod_labels", RawField("label", "app"))
TERMINATED = _of_container(
    "kube_pod_container_status_last_terminated_reason",
    RawField("reason", "status"),
)
RESTARTS = _of_container(
    "kube_pod_container_status_restarts_total",
    RawField("value", "n_restarts"),
)
CONTAINER_CPU = _usage("container_cpu_usage_seconds_total", "counter_cpu")
CONTAINER_MEMORY = _usage("container_memory_working_set_bytes", "instant_memory")
_OF_CONTAINERS = "node_namespace_pod_container"
CPU_RULES = tuple(
    _usage(f"{_OF_CONTAINERS}:container_cpu_usage_seconds_total:{ending}", "instant_cpu")
    for ending in ("sum_rate5m", "sum_irate", "sum_rate")
)
"""Recordings of the CPU of containers by kube-prometheus: rates in cores, over up to five minutes before a sample."""
MEMORY_RULE = _usage(f"{_OF_CONTAINERS}:container_memory_working_set_bytes", "average_memory")
"""Recording of their memory; it is of a moment, but is told from the metric itself by its column."""
USAGE_METRICS = tuple(
    metric.name for metric in (CONTAINER_CPU, *CPU_RULES, CONTAINER_MEMORY, MEMORY_RULE)
)
"""Metrics of usage: of those of one resource that a container has, the first alone is read."""
POD_OWNER_RULE = _of_container("namespace_workload_pod:kube_pod_owner:relabel", *_OWNER)
KINDS_OF_WORKLOADS = {
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "job": "Job",
    "cronjob": "CronJob",
    # These own themselves.
    "pod": "",
    "barepod": "",
    "staticpod": "",
}
"""What that rule calls the kinds of workloads."""
_BOUND_RULES = tuple(
    _of_container(
        f"cluster:namespace:pod_{resource}:active:kube_pod_container_resource_{bound}s",
        _machine_field(),
        RawField("value", f"{resource}_{bound}"),
    )
    for bound in ("request", "limit")
    for resource in ("cpu", "memory")
)

_METRICS = (
    NODE_CAPACITY,
    NODE_ALLOCATABLE,
    _of_node("kube_node_status_capacity_cpu_cores", "cpu"),
    _of_node("kube_node_status_capacity_memory_bytes", "memory"),
    _of_node("kube_node_status_allocatable_cpu_cores", "cpu"),
    _of_node("kube_node_status_allocatable_memory_bytes", "memory"),
    POD_OWNER,
    REPLICASET_OWNER,
    JOB_OWNER,
    POD_LABELS,
    CONTAINER_REQUESTS,
    CONTAINER_LIMITS,
    _of_container(
        "kube_pod_container_resource_requests_cpu_cores",
        _machine_field(),
        RawField("value", "cpu_request"),
    ),
    _of_container(
        "kube_pod_container_resource_requests_memory_bytes",
        _machine_field(),
        RawField("value", "memory_request"),
    ),
    _of_container(
        "kube_pod_container_resource_limits_cpu_cores",
        _machine_field(),
        RawField("value", "cpu_limit"),
    ),
    _of_container(
        "kube_pod_container_resource_limits_memory_bytes",
        _machine_field(),
        RawField("value", "memory_limit"),
    ),
    TERMINATED,
    RESTARTS,
    POD_OWNER_RULE,
    *_BOUND_RULES,
    CONTAINER_CPU,
    CONTAINER_MEMORY,
    *CPU_RULES,
    MEMORY_RULE,
)

DIALECT = Dialect(
    name="prometheus",
    title="Series of Prometheus",
    tables={metric.name: metric for metric in _METRICS},
    formats=("prometheus",),
    codes={
        "event_type": {
            "OOMKilled": "FAIL",
            "Error": "FAIL",
            "ContainerCannotRun": "FAIL",
            "StartError": "FAIL",
            "Completed": "FINISH",
            "DeadlineExceeded": "KILL",
            "Evicted": "EVICT",
            **EVENTS_FROM_TIMES,
        }
    },
    conversion=Conversion(clock="epoch", is_scattered=True),
)
