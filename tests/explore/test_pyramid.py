"""The pyramid: kept, found again, made anew for another store, beside the store or in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.explore import grid
from borgtrace.explore.pyramid import pyramid
from borgtrace.ingest import IngestOptions, ingest
from tests.conftest import Commands
from tests.ingest.raw import write_part
from tests.rows import chosen_columns

pytestmark = pytest.mark.wide


@pytest.fixture
def store(cell_store: Path, tmp_path: Path) -> Path:
    shutil.copytree(cell_store, tmp_path / "store", ignore=shutil.ignore_patterns("cache"))
    return tmp_path / "store"


def test_it_is_built_once(store: Path) -> None:
    steps: list[str] = []
    first = pyramid(
        borgtrace.open(store),
        lambda step, done, total: steps.append(f"{done + 1} of {total}: {step}"),
    )
    assert steps == [
        "1 of 5: tiers",
        "2 of 5: queue",
        "3 of 5: windows of machines",
        "4 of 5: attempts of tasks",
        "5 of 5: machines",
    ]
    assert first.folder.parent == store / "cache"
    assert not [path for path in first.folder.parent.iterdir() if path.name.endswith(".incomplete")]
    steps.clear()
    assert (
        pyramid(borgtrace.open(store), lambda *step: steps.append("built")).folder == first.folder
    )
    assert steps == []


def test_another_content_gets_another_one(store: Path, tmp_path: Path) -> None:
    first = pyramid(borgtrace.open(store))
    write_part(
        tmp_path / "more",
        "task_usage",
        ["900000000,1200000000,100,1,8,0.5,0.25,0.3,,,0.3,,,0.6,,2.5,0.01,1,0,0.55"],
        1,
    )
    ingest([tmp_path / "more"], store, IngestOptions(jobs=1))
    second = pyramid(borgtrace.open(store))
    assert second.folder != first.folder
    assert not first.folder.exists()
    # Machine 8: 0.125 of task 200:0, and 0.5 of the new window.
    assert second.grid("cpu", by_hour=False)[1, 1] == 0.625 * grid.STEPS


def test_an_interrupted_one_is_not_taken_for_whole(store: Path) -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pyramid(borgtrace.open(store), interrupt)
    assert not list((store / "cache").glob("explore-*"))
    assert pyramid(borgtrace.open(store)).machines.tolist() == [7, 8]


def test_a_read_only_store_keeps_it_in_the_users_cache(
    store: Path, tmp_path: Path, commands: Commands
) -> None:
    python = commands(tmp_path / "bin", is_root=False) / "python"
    for path in [store, *store.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    imports = "import borgtrace; from borgtrace.explore.pyramid import pyramid"
    script = f"{imports}; print(pyramid(borgtrace.open({str(store)!r})).folder)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "mine")}
    try:
        done = subprocess.run(
            [python, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        for path in [store, *store.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert Path(done.stdout.strip()).parent == tmp_path / "mine" / "borgtrace"
    assert not (store / "cache").exists()


def test_a_store_without_usage_or_machines(tmp_path: Path) -> None:
    from .conftest import client_of, write_store

    rest = "bob,2,9,0.25,0.125,0.001,0"
    store = write_store(
        tmp_path, {"task_events": [f"600000000,,1,0,,0,{rest}", f"700000000,,1,0,5,1,{rest}"]}
    )
    client = client_of(store)
    assert "The store names no machine" in client.get("/").text
    # Nothing was measured, which is not the same as nothing used.
    assert set(client.get("/data/cell/cpu.json").json()["columns"]["production"]) == {None}
    for path in (
        "/data/cell/cpu.json",
        "/data/cell/pending.json",
        "/data/cell/machines.json",
        "/data/job/1/cpu.json",
        "/task/1/0",
    ):
        assert client.get(path).status_code == 200, path


def test_a_store_of_usage_alone(tmp_path: Path) -> None:
    from .conftest import CELL, client_of, write_store

    client = client_of(write_store(tmp_path, {"task_usage": CELL["task_usage"]}))
    tasks = client.get("/data/machine/7/tasks.json").json()
    # Nobody says when they began: from the first window to the last.
    expected = {
        "collection_id": [100, 200],
        "start": [600_000_000, 1_500_000_000],
        "end": [1_200_000_000, 1_800_000_000],
    }
    assert chosen_columns(tasks, expected) == expected
    cpu = client.get("/data/machine/7/cpu.json").json()["columns"]
    assert cpu["unknown"] == [0.125, 0.25, None, 0.0625]
    assert "Known by its usage alone" in client.get("/machine/7").text


def test_means_of_blocks_leave_out_what_is_absent() -> None:
    cells = np.array(
        [
            [
                0,
                100,
                grid.ABSENT,
            ],
            [
                200,
                grid.ABSENT,
                grid.ABSENT,
            ],
        ],
        np.uint8,
    )
    assert grid.coarser(cells, 2, 2).tolist() == [[100, grid.ABSENT]]
    assert grid.coarser(cells, 1, 3).tolist() == [[50], [200]]
    assert grid.mean_rows(cells).tolist() == [0.25, 1.0]


def test_windows_in_which_nothing_was_used_are_measured(tmp_path: Path) -> None:
    """The last window of the trace is one of an idle task: its machine was there, and idle."""
    from .conftest import CELL, client_of, write_store

    idle = "1800000000,2100000000,200,0,7,0,0,0,,,0,,,0,,2.5,0.01,1,0,0"
    client = client_of(write_store(tmp_path, {**CELL, "task_usage": [*CELL["task_usage"], idle]}))
    heat = client.get("/data/cell/machines.json").json()
    # In the third slot nothing was measured in the whole cell.  Machine 7 is the fuller one: 31.25 % against 21.9 %.
    assert heat["cells"] == [[100, 25, 255, 255, 255], [50, 100, 255, 25, 0]]


def test_what_is_fuller_than_the_largest_step_is_that_step(tmp_path: Path) -> None:
    from .conftest import CELL, client_of, write_store

    # 0.5 CPUs: 0.63 are 126 %, 0.635 are 127 %, and 2 are 400 %.
    rows = [
        f"{600 + 300 * k}000000,{900 + 300 * k}000000,100,0,7,{cpu},0.0625,0.07,,,0.07,,,{cpu},,2.5,0.01,1,0,{cpu}"
        for k, cpu in enumerate((0.63, 0.635, 2))
    ]
    client = client_of(write_store(tmp_path, {**CELL, "task_usage": rows}))
    assert client.get("/data/cell/machines.json").json()["cells"][0] == [252, 254, 254]
