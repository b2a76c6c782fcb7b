"""The small rules of a store, each by itself: what it holds of a trace, what its manifest takes, what is cut."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import StoreError, UsageError
from borgtrace.schema import TABLES, TRACE_TABLES, dialect
from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.dialects import DIALECTS
from borgtrace.store import Store, columns, compatibility, integrity, kept, swap, unchanged
from borgtrace.store.compatibility import is_newer, lacking_columns
from borgtrace.store.coverage import DECLARED_WHOLE, Coverage, StoreCoverage, coverage, whole_trace
from borgtrace.store.criteria import Criteria, in_fraction
from borgtrace.store.layout import Layout, part_name, source_key
from borgtrace.store.manifest import Manifest, SourceEntry, _fits, entry_from, read_manifest
from borgtrace.store.names import id_of
from borgtrace.store.parts import describe_numbers
from borgtrace.store.traces import TraceReader
from borgtrace.store.verify import Check, _bits, _first_fault, _index, _order, _quarantine, as_error

SECOND = 1_000_000
EMPTY = Manifest("2011", "", "UTC", "1", "d", {}, ())
ENTRY = SourceEntry("task_usage/part-00003", "f", "instance_usage", "task_usage", "csv", 9, "s", 3, None, 5, 4, 1)


def entry(part: int | None, parts: int | None = None, **facts: Any) -> SourceEntry:
    return replace(ENTRY, part=part, parts=parts, **facts)


# How much of a trace


def test_a_table_is_whole_when_no_part_is_missing() -> None:
    assert [Coverage(1, parts, of).is_whole for parts, of in (((), 0), ((0,), 2), ((0, 1), 2), ((0, 1), None))] == [
        True,
        False,
        True,
        False,
    ]
    gaps = ((), (4,), (0, 1, 2), (0, 1, 3), (0, 2, 3))
    assert [Coverage(1, parts).is_contiguous for parts in gaps] == [True, True, True, False, False]


def test_a_whole_table_speaks_about_the_whole_trace() -> None:
    tables = {"a": Coverage(1, (0,), 1, 5), "b": Coverage(1, (0,), 2, 9), "c": Coverage(1, (0,), None, 7)}
    cover = StoreCoverage(dialect("2011"), tables, 0)
    assert cover.span == 9
    assert [cover.span_of(name) for name in tables] == [9, 9, 7]
    assert StoreCoverage(dialect("2011"), {}, 0).span == 0
    whole = whole_trace(dialect("2019"), 3)
    # FACTS: 31 days of May 2019.
    assert whole.tables["instance_usage"] == Coverage(0, (), 0, 31 * 24 * 3600 * SECOND)
    assert (whole.n_tasks, whole.is_subset) == (3, False)


def test_what_the_ledger_tells_of_parts_and_time() -> None:
    manifest = replace(
        EMPTY,
        tables={"instance_usage": 8, "tasks": 2},
        sources=(entry(7), entry(3), entry(3), entry(None), entry(1, table="instance_events", raw_table="task_events")),
        time_range={"instance_usage": [0, 607 * SECOND], "instance_events": [601 * SECOND, 605 * SECOND]},
        notes=("first", "subset of other"),
    )
    cover = coverage(manifest)
    assert (cover.n_tasks, cover.is_subset) == (2, True)
    # 500 parts are published (FACTS §1); what is before 600 s is before the trace.
    assert cover.tables["instance_usage"] == Coverage(8, (3, 7), 500, 7 * SECOND)
    assert cover.tables["instance_events"] == Coverage(0, (1,), 500, 4 * SECOND)
    assert cover.tables["machine_events"] == Coverage(0, (), None, 0)
    none = coverage(replace(EMPTY, time_range={"instance_usage": [0, 5 * SECOND]}, notes=("first",)))
    assert (none.tables["instance_usage"].span, none.n_tasks, none.is_subset) == (0, 0, False)


def test_constraints_are_told_by_the_files_of_events() -> None:
    events = entry(4, table="instance_events", raw_table="instance_events", also={"instance_constraints": 6})
    cover = coverage(replace(EMPTY, generation="2019", sources=(events,)))
    assert [cover.tables[name].parts for name in ("instance_events", "instance_constraints", "instance_usage")] == [
        (4,),
        (4,),
        (),
    ]


USAGE_2019 = {"raw_table": "instance_usage"}
ALL_RAW = tuple(entry(0, raw_table=name) for name in DIALECTS["2011"].tables)
UNPUBLISHED = next(one.name for one in DIALECTS.values() if one.publication is None)


@pytest.mark.parametrize(
    ("facts", "of"),
    [
        ({"sources": (entry(0, 7),)}, 500),  # the published number first: a file may be renamed
        ({"generation": "2019", "sources": (entry(0, **USAGE_2019),)}, None),
        ({"generation": "2019", "sources": (entry(0, 7, **USAGE_2019), entry(1, 7, **USAGE_2019))}, 7),
        ({"generation": "2019", "sources": (entry(0, 7, **USAGE_2019), entry(1, 8, **USAGE_2019))}, None),
        ({"generation": "2019", "sources": (entry(0, **USAGE_2019),), "notes": (DECLARED_WHOLE,)}, 0),
        ({"generation": "2019", "sources": (entry(0, raw_table="other"),)}, None),
        ({"generation": UNPUBLISHED, "sources": (entry(0, 7),)}, 0),
        ({"synthetic": {"parts": {"task_usage": 2}}, "sources": (entry(0, 7),)}, 2),
        ({"synthetic": {}, "sources": (entry(0, 7),)}, 7),
        ({"synthetic": {"parts": None}, "sources": (entry(0),)}, None),
        ({"synthetic": {}, "sources": ALL_RAW}, 0),  # old generators did not say how many files they wrote
        ({"synthetic": {}, "sources": ALL_RAW[1:]}, None),
    ],
)
def test_how_many_parts_a_whole_table_has(facts: dict[str, Any], of: int | None) -> None:
    assert coverage(replace(EMPTY, **facts)).tables["instance_usage"].of == of


@pytest.mark.parametrize(
    ("numbers", "total", "text"),
    [
        ([3, 1, 2, 9, 10, 7, None], None, "1–3, 7, 9–10"),
        ([0], 1, "0 of 1"),
        ([], 5, "without numbers"),
        ([0, 2], 0, "0, 2"),
    ],
)
def test_parts_in_words(numbers: list[int | None], total: int | None, text: str) -> None:
    assert describe_numbers(numbers, total) == text


# Criteria


def test_each_criterion_is_one_condition() -> None:
    every = Criteria(
        jobs=(7, 8),
        machines=(5,),
        time=(1, 2),
        tiers=("production", "free"),
        priorities=(9,),
        scheduling_classes=(3,),
        users=("o'neill",),
        end_types=("EVICT",),
        fraction=0.5,
        seed=3,
        where="n_windows > 1 -- long",
    )
    assert every.terms(dialect("2011")) == {
        "--jobs": "collection_id in (7, 8)",
        "--machines": "(collection_id, instance_index) in ("
        "select collection_id, instance_index from instance_events where machine_id in (5) union "
        "select collection_id, instance_index from instance_usage where machine_id in (5))",
        "--tier": "(priority between 9 and 11 or priority between 0 and 1)",
        "--priority": "priority in (9)",
        "--class": "scheduling_class in (3)",
        "--user": "\"user\" in ('o''neill')",
        "--end-type": "end_type in ('EVICT')",
        "--fraction": "md5_number_lower('3:' || collection_id) / 18446744073709551616.0 < 0.5",
        "--where": "(n_windows > 1 -- long\n)",
    }
    assert in_fraction(0.5, 3) == every.terms(dialect("2011"))["--fraction"]
    assert Criteria().terms(dialect("2011")) == {}
    with pytest.raises(UsageError, match="--tier"):
        Criteria(tiers=("beb",)).terms(dialect("2011"))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"fraction": 0.0}, "--fraction: not a share: expected 0 < F ≤ 1, got 0.0"),
        ({"fraction": 1.001}, "--fraction: not a share: expected 0 < F ≤ 1, got 1.001"),
        ({"time": (5, 5)}, "--time: the end is not after the start: expected A..B with A < B, got 5..5"),
        (
            {"end_types": ("SUBMIT",)},
            "--end-type: unknown name: expected EVICT or FAIL or FINISH or KILL or LOST, got SUBMIT",
        ),
    ],
)
def test_criteria_that_make_no_sense(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Criteria(**facts)
    assert str(caught.value) == message
    assert Criteria(fraction=1.0, time=(5, 6), end_types=("LOST",)).fraction == 1.0
    assert Criteria(fraction=1e-9).fraction == 1e-9


# The manifest


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (0, int, True),
        (2**63 - 1, int, True),
        (2**63, int, False),
        (-1, int, False),
        (True, int, False),
        (1.0, int, False),
        ("x", str, True),
        (None, int | None, True),
        (3, int | None, True),
        ("3", int | None, False),
        ({"a": 1, "b": 2}, dict[str, int], True),
        ({"a": 1, "b": "2"}, dict[str, int], False),
        ([1], dict[str, int], False),
        ([1, "2"], list[int], False),
        ([1, 2], list[int], True),
        ({1}, list[int], False),
        (("a",), tuple[str, ...], True),
        ({"a": [1, 2]}, dict[str, list[int]], True),
        ({"a": None}, dict[str, Any], True),
    ],
)
def test_which_values_of_json_are_of_a_declared_type(value: object, hint: Any, fits: bool) -> None:
    assert _fits(value, hint) is fits


def test_every_row_that_came_in_is_accounted_for() -> None:
    right = replace(ENTRY, rows_in=15, stored=8, quarantined=4, skipped=2, merged=1)
    assert right.is_conserved
    for name in ("stored", "quarantined", "skipped", "merged"):
        assert not replace(right, **{name: 0}).is_conserved


def test_counters_of_sources_are_summed_with_those_of_tables() -> None:
    sources = (replace(ENTRY, counters={"b": 2, "a": 1}), replace(ENTRY, counters={"b": 3}))
    manifest = replace(EMPTY, sources=sources, quality={"instance_usage": {"b": 4}, "tasks": {}, "a": {"c": 1}})
    assert manifest.counters == {"a": {"c": 1}, "instance_usage": {"a": 1, "b": 9}}
    assert (manifest.is_synthetic, replace(EMPTY, synthetic={}).is_synthetic) == (False, True)


def test_a_manifest_comes_back_with_what_a_later_version_wrote(tmp_path: Path) -> None:
    source = replace(ENTRY, unknown={"new": 1}, columns=("a", "b"))
    manifest = replace(EMPTY, sources=(source,), unknown={"later": [2]}, tables={"tasks": 1, "machine_events": 2})
    text = manifest.to_json()
    assert text.startswith('{\n "basis": {},\n "cell": "",')
    assert text.endswith("}\n")
    data = json.loads(text)
    assert (data["later"], data["sources"][0]["new"], "unknown" in data) == ([2], 1, False)
    assert entry_from(data["sources"][0]) == source
    manifest.write(tmp_path / "manifest.json")
    again = read_manifest(tmp_path)
    assert again == manifest
    # In the order of their declaration, not of their names.
    assert list(again.tables) == ["machine_events", "tasks"]


@pytest.mark.parametrize(
    ("version", "is_read"), [("1.0", True), ("1.7", True), ("1.7.2", True), ("2.0", False), ("11", False)]
)
def test_another_major_version_is_refused(tmp_path: Path, version: str, is_read: bool) -> None:
    replace(EMPTY, format_version=version).write(tmp_path / "manifest.json")
    if is_read:
        assert read_manifest(tmp_path).format_version == version
    else:
        with pytest.raises(StoreError, match=f"store of another format version: expected 1.1, got {version};"):
            read_manifest(tmp_path)


@pytest.mark.parametrize("left", ["staging", "next", "staging.incomplete"])
def test_what_an_ingest_left_says_how_to_finish(tmp_path: Path, left: str) -> None:
    (tmp_path / left).mkdir()
    with pytest.raises(StoreError) as caught:
        read_manifest(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: the store is half-built: expected manifest.json, got an ingest that did not finish; "
        f"finish it: borgtrace ingest SRC --store {tmp_path}"
    )


def test_names_of_files_in_a_store(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert source_key("task_usage/part-00001 é.csv*") == "task_usage-part-00001-é.csv-"
    assert part_name(12) == "part-00012.parquet"
    assert layout.refused("instance_usage", "a/b") == tmp_path / "quarantine" / "instance_usage" / "a-b.parquet"
    assert layout.array("average_cpu") == tmp_path / "traces" / "average_cpu.npy"
    assert layout.parts("tasks") == []


@pytest.mark.parametrize(
    ("ids", "text", "found"), [([], "12", 12), ([7], "web", 7), ([], "web", None), ([7, 8], "web", None)]
)
def test_a_text_is_an_id_or_the_name_of_one(ids: list[int], text: str, found: int | None) -> None:
    store: Any = SimpleNamespace(sql=lambda query, parameters: pa.table({"id": pa.array(ids, pa.int64())}))
    if found is not None:
        assert id_of(store, "machine", text) == found
    else:
        with pytest.raises(UsageError) as caught:
            id_of(store, "machine", text)
        assert str(caught.value) == (
            f"machine: not the name of one: expected an id, or a name that one has, got {len(ids)} called web"
        )


def test_a_later_minor_version_is_newer() -> None:
    assert [is_newer(version) for version in ("1", "1.0", "1.1", "1.2", "1.10")] == [False, False, False, True, True]


def test_what_a_store_lacks_is_told_by_the_first_file_of_each_table(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for name in ("machine_events", "machine_attributes", "tasks"):
        layout.table(name).mkdir()
    (layout.table("machine_events") / part_name(0)).write_bytes(b"damaged")  # for `verify` to tell
    table = TABLES["machine_attributes"]
    whole = arrow_schema(table).empty_table()
    pq.write_table(whole.drop_columns(["value"]), layout.table(table.name) / part_name(0))
    pq.write_table(whole.drop_columns(["time"]), layout.table(table.name) / part_name(1))
    assert lacking_columns(layout, "another", "1.1") == ("machine_attributes.value",)
    wrong = pa.table({name: pa.array([], pa.bool_()) for name in ("v", "w", "x", "y")})
    pq.write_table(wrong, layout.table("tasks") / part_name(0))
    with pytest.raises(StoreError) as caught:
        lacking_columns(layout, "another", "1.1")
    # Three of them are enough.
    assert str(caught.value).count("; ") == 3


# Files that have changed


def test_a_changed_file_is_told_by_the_beginnings_of_its_digests(tmp_path: Path) -> None:
    manifest = replace(EMPTY, files={"a": "0123456789abcdef"})
    way_out = f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    assert str(integrity._has_changed(Layout(tmp_path), manifest, "a", "fedcba9876543210")) == (
        f"{tmp_path}: a has changed since it was written: expected 0123456789ab, got fedcba987654; {way_out}"
    )
    assert str(integrity._has_changed(Layout(tmp_path), manifest, "a", None)).startswith(f"{tmp_path}: a is missing")
    assert str(integrity._other_rows(Layout(tmp_path), replace(EMPTY, tables={"tasks": 1234}))) == (
        f"{tmp_path}: tasks does not have the rows that the manifest counts: expected 1,234 rows, got 0; {way_out}"
    )
    assert integrity._other_rows(Layout(tmp_path), EMPTY) is None


def test_files_that_an_ingest_replaces_meanwhile_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = replace(EMPTY, digest="old"), replace(EMPTY, digest="new")
    fault = StoreError("x", "changed")
    manifests, faults = iter([old, new, new]), iter([fault, None])
    monkeypatch.setattr(integrity, "read_manifest", lambda root: next(manifests))
    monkeypatch.setattr(integrity, "_changed", lambda layout, manifest: next(faults))
    assert integrity.read_intact(tmp_path) is new
    manifests, faults = iter([old, old]), iter([fault])
    with pytest.raises(StoreError) as caught:
        integrity.read_intact(tmp_path)
    assert caught.value is fault


def test_the_record_of_comparisons_is_named_by_the_place_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = hashlib.sha256(str(tmp_path.resolve()).encode()).hexdigest()[:16]
    assert unchanged._record(tmp_path) == tmp_path / "cache" / "borgtrace" / f"{name}.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert unchanged._record(tmp_path) == Path(f"/home/me/.cache/borgtrace/{name}.json")
    assert kept.user_cache() == Path("/home/me/.cache/borgtrace")


# A new version, and what is kept


def test_a_first_version_is_put_in_place_and_staged_rows_go(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for path in (layout.unfinished / "tasks", layout.staging / "x", layout.discarded / "y"):
        path.mkdir(parents=True)
    (layout.unfinished / "manifest.json").write_text("1")
    swap.commit_next(layout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "tasks"]


def test_a_swap_that_ended_after_the_manifest_is_only_tidied(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.manifest.write_text("2")
    layout.next.mkdir()
    layout.staging.mkdir()
    assert swap.finish_swap(layout) is True
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    layout.discarded.mkdir()
    assert swap.finish_swap(layout) is False
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_what_is_kept_is_the_modules_and_the_first_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_bytes(b"a")
    (tmp_path / "two.py").write_bytes(b"b")
    (tmp_path / "three.txt").write_bytes(b"c")
    assert kept.version_of([tmp_path]) == hashlib.sha256(b"ab").hexdigest()[:8]
    store: Any = SimpleNamespace(digest="d" * 64, layout=SimpleNamespace(cache=tmp_path / "cache"))
    place = tmp_path / "cache" / f"kind-{'d' * 16}-v"

    def overtaken(folder: Path) -> None:
        place.mkdir()
        (place / "theirs").touch()

    assert kept.kept_folder(store, "kind", "v", overtaken) == place
    assert [path.name for path in place.iterdir()] == ["theirs"]

    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        kept.kept_folder(store, "other", "v", full)
    # A file of such a name, other kinds and what cannot be removed stay.
    (tmp_path / "cache" / "kind-file").touch()
    (tmp_path / "cache" / "kinds").mkdir()
    (tmp_path / "cache" / "kind-old").mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        kept._remove_others(store, tmp_path / "cache", "kind", place)
    assert (tmp_path / "cache" / "kind-old").is_dir()
    kept._remove_others(store, tmp_path, "kind", place)  # another place: other stores share it
    assert (tmp_path / "cache" / "kind-old").is_dir()
    kept._remove_others(store, tmp_path / "cache", "kind", place)
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [place.name, "kind-file", "kinds"]


def test_an_array_that_does_not_fit_on_the_disk_is_no_store_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> str:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(columns, "file_digest", fail)
    monkeypatch.setattr(columns, "column_blocks", lambda layout, column: ())
    monkeypatch.setattr(columns.np.lib.format, "open_memmap", lambda *_, **__: np.zeros(0).view(np.memmap))
    with pytest.raises(OSError, match="full"):
        columns.add_array(Layout(tmp_path), "maximum_cpu")


# Reading by hand


def indexed(folder: Path, windows: list[int], first: list[int] | None = None) -> Layout:
    """A store's index of tasks (2, 0), (2, 1), (5, 0) …, and arrays that count their rows."""
    layout = Layout(folder)
    ids = [(2, 0), (2, 1), (5, 0), (9, 3)][: len(windows)]
    starts = first if first is not None else [sum(windows[:i]) for i in range(len(windows))]
    layout.table("tasks").mkdir(parents=True)
    layout.traces.mkdir()
    table = pa.table(
        {
            "collection_id": pa.array([a for a, _ in ids], pa.int64()),
            "instance_index": pa.array([b for _, b in ids], pa.int32()),
            "first_row": pa.array(starts, pa.int64()),
            "n_windows": pa.array(windows, pa.int32()),
        }
    )
    pq.write_table(table, layout.table("tasks") / part_name(0))
    for name in columns.DEFAULT_COLUMNS:
        kind = np.uint32 if name == "start_time" else np.float32
        np.save(layout.array(name), np.arange(max(0, sum(windows)), dtype=kind))
    return layout


