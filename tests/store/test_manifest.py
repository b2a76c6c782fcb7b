"""What a manifest takes, keeps and tells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import StoreError
from borgtrace.store.json_types import has_type
from borgtrace.store.manifest import entry_from, read_manifest
from tests.store.typed import EMPTY, ENTRY


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
    assert has_type(value, hint) is fits


def test_every_row_that_came_in_is_accounted_for() -> None:
    right = replace(
        ENTRY,
        rows_in=15,
        stored=8,
        quarantined=4,
        skipped=2,
        merged=1,
    )
    assert right.is_conserved
    for name in ("stored", "quarantined", "skipped", "merged"):
        assert not replace(right, **{name: 0}).is_conserved


def test_counters_of_sources_are_summed_with_those_of_tables() -> None:
    manifest = replace(
        EMPTY,
        sources=(
            replace(ENTRY, counters={"b": 2, "a": 1}),
            replace(ENTRY, counters={"b": 3}),
        ),
        quality={
            "instance_usage": {"b": 4},
            "tasks": {},
            "a": {"c": 1},
        },
    )
    assert manifest.counters == {"a": {"c": 1}, "instance_usage": {"a": 1, "b": 9}}
    assert not manifest.is_synthetic
    assert replace(EMPTY, synthetic={}).is_synthetic


def test_a_manifest_comes_back_with_what_a_later_version_wrote(tmp_path: Path) -> None:
    source = replace(ENTRY, unknown={"new": 1}, columns=("a", "b"))
    manifest = replace(
        EMPTY,
        sources=(source,),
        unknown={"later": [2]},
        tables={"tasks": 1, "machine_events": 2},
    )
    text = manifest.to_json()
    assert text.startswith('{\n "basis": {},\n "cell": "",')
    assert text.endswith("}\n")
    data = json.loads(text)
    assert data["later"] == [2]
    assert data["sources"][0]["new"] == 1
    assert "unknown" not in data
    assert entry_from(data["sources"][0]) == source
    manifest.write(tmp_path / "manifest.json")
    again = read_manifest(tmp_path)
    assert again == manifest
    # In the order of their declaration, not of their names.
    assert list(again.tables) == ["machine_events", "tasks"]


@pytest.mark.parametrize(
    ("version", "is_read"),
    [
        ("1.0", True),
        ("1.7", True),
        ("1.7.2", True),
        ("2.0", False),
        ("11", False),
    ],
)
def test_another_major_version_is_refused(tmp_path: Path, version: str, is_read: bool) -> None:
    replace(EMPTY, format_version=version).write(tmp_path / "manifest.json")
    if is_read:
        assert read_manifest(tmp_path).format_version == version
    else:
        message = f"store of another format version: expected 1.1, got {version};"
        with pytest.raises(StoreError, match=message):
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


def test_who_made_a_trace_is_said_in_a_word() -> None:
    def made(synthetic: dict[str, Any] | None) -> str:
        return replace(EMPTY, synthetic=synthetic).made

    assert made(None) == ""
    assert made({"seed": 1}) == "synthetic"
    assert made({"simulated": "best-fit"}) == "simulated"
