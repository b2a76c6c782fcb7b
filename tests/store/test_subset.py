"""A subset is a store of its own, consistent over its tables."""

from __future__ import annotations

import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.store.criteria import Criteria
from borgtrace.store.machine import capacity_at, hourly_load, running_on
from borgtrace.store.verify import verify
from tests.ingest.raw import MACHINES, write_cell, write_part
from tests.store.conftest import usage


def _tasks(store):
    rows = store.sql("select collection_id c, instance_index i from tasks order by all").to_pylist()
    return [(row["c"], row["i"]) for row in rows]


@pytest.mark.parametrize(
    ("cut", "tasks", "windows"),
    [
        (Criteria(jobs=(10,)), [(10, 0), (10, 1)], 5),
        (Criteria(machines=(6,)), [(10, 0), (10, 1)], 5),
        (Criteria(time=(600_000_000, 900_000_000)), [(10, 0), (10, 1), (20, 0)], 2),
        (Criteria(time=(1_200_000_000, 1_500_000_000)), [(30, 7)], 1),
        (Criteria(fraction=1.0), [(10, 0), (10, 1), (20, 0), (30, 7)], 6),
        (Criteria(jobs=(10, 20), time=(600_000_000, 900_000_000)), [(10, 0), (10, 1), (20, 0)], 2),
        (Criteria(jobs=(20,), fraction=1.0), [(20, 0)], 0),
        (Criteria(machines=(6,), where="instance_index = 1"), [(10, 1)], 2),
    ],
    ids=["jobs", "machines", "time", "late", "all", "jobs-time", "jobs-fraction", "machines-where"],
)
def test_what_is_kept(small, tmp_path, cut, tasks, windows):
    manifest = subset(small, tmp_path / "out", cut)
    store = borgtrace.open(tmp_path / "out")
    assert _tasks(store) == tasks
    assert store.manifest.tables["instance_usage"] == windows
    assert all(check.holds for check in verify(tmp_path / "out"))
    assert manifest.notes[0].startswith(f"subset of {borgtrace.open(small).digest} by ")
    assert store.manifest.tables["machine_events"] == (
        3 if cut.time is None or cut.time[1] > 900_000_000 else 2
    )


def test_a_fraction_is_chosen_by_hash_and_seed(small, tmp_path):
    chosen = set()
    for seed in range(6):
        try:
            subset(small, tmp_path / str(seed), Criteria(fraction=0.5, seed=seed))
        except UsageError as error:
            assert str(error) == (  # noqa: PT017 - some seeds leave rows, others none
                "subset: nothing is left; see what the store holds: borgtrace info STORE"
            )
            assert not (tmp_path / str(seed)).exists()
            continue
        store = borgtrace.open(tmp_path / str(seed))
        subset(small, tmp_path / f"{seed}-again", Criteria(fraction=0.5, seed=seed))
        assert borgtrace.open(tmp_path / f"{seed}-again").digest == store.digest
        chosen.add(tuple(_tasks(store)))
    assert len(chosen) > 1


def test_of_machine_tables_alone_nothing_is_left(tmp_path):
    write_part(tmp_path / "raw", "machine_events", MACHINES)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    with pytest.raises(
        UsageError,
        match=r"^subset: nothing is left; see what the store holds: borgtrace info STORE$",
    ):
        subset(tmp_path / "store", tmp_path / "out", Criteria(machines=(5,)))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fraction": 1.5}, "--fraction: not a share: expected 0 < F ≤ 1, got 1.5"),
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
    rows = running_on(store, 5, 650_000_000).to_pylist()
    assert [
        (r["collection_id"], r["instance_index"], r["since"], r["cpu_request"]) for r in rows
    ] == [(10, 0, 0, 0.125)]
    assert rows[0]["average_cpu"] == pytest.approx(0.1)
    assert running_on(store, 6, 2_000_000_000).num_rows == 0
    assert [
        (r["collection_id"], r["instance_index"])
        for r in running_on(store, 6, 1_000_000_000).to_pylist()
    ] == [(10, 1)]


def test_capacity_and_load_of_a_machine(small):
    store = borgtrace.open(small)
    assert capacity_at(store, 6, 0).is_up
    assert not capacity_at(store, 6).is_up
    assert (capacity_at(store, 5).cpu, capacity_at(store, 5).memory) == (0.5, 0.25)
    (hour,) = hourly_load(store, 6).to_pylist()
    # 100 s at .2, 300 s at .4, and a window without a CPU rate, over 3,600 s.
    assert hour["cpu"] == pytest.approx((100 * 0.2 + 300 * 0.4) / 3600)
    assert hour["n_tasks"] == 2
    with pytest.raises(UsageError, match="no such machine in machine_events: got 7"):
        capacity_at(store, 7)


def test_a_window_without_an_end_has_no_weight(tmp_path):
    lines = [usage(10, 0, 0, "0.1"), usage(10, 1, 1, "0.4")]
    endless = lines[1].split(",")
    endless[1] = str(2**63 - 1)
    write_cell(tmp_path / "raw")
    write_part(tmp_path / "raw", "task_usage", [lines[0], ",".join(endless)])
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    (hour,) = hourly_load(borgtrace.open(tmp_path / "store"), 5).to_pylist()
    # Of the two tasks only one says how long it used what: 300 s at .1, over 3,600 s.
    assert (hour["n_tasks"], hour["cpu"]) == (2, pytest.approx(300 * 0.1 / 3600))