def test_traces_are_cut_where_the_index_says(tmp_path: Path) -> None:
    reader = TraceReader(indexed(tmp_path, [2, 0, 3, 1]))
    assert reader.offsets.tolist() == [0, 2, 2, 5, 6]
    for rows, offsets, values in (
        ([0, 1, 2], [0, 2, 2, 5], [0, 1, 2, 3, 4]),  # neighbors
        ([2, 0], [0, 3, 5], [2, 3, 4, 0, 1]),
        ([0, 2], [0, 2, 5], [0, 1, 2, 3, 4]),  # the task between them has no windows
        ([3, 3], [0, 1, 2], [5, 5]),
        ([1], [0, 0], []),
        ([], [0], []),
    ):
        found = reader.traces(np.array(rows, np.int64), ("average_cpu",))
        assert (found.offsets.tolist(), found.average_cpu.tolist()) == (offsets, values)
    assert reader.traces(np.array([3, 0]))[1]["start_time"].tolist() == [0, 1]
    assert reader.trace(2, 0)["average_cpu"].tolist() == [0, 1]
    assert reader.trace(9, 3)["average_cpu"].tolist() == [5]
    assert reader.rows(np.array([[9, 3], [2, 0]])).tolist() == [3, 0]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ((1, 0), "collection 1; the nearest is 2"),
        ((3, 0), "collection 3; the nearest is 5"),
        ((10, 0), "collection 10; the nearest is 9"),
        ((2, 7), "instance 7; it has instances 0 to 1"),
        ((9, 0), "instance 0; it has instances 3 to 3"),
    ],
)
def test_a_task_that_is_not_there(tmp_path: Path, task: tuple[int, int], message: str) -> None:
    reader = TraceReader(indexed(tmp_path, [2, 0, 3, 1]))
    for ask in (lambda: reader.trace(*task), lambda: reader.rows(np.array([[2, 0], task, [1, 1]]))):
        with pytest.raises(UsageError) as caught:
            ask()
        assert str(caught.value) == f"task: not in this store: got {message}"


