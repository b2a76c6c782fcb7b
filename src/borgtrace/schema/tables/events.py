"""What happened to collections (jobs, alloc sets) and to their instances (tasks)."""

from __future__ import annotations

from borgtrace.schema.tables.columns import (
    FLAG,
    IMPLICIT_JOB,
    NO_ALLOCS,
    NOT_IN_2011,
    NOT_IN_2019,
    PROVENANCE,
    column,
    key,
)
from borgtrace.schema.types import Absent, Column, Table

_IN_TASK_EVENTS = Absent("2011 publishes it per task, in instance_events")


def _state(raw_2011: str, missing: int, event: int, raw_2019: str) -> tuple[Column, ...]:
    """What every event of a collection or an instance says first."""
    return (
        column("type", "enum", "enum", "What happened, a step of the life cycle.",
               f"{raw_2011}.{event}", f"{raw_2019}.type", nullable=False, enum="event_type"),
        column("missing_type", "enum", "enum", "Why the event was made up, NULL when nothing is missing.",
               f"{raw_2011}.{missing}", f"{raw_2019}.missing_type", enum="missing_type"),
        column("collection_type", "enum", "enum", "JOB or ALLOC_SET.",
               IMPLICIT_JOB, f"{raw_2019}.collection_type", nullable=False, enum="collection_type"),
        column("scheduling_class", "int32", "class",
               "How latency-sensitive it is, 0 (least) to 3 (most).",
               "job_events.6" if raw_2011 == "job_events" else "task_events.8",
               f"{raw_2019}.scheduling_class"),
        column("priority", "int32", "rank", "Priority: 0 to 11 in 2011, raw 0 to 450 in 2019.",
               Absent("2011 publishes it per task, in instance_events")
               if raw_2011 == "job_events" else "task_events.9",
               f"{raw_2019}.priority"),
    )  # fmt: skip


COLLECTION_EVENTS = Table(
    "collection_events",
    "event of a collection",
    ("collection_id", "time", "source_part", "source_row"),
    (
        key("collection_id", "int64", "id", "The collection: a job or an alloc set.",
            "job_events.3", "collection_events.collection_id"),
        key("time", "int64", "us", "When it happened, on the trace's clock.",
            "job_events.1", "collection_events.time"),
        *_state("job_events", 2, 4, "collection_events"),
        column("user", "string", "id", "Who submitted it (hash).",
               "job_events.5", "collection_events.user"),
        column("collection_name", "string", "id", "Name of the collection (hash).",
               "job_events.7", "collection_events.collection_name"),
        column("collection_logical_name", "string", "id",
               "Name without its run-specific parts (hash); runs of one program share it.",
               "job_events.8", "collection_events.collection_logical_name"),
        column("alloc_collection_id", "int64", "id", "Alloc set that the job runs in.",
               NO_ALLOCS, "collection_events.alloc_collection_id"),
        column("parent_collection_id", "int64", "id", "Collection whose end also ends this one.",
               NOT_IN_2011, "collection_events.parent_collection_id"),
        column("start_after_collection_ids", "list<int64>", "id",
               "Collections that must finish before this one starts.",
               NOT_IN_2011, "collection_events.start_after_collection_ids"),
        column("max_per_machine", "int32", "1", "Most instances allowed on one machine.",
               NOT_IN_2011, "collection_events.max_per_machine"),
        column("max_per_switch", "int32", "1", "Most instances allowed under one switch.",
               NOT_IN_2011, "collection_events.max_per_switch"),
        column("vertical_scaling", "enum", "enum", "Whether Autopilot may change the requests.",
               NOT_IN_2011, "collection_events.vertical_scaling", enum="vertical_scaling"),
        column("scheduler", "enum", "enum", "Which scheduler handles it.",
               NOT_IN_2011, "collection_events.scheduler", enum="scheduler"),
        *PROVENANCE,
    ),
)  # fmt: skip

INSTANCE_EVENTS = Table(
    "instance_events",
    "event of an instance",
    ("collection_id", "instance_index", "time", "source_part", "source_row"),
    (
        key("collection_id", "int64", "id", "The collection the instance belongs to.",
            "task_events.3", "instance_events.collection_id"),
        key("instance_index", "int32", "id", "Position of the instance in its collection, from 0.",
            "task_events.4", "instance_events.instance_index"),
        key("time", "int64", "us", "When it happened, on the trace's clock.",
            "task_events.1", "instance_events.time"),
        *_state("task_events", 2, 6, "instance_events"),
        column("user", "string", "id", "Who submitted it (hash).",
               "task_events.7", Absent("2019 publishes it per collection, in collection_events")),
        column("machine_id", "int64", "id", "Machine the instance is on.",
               "task_events.5", "instance_events.machine_id"),
        key("is_on_dedicated_machine", "bool", "1",
            "Whether the machine is a dedicated one, which has no id.", FLAG, FLAG),
        column("alloc_collection_id", "int64", "id", "Alloc set that the instance runs in.",
               NO_ALLOCS, "instance_events.alloc_collection_id"),
        column("alloc_instance_index", "int32", "id", "Alloc instance that the instance runs in.",
               NO_ALLOCS, "instance_events.alloc_instance_index"),
        column("cpu_request", "float32", "fraction", "CPU asked for, as a fraction of the largest machine.",
               "task_events.10", "instance_events.resource_request.cpus"),
        column("memory_request", "float32", "fraction",
               "Memory asked for, as a fraction of the largest machine.",
               "task_events.11", "instance_events.resource_request.memory"),
        column("disk_request", "float32", "fraction",
               "Local disk space asked for, as a fraction of the largest machine.",
               "task_events.12", NOT_IN_2019),
        column("needs_different_machine", "bool", "1",
               "Whether it must run on another machine than all other tasks of its job.",
               "task_events.13", NOT_IN_2019),
        *PROVENANCE,
    ),
)  # fmt: skip

INSTANCE_CONSTRAINTS = Table(
    "instance_constraints",
    "constraint of an event",
    ("collection_id", "instance_index", "time", "name", "source_part", "source_row", "position"),
    (
        key("collection_id", "int64", "id", "The collection the instance belongs to.",
            "task_constraints.2", "instance_events.collection_id"),
        key("instance_index", "int32", "id", "Position of the instance in its collection, from 0.",
            "task_constraints.3", "instance_events.instance_index"),
        key("time", "int64", "us", "When the event that carries the constraint happened.",
            "task_constraints.1", "instance_events.time"),
        key("name", "string", "id", "Name of the machine attribute (hash).",
            "task_constraints.5", "instance_events.constraint.name"),
        column("relation", "enum", "enum", "How attribute and value are compared.",
               "task_constraints.4", "instance_events.constraint.relation",
               nullable=False, enum="relation"),
        column("value", "string", "1", "Value to compare with; empty text is a value of its own.",
               "task_constraints.6", "instance_events.constraint.value"),
        key("position", "int32", "id", "Place, from 0, in the event's list of constraints.",
            Absent("one constraint a row: always 0"), Absent("given at ingest")),
        *PROVENANCE,
    ),
)  # fmt: skip

__all__ = ["COLLECTION_EVENTS", "INSTANCE_CONSTRAINTS", "INSTANCE_EVENTS", "NOT_IN_2019"]
