"""Rows that are staged: their names, their numbers, and those that are refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest.build import staged_writer
from borgtrace.ingest.build.staged import StagedOutput, StagedPaths, StagedWriter, make_entry
from borgtrace.ingest.files.raw_layout import raw_layout
from borgtrace.ingest.files.sources import Source
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.store.manifest import Refusal


def test_staged_rows_have_their_name_when_they_are_complete(tmp_path: Path) -> None:
    writer = StagedWriter(tmp_path / "x.parquet", ("collection_id", "instance_index"))
    writer.finish()
    assert not list(tmp_path.iterdir())
    for ids in ([3, 1], [2]):
        writer.write(pa.table({"collection_id": ids, "source_row": list(range(len(ids)))}))
    assert (writer.rows, writer.columns, writer.path.exists()) == (
        3,
        ("collection_id", "source_row"),
        False,
    )
    writer.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]
    assert pq.read_table(writer.path).column("collection_id").to_pylist() == [1, 2, 3]
    given_up = StagedWriter(tmp_path / "y.parquet")
    given_up.write(pa.table({"a": [1]}))
    given_up.abandon()
    assert (given_up.rows, [path.name for path in tmp_path.iterdir()]) == (0, ["x.parquet"])
    given_up.write(pa.table({"a": [1, 2]}))
    given_up.finish()
    assert pq.read_table(given_up.path).num_rows == 2


def test_a_file_may_end_with_a_full_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each table is a run of its own: nothing is left to be written at the end.
    monkeypatch.setattr(staged_writer, "LARGEST_RUN", 0)
    writer = StagedWriter(tmp_path / "x.parquet", ("collection_id",))
    for ids in ([2, 1], [3]):
        writer.write(pa.table({"collection_id": ids, "source_row": list(range(len(ids)))}))
    writer.finish()
    assert pq.read_table(writer.path).column("collection_id").to_pylist() == [1, 2, 3]


def test_rows_that_need_no_sort_are_written_before_much_memory_is_held(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pa.table({"collection_id": [1, 2], "source_row": [0, 1]})
    for limit, key, groups in (
        (rows.nbytes - 1, (), 2),
        (rows.nbytes, (), 1),
        (rows.nbytes - 1, ("collection_id",), 1),
    ):
        monkeypatch.setattr(staged_writer, "UNSORTED_RUN", limit)
        writer = StagedWriter(tmp_path / "x.parquet", key)
        writer.write(rows)
        writer.write(rows)
        writer.finish()
        assert pq.ParquetFile(writer.path).num_row_groups == groups


def test_what_is_discarded_of_a_source_may_not_be_there(tmp_path: Path) -> None:
    paths = StagedPaths.of(tmp_path, "task_usage/part-00001")
    paths.discard()
    for path in (paths.entry, paths.table("instance_usage"), paths.quarantine("instance_usage")):
        path.parent.mkdir(parents=True)
        path.touch()
    other = StagedPaths.of(tmp_path, "task_usage/part-00002").table("instance_usage")
    other.touch()
    paths.discard()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [other]


def attributes(times: list[int]) -> pa.Table:
    n = len(times)
    return pa.table(
        {
            "time": times,
            "machine_id": [1] * n,
            "name": ["a"] * n,
            "value": ["b"] * n,
            "is_deleted": [False] * n,
        }
    )


def refused(row: int, raw: str) -> pa.Table:
    """A row that the validating reader refuses."""
    return pa.table(
        {
            "source_row": [row],
            "reason": ["unparsable_value"],
            "column": ["time"],
            "value": [raw],
            "expected": ["a whole number"],
            "raw": [raw],
        }
    )


def test_rows_are_numbered_counted_and_refused(tmp_path: Path) -> None:
    layout = raw_layout(GOOGLE_2011, "machine_attributes")
    paths = StagedPaths(tmp_path, "x")
    (tmp_path / "machine_attributes").mkdir()
    source = Source(
        Path("part-00003-of-00007.csv"),
        GOOGLE_2011,
        "machine_attributes",
        "csv",
        size=9,
    )
    with StagedOutput(paths, layout) as output:
        output.write(attributes([9]))
        output.restart()
        output.write(attributes([5, 4]))
        output.write(attributes([]).cast(attributes([1]).schema))
        output.write(attributes([3, 6]))
        output.refuse(source, refused(4, "x"), [5])
        output.refuse(source, refused(5, "y"), [6])
    assert pq.read_table(paths.quarantine("machine_attributes")).column("raw").to_pylist() == [
        "x",
        "y",
    ]
    assert pq.read_table(paths.table("machine_attributes")).column("source_row").to_pylist() == [
        0,
        1,
        2,
        3,
    ]
    entry = make_entry(source, output, "sha")
    assert (entry.rows_in, entry.stored, entry.quarantined, entry.part, entry.parts) == (
        6,
        4,
        2,
        3,
        7,
    )
    assert entry.counters == {"time_out_of_order": 2, "unparsable_value": 2}
    assert entry.refusals == (
        Refusal(
            "unparsable_value",
            "time",
            rows=2,
            file="part-00003-of-00007.csv",
            row=4,
            line=5,
            value="x",
            expected="a whole number",
        ),
    )
    assert (
        make_entry(
            source,
            output,
            "sha",
            rows_in=8,
            skipped=3,
        ).skipped
        == 3
    )

    def fail() -> None:
        with StagedOutput(StagedPaths(tmp_path, "y"), layout) as failing:
            failing.write(attributes([1]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.name for path in (tmp_path / "machine_attributes").iterdir()] == ["x.parquet"]