def test_an_index_without_tasks_has_no_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        TraceReader(indexed(tmp_path, [])).trace(1, 0)
    assert str(caught.value) == "task: not in this store: got collection 1"


@pytest.mark.parametrize(
    ("windows", "first"), [([2, 3], [1, 3]), ([2, 3], [0, 3]), ([2, -1, 3], [0, 2, 1]), ([2, 3], [0, 1])]
)
def test_an_index_that_points_elsewhere_is_damage(tmp_path: Path, windows: list[int], first: list[int]) -> None:
    with pytest.raises(StoreError, match="the index of tasks is damaged"):
        TraceReader(indexed(tmp_path, windows, first))


def test_positions_of_a_collection_and_usage_that_is_not_there(tmp_path: Path) -> None:
    indexed(tmp_path, [2, 0, 3, 1])
    store = Store(tmp_path, EMPTY)
    assert [store.rows_of_collection(number) for number in (1, 2, 5, 9, 10)] == [(0, 0), (0, 2), (2, 3), (3, 4), (4, 4)]
    assert store.array("average_cpu").tolist() == [0, 1, 2, 3, 4, 5]
    assert store.task_rows(np.array([[5, 0]])).tolist() == [2]
    assert [ids.tolist() for ids in store.task_ids(np.array([3, 1]))] == [[9, 2], [3, 1]]
    assert store._rows(None).tolist() == [0, 1, 2, 3]
    assert store._rows(np.array([3, 1], np.int32)).tolist() == [3, 1]
    assert store._rows([(9, 3), (2, 0)]).tolist() == [3, 0]
    assert store._rows(np.array([[5, 0]])).tolist() == [2]
    with pytest.raises(UsageError, match="the store has no usage"):
        store.usage_rows()
    assert Store(tmp_path, replace(EMPTY, tables={"instance_usage": 1})).usage_rows() == 1


