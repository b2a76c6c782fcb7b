"""Names in a store: of its files, and of ids."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.store import Store
from borgtrace.store.layout import Layout, part_name, source_key
from borgtrace.store.names import find_id
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


@pytest.mark.parametrize(
    ("ids", "text", "expected"),
    [
        ([], "12", 12),
        ([7], "web", 7),
        ([], "web", None),
        ([7, 8], "web", None),
    ],
)
def test_a_text_is_an_id_or_the_name_of_one(
    ids: list[int], text: str, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, EMPTY)
    answer = pa.table({"id": pa.array(ids, pa.int64())})
    monkeypatch.setattr(store, "sql", lambda query, parameters: answer)
    if expected is not None:
        assert find_id(store, "machine", text) == expected
    else:
        with pytest.raises(UsageError) as caught:
            find_id(store, "machine", text)
        assert str(caught.value) == (
            f"machine: not the name of one: expected an id, or a name that one has, got {len(ids)} called web"
        )
