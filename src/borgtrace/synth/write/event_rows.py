"""Events as rows of the canonical tables, before a dialect spells them."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

from borgtrace.synth.measure.number_text import ten_bits
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.machines import AttributeEvent, CellMachines, MachineEvent, hashed
from borgtrace.synth.simulate.event_log import CollectionEvent, InstanceEvent, TraceSegment

Row = dict[str, Any]
"""Values by canonical column; NULL where a column is absent."""
_EVENTS_WITH_CONSTRAINTS = ("SUBMIT", "UPDATE_PENDING", "UPDATE_RUNNING")
"""Events that list the constraints; on each of several events of one instant they would be doubled."""

# A user or a machine occurs thousands of times; hashing and rounding it again would cost most of an event.
_hash = lru_cache(maxsize=100_000)(hashed)
_resource = lru_cache(maxsize=100_000)(lambda value: float(ten_bits(value)))


def event_rows(
    segment: TraceSegment,
    machines: CellMachines,
) -> dict[str, Iterable[Row]]:
    """Return the rows of a segment by canonical table; constraints both inside of events and by themselves."""
    return {
        "machine_events": (machine_row(event, machines) for event in segment.machines),
        "machine_attributes": (attribute_row(event, machines) for event in segment.attributes),
        "collection_events": map(collection_row, segment.collections),
        "instance_events": (instance_row(event, machines) for event in segment.instances),
        "instance_constraints": chain.from_iterable(map(submitted_constraints, segment.instances)),
    }


def machine_row(event: MachineEvent, machines: CellMachines) -> Row:
    """Return the row of a machine event; a machine of unknown capacity has an unknown platform, too."""
    number = event.machine
    # All 32 such rows of the real trace name one platform that no machine of known capacity has.
    platform = "unknown" if event.is_unknown else machines.platform[number]
    row: Row = {
        "time": event.time,
        "machine_id": int(machines.ids[number]),
        "type": event.type,
        "switch_id": _hash("switch", int(machines.switch[number])),
        "platform_id": _hash("platform", platform),
    }
    if not event.is_unknown:
        row["cpu_capacity"] = _resource(machines.cpu[number])
        row["memory_capacity"] = _resource(machines.memory[number])
    return row


def attribute_row(event: AttributeEvent, machines: CellMachines) -> Row:
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


def instance_row(event: InstanceEvent, machines: CellMachines) -> Row:
    """Return the row of an event of a task; under ``constraints`` the rows of its constraints."""
    task = event.task
    job = task.job
    row = _event_row(event, job)
    row["instance_index"] = task.index
    row["machine_id"] = None
    if event.machine >= 0:
        row["machine_id"] = int(machines.ids[event.machine])
    row["alloc_instance_index"] = task.index if job.host else None
    if event.has_request:
        # An update may scale a request, but not beyond the largest machine.
        row["cpu_request"] = _resource(min(job.cpu * event.scale, 1.0))
        row["memory_request"] = _resource(min(job.memory * event.scale, 1.0))
        row["disk_request"] = _resource(job.disk)
        row["needs_different_machine"] = job.different
    if job.constraints and event.type in _EVENTS_WITH_CONSTRAINTS:
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
            "name": _hash("attribute", constraint.attribute),
            "value": str(constraint.value),
            "relation": constraint.relation.value,
        }
        for constraint in task.job.constraints
    ]


def submitted_constraints(event: InstanceEvent) -> list[Row]:
    """Return the rows for the separate table of constraints: once per submission with requests."""
    if event.type == "SUBMIT" and event.has_request:
        return constraint_rows(event)
    return []


def _event_row(event: CollectionEvent | InstanceEvent, job: Job) -> Row:
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