# Verifying


@pytest.mark.parametrize(
    ("a", "b", "fault"),
    [
        ([1, 1, 2], [1, 2, 0], None),
        ([1, 1, 2], [2, 2, 0], 1),  # equal
        ([1, 2, 1], [0, 0, 5], 2),
        ([1, 1, 1], [0, 2, 1], 2),
        ([2, 1, 0], [0, 1, 2], 1),  # the first fault
        ([7], [7], None),
    ],
)
def test_each_key_is_greater_than_the_one_before(a: list[int], b: list[int], fault: int | None) -> None:
    assert _first_fault(pa.table({"a": a, "b": b})) == fault


def test_order_holds_across_files_and_the_row_that_breaks_it_is_named(tmp_path: Path) -> None:
    layout, table = Layout(tmp_path), TABLES["tasks"]
    layout.table("tasks").mkdir()

    def write(number: int, pairs: list[tuple[int, int]]) -> None:
        rows = pa.table({"collection_id": [a for a, _ in pairs], "instance_index": [b for _, b in pairs]})
        pq.write_table(rows, layout.table("tasks") / part_name(number), row_group_size=2)

    write(0, [(1, 0), (1, 1), (2, 0)])
    write(1, [(2, 1), (3, 0)])
    assert _order(table, layout) == (True, "sorted and unique by collection_id, instance_index")
    write(1, [(2, 0), (3, 0)])
    assert _order(table, layout) == (False, "row 0 of part-00001.parquet does not follow")
    write(1, [(2, 1), (3, 0), (3, 1), (3, 0)])
    assert _order(table, layout) == (False, "row 3 of part-00001.parquet does not follow")
    assert _order(TABLES["machine_events"], layout)[0]


