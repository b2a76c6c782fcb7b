"""Opening, asking, and reading tasks: answers computed by hand."""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import StoreError, UsageError
from borgtrace.store.ibis_tables import StoreTables
from borgtrace.store.manifest import read_manifest
from borgtrace.store.verify import verify
from tests.rows import chosen_columns
from tests.store.conftest import vouch


@pytest.fixture
def store(small):
    return borgtrace.open(small)


def test_tasks_say_what_usage_and_events_say(store):
    tasks = store.sql("select * from tasks").to_pylist()
    rows = {(task["collection_id"], task["instance_index"]): task for task in tasks}
    assert sorted(rows) == [
        (10, 0),
        (10, 1),
        (20, 0),
        (30, 7),
    ]
    first = rows[10, 0]
    expected = {
        "n_windows": 3,
        "n_gaps": 1,
        "n_machines": 2,
        "seconds": 900,
        "first_time": 600_000_000,
        "last_time": 1_800_000_000,
    }
    assert chosen_columns(first, expected) == expected
    # .1 and .3, the NULL skipped: mean .2, deviation .1 (ddof 0).
    expected = {
        "mean_average_cpu": 0.2,
        "std_average_cpu": 0.1,
        "max_average_cpu": 0.3,
    }
    assert chosen_columns(first, expected) == pytest.approx(expected)
    # The SCHEDULE row's class, priority and requests, not those of its SUBMIT.
    expected = {
        "priority": 9,
        "scheduling_class": 3,
        "cpu_request": 0.125,
        "n_submit": 1,
        "n_schedule": 1,
    }
    assert chosen_columns(first, expected) == expected
    assert first["end_type"] is None


def test_tasks_with_an_end_without_usage_and_without_events(store):
    tasks = store.sql("select * from tasks").to_pylist()
    rows = {(task["collection_id"], task["instance_index"]): task for task in tasks}
    second = rows[10, 1]
    # 100 s at .2 and 300 s at .4.
    expected_columns = {
        "weighted_mean_average_cpu": 0.35,
        "mean_average_cpu": 0.3,
    }
    assert chosen_columns(second, expected_columns) == pytest.approx(expected_columns)
    expected = {
        "end_type": "FINISH",
        "n_finish": 1,
        "first_row": 3,
    }
    assert chosen_columns(second, expected) == expected
    without_usage = rows[20, 0]
    expected = {
        "n_windows": 0,
        "first_row": 5,
        "first_time": 800_000_000,
    }
    assert chosen_columns(without_usage, expected) == expected
    assert without_usage["mean_average_cpu"] is None
    orphan = rows[30, 7]
    assert orphan["priority"] is None
    assert orphan["n_submit"] == 0
    assert orphan["mean_sampled_cpu"] is None


def test_one_trace(store):
    trace = store.trace(10, 0)
    assert trace["start_time"].tolist() == [600, 900, 1500]
    assert trace["duration"].tolist() == [300, 300, 300]
    average_cpu = np.array([0.1, 0.3, np.nan], np.float32)
    np.testing.assert_array_equal(trace["average_cpu"], average_cpu)
    assert store.trace(20, 0)["start_time"].tolist() == []


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ((10, 9), "task: not in this store: got instance 9; it has instances 0 to 1"),
        ((11, 0), "task: not in this store: got collection 11; the nearest is 20"),
        ((99, 0), "task: not in this store: got collection 99; the nearest is 30"),
    ],
)
def test_an_unknown_task(store, task, message):
    with pytest.raises(UsageError) as error:
        store.trace(*task)
    assert str(error.value) == message


def test_many_traces(store):
    flat = store.traces([(30, 7), (10, 1)])
    assert flat.offsets.tolist() == [0, 1, 3]
    average_cpu = np.array([0.7, 0.2, 0.4], np.float32)
    np.testing.assert_array_equal(flat.average_cpu, average_cpu)
    assert flat[1]["duration"].tolist() == [100, 300]
    assert math.isnan(flat.sampled_cpu[0])
    everything = store.traces()
    assert len(everything) == 4
    assert everything.offsets.tolist() == [0, 3, 5, 5, 6]
    assert np.shares_memory(everything.average_cpu, store.array("average_cpu"))


def test_a_selection_is_a_predicate_over_tasks(store):
    chosen = store.traces("n_windows > 1 and priority = 0")
    assert chosen.rows.tolist() == [1]
    with pytest.raises(UsageError):
        store.traces("no_such_column = 1")


def test_another_column_gets_its_array_on_first_use(store, small):
    flat = store.traces([(10, 0)], ("maximum_memory",))
    assert flat.maximum_memory.tolist() == [0.5, 0.5, 0.5]
    assert len(list((small / "cache").rglob("maximum_memory.npy"))) == 1
    with pytest.raises(UsageError) as error:
        store.traces([(10, 0)], ("machine_id",))
    assert str(error.value).startswith(
        "column: no such trace column: expected start_time, duration, average_cpu"
    )
    assert str(error.value).endswith("got 'machine_id'")


