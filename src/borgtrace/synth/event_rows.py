"""Events as rows of the canonical tables, before a dialect spells them."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

from borgtrace.synth.event_log import CollectionEvent, InstanceEvent, TraceSegment
from borgtrace.synth.machines import AttributeEvent, MachineEvent, Machines, hashed
from borgtrace.synth.number_text import ten_bits

Row = dict[str, Any]
"""Values by canonical column; NULL where a column is absent."""
RELATIONS = ("EQUAL", "NOT_EQUAL", "LESS_THAN", "GREATER_THAN")
"""Relations that constraints of synthetic jobs use, by their numbers in :mod:`~borgtrace.synth.workload`."""
_CONSTRAINED = ("SUBMIT", "UPDATE_PENDING", "UPDATE_RUNNING")
"""Events that list the constraints; on each of several events of one instant they would be doubled."""

# A user or a machine comes thousands of times; hashing and rounding it again would cost most of an event.
_hash = lru_cache(maxsize=100_000)(hashed)
_resource = lru_cache(maxsize=100_000)(lambda value: float(ten_bits(value)))


def event_rows(segment: TraceSegment, machines: Machines) -> dict[str, Iterable[Row]]:
    """Return the rows of a segment by canonical table; constraints both inside of events and by themselves."""
    return {
        "machine_events": (machine_row(event, machines) for event in segment.machines),
        "machine_attributes": (attribute_row(event, machines) for event in segment.attributes),
        "collection_events": map(collection_row, segment.collections),
        "instance_events": (instance_row(event, machines) for event in segment.instances),
        "instance_constraints": chain.from_iterable(map(submitted_constraints, segment.instances)),
    }


def machine_row(event: MachineEvent, machines: Machines) -> Row:
    """Return the row of a machine event; a machine of unknown capacity has an unknown platform, too."""
    i = event.machine
    row: Row = {
        "time": event.time,
        "machine_id": int(machines.ids[i]),
        "type": event.type,
        "switch_id": _hash("switch", int(machines.switch[i])),
        # All 32 such rows of the real trace name one platform that no machine of known capacity has.
        "platform_id": _hash("platform", "unknown" if event.is_unknown else machines.platform[i]),
    }
    if not event.is_unknown:
        row |= {
            "cpu_capacity": _resource(machines.cpu[i]),
            "memory_capacity": _resource(machines.memory[i]),
        }
    return row


def attribute_row(event: AttributeEvent, machines: Machines) -> Row:
    """Return the row of a change of an attribute."""
    return {
        "time": event.time,
        "machine_id": int(machines.ids[event.machine]),
        "name": event.name,
        "value": event.value,
        "is_deleted": event.value is None,
    }


def collection_row(event: CollectionEvent) -> Row:
    """Return the row of an event of a job or an alloc set."""
    job = event.job
    return _event_row(event, job) | {
        "collection_name": _hash("job", job.name, job.number % 5),
        "collection_logical_name": _hash("logical", job.name),
        "parent_collection_id": job.parent.id if job.parent else None,
        "start_after_collection_ids": [job.after.id] if job.after else None,
        "max_per_machine": 1 if job.different else None,
        "vertical_scaling": job.scaling,
        "scheduler": "BATCH" if job.is_batch else "DEFAULT",
    }


def instance_row(event: InstanceEvent, machines: Machines) -> Row:
    """Return the row of an event of a task; under ``constraints`` the rows of its constraints."""
    task, job = event.task, event.task.job
    row = _event_row(event, job) | {
        "instance_index": task.index,
        "machine_id": int(machines.ids[event.machine]) if event.machine >= 0 else None,
        "alloc_instance_index": task.index if job.host else None,
    }
    if event.has_request:
        row |= {
            # An update may scale a request; more than the largest machine nobody can ask for.
            "cpu_request": _resource(min(job.cpu * event.scale, 1.0)),
            "memory_request": _resource(min(job.memory * event.scale, 1.0)),
            "disk_request": _resource(job.disk),
            "needs_different_machine": job.different,
        }
    if job.constraints and event.type in _CONSTRAINED:
        row["constraints"] = constraint_rows(event)
    return row


def constraint_rows(event: InstanceEvent) -> list[Row]:
    """Return the rows of the constraints of a task."""
    task = event.task
    return [
        {
            "time": event.time,
            "collection_id": task.job.id,
            "instance_index": task.index,
            "name": _hash("attribute", attribute),
            "value": str(value),
            "relation": RELATIONS[operator],
        }
        for attribute, operator, value in task.job.constraints
    ]


def submitted_constraints(event: InstanceEvent) -> list[Row]:
    """Return the rows of constraints that a table of their own has: once per submission with requests."""
    return constraint_rows(event) if event.type == "SUBMIT" and event.has_request else []


def _event_row(event: CollectionEvent | InstanceEvent, job: Any) -> Row:
    """Return what events of jobs and of tasks share."""
    return {
        "time": event.time,
        "type": event.type,
        "collection_id": job.id,
        "scheduling_class": job.scheduling_class,
        "missing_type": event.missing,
        "collection_type": "ALLOC_SET" if job.is_alloc_set else "JOB",
        "priority": job.priority,
        "alloc_collection_id": job.host.id if job.host else None,
        "user": _hash("user", job.user),
    }