def test_the_index_counts_all_rows_of_usage(tmp_path: Path) -> None:
    layout = indexed(tmp_path, [2, 0, 3])
    manifest = replace(EMPTY, tables={"instance_usage": 5})
    assert _index(manifest, layout) == (True, "5 windows of 3 tasks, 5 usage rows")
    assert _index(EMPTY, layout) == (False, "5 windows of 3 tasks, 0 usage rows")
    pq.write_table(pa.table({"first_row": [0, 1], "n_windows": [2, 3]}), layout.table("tasks") / part_name(0))
    assert _index(manifest, layout)[0] is False


def test_refused_rows_are_kept_file_by_file(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    sources = tuple(
        replace(ENTRY, name=name, quarantined=n) for name, n in (("a", 2), ("b", 0), ("c", 3), ("d", 4), ("e", 5))
    )
    (layout.quarantine / "instance_usage").mkdir(parents=True)

    def keep(name: str, rows: int) -> None:
        pq.write_table(pa.table({"line": ["x"] * rows}), layout.refused("instance_usage", name))

    keep("a", 2)
    assert _quarantine(replace(EMPTY, sources=sources[:2]), layout) == (True, "2 rows refused, all kept")
    keep("b", 1)
    # Three of four are named.
    assert _quarantine(replace(EMPTY, sources=sources), layout) == (
        False,
        "b: 1, the ledger says 0; c: 0, the ledger says 3; d: 0, the ledger says 4",
    )


def test_checks_that_fail_are_one_error(tmp_path: Path) -> None:
    checks = [Check("files", True, "fine"), Check("index", False, "no"), Check("arrays", False, "no")]
    assert as_error(tmp_path, checks[:1]) is None
    assert str(as_error(tmp_path, checks)) == (
        f"{tmp_path}: the store is damaged: got index, arrays; "
        f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    )


def test_every_table_of_a_trace_is_covered() -> None:
    assert list(coverage(EMPTY).tables) == list(TRACE_TABLES)


def test_who_made_a_trace_is_said_in_a_word() -> None:
    given = (None, {"seed": 1}, {"simulated": "best-fit"})
    assert [replace(EMPTY, synthetic=each).made for each in given] == ["", "synthetic", "simulated"]


@pytest.mark.parametrize(("text", "known"), [('{"a": [1]}', {"a": [1]}), ("[1]", {}), ("no JSON", {})])
def test_a_record_of_comparisons_is_a_table_or_nothing(
    text: str, known: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "record").write_text(text)
    monkeypatch.setattr(unchanged, "_record", lambda root: root / "record")
    assert unchanged._known(tmp_path) == known


def test_a_file_that_was_compared_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.utime(tmp_path / "a", (1, 1))
    # The time of the last change cannot be set: each file counts as settled.
    monkeypatch.setattr(unchanged, "_TICK", -(10**12))
    monkeypatch.setattr(unchanged, "_record", lambda root: root / "record")
    digests = {"a": hashlib.sha256(b"x").hexdigest()}
    assert unchanged.changed_files(tmp_path, digests) == {}
    monkeypatch.setattr(unchanged, "file_digests", lambda *_: pytest.fail("it was read again"))
    assert unchanged.changed_files(tmp_path, digests) == {}


def test_a_part_that_the_manifest_does_not_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "unknown_parts", lambda layout, manifest: {"b.parquet", "a.parquet"})
    found = integrity._changed(Layout(Path("/s")), replace(EMPTY, files={"c.parquet": "0"}))
    assert "a.parquet is none of the files that the manifest lists" in str(found)


