"""Which tasks must not share a machine with another of their job: each trace says it in its own place."""

from __future__ import annotations

import pytest

from borgtrace.scheduling.workload import read_tasks
from tests.analyses.tiny import at, tiny


@pytest.mark.parametrize(
    ("generation", "flags", "limits"),
    [
        ("2011", (True, False, False), ()),
        ("2019", (), (1, 2, None)),
    ],
)
def test_of_three_jobs_the_first_is_apart(
    generation: str, flags: tuple[bool, ...], limits: tuple[int | None, ...]
) -> None:
    """In 2011 a flag of the task, in 2019 a limit of one instance of the collection on a machine."""
    ids = (1, 2, 3)
    events = [
        {
            "collection_id": id_,
            "time": at(time),
            "type": type_,
            "machine_id": 7,
            "cpu_request": 0.1,
        }
        | {"memory_request": 0.1, "needs_different_machine": flag}
        for id_, flag in zip(ids, flags or (None,) * 3, strict=True)
        for time, type_ in ((0, "SUBMIT"), (1, "SCHEDULE"), (9, "FINISH"))
    ]
    collections = [
        {
            "collection_id": id_,
            "time": at(0),
            "type": "SUBMIT",
            "max_per_machine": limit,
        }
        for id_, limit in zip(ids, limits or (None,) * 3, strict=True)
    ]
    tasks = [{"collection_id": id_, "instance_index": 0} for id_ in ids]
    tables = tiny(
        generation,
        instance_events=events,
        collection_events=collections,
        tasks=tasks,
    )
    read = read_tasks(tables)
    assert read.collection.tolist() == [1, 2, 3]
    assert read.is_apart.tolist() == [True, False, False]
    assert read.groups.tolist() == [0, -1, -1]
