"""The arrays behind replays: a plain loop over them reproduces a replay's number, and what is mapped is not copied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.overcommit import REPLAY, judged_instants
from borgtrace.schema.time import WINDOW
from borgtrace.synth import generate
from tests.ingest.raw import write_part
from tests.lifecycle.test_by_machine import event, window

HORIZON = 3


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> borgtrace.Store:
    folder = tmp_path_factory.mktemp("snapshots")
    generate(folder / "raw", "2011", machines=4, hours=2, seed=5)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return borgtrace.open(folder / "store")


@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_a_plain_loop_reproduces_the_violation_rate(store: borgtrace.Store, resource: str) -> None:
    n_short = n_judged = 0
    for block in store.machine_blocks(resource):
        samples = block.all
        usage = np.zeros((samples.task.max() + 1, block.n_slots))
        usage[samples.task, samples.slot] = samples.usage
        slots = block.slots[block.slots < block.n_slots - HORIZON]
        for slot in slots[judged_instants(block, HORIZON)]:
            here = samples.slot == slot
            limits = samples.limit[here]
            ahead = usage[samples.task[here], slot + 1 : slot + 1 + HORIZON]
            peak = np.minimum(ahead, limits[:, None]).sum(axis=0).max()
            n_short += peak * (1 - 1e-9) > 0.7 * limits.sum()
            n_judged += 1
    answer = REPLAY.run(
        store, policies=("borg:phi=0.7",), resources=(resource,), horizon=HORIZON * WINDOW
    )
    (row,) = answer.table.to_pylist()
    assert n_judged == row["instants"] > 50
    assert n_short / n_judged == row["rate"]


def test_what_is_mapped_is_not_copied(store: borgtrace.Store) -> None:
    blocks = store.machine_blocks()
    for array in (blocks.rows(0), blocks.terms):
        assert not array.flags.owndata
        assert not array.flags.writeable
    # The same memory each time.
    assert np.shares_memory(blocks.rows(0), blocks.rows(0))
    rows = blocks.rows(0)
    assert rows.dtype.names == ("term", "slot", "cpu", "memory")
    assert blocks.terms.dtype.names == ("task", "time", "cpu", "memory", "priority")
    # A block has the same samples, without those of tasks that have no limit.
    has_limit = ~np.isnan(blocks.terms["cpu"][rows["term"]])
    usage = np.nan_to_num(rows["cpu"][has_limit]).astype(np.float64)
    assert blocks[0].all.usage.tolist() == usage.tolist()


def test_blocks_are_a_sequence_by_machine(store: borgtrace.Store) -> None:
    blocks = store.machine_blocks()
    assert len(blocks) == len(blocks.machines) == len(list(blocks))
    assert blocks[-1].all.usage.tolist() == blocks[len(blocks) - 1].all.usage.tolist()
    assert len(blocks[1:]) == len(blocks) - 1
    with pytest.raises(IndexError):
        blocks[len(blocks)]


def test_an_unknown_resource_is_refused(store: borgtrace.Store) -> None:
    with pytest.raises(UsageError) as caught:
        store.machine_blocks("gpu")
    assert str(caught.value) == "resource: unknown name: expected cpu or memory, got gpu"


def test_the_workload_has_the_tasks_and_machines_of_the_trace(tmp_path: Path) -> None:
    tables = {
        "machine_events": ["0,7,0,PLATFORM,1,0.5", "0,8,0,PLATFORM,0.5,0.25"],
        "task_events": [
            # Submitted at 700 s, started on machine 7 at 710 s, finished at 1,500 s.
            event(700, 1, "", 0, 0.25, 0.125),
            event(710, 1, 7, 1, 0.25, 0.125),
            event(1500, 1, 7, 4, 0.25, 0.125),
        ],
        "task_usage": [window(710, 900, 1, 7, 0.1, 0.05, 0.2)],
    }
    for table, lines in tables.items():
        write_part(tmp_path / "raw", table, lines, compressed=False)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    workload = borgtrace.open(tmp_path / "store").workload()
    unit = 2**20
    assert workload.machines.ids.tolist() == [7, 8]
    assert workload.machines.capacity.tolist() == [[unit, unit // 2], [unit // 2, unit // 4]]
    assert workload.tasks.sizes.tolist() == [[unit // 4, unit // 8]]
    assert workload.arrivals.tolist() == [700_000_000]
    assert workload.tasks.times["left_time"].tolist() == [1_500_000_000]
    assert workload.tasks.machine.tolist() == [7]
