"""Rows of a compaction by hand: statistics over seeds, cells of their own, what is refused before reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling import COMPACT
from borgtrace.scheduling.compact import (
    CompactOptions,
    machines_in_words,
    row_of_what_if,
    usage_at,
)
from borgtrace.scheduling.compaction import CellWorkload
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.whatifs import WHAT_IFS, Moment
from borgtrace.scheduling.workload import KnownMachines, read_tasks
from tests.analyses.tiny import at, tiny, window
from tests.cli.test_compact import MACHINES, store, task
from tests.rows import chosen_columns


def test_of_eleven_seeds_the_second_most_machines_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = store(tmp_path, machine_events=MACHINES, task_events=task(1, 0, 1))
    # Seeds 0 to 10 need 1 to 11 machines.
    monkeypatch.setattr(
        "borgtrace.scheduling.compact.needed",
        lambda cell, capacity, seed, policy, **options: seed + 1,
    )
    (row,) = COMPACT.run(cell, what_ifs=("limits",)).table.to_pylist()
    expected = {
        "machines": 10.0,
        "least": 1.0,
        "most": 11.0,
    }
    assert chosen_columns(row, expected) == expected


def test_users_with_ten_tebibytes_get_a_cell_of_their_own() -> None:
    # In a machine of 10,240 GiB: users 0 and 1 ask for 10 TiB, the second in two tasks, user 2 for a unit less.
    memory = np.array(
        [
            UNIT,
            UNIT // 2,
            UNIT - 1,
            UNIT // 2,
        ]
    )
    nothing = np.zeros(4, np.int64)
    workload = CellWorkload(
        Demand(np.column_stack([nothing, memory]), nothing - 1, nothing),
        nothing,
        np.arange(4),
        nothing > 0,
    )
    what_if = {each.name: each for each in WHAT_IFS}["users-10tib"]
    moment = Moment(
        workload,
        None,
        np.array([0, 1, 2, 1]),
        gib=10 * 1024,
    )
    cells = what_if.make(moment, np.random.default_rng(0))
    assert [cell.jobs.tolist() for cell in cells] == [
        [2],
        [0],
        [1, 3],
    ]


def test_a_plan_that_is_none_is_refused_before_a_store_is_opened() -> None:
    with pytest.raises(UsageError, match="--plan"):
        COMPACT.run("nowhere", plan="reservation:-1")


def test_a_cell_without_tasks_is_none() -> None:
    # Nobody is of production: what is segregated is one cell.
    none = np.full(2, -1)
    workload = CellWorkload(
        Demand(
            np.full((2, 2), UNIT // 2),
            none,
            none + 1,
        ),
        none + 1,
        np.arange(2),
        none > 0,
    )
    what_if = {each.name: each for each in WHAT_IFS}["segregated"]
    machines = KnownMachines(np.arange(3), np.full((3, 2), UNIT))
    row = row_of_what_if(
        what_if,
        Moment(workload, None, none + 1),
        machines,
        CompactOptions(policy="best-fit", seeds=1),
        place="",
    )
    assert row["tasks"] == 2
    for name in ("cells", "machines", "least", "most", "bound"):
        assert row[name] == 1.0, name


def test_usage_of_a_moment_is_of_the_windows_that_cover_it() -> None:
    jobs = range(1, 11)
    events = [
        {
            "collection_id": job,
            "time": at(time),
            "type": type_,
            "machine_id": 1,
        }
        for job in jobs
        for time, type_ in ((0, "SUBMIT"), (0, "SCHEDULE"))
    ]
    given = {"instance_events": events, "collection_events": []}
    given["tasks"] = [{"collection_id": job, "instance_index": 0} for job in jobs]
    # Of two windows the larger means count; one that ends at that moment is over, a later one has not begun.
    usage = [window(job, 600, 0.25, 0.125) for job in range(1, 10)]
    usage += [
        window(1, 450, 0.125, 0.5),
        window(10, 300, 0.5, 0.5),
        window(10, 601, 0.5, 0.5),
    ]
    # Job 99 has no event.
    tables = tiny(
        "2011",
        **given,
        instance_usage=[*usage, window(99, 600, 0.5, 0.5)],
    )
    tasks = read_tasks(tables, at=at(600))
    values, n_others = usage_at(tables, tasks, at(600))
    assert tasks.collection.tolist() == list(jobs)
    assert values is not None
    assert values[:9].tolist() == [[0.25, 0.5], *[[0.25, 0.125]] * 8]
    assert np.isnan(values[9]).all()
    assert n_others == 1
    # Half of a measurement is none: eight tasks of ten are too few.
    usage[8] = window(9, 600, 0.25, None)
    assert usage_at(tiny("2011", **given, instance_usage=usage), tasks, at(600)) == (None, 0)


def test_the_answer_stands_below_what_does_not_apply() -> None:
    row = {"what_if": "limits", "tasks": 8, "machines": 2.0, "least": 2.0, "most": 2.0}
    refused = {"tasks": 8, "machines": None, "note": "not applicable: needs usage"}
    rows = [
        {**row, "change": 0.0, "note": ""},
        {**refused, "what_if": "trust-0"},
        {**refused, "what_if": "planned", "note": "not applicable: needs --plan"},
        {**refused, "what_if": "trust-25"},
    ]
    assert machines_in_words(pa.Table.from_pylist(rows)).splitlines() == [
        "trust-0, trust-25: not applicable: needs usage.",
        "planned: not applicable: needs --plan.",
        "8 tasks need 2 machines (limits).",
    ]


def test_the_sentence_says_how_the_order_of_machines_counts() -> None:
    row = {"what_if": "limits", "tasks": 1, "machines": 2.0, "least": 1.0, "most": 2.0}
    answer = pa.Table.from_pylist([{**row, "change": 0.0}])
    assert machines_in_words(answer) == (
        "1 task needs 2 machines (limits, 1 to 2 by the order of the machines)."
    )
    same = pa.Table.from_pylist([{**row, "tasks": 8, "least": 2.0, "change": 0.0}])
    assert machines_in_words(same) == "8 tasks need 2 machines (limits)."