def test_a_damaged_part_hides_no_other_table(tmp_path: Path) -> None:
    first, second = list(TABLES)[:2]
    (tmp_path / first).write_text("damage")
    pq.write_table(pa.table({"a": [1]}), tmp_path / second)
    layout: Any = SimpleNamespace(parts=lambda name: [path] if (path := tmp_path / name).exists() else [])
    assert [(table.name, types) for table, types in compatibility._stored(layout)] == [(second, {"a": "int64"})]


def test_arrays_are_compared_bit_by_bit() -> None:
    plus, minus = (_bits(np.array([zero])) for zero in (0.0, -0.0))
    assert (plus.tolist(), minus.tolist()) == ([0], [2**31])


def test_an_array_of_another_kind_is_damage_though_its_file_is_whole(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    path = layout.array("average_cpu")
    path.parent.mkdir(parents=True)
    np.save(path, np.zeros(3))
    with pytest.raises(StoreError, match="float64"):
        columns.load_array(layout, "average_cpu", 3)


def test_a_missing_element_of_a_list_is_not_a_number() -> None:
    lists = pa.array([[None, 0.5], [0.25]], pa.list_(pa.float32()))
    assert np.array_equal(columns.values(lists, 0), np.array([np.nan, 0.25], np.float32), equal_nan=True)
