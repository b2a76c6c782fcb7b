"""Names of the files in a store."""

from __future__ import annotations

from pathlib import Path

from borgtrace.store.layout import Layout, part_name, source_key


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
