"""Columns of the store and the columns of converted rows that may fill them; the first that a format has counts."""

from collections.abc import Mapping

FILLS_OF_WHOLE_LIVES: Mapping[str, tuple[str, ...]] = {
    "start_time": ("task_rows.start", "task_rows.wait", "task_rows.submit"),
    "end_time": ("task_rows.end", "task_rows.run"),
    "collection_id": ("task_rows.task",),
    "instance_index": ("task_rows.instance", "task_rows.nodes"),
    "machine_id": ("task_rows.machine", "task_rows.nodes"),
    "average_cpu": ("task_rows.used_cpu_time",),
    "average_memory": ("task_rows.used_memory",),
    "maximum_memory": ("task_rows.largest_memory",),
}
"""Columns of usage where it is that of whole lives, as logs of jobs have it."""
USE_OF_WHOLE_LIVES = ("used_cpu_time", "used_memory", "largest_memory")
"""Columns of `task_rows` that are use over a whole life."""
FILLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "instance_usage": {
        "start_time": ("usage_rows.time",),
        "end_time": ("usage_rows.end", "usage_rows.length", "usage_rows.time"),
        "collection_id": ("usage_rows.task",),
        "instance_index": ("usage_rows.instance",),
        "machine_id": ("usage_rows.machine",),
        "average_cpu": (
            "usage_rows.average_cpu",
            "usage_rows.instant_cpu",
            "usage_rows.counter_cpu",
        ),
        "sampled_cpu": ("usage_rows.instant_cpu",),
        "maximum_cpu": ("usage_rows.maximum_cpu",),
        "average_memory": ("usage_rows.average_memory", "usage_rows.instant_memory"),
        "maximum_memory": ("usage_rows.maximum_memory",),
        "cycles_per_instruction": ("usage_rows.cycles_per_instruction",),
        "assigned_memory": ("usage_rows.assigned_memory",),
        "sample_rate": ("usage_rows.sample_rate",),
        "cpu_usage_distribution": ("usage_rows.cpu_p0",),
        "tail_cpu_usage_distribution": ("usage_rows.cpu_p91",),
    },
    "instance_events": {
        "time": ("task_rows.submit", "task_rows.start", "task_rows.end"),
        "type": ("task_rows.status",),
        "collection_id": ("task_rows.task",),
        "instance_index": ("task_rows.instance", "task_rows.instance_name", "task_rows.nodes"),
        "machine_id": ("task_rows.machine", "task_rows.nodes"),
        "priority": ("task_rows.priority", "usage_rows.priority"),
        "user": ("task_rows.user", "usage_rows.user", "submission_rows.user"),
        "cpu_request": ("task_rows.cpu_request", "usage_rows.cpu_request", "type_rows.cpu"),
        "memory_request": (
            "task_rows.memory_request",
            "usage_rows.memory_request",
            "type_rows.memory",
        ),
        "gpu_request": ("task_rows.gpu_share", "task_rows.gpus"),
        "cpu_limit": ("task_rows.cpu_limit", "usage_rows.cpu_limit"),
        "memory_limit": ("task_rows.memory_limit", "usage_rows.memory_limit"),
        "end_reason": ("task_rows.end_reason",),
    },
    "collection_events": {
        "time": ("task_rows.submit", "task_rows.start", "task_rows.end"),
        "collection_logical_name": ("task_rows.app", "usage_rows.app", "task_rows.job"),
        "cluster": ("usage_rows.cluster", "task_rows.cluster"),
        "namespace": ("usage_rows.namespace", "task_rows.namespace"),
        "pod": ("usage_rows.pod", "task_rows.pod"),
        "container": ("usage_rows.container", "task_rows.container"),
        "owner_kind": ("task_rows.owner_kind", "usage_rows.owner_kind"),
        "start_after_collection_ids": ("task_rows.job",),
        "priority": ("task_rows.priority", "usage_rows.priority"),
        "user": ("task_rows.user", "usage_rows.user", "submission_rows.user"),
        "collection_id": ("task_rows.task", "usage_rows.task"),
        "collection_name": ("task_rows.task", "usage_rows.task"),
    },
    "instance_constraints": {
        "value": ("task_rows.gpu_model",),
    },
    "machine_events": {
        "time": ("machine_rows.time",),
        "machine_id": ("machine_rows.machine",),
        "platform_id": ("machine_rows.platform",),
        "cpu_capacity": ("machine_rows.cpu",),
        "memory_capacity": ("machine_rows.memory",),
        "gpu_capacity": ("machine_rows.gpus",),
    },
    "machine_attributes": {
        "value": ("machine_rows.gpu_model", "machine_rows.machine"),
    },
}
