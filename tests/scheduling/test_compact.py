"""Rows of a compaction by hand: statistics over seeds, cells of their own, what is refused before reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling import COMPACT
from borgtrace.scheduling.compaction import Workload
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.whatifs import WHAT_IFS, Moment
from tests.cli.test_compact import MACHINES, store, task


def test_of_eleven_seeds_the_second_most_machines_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = store(tmp_path, machine_events=MACHINES, task_events=task(1, 0, 1))
    # Seeds 0 to 10 need 1 to 11 machines.
    monkeypatch.setattr("borgtrace.scheduling.compact.needed", lambda cell, capacity, seed, policy: seed + 1)
    (row,) = COMPACT.run(cell, what_ifs=("limits",)).table.to_pylist()
    assert (row["machines"], row["least"], row["most"]) == (10.0, 1.0, 11.0)


def test_users_with_ten_tebibytes_get_a_cell_of_their_own() -> None:
    # In a machine of 10,240 GiB: users 0 and 1 ask for 10 TiB, the second in two tasks, user 2 for a unit less.
    memory = np.array([UNIT, UNIT // 2, UNIT - 1, UNIT // 2])
    nothing = np.zeros(4, np.int64)
    workload = Workload(
        Demand(np.column_stack([nothing, memory]), nothing - 1, nothing), nothing, np.arange(4), nothing > 0
    )
    what_if = {each.name: each for each in WHAT_IFS}["users-10tib"]
    moment = Moment(workload, None, np.array([0, 1, 2, 1]), gib=10 * 1024)
    cells = what_if.make(moment, np.random.default_rng(0))
    assert [cell.jobs.tolist() for cell in cells] == [[2], [0], [1, 3]]


def test_a_plan_that_is_none_is_refused_before_a_store_is_opened() -> None:
    with pytest.raises(UsageError, match="--plan"):
        COMPACT.run("nowhere", plan="reservation:-1")