def test_tables_are_ibis_tables(store):
    assert store.tables.instance_events.count().execute() == 6
    assert store.tasks.count().execute() == 4
    with pytest.raises(AttributeError, match="no table nothing; there are machine_events"):
        store.tables.nothing  # noqa: B018


def test_many_processes_read_at_once(small, python):
    script = (
        "import sys, borgtrace\n"
        "store = borgtrace.open(sys.argv[3])\n"
        "print(len(store.trace(10, 0)['start_time']), store.sql('select count(*) n from tasks').to_pylist()[0]['n'])"
    )
    processes = []
    for _ in range(3):
        words = [python, "-c", script, str(small)]
        processes.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    for process in processes:
        output, _ = process.communicate()
        assert output == "3 4\n"


def test_a_store_shows_itself(store):
    assert repr(store).endswith("(2011, 22 rows)>")
    assert "<td>instance_usage</td>" in store._repr_html_()


def test_no_store(tmp_path):
    with pytest.raises(StoreError) as error:
        borgtrace.open(tmp_path / "nothing")
    assert str(error.value) == (
        f"{tmp_path}/nothing: there is no such store; "
        f"make one: borgtrace ingest SRC --store {tmp_path}/nothing"
    )
    with pytest.raises(StoreError) as error:
        borgtrace.open(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: not a borgtrace store: expected a folder with manifest.json, got 0 other entries; "
        f"make one: borgtrace ingest SRC --store {tmp_path}"
    )


@pytest.fixture
def copy(small, tmp_path):
    """A copy of the store that may be damaged."""
    return shutil.copytree(small, tmp_path / "copy")


def failed_checks(store):
    """What the checks found that failed, by their names."""
    return {check.name: check.found for check in verify(store) if not check.holds}


def test_verify_finds_damage(small, copy):
    assert failed_checks(small) == {}
    part = copy / "instance_events" / "part-00000.parquet"
    table = pq.read_table(part)
    pq.write_table(table.take([1, 0, 2, 3, 4, 5]), part)
    manifest = read_manifest(copy)
    first, *others = manifest.sources
    one_more = replace(first, stored=first.stored + 1)
    replace(manifest, sources=(one_more, *others)).write(copy / "manifest.json")
    np.save(copy / "traces" / "average_cpu.npy", np.zeros(3, np.float32))
    failed = failed_checks(copy)
    assert sorted(failed)[:4] == ["arrays", "conservation", "digest", "files"]
    unread = "not read: instance_events/part-00000.parquet is not as it was written"
    assert {check: failed[check] for check in sorted(failed)[4:]} == {
        "instance_events: columns": unread,
        "instance_events: content": unread,
        "instance_events: order": unread,
        "instance_events: rows": unread,
    }
    # Files are read further where their digests agree.
    vouch(copy)
    failed = failed_checks(copy)
    assert sorted(failed) == [
        "arrays",
        "conservation",
        "digest",
        "instance_events: content",
        "instance_events: order",
    ]
    assert failed["instance_events: order"] == "row 1 of part-00000.parquet does not follow"
    assert failed["arrays"] == "average_cpu.npy"


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def add(path):
    path.write_bytes(b"no")


@pytest.mark.parametrize(
    ("file", "damage", "check"),
    [
        ("instance_usage/part-00000.parquet", cut, "files"),
        ("tasks/part-00000.parquet", cut, "index"),
        ("tasks/part-00000.parquet", Path.unlink, "tasks: rows"),
        ("machine_events/part-00000.parquet", empty, "machine_events: rows"),
        ("instance_events/part-00001.parquet", add, "files"),
        ("traces/average_cpu.npy", cut, "arrays"),
        ("traces/duration.npy", empty, "arrays"),
        ("traces/start_time.npy", Path.unlink, "files"),
    ],
)
def test_verify_reports_damage_of_any_kind_and_never_breaks(copy, file, damage, check):
    damage(copy / file)
    failed = failed_checks(copy)
    assert check in failed
    assert "files" in failed
    for found in failed.values():
        assert "\n" not in found


@pytest.mark.parametrize("column", ["start_time", "duration"])
def test_an_array_of_times_that_is_not_what_the_windows_say_is_damage(copy, column):
    """Also where the manifest vouches for it, as if a faulty version had written it."""
    path = copy / "traces" / f"{column}.npy"
    times = np.load(path)
    times[2] += 1
    np.save(path, times)
    vouch(copy)
    assert failed_checks(copy) == {"arrays": f"{column}.npy"}


def test_an_unfinished_copy_of_the_tables_has_no_tables() -> None:
    """As `copy` and `pickle` make one: asking it for a table once went round for ever."""
    empty = StoreTables.__new__(StoreTables)
    assert not hasattr(empty, "tasks")
    with pytest.raises(AttributeError, match=r"^no table speed; there are .*tasks"):
        empty.speed  # noqa: B018
