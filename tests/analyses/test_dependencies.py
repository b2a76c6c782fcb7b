"""Parents, chains, the batch queue, schedulers, Autopilot, alloc sets and placement limits, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.analyses.dependencies import (
    alloc_instances,
    alloc_sets,
    parents,
    placement_limits,
    queueing,
    schedulers,
    start_after,
    vertical_scaling,
)
from borgtrace.analyses.dependencies.start_after import depths
from tests.analyses.tiny import answer, at, tiny, window
from tests.rows import chosen_columns

QUESTIONS = [
    module.QUESTION
    for module in (
        alloc_instances,
        alloc_sets,
        parents,
        queueing,
        schedulers,
        start_after,
        vertical_scaling,
    )
]


def event(collection: int, seconds: float, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "collection_id": collection,
        "time": at(seconds),
        "type": kind,
        "priority": 200,
        **more,
    }


def life(
    collection: int, start: float, end: float | None, how: str, **more: Any
) -> list[dict[str, Any]]:
    events = [
        event(collection, start, "SUBMIT", **more),
        event(collection, start, "SCHEDULE", **more),
    ]
    return events if end is None else [*events, event(collection, end, how, **more)]


def test_jobs_that_end_with_their_parent() -> None:
    events = [
        *life(1, 0, 100, "FINISH"),
        *life(2, 0, 101, "KILL", parent_collection_id=1),
        *life(3, 0, 500, "KILL", parent_collection_id=1),
        *life(4, 0, 50, "FINISH", parent_collection_id=1),
        *life(5, 0, None, "", parent_collection_id=9),
        *life(6, 0, 10, "KILL", collection_type="ALLOC_SET"),
    ]
    rows = {
        (row["has_parent"], row["end_type"]): (row["n_jobs"], row["n_after_parent"])
        for row in answer(parents.QUESTION, tiny("2019", collection_events=events))
    }
    assert rows == {
        (False, "FINISH"): (1, 0),
        (True, "KILL"): (2, 1),
        (True, "FINISH"): (1, 0),
        (True, "NONE"): (1, 0),
    }
    finding = parents.QUESTION.run(tiny("2019", collection_events=events)).findings[0]
    assert float(finding.measured) == pytest.approx(2 / 3, rel=1e-3)


def test_chains() -> None:
    events = [
        *life(1, 0, 100, "FINISH"),
        *life(2, 100, 200, "FINISH", start_after_collection_ids=[1]),
        *life(3, 150, 300, "FINISH", start_after_collection_ids=[1, 2]),  # 2 had not ended
        *life(4, 300, None, "", start_after_collection_ids=[3, 77]),  # 77 is not in the trace
        *life(5, 300, None, "", start_after_collection_ids=[]),
    ]
    assert answer(start_after.QUESTION, tiny("2019", collection_events=events)) == [
        {
            "depth": 1,
            "n_collections": 1,
            "n_kept": 1,
            "n_broken": 0,
            "n_unknown": 0,
        },
        {
            "depth": 2,
            "n_collections": 1,
            "n_kept": 0,
            "n_broken": 1,
            "n_unknown": 0,
        },
        {
            "depth": 3,
            "n_collections": 1,
            "n_kept": 0,
            "n_broken": 0,
            "n_unknown": 1,
        },
    ]


def test_circles_have_no_depth() -> None:
    assert depths(np.array([1, 2, 3]), np.array([2, 1, 1])) == {
        1: 0,
        2: 0,
        3: 0,
    }


def test_queue_and_schedulers() -> None:
    batch = {"scheduler": "BATCH", "priority": 103}
    events = [
        event(1, 0, "SUBMIT", **batch),
        event(1, 1, "QUEUE", **batch),
        event(1, 4, "ENABLE", **batch),
        event(1, 5, "SCHEDULE", **batch),
        event(1, 9, "FINISH", **batch),
        event(2, 0, "SUBMIT", **batch),
        event(2, 0, "QUEUE", **batch),
        event(2, 0, "ENABLE", **batch),
        *life(3, 0, 5, "KILL", scheduler="DEFAULT"),
    ]
    tables = tiny("2019", collection_events=events)
    rows = answer(queueing.QUESTION, tables)
    assert [(row["scheduler"], row["tier"], row["at_most"], row["share"]) for row in rows] == [
        ("BATCH", "beb", 1, 0.5),
        ("BATCH", "beb", 4, 1.0),
    ]
    assert answer(schedulers.QUESTION, tables) == [
        {
            "scheduler": "BATCH",
            "tier": "beb",
            "collection_type": "JOB",
            "n_collections": 2,
            "n_queued": 2,
            "n_finished": 1,
        },
        {
            "scheduler": "DEFAULT",
            "tier": "production",
            "collection_type": "JOB",
            "n_collections": 1,
            "n_queued": 0,
            "n_finished": 0,
        },
    ]
    assert queueing.QUESTION.run(tables).findings[0].verdict == "holds"


def test_vertical_scaling() -> None:
    tables = tiny(
        "2019",
        collection_events=[
            event(1, 0, "SUBMIT", vertical_scaling="OFF"),
            event(2, 0, "SUBMIT", vertical_scaling="FULLY_AUTOMATED"),
            event(3, 0, "SUBMIT"),
        ],
        instance_events=[
            event(2, 0, "SUBMIT", cpu_request=0.5, memory_request=0.5),
            event(2, 1, "SCHEDULE", cpu_request=0.5, memory_request=0.5),
            event(2, 2, "UPDATE_RUNNING", cpu_request=0.25, memory_request=0.5),
            event(2, 3, "UPDATE_RUNNING", cpu_request=0.25, memory_request=0.5),
        ],
        instance_usage=[
            window(1, 0, 0.1, maximum_cpu=0.125),
            window(2, 0, 0.1, maximum_cpu=0.1875),
        ],
        tasks=[{"collection_id": 1, "cpu_request": 0.5}, {"collection_id": 2, "cpu_request": 0.25}],
    )
    rows = {row.pop("setting"): row for row in answer(vertical_scaling.QUESTION, tables)}
    assert rows == {
        "OFF": {
            "n_jobs": 1,
            "n_updates": 0,
            "n_request_changes": 0,
            "n_tasks": 1,
            "median_slack": 0.75,
        },
        "FULLY_AUTOMATED": {
            "n_jobs": 1,
            "n_updates": 2,
            "n_request_changes": 1,
            "n_tasks": 1,
            "median_slack": 0.25,
        },
        "unknown": {
            "n_jobs": 1,
            "n_updates": 0,
            "n_request_changes": 0,
            "n_tasks": 0,
            "median_slack": None,
        },
    }
    finding = vertical_scaling.QUESTION.run(tables).findings[0]
    assert finding.measured == "0.6667"
    assert finding.verdict == "holds"


def test_alloc_sets() -> None:
    inside = {
        "alloc_collection_id": 7,
        "cpu_request": 0.25,
        "memory_request": 0.25,
    }
    held = {
        "collection_type": "ALLOC_SET",
        "cpu_request": 0.5,
        "memory_request": 0.25,
    }
    tables = tiny(
        "2019",
        collection_events=[
            event(7, 0, "SUBMIT", collection_type="ALLOC_SET"),
            event(1, 0, "SUBMIT", alloc_collection_id=7),
            event(2, 0, "SUBMIT", priority=103),
        ],
        instance_events=[
            *life(7, 0, 100, "KILL", **held),
            *life(1, 0, 100, "KILL", **inside),
            *life(2, 0, 200, "KILL", cpu_request=0.5, memory_request=0.5),
        ],
        instance_usage=[
            window(1, 0, 0.125, 0.1875, alloc_collection_id=7),
            window(2, 0, 0.125, 0.25),
        ],
        tasks=[
            {"collection_id": 1, "memory_request": 0.25},
            {"collection_id": 2, "memory_request": 0.5},
        ],
    )
    shares = {row["quantity"]: row["share"] for row in answer(alloc_sets.QUESTION, tables)}
    assert shares == {
        "collections": pytest.approx(1 / 3),
        "jobs_inside": 0.5,
        "production_inside": 1.0,
        "cpu_allocated": pytest.approx(50 / 150),
        "memory_allocated": pytest.approx(25 / 125),
        "memory_used_inside": pytest.approx(56 / 75),  # whole resource-seconds
        "memory_used_outside": 0.5,
    }


def test_alloc_instances() -> None:
    """Set 7 has three instances: 0 holds two tasks, 1 none, 2 is not measured; index 5 is named by a task alone.

    A window lasts 300 s, a twelfth of an hour.  Instance 0 reserves .5 CPU over two windows and uses .25 and .375; its
    tasks use .125 + .25 in the first and .25 in the second.
    """
    inside = {"alloc_collection_id": 7, "alloc_instance_index": 0}
    of_set = {"collection_type": "ALLOC_SET"}
    tables = tiny(
        "2019",
        instance_usage=[
            window(7, 0, 0.25, 0.5, **of_set),
            window(7, 300, 0.375, 0.5, **of_set),
            window(7, 0, 0.0, 0.0625, instance_index=1, **of_set),
            window(1, 0, 0.125, 0.25, **inside),
            window(1, 300, 0.25, 0.25, **inside),
            window(2, 0, 0.25, 0.125, **inside),
            window(3, 0, 0.5, 0.5, alloc_collection_id=7, alloc_instance_index=5),
            window(4, 0, 0.5, 0.5),
        ],
        tasks=[
            {"collection_id": 7, "cpu_request": 0.5, "memory_request": 1.0, **of_set},
            {
                "collection_id": 7,
                "instance_index": 1,
                "cpu_request": 0.25,
                "memory_request": 0.5,
                **of_set,
            },
            {
                "collection_id": 7,
                "instance_index": 2,
                "cpu_request": 0.25,
                "memory_request": 0.5,
                **of_set,
            },
            {"collection_id": 4, "cpu_request": 0.5},
        ],
    )
    columns = [column.name for column in alloc_instances.ANSWER.columns]
    rows = {
        row["n_tasks"]: [row[name] for name in columns]
        for row in answer(alloc_instances.QUESTION, tables)
    }
    hour = 12
    assert rows == {
        # Instances 1 and 2.
        0: [2, 1, 0.25 / hour, 0.0, None, 0.5 / hour, 0.0625 / hour, None],
        # Index 5.
        1: [1, 0, None, None, 0.5 / hour, None, None, 0.5 / hour],
        # Instance 0.
        2: [1, 1, 1.0 / hour, 0.625 / hour, 0.625 / hour, 2.0 / hour, 1.0 / hour, 0.625 / hour],
    }


def test_placement_limits() -> None:
    machines = [
        {
            "time": 0,
            "machine_id": m,
            "type": "ADD",
            "cpu_capacity": 1.0,
            "memory_capacity": 1.0,
            "switch_id": s,
        }
        for m, s in (
            (1, "a"),
            (2, "a"),
            (3, "b"),
        )
    ]

    def run(
        task: int, machine: int, start: float, end: float | None, **more: Any
    ) -> list[dict[str, Any]]:
        return life(
            1,
            start,
            end,
            "FINISH",
            instance_index=task,
            machine_id=machine,
            **more,
        )

    tables = tiny(
        "2019",
        machine_events=machines,
        collection_events=[
            event(1, 0, "SUBMIT", max_per_machine=1, max_per_switch=2),
            event(2, 0, "SUBMIT"),
        ],
        instance_events=[
            *run(0, 1, 0, 100),
            *run(1, 2, 10, None),
            *run(2, 3, 20, None),
            *run(3, 1, 100, None),  # just when task 0 has left
            *run(4, 1, 150, None),  # the second on machine 1, the third on switch a
            *life(2, 0, None, "", machine_id=1),
            *life(2, 5, None, "", machine_id=1, instance_index=1),
        ],
    )
    rows = {row.pop("kind"): row for row in answer(placement_limits.QUESTION, tables)}
    assert rows == {
        "max_per_machine": {
            "n_collections": 1,
            "n_starts": 5,
            "n_broken": 1,
            "n_collections_broken": 1,
        },
        "max_per_switch": {
            "n_collections": 1,
            "n_starts": 5,
            "n_broken": 1,
            "n_collections_broken": 1,
        },
    }


def test_different_machines_of_2011() -> None:
    flag = {"needs_different_machine": True, "priority": 2}
    tables = tiny(
        collection_events=[event(1, 0, "SUBMIT")],
        instance_events=[
            *life(
                1,
                0,
                None,
                "",
                machine_id=1,
                instance_index=0,
                **flag,
            ),
            *life(
                1,
                5,
                None,
                "",
                machine_id=2,
                instance_index=1,
                **flag,
            ),
            *life(
                1,
                9,
                None,
                "",
                machine_id=1,
                instance_index=2,
                **flag,
            ),
            *life(
                1,
                9,
                None,
                "",
                machine_id=2,
                instance_index=3,
                priority=2,
            ),  # carries no flag itself
            *life(2, 0, None, "", machine_id=1, priority=2),
            *life(2, 0, None, "", machine_id=1, instance_index=1),
        ],
    )
    (row,) = answer(placement_limits.QUESTION, tables)
    expected = {
        "kind": "different_machine",
        "n_starts": 3,
        "n_broken": 1,
    }
    assert chosen_columns(row, expected) == expected
    findings = {finding.id: finding for finding in placement_limits.QUESTION.run(tables).findings}
    assert findings["LIMIT-different_machine"].verdict == "does not hold"
    assert findings["LIMIT-max_per_switch"].reason == "is about 2019, the store holds 2011"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_2011_is_not_asked(question: Any) -> None:
    events = life(1, 0, 100, "FINISH")
    tables = tiny(
        collection_events=events,
        instance_events=events,
        instance_usage=[window(1, 0, 0.5)],
        tasks=[{"collection_id": 1}],
    )
    result = question.run(tables)
    assert result.not_applicable is not None
    assert result.not_applicable.startswith("2011 does not publish")
    # Some questions make no claims.
    assert {finding.verdict for finding in result.findings} <= {"not applicable"}
