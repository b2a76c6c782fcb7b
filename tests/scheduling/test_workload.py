"""What a scheduler reads of a store of a few rows: requests, usage and capacities that are known by half."""

from __future__ import annotations

from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.workload import KnownMachines, read_tasks
from tests.analyses.tiny import at, tiny


def test_a_task_with_half_a_request_or_half_of_its_usage_counts_as_one_without() -> None:
    requests = {
        1: (0.5, 0.25),
        2: (0.5, None),
        3: (None, None),
    }
    usage = {
        1: (0.125, 0.0625),
        2: (0.125, None),
        3: (None, 0.0625),
    }
    events = [
        {
            "collection_id": job,
            "time": at(job),
            "type": "SUBMIT",
            "cpu_request": cpu,
            "memory_request": memory,
        }
        for job, (cpu, memory) in requests.items()
    ]
    tasks = [
        {
            "collection_id": job,
            "weighted_mean_average_cpu": cpu,
            "weighted_mean_average_memory": memory,
        }
        for job, (cpu, memory) in usage.items()
    ]
    found = read_tasks(
        tiny(
            "2011",
            instance_events=events,
            collection_events=[],
            tasks=tasks,
        )
    )
    assert (found.sizes / UNIT).tolist() == [
        [0.5, 0.25],
        [0.5, 0.0],
        [0.0, 0.0],
    ]
    assert found.without_request == 2
    # The second and the third take what they ask for.
    assert (found.used / UNIT).tolist() == [
        [0.125, 0.0625],
        [0.5, 0.0],
        [0.0, 0.0],
    ]
    assert found.without_usage == 2


def test_a_machine_needs_both_capacities_of_a_unit_at_least() -> None:
    capacities = [
        (1 / UNIT, 1.0),
        (1.0, 1 / UNIT),
        (0.5, None),
        (None, 0.5),
        (0.4 / UNIT, 1.0),
    ]
    events = [
        {
            "machine_id": machine,
            "type": "ADD",
            "cpu_capacity": cpu,
            "memory_capacity": memory,
        }
        for machine, (cpu, memory) in enumerate(capacities)
    ]
    machines = KnownMachines.at(tiny("2011", machine_events=events), 0)
    assert machines.ids.tolist() == [0, 1]
    assert machines.without_capacity == 3
