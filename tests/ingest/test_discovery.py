"""What a folder of raw files says: its kind, its cell, its schema, what is in the store already."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import SchemaError, SourceError
from borgtrace.ingest.build.pending import Pending, find_pending, staged_entries
from borgtrace.ingest.build.staged import StagedPaths, write_entry
from borgtrace.ingest.files.separators import whole_lines
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.find.discovery import discover, origin, truth_about
from borgtrace.ingest.find.known_columns import not_a_trace
from borgtrace.ingest.find.recognition import cell_in_path
from borgtrace.ingest.find.schema_csv import read_schema_csv
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019
from borgtrace.storage import describe_kind
from borgtrace.store.manifest import SourceEntry


def test_kinds_of_what_is_no_file() -> None:
    assert [
        describe_kind(mode) for mode in (stat.S_IFIFO, stat.S_IFDIR, stat.S_IFSOCK, stat.S_IFCHR)
    ] == [
        "a pipe",
        "a folder",
        "a socket",
        "a device",
    ]
    assert whole_lines(b"1,2\r\n\n3,4\n5") == ["1,2", "3,4"]
    assert whole_lines(b"1,2") == ["1,2"]
    shown = str(not_a_trace("x", "a" * 41))
    assert f"got '{'a' * 40}…'" in shown
    assert f"got '{'a' * 40}'" in str(not_a_trace("x", "a" * 40))


@pytest.mark.parametrize(
    ("folder", "cell"),
    [
        *[
            ("clusterdata_2019_a", "a"),
            ("clusterdata_2019_h/json", "h"),
            ("clusterdata_2019_archive", ""),
        ],
        *[
            ("cell_a", "a"),
            ("cell-b/json", "b"),
            ("cell=h", "h"),
            ("cell_b/cell_c", "c"),
            ("clusterdata_2019_b/cell_c", "c"),
        ],
        # No cell of the trace, and words that only begin or end like one.
        *[
            ("cell_i", ""),
            ("cell_archive", ""),
            ("cell_a1", ""),
            ("my_cell_a", ""),
            ("cella", ""),
            ("cell_a_copy", ""),
        ],
    ],
)
def test_a_folder_named_like_the_bucket_or_the_cell_says_the_cell(
    tmp_path: Path,
    folder: str,
    cell: str,
) -> None:
    assert cell_in_path(tmp_path / folder / "x.json.gz", GOOGLE_2019) == cell
    assert cell_in_path(tmp_path / folder / "x.csv.gz", GOOGLE_2011) == ""


@pytest.mark.parametrize(
    ("file", "cell"),
    [
        *[
            ("cell_b-instance_usage.json.gz", "b"),
            ("instance_usage.cell-b.json", "b"),
            ("borg_cell_h_usage.json", "h"),
        ],
        *[
            ("clusterdata_2019_b-usage.json", "b"),
            ("excell_b.json", ""),
            ("cell_bee.json", ""),
            ("cella_pdu1.csv", ""),
        ],
    ],
)
def test_the_name_of_a_file_may_say_the_cell(tmp_path: Path, file: str, cell: str) -> None:
    assert cell_in_path(tmp_path / "cell_a" / file, GOOGLE_2019) == (cell or "a")


def test_the_nearest_account_of_a_synthetic_trace_counts(tmp_path: Path) -> None:
    inner = tmp_path / "raw" / "inner"
    inner.mkdir(parents=True)
    assert truth_about(inner / "x.csv") is None
    (tmp_path / "truth.json").write_text('{"seed": 1, "version": "0", "parameters": {"a": 2}}')
    assert truth_about(inner / "x.csv") == {
        "seed": 1,
        "version": "0",
        "parameters": {"a": 2},
    }
    (tmp_path / "raw" / "truth.json").write_text('{"seed": 3, "parts": {"t": 4}, "more": 5}')
    assert truth_about(inner / "x.csv") == {
        "seed": 3,
        "version": None,
        "parameters": None,
        "parts": {"t": 4},
    }
    (inner / "truth.json").write_text("[1]")
    with pytest.raises(SourceError, match="not the account of a synthetic trace"):
        truth_about(inner / "x.csv")
    assert (origin({"seed": 3}), origin(None)) == ("synthetic, seed 3", "Google's trace")


def test_where_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "truth.json").write_text("{}")
    with pytest.raises(SourceError) as caught:
        discover([tmp_path])
    assert str(caught.value).startswith(
        f"{tmp_path}: no trace files found: expected 2011 CSV parts or 2019 JSON"
    )
    with pytest.raises(SourceError, match="no such file or folder; check the path"):
        discover([tmp_path / "nothing"])


def described(**changed: list[int]) -> str:
    """A ``schema.csv`` in which fields of some tables come in another order, or are left out."""
    lines = ["file pattern,field number,content,format,mandatory"]
    for name, raw in GOOGLE_2011.tables.items():
        places = changed.get(name, list(range(len(raw.fields))))
        for number, place in enumerate(places, 1):
            field = raw.fields[place]
            mandatory = "YES" if field.is_mandatory else "NO"
            lines.append(
                f"{name}/part-?????-of-?????.csv.gz,{number},{field.name}, {field.format} ,{mandatory}"
            )
    return "\n".join([*lines, "", "too,few"])


def test_a_schema_beside_the_data_decides_the_order(tmp_path: Path) -> None:
    path = tmp_path / "schema.csv"
    path.write_text(described())
    plain = read_schema_csv(path)
    # The format document: time, machine ID, event type, platform ID, CPUs, memory.
    assert plain["machine_events"] == (
        "time",
        "machine ID",
        "event type",
        "platform ID",
        "CPUs",
        "Memory",
    )
    assert list(plain) == sorted(GOOGLE_2011.tables)
    path.write_text(described(machine_events=[1, 0, 2, 3, 5, 4], task_usage=list(range(19))))
    orders = read_schema_csv(path)
    assert orders["machine_events"] == (
        "machine ID",
        "time",
        "event type",
        "platform ID",
        "Memory",
        "CPUs",
    )
    # Version 2.0 had one field of usage less.
    assert len(orders["task_usage"]) == 19
    for fewer in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4]):
        path.write_text(described(machine_events=fewer))
        with pytest.raises(SchemaError, match="machine_events field 6: "):
            read_schema_csv(path)


def test_sources_are_new_known_or_replaced(tmp_path: Path) -> None:
    def source(folder: str, part: int, text: bytes) -> Source:
        path = tmp_path / folder / f"part-{part:05d}-of-00500.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
        return Source(
            path,
            GOOGLE_2011,
            "task_usage",
            "csv",
            size=len(text),
        )

    def entry(of: Source, text: bytes) -> Any:
        digest = hashlib.sha256(text).hexdigest()
        return SourceEntry(
            of.name,
            "",
            "instance_usage",
            "task_usage",
            "csv",
            len(text),
            digest,
            1,
            500,
            1,
            1,
            0,
        )

    staging = tmp_path / "staging"
    one, two, three = (source("raw", part, b"abc%d" % part) for part in (1, 2, 3))
    copy, other = source("copy", 3, b"abc3"), source("other", 3, b"abc4")
    held = [entry(one, b"abc1"), entry(two, b"abcX")]
    found = find_pending(
        [one, three, copy],
        held,
        staging,
        replace=False,
    )
    assert found == Pending((three,), (one,))
    with pytest.raises(SourceError) as caught:
        find_pending(
            [three, other],
            [],
            staging,
            replace=True,
        )
    assert str(caught.value) == (
        f"{other.path}: two different files claim to be the same part: expected the content of {three.path}, "
        "got another; ingest each into a separate store, or leave one out"
    )
    with pytest.raises(SourceError) as caught:
        find_pending(
            [two],
            held,
            staging,
            replace=False,
        )
    digest = hashlib.sha256(b"abcX").hexdigest()[:12]
    assert str(caught.value) == (
        f"{two.path}: the source has changed since it was ingested: expected 4 bytes, sha256 {digest}…, "
        "got 4 bytes of other content; if it is another part, name the folder above both; "
        "else accept the new content with --replace"
    )
    assert find_pending(
        [two],
        held,
        staging,
        replace=True,
    ) == Pending((two,), ())
    # What is staged comes first: it is newer than what the store holds.
    write_entry(StagedPaths.of(staging, two.name).entry, entry(two, b"abc2"))
    assert find_pending(
        [two],
        held,
        staging,
        replace=False,
    ) == Pending((), (two,))
    write_entry(StagedPaths.of(staging, two.name).entry, entry(two, b"abcY"))
    assert [each.name for each in staged_entries(staging)] == [two.name]
    assert find_pending(
        [two],
        [],
        staging,
        replace=True,
    ) == Pending((two,), ())
    assert staged_entries(staging) == []
