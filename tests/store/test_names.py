"""Names in a store: of its files, and of ids."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.store import Store
from borgtrace.store.layout import Layout, part_name, source_key
from borgtrace.store.names import find_id
from tests.ingest.own_data import hashed, ingest_own
from tests.store.typed import EMPTY


def test_names_of_files_in_a_store(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert source_key("task_usage/part-00001 é.csv*") == "task_usage-part-00001-é.csv-"
    assert part_name(12) == "part-00012.parquet"
    assert (
        layout.refused("instance_usage", "a/b")
        == tmp_path / "quarantine" / "instance_usage" / "a-b.parquet"
    )
    assert layout.array("average_cpu") == tmp_path / "traces" / "average_cpu.npy"
    assert layout.parts("tasks") == []


NAMED = """\
clock = "relative"
step = "300s"
[usage]
task = ["namespace", "pod", "container"]
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "cores", kind = "average" }
"""
PODS = (
    "shop,web-0,app",
    "shop,web-0,log",
    "shop,web-01,app",
    "shop,web-02,app",
    "shop,db,main",
    "shop,100%,main",
)


def pods(folder: Path) -> Store:
    lines = "".join(f"{pod},0,1\n" for pod in PODS)
    return ingest_own(folder, NAMED, {"own.csv": f"namespace,pod,container,time,cpu\n{lines}"})


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("db", "; did you mean shop/db/main"),
        # First those of which it is a whole part, then the shorter ones.
        (
            "web-0",
            "; did you mean shop/web-0/app or shop/web-0/log or shop/web-01/app, or one of 1 more",
        ),
        ("web-0/app", "; did you mean shop/web-0/app"),
        ("%", "; did you mean shop/100%/main"),
        ("_", ""),
        ("", ""),
    ],
)
def test_a_part_of_a_name_is_refused_with_the_names_that_hold_it(
    tmp_path: Path, text: str, suggestion: str
) -> None:
    store = pods(tmp_path)
    with pytest.raises(UsageError) as caught:
        find_id(store, "collection", text)
    assert str(caught.value) == (
        "collection: not the name of one: expected an id, or a name that one has, "
        f"got 0 called {text}{suggestion}"
    )


def test_a_number_is_an_id_and_a_whole_name_is_found(tmp_path: Path) -> None:
    store = pods(tmp_path)
    assert find_id(store, "collection", "12") == 12
    assert find_id(store, "collection", "shop/db/main") == hashed("shop/db/main")


def test_a_name_that_two_machines_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, EMPTY)
    answer = pa.table({"id": pa.array([7, 8], pa.int64())})
    monkeypatch.setattr(store, "sql", lambda query, parameters: answer)
    with pytest.raises(UsageError) as caught:
        find_id(store, "machine", "web")
    assert str(caught.value) == (
        "machine: not the name of one: expected an id, or a name that one has, got 2 called web"
    )
