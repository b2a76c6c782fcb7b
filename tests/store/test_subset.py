"""A subset is a store of its own, consistent over its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.schema.time import MINUTE, TRACE_START
from borgtrace.store.criteria import Criteria
from borgtrace.store.machine import capacity_at, hourly_load, running_on
from borgtrace.store.verify import verify
from tests.ingest.raw import MACHINES, write_cell, write_part
from tests.store.conftest import usage


def tasks_of(store):
    """Ids of all tasks, as ``10.0 10.1``."""
    rows = store.sql("select collection_id, instance_index from tasks order by all").to_pylist()
    return " ".join(f"{row['collection_id']}.{row['instance_index']}" for row in rows)


FIRST_WINDOW = (600_000_000, 900_000_000)
LATE = (1_200_000_000, 1_500_000_000)


@pytest.mark.parametrize(
    ("criteria", "tasks", "n_windows", "n_machine_events"),
    [
        ({"jobs": (10,)}, "10.0 10.1", 5, 3),
        ({"machines": (6,)}, "10.0 10.1", 5, 3),
        ({"time": FIRST_WINDOW}, "10.0 10.1 20.0", 2, 2),
        ({"time": LATE}, "30.7", 1, 3),
        ({"fraction": 1.0}, "10.0 10.1 20.0 30.7", 6, 3),
        ({"jobs": (10, 20), "time": FIRST_WINDOW}, "10.0 10.1 20.0", 2, 2),
        ({"jobs": (20,), "fraction": 1.0}, "20.0", 0, 3),
        ({"machines": (6,), "where": "instance_index = 1"}, "10.1", 2, 3),
    ],
    ids=["jobs", "machines", "time", "late", "all", "jobs-time", "jobs-fraction", "machines-where"],
)
def test_what_a_subset_has(small, tmp_path, criteria, tasks, n_windows, n_machine_events):
    manifest = subset(small, tmp_path / "out", Criteria(**criteria))
    store = borgtrace.open(tmp_path / "out")
    assert tasks_of(store) == tasks
    assert store.manifest.tables["instance_usage"] == n_windows
    assert store.manifest.tables["machine_events"] == n_machine_events
    assert manifest.notes[0].startswith(f"subset of {borgtrace.open(small).digest} by ")
    for check in verify(tmp_path / "out"):
        assert check.holds, check


def test_a_fraction_is_chosen_by_hash_and_seed(small, tmp_path):
    chosen = set()
    for seed in range(4):
        try:
            subset(small, tmp_path / str(seed), Criteria(fraction=0.5, seed=seed))
        except UsageError as error:
            assert str(error) == (  # noqa: PT017 - some seeds leave rows, others none
                f"subset: no job or task meets fraction 0.5, seed {seed}; "
                "choose a larger fraction or another seed"
            )
            assert not (tmp_path / str(seed)).exists()
            continue
        store = borgtrace.open(tmp_path / str(seed))
        if not chosen:
            subset(small, tmp_path / "again", Criteria(fraction=0.5, seed=seed))
            assert borgtrace.open(tmp_path / "again").digest == store.digest
        chosen.add(tasks_of(store))
    assert len(chosen) > 1


def test_of_machine_tables_alone_nothing_is_left(tmp_path):
    write_part(tmp_path / "raw", "machine_events", MACHINES)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    message = (
        "^subset: no job or task meets 1 machine; choose other criteria: "
        f"borgtrace info {tmp_path}/store shows the times and rows of the store$"
    )
    with pytest.raises(UsageError, match=message):
        subset(tmp_path / "store", tmp_path / "out", Criteria(machines=(5,)))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fraction": 1.5}, "--fraction: out of range: expected above 0 and at most 1, got 1.5"),
        (
            {"time": (5, 5)},
            "--time: the end is not after the start: expected A..B with A < B, got 5..5",
        ),
    ],
)
def test_cuts_that_make_no_sense(options, message):
    with pytest.raises(UsageError) as error:
        Criteria(**options)
    assert str(error.value) == message


def test_a_subset_needs_a_criterion(small, tmp_path):
    with pytest.raises(UsageError) as error:
        subset(small, tmp_path / "out", Criteria())
    assert str(error.value) == (
        "subset: no criterion: expected one or more; such as --jobs, --tier or --time: borgtrace subset --help"
    )


def test_a_full_folder_is_left_alone(small, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError) as error:
        subset(small, tmp_path, Criteria(jobs=(10,)))
    assert str(error.value) == (
        f"{tmp_path}: holds something else: expected a new folder, got 1 entries; "
        "name another folder, or remove this one"
    )


def test_what_ran_on_a_machine(small):
    store = borgtrace.open(small)
    (task,) = running_on(store, 5, 650_000_000).to_pylist()
    assert (task["collection_id"], task["instance_index"]) == (10, 0)
    assert task["since"] == 0
    assert task["cpu_request"] == 0.125
    assert task["average_cpu"] == pytest.approx(0.1)
    assert running_on(store, 6, 2_000_000_000).num_rows == 0
    (task,) = running_on(store, 6, 1_000_000_000).to_pylist()
    assert (task["collection_id"], task["instance_index"]) == (10, 1)


def test_capacity_and_load_of_a_machine(small):
    store = borgtrace.open(small)
    assert capacity_at(store, 6, 0).is_up
    assert not capacity_at(store, 6).is_up
    assert capacity_at(store, 5).cpu == 0.5
    assert capacity_at(store, 5).memory == 0.25
    (hour,) = hourly_load(store, 6).to_pylist()
    # 100 s at .2, 300 s at .4, and a window without a CPU rate, over 3,600 s.
    cpu_seconds = 100 * 0.2 + 300 * 0.4
    assert hour["cpu"] == pytest.approx(cpu_seconds / 3600)
    assert hour["n_tasks"] == 2
    with pytest.raises(UsageError, match="no such machine in machine_events: got 7"):
        capacity_at(store, 7)


def test_a_window_without_an_end_has_no_weight(tmp_path):
    endless = usage(10, 1, 1, "0.4").split(",")
    endless[1] = str(2**63 - 1)
    write_cell(tmp_path / "raw")
    write_part(tmp_path / "raw", "task_usage", [usage(10, 0, 0, "0.1"), ",".join(endless)])
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    (hour,) = hourly_load(borgtrace.open(tmp_path / "store"), 5).to_pylist()
    # Of the two tasks only one says how long it used what: 300 s at .1, over 3,600 s.
    assert hour["n_tasks"] == 2
    assert hour["cpu"] == pytest.approx(300 * 0.1 / 3600)


def test_a_note_says_the_times_as_they_are_typed(small: Path, tmp_path: Path) -> None:
    """What `info` shows of a cut can be typed again: amounts since the start, beside the wall clock."""
    span = (TRACE_START, TRACE_START + 15 * MINUTE)
    manifest = subset(small, tmp_path / "out", Criteria(time=span))
    digest = borgtrace.open(small).digest
    assert manifest.notes == (
        f"subset of {digest} by time 0s..15m (2011-05-01 19:00:00 EDT to 2011-05-01 19:15:00 EDT)",
    )
